"""The kernel of the pull rule of FrankWolfeSampling (explorers/frank_wolfe_sampling.py)."""

import math
from typing import NamedTuple

import numpy as np

from ...arrays import FloatArray, IntArray
from ...designs.matrix_game import maximin as plain_maximin
from ...ties import LEADER, PULL
from ..book import PULLS, Arena, Book, Model
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
def _(pull: FrankWolfeKernel, model: Model, leader: int, rival: int) -> int:
    arena, book, _ = model
    pulls = book.clock[PULLS]
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
    slopes, rates = _pieces(values, steps, arms, near)
    return maximin(slopes, rates)


@compiled
def _pieces(
    values: FloatArray, steps: FloatArray, arms: FloatArray, near: float
) -> tuple[FloatArray, FloatArray]:
    """Return the slopes and rates of the rivals whose rates are below `near`."""
    close = np.flatnonzero(values < near)
    slopes, rates = np.zeros((len(close), len(values))), values[close]
    for m in range(len(close)):
        for p in range(len(arms)):
            for k in range(len(values)):
                slopes[m, k] += steps[p, close[m]] * arms[p, k]
        for k in range(len(values)):
            slopes[m, k] = 0.5 * slopes[m, k] * slopes[m, k]
    return slopes, rates


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
