"""Whole runs on a GPU: one after the other, until none is left, in many places side by side.

With few arms one thread plays a run, with more a warp does (warps.py). The loop is that of
compiled.py, made of the same functions of the same kernels, so that an explorer runs here if its
kernels are marked `on_gpu` (kernels/functions.py). What differs:

- Each run has its own book, and its own copies of what kernels keep, in arrays whose sizes are
  constants of the compiled code (gpu_source.py): loops over few arms are then unrolled. Of few
  arms the book holds gap variances alone, in shared memory, where each thread may look at another
  row. A warp shares arrays that are split, also in shared memory if they fit.
- Where each thread plays a run of its own, those of a warp take every step together. Threads whose
  run is over wait for a step at which others may begin one as well, and caches are rebuilt at such
  steps. Runs begin there, so that a run has its caches rebuilt at the same pulls however runs are
  spread over threads.
- Noise comes from Philox, by the run and the number of the pull. It is not the noise of the other
  lanes, and results agree with theirs in distribution.

With NUMBA_ENABLE_CUDASIM=1 the same functions run without a GPU, very slowly, as plain Python.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numba import cuda

from ..arrays import BoolArray, FloatArray, IntArray
from ..kernels.book import (
    CHECKED,
    LEADING,
    MARGIN,
    PULLS,
    REBUILD_AT,
    ROWS,
    SUMMED,
    TICK,
    Arena,
    Book,
    Model,
    Stage,
    absorb,
    new_arena,
    rebuild,
)
from ..kernels.functions import FIXED, compiled, inlined, on_gpu
from ..kernels.parts import NEEDS_HELP, choose, closest, glide, pay, restart
from ..kernels.philox import Philox
from ..kernels.teams import ALONE, begin, meet, owns, stride
from ..least_squares import ill_conditioned
from ..scaffold.conversation import ContestExplorer
from .blocks import SETTLED
from .compiled import (
    BROKEN,
    PLAYING,
    STALE,
    Kernels,
    judged,
    kernels_of,
    say_once,
    stage_of,
)
from .gpu_source import IDLE, THREADS, Batch, Layout, Scratch, kernel_of, source_of, take
from .warps import SIMULATED, WARP, WIDTH, Warp

BLOCKS = 32  # per multiprocessor; those that do not fit wait, and find nothing left to do
FEW = 16  # up to so many arms loops are unrolled, and all pairs are kept
# The most bytes that a run's own arrays may take: for a thread, and for a warp. They are set aside
# for all runs that a GPU could play at a time.
MOST_BYTES, MOST_BYTES_OF_WARP = 65_536, 1 << 20
MOST_PAIRS = 5_000  # of arms, whose plans are all made before the first run
EACH = 64  # steps after which threads may begin a run, or rebuild caches
PATIENCE = 2.0  # seconds that a launch, which cannot be interrupted, should take


@on_gpu("arms")
class FirstPulls(NamedTuple):
    """The arms that every run begins with."""

    arms: IntArray


@compiled
def play_contests(
    arena: Arena,
    book: Book,
    bound: Any,
    contest: Any,
    pull: Any,
    stopping: Any,
    opening: FirstPulls,
    world: Any,
    draws: Philox,
    batch: Batch,
) -> None:
    """Play runs until none is left."""
    model, clock, run, step = Model(arena, book, bound), book.clock, IDLE, 0
    while True:
        if step % EACH == 0 and run == IDLE:
            run = take(batch, draws)
            if run == IDLE:
                return
            _begin(book, opening, world, draws)
            restart(pull, book.team)
            restart(stopping, book.team)
        if step % EACH == 0 and clock[PULLS] >= clock[REBUILD_AT]:
            clock[REBUILD_AT] = 0
        if run != IDLE:
            status = _turn(model, contest, pull, stopping, world, draws, batch.until)
            if status != PLAYING:
                batch.arms[run], batch.margins[run] = clock[LEADING], book.gauge[MARGIN]
                batch.endings[run] = status
                k = begin(book.team)
                while k < len(book.counts):
                    batch.counts[run, k] = book.counts[k]
                    k += stride(book.team)
                run = IDLE
        step += 1


@inlined
def _begin(book: Book, opening: FirstPulls, world: Any, draws: Philox) -> None:
    """Make the first pulls of a run."""
    k = begin(book.team)
    while k < len(book.counts):
        book.counts[k], book.sums[k] = 0, 0.0
        k += stride(book.team)
    book.used[:] = 0
    book.clock[TICK], book.clock[CHECKED] = 0, 0
    book.clock[REBUILD_AT], book.clock[SUMMED] = 0, 0
    for m in range(len(opening.arms)):
        arm = opening.arms[m]
        paid = pay(world, arm, draws)
        if owns(book.team, arm):
            book.counts[arm] += 1
            book.sums[arm] += paid
    book.clock[PULLS] = len(opening.arms)


@inlined
def _turn(
    model: Model, contest: Any, pull: Any, stopping: Any, world: Any, draws: Philox, until: int
) -> int:
    """Look who is closest, and pull unless that ends the run."""
    book, clock, status = model.book, model.book.clock, STALE
    leader, rival, factor = 0, 0, 0.0
    while status == STALE:
        if clock[REBUILD_AT] == 0:
            rebuild(model, pull)
        clock[TICK] += 1
        leader, rival, margin, factor = closest(contest, model, stopping)
        clock[LEADING], book.gauge[MARGIN] = leader, margin
        status = judged(model, contest, stopping, leader, margin, until)
        if status == STALE:
            clock[REBUILD_AT] = 0
    if status == PLAYING:
        found = leader, rival, factor
        glided = glide(pull, model, contest.means, world, draws, until, found)
        if glided > 0:
            clock[PULLS] += glided
            clock[REBUILD_AT] = 0
            return PLAYING
        arm = leader  # if all arms are the same arm
        if model.arena.twins[leader] != model.arena.twins[rival]:
            arm = choose(pull, model, leader, rival)
        if arm == NEEDS_HELP:
            return NEEDS_HELP
        paid = pay(world, arm, draws)
        meet(book.team)
        if owns(book.team, arm):
            book.counts[arm] += 1
            book.sums[arm] += paid
        clock[PULLS] += 1
        if not absorb(model, pull, arm, paid):
            clock[REBUILD_AT] = 0
    return status


class Played(NamedTuple):
    """The results of runs."""

    arms: IntArray  # (runs,) the answers
    margins: FloatArray  # (runs,) B(t) at the end
    settled: BoolArray  # (runs,) whether it was proven
    counts: IntArray  # (runs, K)
    in_play: BoolArray  # (runs, K) which arms a race has not discarded


class GpuLane:
    """Runs of an explorer on a GPU, from the beginning.

    loop: what plays them.
    parts: what it needs before the world, the noise and the batch.
    arms: how many there are.
    least: pulls that every run makes, whatever the limit.
    """

    def __init__(
        self,
        loop: Callable[..., None],
        parts: dict[str, Any],
        arms: int,
        layout: Layout,
        least: int = 0,
    ) -> None:
        self._loop, self._parts, self._arms, self._layout = loop, parts, arms, layout
        self.least = least
        self.compiling = 0.0  # seconds that the last call of `play` spent on it

    @classmethod
    def of(cls, explorer: Any) -> Self | None:
        """Return a lane, or None, saying so once, if the explorer has none."""
        lacking = type(explorer).__name__
        if isinstance(explorer, ContestExplorer):
            stage = _for_gpu(stage_of(explorer))
            made = kernels_of(explorer, stage)
            if isinstance(made, Kernels):
                lacking = _lacking(explorer, stage, made)
                if not lacking:
                    made = made._replace(pull=_completed(explorer.parts.pull, made.pull, stage))
                    return cls._of_contests(explorer, stage, made)
            else:
                lacking = made
        not_on_gpu(lacking)
        return None

    @classmethod
    def _of_contests(cls, explorer: ContestExplorer, stage: Stage, kernels: Kernels) -> Self:
        book, count = stage.book, len(stage.problem)
        parts = {
            "arena": new_arena(stage.estimate, stage.problem.noise_scale),
            "book": book,
            **kernels._asdict(),
            "opening": FirstPulls(_opening(explorer)),
        }
        shapes = {book.gap_variance.shape, book.counts.shape}
        layout = Layout(book.team, set() if isinstance(book.team, Warp) else shapes)
        return cls(play_contests, parts, count, layout, len(parts["opening"].arms))

    def play(
        self,
        world: Any,
        runs: IntArray,
        key: int,
        until: int,
        progress: Callable[[int], None] | None = None,
    ) -> Played:
        """Play these runs, each until settled or `until` pulls.

        runs: numbers, which with the key say what noise each meets.
        progress: called with the number of runs played, every few seconds.
        """
        begun = time.perf_counter()
        self._launch(world, runs[:0], key, until)
        self.compiling = time.perf_counter() - begun
        wave, pieces, done = self._side_by_side(), list[Played](), 0
        ahead = wave
        while done < len(runs):
            begun = time.perf_counter()
            pieces.append(self._launch(world, runs[done : done + ahead], key, until))
            done += len(pieces[-1].arms)
            more = PATIENCE / (time.perf_counter() - begun)
            ahead = wave * max(1, min(int(more * ahead / wave), 4 * ahead // wave))
            if progress is not None:
                progress(done)
        return Played(*(np.concatenate(values) for values in zip(*pieces, strict=True)))

    def _side_by_side(self) -> int:
        """Return how many runs are under way together, at most."""
        if SIMULATED:
            return 4
        return _blocks() * (1 if isinstance(self._layout.team, Warp) else THREADS)

    def _launch(self, world: Any, runs: IntArray, key: int, until: int) -> Played:
        number = len(runs)
        batch = Batch(
            runs=runs,
            queue=np.zeros(1, dtype=np.int64),
            until=until,
            arms=np.zeros(number, dtype=np.int64),
            margins=np.zeros(number),
            endings=np.full(number, IDLE),
            counts=np.zeros((number, self._arms), dtype=np.int64),
            in_play=np.zeros((number, self._arms), dtype=np.bool_),
        )
        team, together = self._layout.team, isinstance(self._layout.team, Warp)
        draws = Philox(
            team=team,
            key=np.array([key], dtype=np.uint64),
            place=np.zeros(2, dtype=np.int64),
            ahead=np.zeros(4 * WIDTH if together else 4),
        )
        parts = {**self._parts, "world": world, "draws": draws, "batch": batch}
        source = source_of(self._loop, parts, self._layout)
        threads = WIDTH if together else max(1, min(number, THREADS))
        runs_each = 1 if together else threads
        blocks = -(-min(number, self._side_by_side()) // runs_each) or 1
        arguments = [_on_device(value, blocks) for value in source.arguments]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*Grid size")  # few runs need few threads
            kernel_of(source)[blocks, threads](*arguments)
        for value, there in zip(source.arguments, arguments, strict=True):
            if any(value is result for result in batch[-5:]):
                there.copy_to_host(value)
        if (batch.endings == IDLE).any():
            raise AssertionError("the GPU left runs unplayed")
        if (batch.endings == BROKEN).any():
            raise ill_conditioned(self._parts["arena"].ridge)
        settled = batch.endings == SETTLED
        return Played(batch.arms, batch.margins, settled, batch.counts, batch.in_play)


def _on_device(value: Any, blocks: int) -> Any:
    if isinstance(value, Scratch):
        return cuda.device_array((blocks, *value.shape), value.kind)
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def _blocks() -> int:
    """Return how many blocks a GPU may run together."""
    return int(cuda.get_current_device().MULTIPROCESSOR_COUNT) * BLOCKS


def _opening(explorer: ContestExplorer) -> IntArray:
    """Return the arms that every run begins with, which depend on no reward."""
    estimate, opening, arms = explorer.estimate.copy(), explorer.parts.opening, list[int]()
    while not opening.over(estimate):
        arms.append(opening.pick(estimate))
        estimate.update(arms[-1], 0.0)
    return np.array(arms, dtype=np.int64)


def _for_gpu(stage: Stage) -> Stage:
    """Return a stage with the book of a GPU's runs."""
    book, count = stage.book, len(stage.problem)
    rows = count if count <= FEW else ROWS
    book = book._replace(
        team=ALONE if count <= FEW else WARP,
        owner=np.full(rows, -1, dtype=np.int64),
        used=np.zeros(rows, dtype=np.int64),
        cross=np.zeros((0, 0) if count <= FEW else (rows, count)),
        gap_variance=np.zeros((rows, count)),
    )
    return stage._replace(book=book, listed=False)


