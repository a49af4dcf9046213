"""Radii to explore by that bound nothing: rules of thumb for a fixed budget of pulls."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..kernels.book import Arena, Book, Stage
from ..kernels.functions import compiled
from ..kernels.parts import radius
from ..least_squares import LeastSquares
from ..problem import Problem
from .base import NormWidths


@dataclass(frozen=True)
class FixedRadius(NormWidths):
    """Intervals √a‖y‖, or √a‖x‖ for single arms."""

    length: float  # √a

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        return self.length

    def kernel(self, stage: Stage) -> "FixedRadiusKernel":
        return FixedRadiusKernel(self.length)


@dataclass(frozen=True)
class BayesRadius:
    """Rβ of BayesGap, from gaps as large as three deviations allow (explorers/bayes_gap.py)."""

    strength: float  # R²β² H_ε

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        twins, epsilon = estimate.twins, problem.epsilon
        deviations = 3.0 * problem.noise_scale * np.sqrt(estimate.variances)
        upper, lower = estimate.means + deviations, estimate.means - deviations
        gaps = np.maximum(
            best_of_others(upper, twins) - lower, upper - best_of_others(lower, twins)
        )
        h = float((np.maximum(0.5 * (gaps + epsilon), epsilon) ** -2).sum())  # H_ε
        return math.sqrt(self.strength / h)

    def kernel(self, stage: Stage) -> "BayesRadiusKernel":
        count = len(stage.problem)
        return BayesRadiusKernel(
            self.strength, stage.problem.epsilon, np.zeros(count), np.zeros(count)
        )


def best_of_others(values: FloatArray, twins: IntArray) -> FloatArray:
    """Return for each arm the largest value of an arm that is not the same arm."""
    first = int(values.argmax())
    same = twins == twins[first]
    others: FloatArray = np.where(same, values[~same].max(), values[first])
    return others


class FixedRadiusKernel(NamedTuple):
    length: float


class BayesRadiusKernel(NamedTuple):
    strength: float  # R²β² H_ε
    epsilon: float
    upper: FloatArray  # (K,) work
    lower: FloatArray  # (K,) work


@radius.of(FixedRadiusKernel)
def _(bound: FixedRadiusKernel, arena: Arena, book: Book) -> float:
    return bound.length


@radius.of(BayesRadiusKernel)
def _(bound: BayesRadiusKernel, arena: Arena, book: Book) -> float:
    return _bayes_radius(bound, arena.twins, 3.0 * arena.noise_scale, book.means, book.variances)


@compiled
def _bayes_radius(
    bound: BayesRadiusKernel,
    twins: IntArray,
    reach: float,
    means: FloatArray,
    variances: FloatArray,
) -> float:
    upper, lower, epsilon = bound.upper, bound.lower, bound.epsilon
    for k in range(len(upper)):
        deviation = reach * math.sqrt(variances[k])
        upper[k], lower[k] = means[k] + deviation, means[k] - deviation
    first, second = two_best(upper, twins)
    if second < 0:  # all arms are the same arm
        return 0.0
    high, low = two_best(lower, twins)
    h = 0.0
    for k in range(len(upper)):
        above = upper[second] if twins[k] == twins[first] else upper[first]
        below = lower[low] if twins[k] == twins[high] else lower[high]
        gap = max(above - lower[k], upper[k] - below)
        h += max(0.5 * (gap + epsilon), epsilon) ** -2.0
    return math.sqrt(bound.strength / h)


@compiled
def two_best(values: FloatArray, twins: IntArray) -> tuple[int, int]:
    """Return the arm with the largest value, and the best of those that are not the same arm.

    The second is -1 if there is none.
    """
    first, second = 0, -1
    for k in range(1, len(values)):
        if values[k] > values[first]:
            first = k
    for k in range(len(values)):
        if twins[k] != twins[first] and (second < 0 or values[k] > values[second]):
            second = k
    return first, second
