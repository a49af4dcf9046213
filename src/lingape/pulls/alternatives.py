"""The closest alternatives to the estimate, for rules that pull against them."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..kernels.book import Stage
from ..kernels.functions import compiled
from ..problem import Problem


@compiled
def scaled_gaps(means: FloatArray, epsilon: float, noise_scale: float, leader: int) -> FloatArray:
    """Return what each arm would have to gain to beat the leader by ε, in units of the noise."""
    gaps: FloatArray = (means[leader] - means + epsilon) / noise_scale
    return gaps


def rivals_of(problem: Problem, leader: int, beaten: Iterable[int]) -> BoolArray:
    """Return which arms may be better than the leader: not its duplicates, not those beaten."""
    rivals: BoolArray = problem.twins != problem.twins[leader]
    rivals[list(beaten)] = False
    return rivals


class Alternatives(NamedTuple):
    """The closest alternatives to the estimate: for each rival j of the leader i the λ with

        λ = θ̂ - V_w⁻¹y (yᵀθ̂ + ε)/‖y‖²,  y = x_i - x_j,  norms those of V_w⁻¹,

    in which j is better by ε, and which pulls in proportions w tell from θ̂ least.
    """

    values: FloatArray  # (K,) ½‖θ̂ - λ_j‖² in the norm of V_w; infinite for non-rivals
    steps: FloatArray  # (K, d) θ̂ - λ_j in coordinates where V_w = I
    arms: FloatArray  # (K, d) the arms in these

    def shifts(self, rival: int) -> FloatArray:
        """Return xᵀ(θ̂ - λ) for each arm: by how much the alternative changes its mean."""
        return np.asarray(self.arms @ self.steps[rival])


def alternatives(
    basis: FloatArray, weights: FloatArray, gaps: FloatArray, leader: int, rivals: BoolArray
) -> Alternatives:
    """Return the closest alternatives under `weights`, from arms in orthonormal coordinates.

    There V_w is as well conditioned as the weights are even, whatever the features are.
    """
    root = np.linalg.inv(np.linalg.cholesky((basis.T * weights) @ basis)).T
    y = (basis[leader] - basis) @ root
    lengths = np.where(rivals, np.einsum("kd,kd->k", y, y), 1.0)
    values = np.where(rivals, 0.5 * gaps * gaps / lengths, np.inf)
    return Alternatives(values, y * (gaps / lengths)[:, None], basis @ root)


class Sides(NamedTuple):
    """Constants of rules that look for the closest alternative."""

    columns: FloatArray  # (d, K) the arms in orthonormal coordinates
    dropped: FloatArray  # (K, K) finite where a rival is not to be asked about; or empty
    epsilon: float


def sides_of(stage: Stage) -> Sides:
    problem = stage.problem
    return Sides(np.array(problem.orthonormal.T, order="C"), stage.dropped, problem.epsilon)


@compiled
def compiled_rivals(sides: Sides, twins: IntArray, leader: int) -> BoolArray:
    """Return which arms may be better than the leader."""
    rivals = np.empty(len(twins), dtype=np.bool_)
    for k in range(len(twins)):
        rivals[k] = twins[k] != twins[leader]
        if len(sides.dropped) and sides.dropped[leader, k] < math.inf:
            rivals[k] = False
    return rivals


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
def compiled_alternatives(
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
def compiled_shifts(steps: FloatArray, arms: FloatArray, rival: int) -> FloatArray:
    """Return by how much the alternative changes the mean of each arm."""
    d, count = arms.shape
    out = np.zeros(count)
    for p in range(d):
        for k in range(count):
            out[k] += arms[p, k] * steps[p, rival]
    return out


@compiled
def compiled_first_max(values: FloatArray, slack: float) -> int:
    """Return the first position whose value is within `slack` of the largest."""
    least = values.max() - slack
    k = 0
    while values[k] < least:
        k += 1
    return k
