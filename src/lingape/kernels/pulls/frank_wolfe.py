"""The kernel of the pull rule of FrankWolfeSampling (explorers/frank_wolfe_sampling.py)."""

import math
from typing import Any, NamedTuple

import numpy as np

from ...arrays import FloatArray, IntArray
from ...designs.matrix_game import maximin as plain_maximin
from ...ties import LEADER, PULL
from ..book import Arena, Book
from ..compiling import compiled
from ..memories import FrankWolfeMemory
from .base import choose
from .lin_game import Sides, alternatives, first_max, rivals_of, scaled_gaps

maximin = compiled(plain_maximin)


class FrankWolfeKernel(NamedTuple):
    memory: FrankWolfeMemory
    sides: Sides
    even: FloatArray  # (K,) the even z


@choose.of(FrankWolfeKernel)
def _(
    pull: FrankWolfeKernel,
    arena: Arena,
    book: Book,
    bound: Any,
    leader: int,
    rival: int,
    pulls: int,
) -> int:
    if pull.memory.learned[0] != pulls:
        _learn(pull, arena, book, leader, pulls)
        pull.memory.learned[0] = pulls
    return _most_behind(pull.memory.totals, book.counts)


@compiled
def _learn(pull: FrankWolfeKernel, arena: Arena, book: Book, leader: int, pulls: int) -> None:
    totals = pull.memory.totals
    if not totals.any():
        totals[:] = pulls * pull.even
    totals += _step(pull, arena, book, leader, pulls)


@compiled
def _step(pull: FrankWolfeKernel, arena: Arena, book: Book, leader: int, pulls: int) -> FloatArray:
    """Return z(t)."""
    totals, even, sides = pull.memory.totals, pull.even, pull.sides
    count, t, first = len(totals), pulls + 1, 0
    for k in range(count):
        if even[k] > 0.0:
            first += 1
    rivals = rivals_of(sides, arena.twins, leader)
    gaps = scaled_gaps(book.means, sides.epsilon, arena.noise_scale, leader)
    least = math.inf
    for k in range(count):
        if rivals[k]:
            least = min(least, gaps[k])
    slack = LEADER * (1.0 + abs(book.means[leader]) / arena.noise_scale)
    if _is_square(t // first) or least <= slack:
        return even
    values, steps, arms = alternatives(sides.columns, totals / pulls, gaps, leader, rivals)
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
def _most_behind(totals: FloatArray, counts: IntArray) -> int:
    ratios = np.zeros(len(totals))
    for k in range(len(totals)):
        if totals[k] > 0.0:
            ratios[k] = totals[k] / max(float(counts[k]), 1e-300)
    return first_max(ratios, PULL * ratios.max())


@compiled
def _is_square(n: int) -> bool:
    root = int(math.sqrt(n) + 0.5)
    return root * root == n
