"""The kernel of contests.ByGap: Select-direction, Algorithm 2 of Xu et al. (2018)."""

import math
from typing import Any, NamedTuple

from ...arrays import FloatArray, IntArray
from ...ties import LEADER, RIVAL
from ..book import Model, row_for
from ..bounds.base import radius, write_ends
from ..compiling import inlined
from ..stopping.base import narrow
from .base import closest


class ByGapKernel(NamedTuple):
    means: FloatArray  # (K,)


@closest.of(ByGapKernel)
def _(contest: ByGapKernel, model: Model, stopping: Any) -> tuple[int, int, float, float]:
    arena, book, bound = model
    means, twins, scores = contest.means, arena.twins, book.scores
    leader = best_arm(means, arena.noise_scale)  # i_t
    row = row_for(model, leader)
    factor = radius(bound, arena, book)
    write_ends(bound, book, means, factor, leader, row)
    beaten = narrow(stopping, means, scores, twins, leader)
    rival, margin = furthest(means, scores, twins, leader)
    if margin == margin and beaten > -math.inf:
        margin = beaten
    return leader, rival, margin, factor


@inlined
def best_arm(means: FloatArray, noise_scale: float) -> int:
    """Return the arm with the largest mean."""
    top = means[0]
    for k in range(1, len(means)):
        if means[k] > top:
            top = means[k]
    least = top - LEADER * (noise_scale + abs(top))
    leader = 0
    while means[leader] < least:
        leader += 1
    return leader


@inlined
def furthest(
    means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> tuple[int, float]:
    """Return j_t and B(t) from the upper ends of the intervals, in `scores`.

    B(t) is 0 if all arms are the same arm, and NaN if some score is.
    """
    count = len(means)
    best, top, others = -math.inf, -1, False
    for k in range(count):
        if twins[k] != twins[leader]:
            others = True
            if not scores[k] <= best:  # also if it is NaN, which must not go unnoticed
                best = scores[k]
                top = k
                if best != best:
                    break
    rival, margin = (leader + 1) % count, 0.0 if not others else math.nan
    if top >= 0 and best == best:
        margin = best - means[leader]
        least = best - RIVAL * (best - means[top])
        rival = 0
        while scores[rival] < least or twins[rival] == twins[leader]:
            rival += 1
    return rival, margin
