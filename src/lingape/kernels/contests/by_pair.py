"""The kernel of contests.ByPair, the contest of LinGIFA, for the one best arm."""

import math
from typing import Any, NamedTuple

from ...arrays import FloatArray
from ...ties import RIVAL
from ..book import Model
from ..bounds.base import radius, write_ends
from ..compiling import compiled
from .base import closest
from .by_gap import furthest


class ByPairKernel(NamedTuple):
    """All rows of the book are kept, in order."""

    means: FloatArray  # (K,)
    largest: FloatArray  # (K,) work: the most by which another arm may be better than each


@closest.of(ByPairKernel)
def _(contest: ByPairKernel, model: Model, stopping: Any) -> tuple[int, int, float, float]:
    factor = radius(model.bound, model.arena, model.book)
    leader, rival, margin = _by_pair(contest, model, factor)
    return leader, rival, margin, factor


@compiled
def _by_pair(contest: ByPairKernel, model: Model, factor: float) -> tuple[int, int, float]:
    """Leave the upper ends of the leader's contests in book.scores."""
    arena, book, bound = model
    means, twins, scores, largest = contest.means, arena.twins, book.scores, contest.largest
    first = 0
    for j in range(len(means)):
        write_ends(bound, book, means, factor, j, j)
        best = -math.inf
        for k in range(len(means)):
            if twins[k] != twins[j] and not scores[k] <= best:
                best = scores[k]
                if best != best:
                    return 0, 0, math.nan
        largest[j] = best - means[j]
        if largest[j] < largest[first]:
            first = j
    write_ends(bound, book, means, factor, first, first)
    rival, margin = furthest(means, scores, twins, first)
    slack = RIVAL * (scores[rival] - means[rival])
    leader = 0
    while largest[leader] > largest[first] + slack:
        leader += 1
    if leader != first:
        write_ends(bound, book, means, factor, leader, leader)
        rival, margin = furthest(means, scores, twins, leader)
    return leader, rival, margin
