"""The choices of explorers/lazy_track_and_stop.py, compiled; designs are solved for in Python."""

import math

from ..arrays import FloatArray, IntArray
from ..ties import PULL
from .book import Arena, Book
from .compiling import compiled
from .memory import DIGITS, WANTED, Memory


@compiled
def learn(memory: Memory, pulls: int) -> None:
    """Add the shares to their sum, and ask for new ones at powers of 2."""
    shares, total = memory.vectors[0], memory.vectors[1]
    for k in range(len(total)):
        total[k] += shares[k]
    if pulls & (pulls - 1) == 0:
        memory.counters[WANTED] = 1


@compiled
def pick(arena: Arena, book: Book, memory: Memory, pulls: int) -> int:
    """Return the arm to pull, or -1 if there must be new shares first."""
    if memory.counters[WANTED]:
        return -1
    counts, total, spanning = book.counts, memory.vectors[1], arena.spanning
    if _neglected(book.cross, book.variances, spanning, pulls, book.factor):
        arm = spanning[0]
        for k in spanning:
            if counts[k] < counts[arm]:
                arm = k
        return int(arm)
    most = -math.inf
    for k in range(len(counts)):
        if total[k] > 0.0:
            most = max(most, total[k] - counts[k])
    arm = 0
    while total[arm] == 0.0 or total[arm] - counts[arm] < most - DIGITS * pulls:
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
