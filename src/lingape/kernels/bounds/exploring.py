"""The kernels of the radii that explorers with a budget explore by (bounds/exploring.py)."""

import math
from typing import NamedTuple

from ...arrays import FloatArray, IntArray
from ..book import Arena, Book
from ..compiling import compiled
from .base import radius


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
