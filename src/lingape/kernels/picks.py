"""Which arm next, and what it pays: the small decisions of a compiled round."""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..ties import PULL
from .compiling import compiled, inlined
from .world import GAUSSIAN


class Mixes(NamedTuple):
    """Proportions p* of the pairs seen so far, as an open-addressing hash table."""

    keys: IntArray  # (slots,) i·K + j with i < j, or -1
    sizes: IntArray  # (slots,)
    support: IntArray  # (slots, d) arms, ascending
    proportions: FloatArray  # (slots, d)


@inlined
def greedy(
    cross: FloatArray, variances: FloatArray, first: int, second: int, scores: FloatArray
) -> int:
    """Return the arm that shrinks the contested gap's variance most (9)."""
    for k in range(len(scores)):
        scores[k] = cross[first, k] - cross[second, k]
    return sharpest(scores, variances, scores)


@inlined
def sharpest(contrast: FloatArray, variances: FloatArray, scores: FloatArray) -> int:
    """Return the arm that shrinks a gap's variance most, given all x_kᵀA⁻¹y."""
    count = len(scores)
    for k in range(count):
        u = contrast[k]
        scores[k] = u * u / (1.0 + variances[k])
    best = scores[0]
    for k in range(1, count):
        if scores[k] > best:
            best = scores[k]
    least = best - PULL * best
    arm = 0
    while scores[arm] < least:
        arm += 1
    return arm


@compiled
def track(mixes: Mixes, counts: IntArray, leader: int, rival: int) -> int:
    """Return the arm furthest behind p* (12), or -1 if p* is not known yet."""
    key = min(leader, rival) * len(counts) + max(leader, rival)
    slots = len(mixes.keys)
    slot = key % slots
    while mixes.keys[slot] != key:
        if mixes.keys[slot] < 0:
            return -1
        slot = (slot + 1) % slots
    least = math.inf
    for m in range(mixes.sizes[slot]):
        least = min(least, counts[mixes.support[slot, m]] / mixes.proportions[slot, m])
    m = 0
    while counts[mixes.support[slot, m]] / mixes.proportions[slot, m] > least + PULL * least:
        m += 1
    return int(mixes.support[slot, m])


@compiled
def progress(counts: IntArray, shares: FloatArray, turns: FloatArray) -> None:
    """Write how far each arm is with its share; infinitely far if it has none."""
    for k in range(len(counts)):
        turns[k] = counts[k] / shares[k] if shares[k] > 0.0 else math.inf


@inlined
def most_behind(turns: FloatArray) -> int:
    """Return the arm furthest behind its share (plans.Proportions), from their progress."""
    least = turns[0]
    for k in range(1, len(turns)):
        if turns[k] < least:
            least = turns[k]
    least += PULL * least
    k = 0
    while turns[k] > least:
        k += 1
    return k


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
    cross: FloatArray,
    gap_variance: FloatArray,
    variances: FloatArray,
    active: IntArray,
    after: FloatArray,
    gains: FloatArray,
) -> int:
    """Return the arm that leaves the longest difference shortest (designs.rounding.steepest).

    The differences are those of the arms in `active`. Every arm has its row, in order.
    """
    count = len(variances)
    longest = longest_of(gap_variance, active)
    least = math.inf
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


@inlined
def reward(kind: int, mean: float, scale: float, rng: np.random.Generator) -> float:
    """Draw one reward of an arm."""
    if kind == GAUSSIAN:
        paid = mean + scale * rng.standard_normal()
    elif 2.0 * rng.random() - 1.0 < mean:
        paid = 1.0
    else:
        paid = -1.0
    return paid
