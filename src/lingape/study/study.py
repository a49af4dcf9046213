"""Explorers × instances × seeds, in parallel."""

import hashlib
import inspect
import re
import signal
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import islice, product
from multiprocessing import resource_tracker
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .. import specs
from ..checks import checked_whole
from ..environments import ENVIRONMENTS, Environment, Instance
from ..errors import InvalidArgument, LingapeError, MissingExtra
from ..explorers import Explorer
from ..kernels.parts import has_kernel
from ..lanes import compiled_lane
from ..many import check_gpu, played_on_gpu
from ..noise import checked_noise
from ..problem import Problem
from ..provenance import provenance
from ..runs import MAX_PULLS, Ending, check_promise, checked_limit, run
from .clock import Clock, Pace
from .results import FORMAT, VERSION, Results, Row, RowLog

MOST_JOBS, MOST_SEEDS = 10_000, 1_000_000
CHUNK = 0.3  # seconds for which a worker is sent runs
ON_GPU = 100_000  # runs after which a GPU hands over results
Task: TypeAlias = tuple[str, str, int]  # explorer, instance and seed
#: What makes an explorer for a problem: a class, a function like one, or a text such as "race".
Builder: TypeAlias = Callable[..., Explorer] | str


class Study:
    """Explorers × instances × seeds.

    explorers: by label, or a list of them. Each is a class such as LinGapE, a function that
        takes a problem (and `theta`, if it is a yardstick) and returns an explorer, or a text
        such as "xy_static(design=greedy)".
    instances: Instances, or texts such as "soare(5, 0.1)".
    seeds: how many, or which.
    world: what pays: "gaussian", with standard deviation R (1 if the problem leaves it open),
        "signed" for rewards of ±1, or "zero_one" for rewards of 0 and 1.
    problem: settings of every problem: delta, epsilon, noise (1 unless given, and "binary" in the
        world "zero_one"), norm_bound (S, the length of θ unless given).
    max_pulls: where runs are stopped.
    lane: "gpu" plays on an NVIDIA GPU what can be played there, with other noise of the same
        distribution; all else, and "auto", is for processors.

    All explorers meet the same noise: that of the n-th pull depends on the instance's name and the
    seed, not on the explorer (on a GPU and on processors it is not the same). So results depend
    neither on the number and order of workers nor on what else is in the study.

    >>> from lingape import Study
    >>> study = Study(["lingape", "uniform"], ["canonical(3, 1.0)"], seeds=5)
    >>> [row.explorer for row in study.run(jobs=1).rows][::5]
    ['lingape', 'uniform']
    """

    def __init__(
        self,
        explorers: Mapping[str, Builder] | Iterable[Builder],
        instances: Iterable[Instance | str],
        *,
        seeds: int | Iterable[int] = 10,
        max_pulls: int = MAX_PULLS,
        world: str = "gaussian",
        problem: Mapping[str, Any] | None = None,
        lane: Literal["auto", "gpu"] = "auto",
    ) -> None:
        self.explorers = _labelled(explorers)
        self._told_theta = {
            label for label, build in self.explorers.items() if specs.takes_theta(build)
        }
        self.instances = _named(instances)
        self.seeds = _seeds(seeds)
        self.max_pulls = checked_limit(max_pulls)
        self.world, self.problem = world, _settings(problem, world)
        if lane not in ("auto", "gpu"):
            raise InvalidArgument(f'lane must be "auto" or "gpu"; got {lane!r}.')
        if lane == "gpu" and max(self.seeds) >= 2**63:
            raise InvalidArgument(
                f"Seeds must be below 2^63 with lane='gpu'; got {max(self.seeds)}."
            )
        self.lane = lane
        if not isinstance(world, str) or world not in ENVIRONMENTS:
            raise InvalidArgument(
                f"world must be one of {', '.join(ENVIRONMENTS)}; got {world!r}."
            )
        # Of each instance, so that its runs share what follows from the arms alone.
        self._posed: dict[Instance, Problem] = {}
        self._environments: dict[Instance, Environment] = {}
        for instance in self.instances.values():  # find mistakes before the first run
            check_promise(self.posed(instance), self.environment(instance))

    def posed(self, instance: Instance) -> Problem:
        """Return the problem that explorers are given for an instance."""
        if instance not in self._posed:
            try:
                self._posed[instance] = instance.problem(**self.problem)
            except TypeError as reason:
                raise InvalidArgument(
                    "Settings of a problem are delta, epsilon, noise and norm_bound; got "
                    f"{', '.join(self.problem)}."
                ) from reason
        return self._posed[instance]

    def environment(self, instance: Instance) -> Environment:
        """Return the world in which runs on an instance take place."""
        if instance not in self._environments:
            self._environments[instance] = self._new_environment(instance)
        return self._environments[instance]

    def _new_environment(self, instance: Instance) -> Environment:
        if self.world == "gaussian":
            scale = self.posed(instance).noise.scale
            return instance.gaussian(scale=1.0 if scale is None else scale)
        kind: Callable[..., Environment] = ENVIRONMENTS[self.world]
        return kind(instance.arms, instance.theta)

    def noise(self, instance: str, seed: int) -> np.random.SeedSequence:
        """Return what to seed a run's noise with: run(..., seed=this) plays it again.

        instance, seed: which run it is.
        """
        return np.random.SeedSequence(
            seed, spawn_key=(zlib.crc32(instance.encode(errors="surrogatepass")),)
        )

    def __getstate__(self) -> dict[str, Any]:
        # Workers compute faster what would have to be sent.
        return self.__dict__ | {"_posed": {}, "_environments": {}}

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.explorers) * len(self.instances) * len(self.seeds)

    def run(
        self,
        *,
        jobs: int = -1,
        path: str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Pace], None] | None = None,
    ) -> "Results":
        """Play all runs and return their results.

        jobs: parallel processes; -1 for one per core. They are joblib's: under
            `joblib.parallel_config("dask")` and the like the runs go to that cluster.
        path: a file of JSON lines to which each row is written when its run ends.
        resume: continue the file at `path`: runs that are in it are not repeated. There may be
            more seeds than before, or other ones.
        progress: called after every run.

        Ctrl-C stops it; rows that are finished are in the file.
        """
        if resume and path is None:
            raise InvalidArgument("resume needs a path, the file to continue.")
        workers = _processes(jobs)
        log = None if path is None else RowLog(Path(path), self.header(), resume=resume)
        wanted = self._tasks()
        found = {} if log is None else {row.key: row for row in log.rows}
        rows = {task: found[task] for task in wanted if task in found}
        tasks = [task for task in wanted if task not in rows]
        side_by_side = 1 if self.lane == "gpu" else workers
        clock = Clock(len(self), list(rows.values()), tasks, side_by_side)
        if workers > 1 and self.lane == "auto":
            self._compile(tasks)
        try:
            for row in self._rows(tasks, jobs):
                rows[row.key] = row
                if log is not None:
                    log.append(row)
                if progress is not None:
                    progress(clock.tick(row))
        finally:
            if log is not None:
                log.close()
        return Results(self, [rows[task] for task in self._in_order()])

    def _compile(self, tasks: list[Task]) -> None:
        """Compile for each explorer, so that workers find the code on disk.

        Compiling takes much memory, which numba keeps, and joblib restarts workers that grow.
        """
        for explorer, instance in {task[0]: task[1] for task in reversed(tasks)}.items():
            where = self.instances[instance]
            world: Any = self.environment(where)
            # Whatever is wrong with an explorer is for its run to say.
            with suppress(Exception):
                made = self._made(explorer, where)
                if has_kernel(world) and (lane := compiled_lane(made)) is not None:
                    lane.prepare(world.kernel())

    def read(self, path: str | Path) -> "Results":
        """Return the rows that are in the file at `path` so far."""
        rows = {row.key: row for row in RowLog.read(Path(path), self.header())[0]}
        return Results(self, [rows[task] for task in self._in_order() if task in rows])

    def play(self, explorer: str, instance: str, seed: int) -> Row:
        """Play one run of an explorer on an instance with a seed, as the study calls them.

        explorer, instance: their labels.
        seed: one of the study's.
        """
        where = self.instances[instance]
        try:
            made = self._made(explorer, where)
            result = run(
                made,
                self.environment(where),
                seed=self.noise(instance, seed),
                max_pulls=self.max_pulls,
            )
        except LingapeError as error:
            error.add_note(f"This was {explorer!r} on {instance!r} with seed {seed}.")
            raise
        return Row(
            explorer=explorer,
            instance=instance,
            seed=seed,
            arm=result.arm,
            correct=result.correct,
            pulls=result.pulls,
            counts=tuple(result.counts.tolist()),
            ending=result.ending.value,
            seconds=result.seconds,
        )

    def _made(self, explorer: str, instance: Instance) -> Explorer:
        """Return a new explorer for an instance; yardsticks are given θ."""
        given = {"theta": instance.theta} if explorer in self._told_theta else {}
        made: Explorer = self.explorers[explorer](self.posed(instance), **given)
        return made

    def _rows(self, tasks: list[Task], jobs: int) -> Iterator[Row]:
        """Play runs and yield their rows, as they end."""
        if self.lane == "gpu":
            check_gpu()
            tasks = yield from self._rows_on_gpu(tasks)
            if jobs != 1:
                self._compile(tasks)
        if jobs == 1 or find_spec("joblib") is None:
            yield from (self.play(*task) for task in tasks)
            return
        import joblib

        chunks = _Chunks(tasks, joblib.effective_n_jobs(jobs))
        while chunks.left:
            calls = (joblib.delayed(self._play_some)(chunk) for chunk in chunks)
            for played in _side_by_side(calls, jobs):
                chunks.note(played)
                yield from played.rows

    def _rows_on_gpu(self, tasks: list[Task]) -> Generator[Row, None, list[Task]]:
        """Play what can be played on a GPU, and return the other tasks."""
        left, seeds = list[Task](), dict[tuple[str, str], list[int]]()
        for explorer, instance, seed in tasks:
            seeds.setdefault((explorer, instance), []).append(seed)
        pieces = [
            (*cell, numbers[start : start + ON_GPU])
            for cell, numbers in seeds.items()
            for start in range(0, len(numbers), ON_GPU)
        ]
        for explorer, instance, numbers in pieces:
            where = self.instances[instance]
            world, runs = self.environment(where), np.array(numbers, dtype=np.int64)
            key = int(self.noise(instance, 0).generate_state(1, np.uint64)[0])
            try:
                made = self._made(explorer, where)
                played = played_on_gpu(made, world, runs, key, self.max_pulls)
            except LingapeError as error:
                error.add_note(f"This was {explorer!r} on {instance!r}.")
                raise
            if played is None:
                left += [(explorer, instance, seed) for seed in numbers]
                continue
            for n, seed in enumerate(numbers):
                yield Row(
                    explorer=explorer,
                    instance=instance,
                    seed=seed,
                    arm=int(played.arms[n]),
                    correct=bool(played.correct[n]),
                    pulls=int(played.pulls[n]),
                    counts=tuple(played.counts[n].tolist()),
                    ending=(Ending.SETTLED if played.settled[n] else Ending.LIMIT).value,
                    seconds=played.seconds / len(numbers),
                )
        return left

    def _play_some(self, tasks: list[Task]) -> "_Played":
        """Play runs for about CHUNK seconds."""
        rows, seconds, begun = list[Row](), list[float](), time.perf_counter()
        for task in tasks:
            start = time.perf_counter()
            if rows and start - begun > CHUNK:
                break
            try:
                rows.append(self.play(*task))
            except Exception:
                if not rows:
                    raise
                break  # what has ended comes first; then it fails again
            seconds.append(time.perf_counter() - start)
        return _Played(tasks, rows, seconds)

    def header(self) -> dict[str, Any]:
        """Return what a file of rows says first: the study, and what it ran on."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "study": {
                "explorers": {label: _told(build) for label, build in self.explorers.items()},
                "instances": {name: _digest(value) for name, value in self.instances.items()},
                "seeds": list(self.seeds),
                "max_pulls": self.max_pulls,
                "world": self.world,
                "lane": self.lane,
                "problem": {name: _told(value) for name, value in self.problem.items()},
            },
            "ran_on": provenance(),
        }

    def _in_order(self) -> Iterator[Task]:
        return product(self.explorers, self.instances, self.seeds)

    def _tasks(self) -> list[Task]:
        """Return the runs, seed by seed, so that an interrupted study has some of each."""
        pairs = list(product(self.explorers, self.instances))
        return [(*pair, seed) for seed in self.seeds for pair in pairs]


def _processes(jobs: int) -> int:
    """Return how many processes will run in parallel."""
    if jobs != -1:
        jobs = checked_whole("jobs", jobs, least=1, most=MOST_JOBS, advice="-1: one per core.")
    try:
        import joblib
    except ImportError as reason:
        if jobs > 1:
            raise MissingExtra(
                'Parallel runs need joblib: pip install "lingape[sim]", or use jobs=1.'
            ) from reason
        return 1
    return max(1, int(joblib.effective_n_jobs(jobs)))


class _Played(NamedTuple):
    """What a worker has done of a chunk: the first runs of it."""

    tasks: list[Task]
    rows: list[Row]
    seconds: list[float]  # of each run, making its explorer included


class _Chunks:
    """Runs in chunks for workers, of about CHUNK seconds once it is known how long runs take.

    Sending runs one by one would take longer than playing short ones.
    """

    def __init__(self, tasks: list[Task], workers: int) -> None:
        self.left = deque(tasks)
        self._workers = workers
        self._usual: dict[
            tuple[str, str], float
        ] = {}  # seconds of a run, by explorer and instance

    def note(self, played: _Played) -> None:
        """Learn from a chunk that has ended, and send again what it has not done."""
        for row, seconds in zip(played.rows, played.seconds, strict=True):
            self._usual[row.key[:2]] = seconds
        self.left.extendleft(reversed(played.tasks[len(played.rows) :]))

    def __iter__(self) -> Iterator[list[Task]]:
        while self.left:
            share = len(self.left) // (4 * self._workers)  # so that all end together
            chunk, seconds = [self.left.popleft()], 0.0
            while self.left and len(chunk) < share:
                seconds += self._usual.get(chunk[-1][:2], CHUNK)
                if seconds + self._usual.get(self.left[0][:2], CHUNK) > CHUNK:
                    break
                chunk.append(self.left.popleft())
            yield chunk


def _side_by_side(calls: Iterator[Any], jobs: int) -> Iterator[_Played]:
    """Yield what the calls return, as they end."""
    import joblib

    try:
        parallel = joblib.Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
    except ValueError:  # Ray's backend returns results only when all are there
        some = 8 * joblib.effective_n_jobs(jobs)
        while group := list(islice(calls, some)):
            yield from joblib.Parallel(n_jobs=jobs)(group)
    else:
        with _children_without_interrupts():
            rows = parallel(calls)
        yield from rows


@contextmanager
def _children_without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from processes and threads that start now: it is for us, and we end them.

    A terminal sends it to all, and each process would print where it was.
    """
    if sys.platform == "win32":  # has no signal masks
        yield
        return
    from joblib.externals.loky.backend import resource_tracker as of_joblib

    for tracker in (resource_tracker, of_joblib):  # their start would undo the mask
        tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _labelled(explorers: Mapping[str, Builder] | Iterable[Builder]) -> dict[str, Any]:
    if isinstance(explorers, str) or callable(explorers):
        explorers = [explorers]
    if not isinstance(explorers, Iterable):
        raise InvalidArgument(
            f"Explorers must be a list or a mapping from labels; got {explorers!r}."
        )
    if isinstance(explorers, Mapping):
        labels, builds = list(explorers), [_builder(build) for build in explorers.values()]
    else:
        builds = [_builder(build) for build in explorers]
        labels = [_told(build) for build in builds]
    if not all(isinstance(label, str) for label in labels):
        raise InvalidArgument(f"Labels of explorers must be texts; got {labels!r}.")
    if len(set(labels)) < len(labels):
        raise InvalidArgument(
            f"Explorers in a list need different names; got {', '.join(labels)}. Leave out "
            "duplicates, or pass a mapping from labels to explorers."
        )
    if not labels:
        raise InvalidArgument("A study needs an explorer; got none.")
    return dict(zip(labels, builds, strict=True))


