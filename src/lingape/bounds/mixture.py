"""Our default bound: a mixture over prior scales, around plain least squares.

docs/bounds.md has the proof. In short: for any fixed Λ ≻ 0, scales λ_j and weights w_j summing
to 1, a Gaussian mixture of exponential supermartingales and Ville's inequality give, with
probability at least 1 - δ, for all times, all directions y and all j at once,

    |yᵀ(θ̂ - θ)| ≤ R √( 2 ℓ_j (‖y‖²_{V⁻¹} + λ_j ‖V⁻¹y‖²_Λ) ),
    ℓ_j = log(1/(w_j δ)) + ½ log det(I + Λ⁻¹V/λ_j).

No bound on ‖θ‖, no count of arms, no ridge. Λ is the moment matrix of the G-optimal design, which
makes the bound the same in every linear reparametrisation of the features; the estimate works in
coordinates where Λ = I.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import FloatArray
from ..designs import g_optimal
from ..errors import InvalidBound
from ..least_squares import LeastSquares
from ..problem import Problem
from .base import ADAPTIVE_ASSUMPTION, AdaptiveBound, no_ridge, noise_assumption

# Validity does not depend on the design being optimal, and width hardly does.
DESIGN_TOLERANCE = 0.05
# Up to this many arms all scales are tried at once; above, only those that can be best.
FEW = 100


@dataclass(frozen=True)
class Mixture(AdaptiveBound):
    """Widths from the best of several prior scales 1, base, base², …, equally weighted.

    scales: how many.
    base: how far apart. The choice is flat: 16 with 8 scales covers runs up to 10^9 pulls
        without a gap, and the bound stays valid beyond.
    """

    scales: int = 8
    base: float = 16.0

    def __post_init__(self) -> None:
        if not isinstance(self.scales, int) or self.scales < 1:
            raise InvalidBound(f"scales of Mixture must be a whole number from 1; got {self.scales!r}.")
        if not 1 < self.base < math.inf or self.base ** (self.scales - 1) > 1e100:
            raise InvalidBound(
                "base of Mixture must be above 1, with base^(scales - 1) at most 1e100; "
                f"got base={self.base!r}, scales={self.scales!r}. The default is 16."
            )

    @cached_property
    def grid(self) -> FloatArray:
        """Return the prior scales λ_j."""
        return self.base ** np.arange(self.scales, dtype=np.float64)

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        no_ridge(ridge, "Mixture")
        basis = problem.orthonormal
        p = g_optimal(basis, tolerance=DESIGN_TOLERANCE).proportions
        root = np.linalg.cholesky((basis.T * p) @ basis)
        whitened = np.ascontiguousarray(np.linalg.solve(root, basis.T).T)  # here Λ = I
        return LeastSquares(whitened, sensitivities=True)

    def nats(self, problem: Problem, estimate: LeastSquares) -> FloatArray:
        """Return ℓ_j for each scale, never too small."""
        return math.log(self.scales / problem.delta) + 0.5 * estimate.log_det_ratios(self.grid)

    def widths(self, problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
        variance, sensitivity = estimate.contrasts(leader)
        assert sensitivity is not None  # `estimate` asked for it
        nats, grid = self.nats(problem, estimate), self.grid
        if len(variance) <= FEW:
            squares = (nats[:, None] * (variance + grid[:, None] * sensitivity)).min(axis=0)
        else:
            squares = np.full_like(variance, np.inf)
            for j in _contenders(nats, grid, estimate):
                level = sensitivity * grid[j]
                level += variance
                level *= nats[j]
                np.minimum(squares, level, out=squares)
        squares *= 2.0 * problem.noise_scale**2
        return np.sqrt(squares, out=squares)

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (noise_assumption(problem), ADAPTIVE_ASSUMPTION)


def _contenders(nats: FloatArray, grid: FloatArray, estimate: LeastSquares) -> range:
    """Return the scales among which every direction finds its best.

    The best scale depends on ‖V⁻¹y‖²/‖y‖²_{V⁻¹} alone and moves one way with it, and that ratio
    lies between the inverses of the largest and the smallest eigenvalue of V.
    """
    smallest, largest = estimate.spectrum[0], estimate.spectrum[-1] * math.exp(estimate.growth)
    first = int((nats * (smallest + grid)).argmin())
    last = int((nats * (largest + grid)).argmin())
    return range(first, last + 1)
