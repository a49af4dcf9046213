"""Play an explorer many times in the same world; the results are arrays."""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .checks import checked_whole
from .environments import Environment
from .errors import MissingExtra
from .explorers import Explorer, Race
from .html import as_html
from .kernels.functions import FIXED
from .kernels.parts import has_kernel
from .rates import clopper_pearson
from .runs import MAX_PULLS, Ending, Lane, check_run, checked_limit, run, true_gap_of

ManyLane: TypeAlias = Lane | Literal["gpu"]
MOST_RUNS = 10**9


@dataclass(frozen=True, eq=False)
class Runs:
    """The results of many runs.

    arms: the answers, or best guesses at the limit.
    pulls: how many there were in each.
    counts: how many of each arm, a row per run.
    in_play: of races, which arms were not discarded, a row per run; else None.
    settled: whether the answer was proven.
    finished: whether it ended by itself, settled or with its budget spent, and not at the limit.
    true_gaps: how much better another arm really is than the answer.
    correct: whether that is at most ε.
    delta: δ, how often a settled answer may be wrong.
    seconds: how long all of them took, without compiling.
    lane: "plain", "compiled" or "gpu".

    >>> from lingape import LinGapE, canonical, run_many
    >>> instance = canonical(3, gap=1.0)
    >>> many = run_many(LinGapE(instance.problem()), instance.gaussian(), runs=10, lane="plain")
    >>> len(many), many.counts.shape, bool(many.settled.all())
    (10, (10, 3), True)
    >>> low, high = many.error_rate()
    >>> round(low, 3), round(high, 3)
    (0.0, 0.308)
    """

    arms: IntArray
    pulls: IntArray
    counts: IntArray
    in_play: BoolArray | None
    settled: BoolArray
    finished: BoolArray
    true_gaps: FloatArray
    correct: BoolArray
    delta: float
    seconds: float
    lane: str

    def __len__(self) -> int:
        return len(self.arms)

    @property
    def wrong(self) -> int:
        """How many answers were taken for proven and are wrong."""
        return int((self.settled & ~self.correct).sum())

    def error_rate(self, *, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval for how often that happens, exact (Clopper and Pearson).

        confidence: with which it contains the true rate.
        """
        return clopper_pearson(self.wrong, len(self), confidence=confidence)

    def __str__(self) -> str:
        number, high = len(self), self.error_rate()[1]
        spread = float(self.pulls.std(ddof=1)) / number**0.5 if number > 1 else float("nan")
        return (
            f"{number:,} runs of {self.pulls.mean():,.1f} ± {spread:,.1f} pulls; "
            f"{int(self.settled.sum()):,} settled, {self.wrong:,} of them wrong (at most "
            f"{high:.2%} of runs, with 95 % confidence; δ is {self.delta:.2%}). "
            f"{self.pulls.sum() / max(self.seconds, 1e-9):.2g} rounds a second in the {self.lane} "
            "lane."
        )

    def _repr_html_(self) -> str:
        heads = ["runs", "mean pulls", "settled", "wrong", "lane"]
        row = [
            f"{len(self):,}",
            f"{self.pulls.mean():,.1f}",
            f"{int(self.settled.sum()):,}",
            f"{self.wrong:,}",
            self.lane,
        ]
        return as_html("Runs", str(self), [heads, row])


def run_many(
    explorer: Explorer,
    environment: Environment,
    *,
    runs: int,
    seed: int = 0,
    max_pulls: int = MAX_PULLS,
    lane: ManyLane = "auto",
    progress: Callable[[int], None] | None = None,
) -> Runs:
    """Play an explorer many times from where it is, and return the results as arrays.

    explorer: what to play; it is left as it is.
    environment: the world that pays, such as Gaussian(arms, theta) or instance.gaussian().
    runs: how many.
    seed: of the noise; each run meets noise of its own, which depends on the seed and the number
        of the run.
    max_pulls: where runs are stopped.
    lane: as for `run`, on one core; or "gpu", for an NVIDIA GPU, which plays up to billions of
        rounds a second where arms are few (docs/speed.md). There the noise is another one, of the
        same distribution. What a GPU cannot play is played as with "auto", after a warning.
    progress: called with the number of runs played, from time to time.

    >>> from lingape import LinGapE, canonical, run_many
    >>> instance = canonical(3, gap=1.0)
    >>> many = run_many(LinGapE(instance.problem()), instance.gaussian(), runs=20, lane="plain")
    >>> many.wrong, len(many.pulls)
    (0, 20)
    """
    check_run(explorer, environment, max_pulls)
    number = checked_whole("runs", runs, least=1, most=MOST_RUNS)
    seed = checked_whole("seed", seed)
    if lane == "gpu":
        sequence = np.random.SeedSequence(seed)
        which, key = np.arange(number), int(sequence.generate_state(1, np.uint64)[0])
        played = played_on_gpu(explorer, environment, which, key, max_pulls, progress)
        if played is not None:
            return played
        lane = "auto"
    begun, found, in_play = time.perf_counter(), [], []
    for n in range(number):
        noise, played_once = np.random.SeedSequence(seed, spawn_key=(n,)), copy.deepcopy(explorer)
        found.append(run(played_once, environment, seed=noise, max_pulls=max_pulls, lane=lane))
        if isinstance(played_once, Race):
            in_play.append(played_once.in_play)
        if progress is not None:
            progress(n + 1)
    taken = sum(result.seconds for result in found)
    return Runs(
        arms=np.array([result.arm for result in found]),
        pulls=np.array([result.pulls for result in found]),
        counts=np.array([result.counts for result in found]),
        in_play=np.array(in_play) if in_play else None,
        settled=np.array([result.ending is Ending.SETTLED for result in found]),
        finished=np.array([result.ending is not Ending.LIMIT for result in found]),
        true_gaps=np.array([result.true_gap for result in found]),
        correct=np.array([result.correct for result in found]),
        delta=explorer.problem.delta,
        seconds=min(taken, time.perf_counter() - begun),
        lane=found[0].lane,
    )


def played_on_gpu(
    explorer: Explorer,
    environment: Environment,
    runs: IntArray,
    key: int,
    max_pulls: int,
    progress: Callable[[int], None] | None = None,
) -> Runs | None:
    """Play runs on a GPU; None if the explorer or the world cannot, after saying so once.

    runs, key: numbers that say what noise each run meets.
    """
    check_gpu()
    from .lanes.gpu import not_on_gpu

    if lacking := _cannot_pay(explorer, environment):
        not_on_gpu(lacking)
        return None
    lane = gpu_lane(explorer)
    if lane is None:
        return None
    if checked_limit(max_pulls) < lane.least:
        not_on_gpu(f"runs of fewer than {lane.least:,} pulls, which each begins with")
        return None
    world: Any = environment
    begun = time.perf_counter()
    played = lane.play(world.kernel(), runs, key, checked_limit(max_pulls), progress)
    means, arms = environment.means, range(len(explorer.problem))
    gaps = np.array([true_gap_of(explorer.problem, means, [k]) for k in arms])[played.arms]
    return Runs(
        arms=played.arms,
        pulls=played.counts.sum(axis=1),
        counts=played.counts,
        in_play=played.in_play if isinstance(explorer, Race) else None,
        settled=played.settled,
        finished=played.settled,
        true_gaps=gaps,
        correct=gaps <= explorer.problem.epsilon,
        delta=explorer.problem.delta,
        seconds=time.perf_counter() - begun - lane.compiling,
        lane="gpu",
    )


def _cannot_pay(explorer: Explorer, environment: Environment) -> str:
    """Return what keeps a GPU from paying an explorer, or ""."""
    world: Any = environment
    if not has_kernel(world) or type(world.kernel()) not in FIXED:
        return type(world).__name__
    return "minimize=True" if explorer.problem.minimize else ""


def gpu_lane(explorer: Explorer) -> Any:
    """Return the GPU lane of an explorer, or None, after saying so once, if it has none.

    Raises MissingExtra if there is no GPU.
    """
    check_gpu()
    from .lanes.compiled import is_driven
    from .lanes.gpu import GpuLane, not_on_gpu
    from .lanes.gpu_blocks import race_on_gpu

    if not is_driven(explorer):
        not_on_gpu(type(explorer).__name__)
        return None
    return race_on_gpu(explorer) if isinstance(explorer, Race) else GpuLane.of(explorer)


def gpu_name() -> str:
    """Return what the GPU is called."""
    check_gpu()
    from numba import cuda

    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def check_gpu() -> None:
    """Raise MissingExtra, with the reason, unless runs can be played on a GPU."""
    way_out = "Install 'lingape[gpu]' on a machine that has one, or use another lane."
    if find_spec("numba_cuda") is None:
        raise MissingExtra(f"The GPU lane needs numba-cuda and a GPU. {way_out}")
    try:
        from numba import cuda

        available, reason = cuda.is_available(), "none was found"
    except Exception as error:  # of the driver, of many kinds
        available, reason = False, str(error)
    if not available:
        raise MissingExtra(f"The GPU lane needs an NVIDIA GPU: {reason}. {way_out}")
