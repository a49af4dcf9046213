"""Whole races on a GPU: each thread fills, weighs and plans one block after the other.

The functions are those of blocks.py. Threads of a warp go through their blocks side by side, those
with a short one waiting for the others; the noise is that of gpu.py.
"""

import math
from typing import Any, NamedTuple

from ..arrays import BoolArray, IntArray
from ..evidence.shares import FEW
from ..explorers.race import Race
from ..kernels.functions import FIXED, compiled, inlined, on_gpu
from ..kernels.philox import Philox
from ..kernels.teams import ALONE
from .blocks import (
    LEADING,
    OPENED,
    PLAYING,
    BlockLane,
    Course,
    Work,
    new_course,
    new_work,
    play_block,
)
from .gpu import GpuLane, not_on_gpu, own_bytes, too_large
from .gpu_source import IDLE, Batch, Layout, take


@on_gpu("in_play", "quotas")
class Beginning(NamedTuple):
    """What every race begins with."""

    in_play: BoolArray
    quotas: IntArray


@compiled
def play_races(
    beginning: Beginning,
    course: Course,
    work: Work,
    evidence: Any,
    world: Any,
    draws: Philox,
    batch: Batch,
) -> None:
    """Play races until none is left."""
    run = IDLE
    while True:
        if run == IDLE:
            run = take(batch, draws)
            if run == IDLE:
                return
            _begin(course, beginning)
        status = play_block(course, work, evidence, world, draws, batch.until)
        if status != PLAYING:
            batch.arms[run], batch.margins[run] = _answer(course), math.nan
            batch.endings[run] = status
            for k in range(len(course.quotas)):
                batch.counts[run, k] = course.told.counts[k]
                batch.in_play[run, k] = course.in_play[k]
            run = IDLE


@inlined
def _begin(course: Course, beginning: Beginning) -> None:
    """Forget the race before, but for what the first plan writes."""
    for k in range(len(course.quotas)):
        course.told.counts[k], course.told.sums[k], course.told.squares[k] = 0, 0.0, 0.0
        course.block.counts[k], course.block.sums[k], course.block.squares[k] = 0, 0.0, 0.0
        course.log_evidence[k], course.peaks[k] = 0.0, 0.0
        course.in_play[k], course.quotas[k] = beginning.in_play[k], beginning.quotas[k]
    course.clock[:] = 0


@inlined
def _answer(course: Course) -> int:
    """Return the last arm in play, the leader, or before there is one the best by its average."""
    told, left, best, highest = course.told, 0, 0, -math.inf
    for k in range(len(course.in_play)):
        if course.in_play[k]:
            average = told.sums[k] / told.counts[k] if told.counts[k] > 0 else -1e300
            if average > highest:
                best, highest = k, average
            left += 1
    return course.clock[LEADING] if left > 1 and course.clock[OPENED] else best


def race_on_gpu(explorer: Race) -> GpuLane | None:
    """Return the GPU lane of a race, or None, saying so once, if it has none."""
    x, kernel = explorer.estimate.features, explorer.evidence.kernel()
    if type(kernel) not in FIXED or BlockLane.of(explorer) is None:
        not_on_gpu(type(explorer).__name__)
        return None
    if explorer.counts.any():
        not_on_gpu("explorers that have been told rewards")
        return None
    if len(x) > FEW:
        not_on_gpu(f"Race with more than {FEW} arms")
        return None
    course = new_course(explorer, room=len(x))
    parts = {
        "beginning": Beginning(course.in_play.copy(), course.quotas.copy()),
        "course": course,
        "work": new_work(course),
        "evidence": kernel,
    }
    if lacking := too_large(own_bytes(course, parts["work"], kernel)):
        not_on_gpu(lacking)
        return None
    return GpuLane(play_races, parts, len(x), Layout(ALONE, set()))