def not_on_gpu(what: str) -> None:
    """Say once that something is played in another lane."""
    say_once(what, "GPU", "another")


def own_bytes(*parts: Any) -> int:
    """Return the size of the arrays of which each run has its own copy."""
    sizes: dict[int, int] = {}

    def add(part: Any) -> None:
        for field, value in zip(part._fields, part, strict=True):
            if isinstance(value, tuple):
                add(value)
            elif isinstance(value, np.ndarray) and field not in FIXED[type(part)]:
                sizes[id(value)] = value.nbytes

    for part in parts:
        add(part)
    return sum(sizes.values())


def _lacking(explorer: ContestExplorer, stage: Stage, kernels: Kernels) -> str:
    """Return what a GPU cannot do, or ""."""
    for kernel in kernels:
        if type(kernel) not in FIXED:
            return type(kernel).__name__.removesuffix("Kernel")
    if explorer.estimate.pulls:
        return "explorers that have been told rewards"
    if getattr(kernels.stopping, "near", 0.0):
        return "refined bounds"
    count = len(stage.problem)
    if hasattr(explorer.parts.pull, "help") and count * (count - 1) // 2 > MOST_PAIRS:
        return f"{type(explorer.parts.pull).__name__} with more than {MOST_PAIRS:,} pairs of arms"
    most = MOST_BYTES_OF_WARP if isinstance(stage.book.team, Warp) else MOST_BYTES
    return too_large(own_bytes(stage.book, *kernels), most)


def too_large(size: int, most: int = MOST_BYTES) -> str:
    """Return what is too large if runs need so many bytes, or ""."""
    return f"so many arms ({size:,} bytes for each run, of {most:,})" if size > most else ""


def _completed(pull: Any, kernel: Any, stage: Stage) -> Any:
    """Return a pull rule's kernel with all that a run may have asked for on the way."""
    if not hasattr(pull, "help"):
        return kernel
    count, features = len(stage.problem), stage.estimate.features
    for i in range(count):
        for j in range(i):
            if stage.problem.twins[i] != stage.problem.twins[j]:
                kernel = pull.help(kernel, features, stage.book.means, i, j)
    return kernel