def _builder(build: Any) -> Callable[..., Explorer]:
    if isinstance(build, str):
        return specs.Recipe.read(build)
    try:
        inspect.signature(build)
    except (TypeError, ValueError) as reason:  # not callable, or built in, such as int
        raise InvalidArgument(
            "An explorer is a class, a function that takes a problem, or a text such as "
            f"'lingape'; got {build!r}."
        ) from reason
    made: Callable[..., Explorer] = build
    return made


def _named(instances: Iterable[Instance | str]) -> dict[str, Instance]:
    if isinstance(instances, str | Instance):
        instances = [instances]
    if not isinstance(instances, Iterable):
        raise InvalidArgument(f"Instances must be a list; got {instances!r}.")
    found: dict[str, Instance] = {}
    for item in instances:
        instance = specs.instance(item) if isinstance(item, str) else item
        if not isinstance(instance, Instance):
            raise InvalidArgument(
                f"An instance is an Instance or a text such as 'soare(5, 0.1)'; got {item!r}."
            )
        if instance.name in found:
            raise InvalidArgument(f"Instances need different names; two are {instance.name!r}.")
        found[instance.name] = instance
    if not found:
        raise InvalidArgument("A study needs an instance; got none.")
    return found


def _settings(problem: Mapping[str, Any] | None, world: str) -> dict[str, Any]:
    if problem is not None and not isinstance(problem, Mapping):
        raise InvalidArgument(
            f"problem must be a mapping such as {{'delta': 0.05}}; got {problem!r}."
        )
    default = {"noise": "binary"} if world == "zero_one" else {}
    settings = default | dict(problem or {})
    if "noise" in settings:  # as data, so that what means the same is written the same
        settings["noise"] = checked_noise(settings["noise"]).to_data()
    return settings


