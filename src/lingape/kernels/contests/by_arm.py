"""The kernel of contests.ByArm, the contest of UGapE."""

import math
from typing import Any, NamedTuple

from ...arrays import FloatArray
from ...ties import LEADER
from ..book import Arena, Book, Model
from ..bounds.base import radius
from ..bounds.exploring import two_best
from ..compiling import compiled
from .base import closest


class ByArmKernel(NamedTuple):
    means: FloatArray  # (K,)


@closest.of(ByArmKernel)
def _(contest: ByArmKernel, model: Model, stopping: Any) -> tuple[int, int, float, float]:
    arena, book, bound = model
    factor = radius(bound, arena, book)
    leader, rival, margin = _by_arm(contest.means, arena, book, factor)
    return leader, rival, margin, factor


@compiled
def _by_arm(means: FloatArray, arena: Arena, book: Book, factor: float) -> tuple[int, int, float]:
    twins, variances, upper = arena.twins, book.variances, book.scores
    count, size = len(means), 0.0
    for k in range(count):
        upper[k] = means[k] + factor * math.sqrt(variances[k])
        if upper[k] != upper[k]:
            return 0, 0, math.nan
        size = max(size, abs(upper[k]))
    first, second = two_best(upper, twins)
    if second < 0:  # all arms are the same arm
        return first, (first + 1) % count, 0.0
    slack = LEADER * (arena.noise_scale + size)
    least = math.inf
    for k in range(count):
        above = upper[second] if twins[k] == twins[first] else upper[first]
        least = min(least, above - (2.0 * means[k] - upper[k]))  # B_k
    leader, margin = -1, math.inf
    while not margin <= least + slack:
        leader += 1
        above = upper[second] if twins[leader] == twins[first] else upper[first]
        margin = above - (2.0 * means[leader] - upper[leader])
    best = upper[second] if twins[leader] == twins[first] else upper[first]
    rival = 0
    while twins[rival] == twins[leader] or upper[rival] < best - slack:
        rival += 1
    return leader, rival, margin
