"""The kernel of plans.OneByOne."""

import math
from typing import NamedTuple

from ...arrays import FloatArray, IntArray
from ...ties import PULL
from ..book import Model
from ..compiling import compiled
from .base import choose


class OneByOneKernel(NamedTuple):
    """All rows of the book are kept, in order."""

    active: IntArray  # the arms whose differences are to become short
    after: FloatArray  # (K,) work
    gains: FloatArray  # (K,) work


@choose.of(OneByOneKernel)
def _(pull: OneByOneKernel, model: Model, leader: int, rival: int) -> int:
    book = model.book
    return steepest(pull, book.cross, book.gap_variance, book.variances)


@compiled
def longest_of(gap_variance: FloatArray, active: IntArray) -> float:
    """Return the largest variance of a difference of two arms in `active`."""
    longest = 0.0
    for m in range(len(active)):
        for n in range(m):
            longest = max(longest, gap_variance[active[m], active[n]])
    return longest


@compiled
def steepest(
    pull: OneByOneKernel, cross: FloatArray, gap_variance: FloatArray, variances: FloatArray
) -> int:
    """Return the arm that leaves the longest difference shortest (designs.rounding.steepest)."""
    active, after, gains = pull.active, pull.after, pull.gains
    count, least = len(variances), math.inf
    longest = longest_of(gap_variance, active)
    for k in range(count):
        after[k], gains[k] = 0.0, 0.0
        for m in range(len(active)):
            i = active[m]
            for n in range(m):
                j = active[n]
                u = cross[i, k] - cross[j, k]
                gain = u * u / (1.0 + variances[k])
                after[k] = max(after[k], gap_variance[i, j] - gain)
                if gap_variance[i, j] >= longest * (1.0 - PULL):
                    gains[k] += gain
        least = min(least, after[k])
    best = -1.0
    for k in range(count):
        if after[k] <= least * (1.0 + PULL):
            best = max(best, gains[k])
    k = 0
    while after[k] > least * (1.0 + PULL) or gains[k] < best - PULL * longest:
        k += 1
    return k