def _seeds(seeds: int | Iterable[int]) -> tuple[int, ...]:
    if not isinstance(seeds, Iterable) or isinstance(seeds, str):
        advice = "Or pass different whole numbers from 0."
        return tuple(range(checked_whole("seeds", seeds, least=1, most=MOST_SEEDS, advice=advice)))
    listed = tuple(checked_whole("Each of seeds", seed) for seed in seeds)
    if not listed or len(set(listed)) < len(listed):
        raise InvalidArgument(f"seeds must be different, and at least one; got {listed!r}.")
    return listed


def _told(part: Any) -> Any:
    """Describe a part of a study: the same in every process, and different for different parts."""
    if isinstance(part, specs.Recipe):
        return part.text
    if isinstance(part, partial):
        settings = [f"{_told(value)}" for value in part.args]
        settings += [f"{name}={_told(value)}" for name, value in part.keywords.items()]
        return f"{_told(part.func)}({', '.join(settings)})"
    if isinstance(part, np.generic):
        return part.item()
    if part is None or isinstance(part, str | int | float):
        return part
    if isinstance(part, FunctionType) and "<" in part.__qualname__:  # others may have this name
        return f"{part.__qualname__} {_code_digest(part)}"
    return getattr(part, "__qualname__", None) or re.sub(r" at 0x[0-9a-f]+", "", repr(part))


def _code_digest(function: FunctionType) -> str:
    """Return a digest of what a function does, and of what it has closed over."""
    code, closed = function.__code__, function.__closure__ or ()
    does = (code.co_code, code.co_names, re.sub(r" at 0x[0-9a-f]+", "", repr(code.co_consts)))
    holds = [_told(cell.cell_contents) for cell in closed]
    told = repr((does, holds, function.__defaults__, function.__kwdefaults__))
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _digest(instance: Instance) -> str:
    """Return a digest of an instance's numbers."""
    numbers = hashlib.sha256()
    for part in (instance.arms, instance.theta):
        numbers.update(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
    return numbers.hexdigest()[:16]
