"""Frank-Wolfe sampling, compiled: `learn` and `pick` of explorers/frank_wolfe_sampling.py.

There the layout of its memory is set up, and the formulas are explained.
"""

import math

import numpy as np

from ..arrays import FloatArray, IntArray
from ..ties import LEADER, PULL
from .book import Arena, Book
from .compiling import compiled
from .lin_game import alternatives, first_max, rivals_of, scaled_gaps
from .memory import Memory


@compiled
def learn(arena: Arena, book: Book, memory: Memory, leader: int, pulls: int) -> None:
    """FrankWolfeSampling._learn."""
    totals, even = memory.vectors[0], memory.vectors[1]
    if not totals.any():
        totals[:] = pulls * even
    totals += _step(arena, book, memory, leader, pulls)


@compiled
def _step(arena: Arena, book: Book, memory: Memory, leader: int, pulls: int) -> FloatArray:
    """Return z(t)."""
    totals: FloatArray = memory.vectors[0]
    even: FloatArray = memory.vectors[1]
    count, t, first = len(totals), pulls + 1, 0
    for k in range(count):
        if even[k] > 0.0:
            first += 1
    rivals, gaps = rivals_of(arena, book, leader), scaled_gaps(arena, book, leader)
    least = math.inf
    for k in range(count):
        if rivals[k]:
            least = min(least, gaps[k])
    slack = LEADER * (1.0 + abs(book.means[leader]) / arena.noise_scale)
    if _is_square(t // first) or least <= slack:
        return even
    values, steps, arms = alternatives(memory.vectors[2:], totals / pulls, gaps, leader, rivals)
    near = values.min() + t**-0.9 / count
    m = 0
    for k in range(count):
        if values[k] < near:
            m += 1
    slopes, rates, d = np.zeros((m, count)), np.empty(m), len(arms)
    m = 0
    for j in range(count):
        if values[j] < near:
            for p in range(d):
                for k in range(count):
                    slopes[m, k] += steps[p, j] * arms[p, k]
            for k in range(count):
                slopes[m, k] = 0.5 * slopes[m, k] * slopes[m, k]
            rates[m] = values[j]
            m += 1
    return maximin(slopes, rates)


@compiled
def pick(book: Book, memory: Memory) -> int:
    """FrankWolfeSampling._choose."""
    totals = memory.vectors[0]
    ratios = np.zeros(len(totals))
    for k in range(len(totals)):
        if totals[k] > 0.0:
            ratios[k] = totals[k] / max(float(book.counts[k]), 1e-300)
    return first_max(ratios, PULL * ratios.max())


@compiled
def _is_square(n: int) -> bool:
    root = int(math.sqrt(n) + 0.5)
    return root * root == n


@compiled
def maximin(slopes: FloatArray, values: FloatArray) -> FloatArray:
    """Return the z in the simplex that maximises min_j (<z, slopes_j> - values_j)."""
    m, count = slopes.shape
    top = slopes.max()
    table = np.ones((count + 1, m + 1))
    for j in range(m):
        for k in range(count):
            table[k, j] += (slopes[j, k] - values[j]) / top
        table[count, j] = -1.0
    table[count, m] = 0.0
    across, down = np.arange(m), np.arange(m, m + count)
    for pivots in range(50 * (m + count)):
        column = _entering(table, across, pivots > m + count)
        if column < 0:
            break
        row = _leaving(table, down, column)
        if row < 0:
            break
        _pivot(table, row, column)
        across[column], down[row] = down[row], across[column]
    z, total = np.zeros(count), 0.0
    for j in range(m):
        if across[j] >= m:
            z[across[j] - m] = max(table[count, j], 0.0)
            total += z[across[j] - m]
    return z / total


@compiled
def _entering(table: FloatArray, across: IntArray, patient: bool) -> int:
    """Return the column to enter, or -1 if none is worth it."""
    m, last = len(across), len(table) - 1
    most = math.inf
    for j in range(m):
        most = min(most, table[last, j])
    if most >= -PULL:
        return -1
    column = -1
    for j in range(m):
        steep = table[last, j] < -PULL if patient else table[last, j] <= most + PULL
        if steep and (column < 0 or across[j] < across[column]):
            column = j
    return column


@compiled
def _leaving(table: FloatArray, down: IntArray, column: int) -> int:
    """Return the row to leave, or -1 if there is none."""
    m, least = table.shape[1] - 1, math.inf
    for k in range(len(down)):
        if table[k, column] > PULL:
            least = min(least, table[k, m] / table[k, column])
    row = -1
    for k in range(len(down)):
        if table[k, column] > PULL:
            tight = table[k, m] / table[k, column] <= least * (1.0 + PULL) + PULL
            if tight and (row < 0 or down[k] < down[row]):
                row = k
    return row


@compiled
def _pivot(table: FloatArray, row: int, column: int) -> None:
    """Exchange the variables of a row and a column."""
    inverse = 1.0 / table[row, column]
    for i in range(table.shape[0]):
        if i != row:
            factor = table[i, column] * inverse
            for j in range(table.shape[1]):
                table[i, j] -= factor * table[row, j]
            table[i, column] = -factor
    for j in range(table.shape[1]):
        table[row, j] *= inverse
    table[row, column] = inverse
