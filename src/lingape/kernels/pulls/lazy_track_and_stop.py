"""The kernel of the pull rule of LazyTrackAndStop; designs are solved for in Python."""

import math
from typing import NamedTuple

from ...arrays import FloatArray, IntArray
from ...ties import PULL
from ..book import PULLS, Book, Model
from ..compiling import compiled
from ..memories import LazyMemory
from .base import NEEDS_HELP, choose


class LazyKernel(NamedTuple):
    """All rows of the book are kept, in order."""

    memory: LazyMemory
    spanning: IntArray  # (d,)
    digits: float  # of the number of pulls, to which totals are known


@choose.of(LazyKernel)
def _(pull: LazyKernel, model: Model, leader: int, rival: int) -> int:
    memory, pulls = pull.memory, model.book.clock[PULLS]
    if memory.learned[0] != pulls:
        for k in range(len(memory.totals)):
            memory.totals[k] += memory.shares[k]
        if pulls & (pulls - 1) == 0:
            memory.wanted[0] = 1
        memory.learned[0] = pulls
    if memory.wanted[0]:
        return NEEDS_HELP
    return _most_missed(pull, model.book, pulls)


@compiled
def _most_missed(pull: LazyKernel, book: Book, pulls: int) -> int:
    counts, totals, spanning = book.counts, pull.memory.totals, pull.spanning
    if _neglected(book.cross, book.variances, spanning, pulls, book.factor):
        arm = spanning[0]
        for k in spanning:
            if counts[k] < counts[arm]:
                arm = k
        return int(arm)
    most = -math.inf
    for k in range(len(counts)):
        if totals[k] > 0.0:
            most = max(most, totals[k] - counts[k])
    arm = 0
    while totals[arm] == 0.0 or totals[arm] - counts[arm] < most - pull.digits * pulls:
        arm += 1
    return int(arm)


@compiled
def _neglected(
    cross: FloatArray, variances: FloatArray, spanning: IntArray, pulls: int, factor: FloatArray
) -> bool:
    """Whether the matrix x_aᵀV⁻¹x_b over the spanning set has an eigenvalue above the limit.

    Its trace and its diagonal mostly tell; else, whether limit·I minus it has a Cholesky factor.
    """
    d = len(spanning)
    limit = math.sqrt(d / pulls) * (1.0 + PULL)
    trace = 0.0
    for a in spanning:
        trace += variances[a]
        if variances[a] > limit:
            return True
    if trace <= limit:
        return False
    for p in range(d):
        for q in range(p + 1):
            value = -cross[spanning[p], spanning[q]]
            for m in range(q):
                value -= factor[p, m] * factor[q, m]
            if p > q:
                factor[p, q] = value / factor[q, q]
            elif value + limit > 0.0:
                factor[p, p] = math.sqrt(value + limit)
            else:
                return True
    return False
