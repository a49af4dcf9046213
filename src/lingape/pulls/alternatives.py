"""The closest alternatives to the estimate, for rules that pull against them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..kernels.stage import Stage
from ..least_squares import LeastSquares
from ..problem import Problem


def scaled_gaps(problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
    """Return what each arm lacks to being better than the leader by ε, in units of the noise."""
    gaps: FloatArray = estimate.means[leader] - estimate.means + problem.epsilon
    gaps /= problem.noise_scale
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


def sides_of(stage: Stage) -> Any:
    """Return what kernels that look for alternatives take for granted."""
    from ..kernels.pulls.lin_game import Sides

    problem = stage.problem
    return Sides(np.array(problem.orthonormal.T, order="C"), stage.dropped, problem.epsilon)
