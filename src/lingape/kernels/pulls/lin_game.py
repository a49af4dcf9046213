"""The kernels of the pull rules of LinGame and LinGame-C (explorers/lin_game.py)."""

import math
from typing import NamedTuple

import numpy as np

from ...arrays import BoolArray, FloatArray, IntArray
from ...ties import PULL
from ..book import PULLS, Arena, Book, Model
from ..compiling import compiled
from ..memories import GameCMemory, GameMemory
from .base import choose


class Sides(NamedTuple):
    """What rules that look for the closest alternative take for granted."""

    columns: FloatArray  # (d, K) the arms in orthonormal coordinates
    dropped: FloatArray  # (K, K) finite where a rival is not to be asked about; or empty
    epsilon: float


class GameKernel(NamedTuple):
    memory: GameMemory
    sides: Sides
    share: float  # of the pulls that go to all arms alike


class GameCKernel(NamedTuple):
    memory: GameCMemory
    sides: Sides
    share: float


@choose.of(GameKernel)
def _(pull: GameKernel, model: Model, leader: int, rival: int) -> int:
    arena, book, _ = model
    pulls = book.clock[PULLS]
    if pull.memory.learned[0] != pulls:
        _learn(pull, arena, book, leader, pulls)
        pull.memory.learned[0] = pulls
    return _most_missed(pull.memory.totals, book.counts, pulls)


@choose.of(GameCKernel)
def _(pull: GameCKernel, model: Model, leader: int, rival: int) -> int:
    arena, book, _ = model
    pulls = book.clock[PULLS]
    if pull.memory.learned[0] != pulls:
        _learn_c(pull, arena, book, leader, pulls)
        pull.memory.learned[0] = pulls
    return _most_missed_c(pull.memory.totals, pull.memory.pulled, pulls)


@compiled
def rivals_of(sides: Sides, twins: IntArray, leader: int) -> BoolArray:
    """Return which arms may be better than the leader."""
    rivals = np.empty(len(twins), dtype=np.bool_)
    for k in range(len(twins)):
        rivals[k] = twins[k] != twins[leader]
        if len(sides.dropped) and sides.dropped[leader, k] < math.inf:
            rivals[k] = False
    return rivals


@compiled
def scaled_gaps(means: FloatArray, epsilon: float, noise_scale: float, leader: int) -> FloatArray:
    """Return what each arm lacks to being better than the leader by ε, in units of the noise."""
    gaps = np.empty(len(means))
    for k in range(len(gaps)):
        gaps[k] = (means[leader] - means[k] + epsilon) / noise_scale
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
    sides: Sides, share: float, weights: FloatArray, arena: Arena, means: FloatArray, leader: int
) -> FloatArray:
    """Return the shifts of the closest alternative to weights of which a share is even."""
    values, steps, arms = alternatives(
        sides.columns,
        (1.0 - share) * weights + share / len(weights),
        scaled_gaps(means, sides.epsilon, arena.noise_scale, leader),
        leader,
        rivals_of(sides, arena.twins, leader),
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
def _learn(pull: GameKernel, arena: Arena, book: Book, leader: int, pulls: int) -> None:
    """Do as Game.learn does."""
    memory = pull.memory
    totals, weights, gains = memory.totals, memory.weights, memory.gains
    count = len(totals)
    if not totals.any():
        for k in range(count):
            totals[k] = book.counts[k]
    rate = math.log(count) / memory.gap[0]
    log_total = _hedge(gains, rate, weights)
    totals += weights
    gained = _closest(pull.sides, pull.share, weights, arena, book.means, leader)
    most = math.log(pulls)
    for k in range(count):
        gained[k] = _optimistic(gained[k], book.variances[k], most)
    memory.gap[0] += _gain(gains, weights, gained, rate, log_total)


@compiled
def _most_missed(totals: FloatArray, counts: IntArray, pulls: int) -> int:
    return first_max(totals - counts, PULL * pulls)


@compiled
def _learn_c(pull: GameCKernel, arena: Arena, book: Book, leader: int, pulls: int) -> None:
    """Do as GameC.learn does."""
    memory, counts = pull.memory, book.counts
    seen, by_arm, totals, pulled = memory.seen, memory.by_arm, memory.totals, memory.pulled
    gains, count = memory.gains, len(memory.seen)
    if seen.any():
        for arm in range(count):
            if counts[arm] > seen[arm]:
                answer = first_max(totals[:, arm] - pulled[:, arm], PULL * pulls)
                pulled[answer, arm] += counts[arm] - seen[arm]
    for k in range(count):
        seen[k] = counts[k]
    rate = math.log(count * count) / memory.gap[0]
    weights, row = np.empty(count * count), np.empty(count)
    log_total = _hedge(gains.reshape(-1), rate, weights)
    by_arm[:] = 0.0
    for i in range(count):
        for k in range(count):
            totals[i, k] += weights[i * count + k]
            by_arm[k] += weights[i * count + k]
    _hedge(gains[leader], rate, row)
    moved = _closest(pull.sides, pull.share, row, arena, book.means, leader)
    gained, most = np.empty(count * count), math.log(pulls)
    for i in range(count):
        for k in range(count):
            shift = moved[k] if i == leader else 0.0
            gained[i * count + k] = _optimistic(shift, book.variances[k], most)
    memory.gap[0] += _gain(gains.reshape(-1), weights, gained, rate, log_total)


@compiled
def _most_missed_c(totals: FloatArray, pulled: FloatArray, pulls: int) -> int:
    count = len(totals)
    behind = np.full(count, -math.inf)
    for i in range(count):
        for k in range(count):
            behind[k] = max(behind[k], totals[i, k] - pulled[i, k])
    return first_max(behind, PULL * pulls)
