"""LinGame and LinGame-C, compiled: `learn` and `pick` of explorers/lin_game.py.

There the layout of their memories is set up, and the formulas are explained.
"""

import math

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..ties import PULL
from .book import Arena, Book
from .compiling import compiled
from .memory import SHARED, Memory


@compiled
def rivals_of(arena: Arena, book: Book, leader: int) -> BoolArray:
    """Return which arms may be better than the leader."""
    count = len(book.counts)
    rivals = np.empty(count, dtype=np.bool_)
    for k in range(count):
        rivals[k] = arena.twins[k] != arena.twins[leader]
        if arena.eliminate == 2 and book.dropped[leader, k] < math.inf:
            rivals[k] = False
    return rivals


@compiled
def scaled_gaps(arena: Arena, book: Book, leader: int) -> FloatArray:
    """Return what each arm lacks to being better than the leader by ε, in units of the noise."""
    gaps = np.empty(len(book.means))
    for k in range(len(gaps)):
        gaps[k] = (book.means[leader] - book.means[k] + arena.epsilon) / arena.noise_scale
    return gaps


@compiled
def _root(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Return L⁻¹, where LLᵀ = V_w."""
    d, count = columns.shape
    rows, root = columns.T.copy(), np.zeros((d, d))
    for k in range(count):
        for p in range(d):
            value = weights[k] * rows[k, p]
            for q in range(p + 1):
                root[p, q] += value * rows[k, q]
    for p in range(d):  # L in place
        for q in range(p + 1):
            value = root[p, q]
            for m in range(q):
                value -= root[p, m] * root[q, m]
            root[p, q] = math.sqrt(value) if p == q else value / root[q, q]
    for q in range(d):  # L⁻¹ in place
        root[q, q] = 1.0 / root[q, q]
        for p in range(q + 1, d):
            value = 0.0
            for m in range(q, p):
                value -= root[p, m] * root[m, q]
            root[p, q] = value / root[p, p]
    return root


@compiled
def alternatives(
    columns: FloatArray, weights: FloatArray, gaps: FloatArray, leader: int, rivals: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values (K,), steps and arms, both (d, K)."""
    d, count = columns.shape
    root = _root(columns, weights)
    values, steps, arms = np.zeros(count), np.zeros((d, count)), np.zeros((d, count))
    for p in range(d):
        for q in range(p + 1):
            value, own = root[p, q], columns[q, leader]
            for k in range(count):
                arms[p, k] += value * columns[q, k]
                steps[p, k] += value * (own - columns[q, k])
        for k in range(count):
            values[k] += steps[p, k] * steps[p, k]
    for k in range(count):
        if rivals[k]:
            factor = gaps[k] / values[k]
            values[k] = 0.5 * gaps[k] * gaps[k] / values[k]
            for p in range(d):
                steps[p, k] *= factor
        else:
            values[k] = math.inf
    return values, steps, arms


@compiled
def shifts(steps: FloatArray, arms: FloatArray, rival: int) -> FloatArray:
    """Return by how much the alternative changes the mean of each arm."""
    d, count = arms.shape
    out = np.zeros(count)
    for p in range(d):
        for k in range(count):
            out[k] += arms[p, k] * steps[p, rival]
    return out


@compiled
def first_max(values: FloatArray, slack: float) -> int:
    """Return the first position whose value is within `slack` of the largest."""
    least = values.max() - slack
    k = 0
    while values[k] < least:
        k += 1
    return k


@compiled
def _optimistic(shift: float, variance: float, most: float) -> float:
    reach = abs(shift) + math.sqrt(2.0 * most * variance)
    return min(0.5 * reach * reach, most)


@compiled
def _closest(
    columns: FloatArray, weights: FloatArray, gaps: FloatArray, leader: int, rivals: BoolArray
) -> FloatArray:
    """Return the shifts of the closest alternative to weights of which a share is even."""
    values, steps, arms = alternatives(
        columns, (1.0 - SHARED) * weights + SHARED / len(weights), gaps, leader, rivals
    )
    return shifts(steps, arms, first_max(-values, PULL * values.min()))


@compiled
def _hedge(gains: FloatArray, rate: float, weights: FloatArray) -> float:
    """Write AdaHedge's weights, and return the logarithm of what they were divided by."""
    top, total = gains.max(), 0.0
    for k in range(len(gains)):
        weights[k] = math.exp(rate * (gains[k] - top))
        total += weights[k]
    for k in range(len(gains)):
        weights[k] /= total
    return math.log(total)


@compiled
def _gain(
    gains: FloatArray, weights: FloatArray, gained: FloatArray, rate: float, log_total: float
) -> float:
    """Add to the gains, and return by how much AdaHedge's gap grows."""
    before, after, mean = gains.max(), -math.inf, 0.0
    for k in range(len(gains)):
        mean += weights[k] * gained[k]
        after = max(after, gains[k] - before + gained[k])
    later = 0.0
    for k in range(len(gains)):
        later += math.exp(rate * (gains[k] - before + gained[k] - after))
        gains[k] += gained[k]
    return max(0.0, after + (math.log(later) - log_total) / rate - mean)


@compiled
def learn(arena: Arena, book: Book, memory: Memory, leader: int, pulls: int) -> None:
    """LinGame._learn."""
    totals, weights, gains = memory.vectors[0], memory.vectors[1], memory.vectors[2]
    count = len(totals)
    if not totals.any():
        for k in range(count):
            totals[k] = book.counts[k]
    rate = math.log(count) / memory.numbers[0]
    log_total = _hedge(gains, rate, weights)
    totals += weights
    gaps, rivals = scaled_gaps(arena, book, leader), rivals_of(arena, book, leader)
    gained = _closest(memory.vectors[3:], weights, gaps, leader, rivals)
    most = math.log(pulls)
    for k in range(count):
        gained[k] = _optimistic(gained[k], book.variances[k], most)
    memory.numbers[0] += _gain(gains, weights, gained, rate, log_total)


@compiled
def pick(book: Book, memory: Memory, pulls: int) -> int:
    """LinGame._choose."""
    return first_max(memory.vectors[0] - book.counts, PULL * pulls)


@compiled
def learn_c(arena: Arena, book: Book, memory: Memory, leader: int, pulls: int) -> None:
    """LinGameC._learn."""
    seen, by_arm = memory.vectors[0], memory.vectors[1]
    count = len(seen)
    tables = memory.vectors[2 : 2 + 3 * count].reshape(3, count, count)
    gains, totals, pulled = tables[0], tables[1], tables[2]
    if seen.any():
        for arm in range(count):
            if book.counts[arm] > seen[arm]:
                answer = first_max(totals[:, arm] - pulled[:, arm], PULL * pulls)
                pulled[answer, arm] += book.counts[arm] - seen[arm]
    for k in range(count):
        seen[k] = book.counts[k]
    rate = math.log(count * count) / memory.numbers[0]
    weights, row = np.empty(count * count), np.empty(count)
    log_total = _hedge(gains.reshape(-1), rate, weights)
    by_arm[:] = 0.0
    for i in range(count):
        for k in range(count):
            totals[i, k] += weights[i * count + k]
            by_arm[k] += weights[i * count + k]
    _hedge(gains[leader], rate, row)
    gaps, rivals = scaled_gaps(arena, book, leader), rivals_of(arena, book, leader)
    moved = _closest(memory.vectors[2 + 3 * count :], row, gaps, leader, rivals)
    gained, most = np.empty(count * count), math.log(pulls)
    for i in range(count):
        for k in range(count):
            shift = moved[k] if i == leader else 0.0
            gained[i * count + k] = _optimistic(shift, book.variances[k], most)
    memory.numbers[0] += _gain(gains.reshape(-1), weights, gained, rate, log_total)


@compiled
def pick_c(memory: Memory, pulls: int) -> int:
    """LinGameC._choose."""
    count = memory.vectors.shape[1]
    tables = memory.vectors[2 : 2 + 3 * count].reshape(3, count, count)
    behind = np.full(count, -math.inf)
    for i in range(count):
        for k in range(count):
            behind[k] = max(behind[k], tables[1, i, k] - tables[2, i, k])
    return first_max(behind, PULL * pulls)
