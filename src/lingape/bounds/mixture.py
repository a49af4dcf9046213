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
from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..designs import g_optimal
from ..errors import InvalidBound
from ..kernels.stage import Stage
from ..least_squares import LeastSquares
from ..problem import Problem, as_float
from .base import TELLING_ASSUMPTION, AdaptiveBound, no_ridge, noise_assumption

# Validity does not depend on the design being optimal, and width hardly does.
DESIGN_TOLERANCE = 0.05
# Up to this many arms all scales are tried at once; above, only those that can be best.
FEW = 100
# Refinement has never been seen to shorten a width by more than this; trying costs time.
NEAR = 0.8
# Half steps towards the best weights on the scales; the rest gains less than 0.1 %.
ROUNDS = 40


@dataclass(frozen=True)
class Mixture(AdaptiveBound):
    """Widths from the best of several prior scales 1, base, base², …, equally weighted.

    scales: how many.
    base: how far apart. The choice is flat: 16 with 8 scales covers runs up to 10^9 pulls
        without a gap, and the bound stays valid beyond.
    refined: when the end is near, and the caches are fresh, weigh the scales against each other
        instead of taking the best one (docs/bounds.md). Stops up to a tenth earlier where two
        arms nearly tie.
    """

    scales: int = 8
    base: float = 16.0
    refined: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.scales, Integral) or self.scales < 1:
            raise InvalidBound(
                f"scales of Mixture must be a whole number from 1; got {self.scales!r}."
            )
        base = as_float(self.base)
        if not 1 < base < math.inf or (self.scales - 1) * math.log(base) > math.log(1e100):
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
        whitened = np.linalg.solve(root, basis.T).T[problem.twins]  # here Λ = I
        features = np.ascontiguousarray(whitened)
        return LeastSquares(features, sensitivities=True, twins=problem.twins)

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
        widths: FloatArray = np.sqrt(squares, out=squares)
        return widths

    def settling_widths(
        self,
        problem: Problem,
        estimate: LeastSquares,
        leader: int,
        rivals: IntArray,
        means: FloatArray,
    ) -> FloatArray | None:
        """Return refined widths of the leader's gaps to `rivals` if these settle every contest.

        All or nothing, so that refinement decides when to stop and never what to pull. For fresh
        caches; None as well unless `refined`.

        means: by which all arms are judged.
        """
        if not self.refined:
            return None
        gaps = means[rivals] - means[leader]
        widths = self.widths(problem, estimate, leader)[rivals]
        if (gaps + NEAR * widths > problem.epsilon).any():
            return None
        long = gaps + widths > problem.epsilon
        directions = estimate.features[rivals[long]] - estimate.features[leader]
        widths[long] = self._weighted_widths(problem, estimate, directions)
        return widths if (gaps + widths <= problem.epsilon).all() else None

    def _weighted_widths(
        self, problem: Problem, estimate: LeastSquares, directions: FloatArray
    ) -> FloatArray:
        """Return widths from weights p on the scales, fitted to each direction.

        On the event of Ville's inequality, for every p at once (Jensen's inequality),

            (yᵀ(θ̂ - θ))² ≤ 2R² yᵀV⁻¹ (Σ_j p_j (V + λ_jI)⁻¹)⁻¹ V⁻¹y
                               · (log(1/δ) + Σ_j p_j (½ log det(I + V/λ_j) + log(p_j/w_j))),

        so whatever p the iteration below finds gives a valid width; a fixed point of it is the
        best one. All its weight on one scale is the unrefined bound.
        """
        features, grid, r = estimate.features, self.grid, problem.noise_scale
        v, basis = np.linalg.eigh((features.T * estimate.counts) @ features)
        squares = ((directions @ basis) / v) ** 2  # of V⁻¹y in the eigenvectors of V
        inverses = 1.0 / (v[:, None] + grid)  # (d, J) eigenvalues of (V + λ_jI)⁻¹
        half_log_dets = 0.5 * np.log1p(v[:, None] / grid).sum(axis=0)
        p = np.full((len(directions), len(grid)), 1.0 / len(grid))
        best = np.full(len(directions), np.inf)
        for _ in range(ROUNDS):
            mean_inverse = p @ inverses.T  # (n, d)
            length = (squares / mean_inverse).sum(axis=1)
            divergence = (p * (half_log_dets + np.log(p * len(grid)))).sum(axis=1)
            width_squared = 2.0 * r**2 * length * (math.log(1 / problem.delta) + divergence)
            best = np.minimum(best, width_squared)
            # The noise that is just not excluded, and the weight that each scale gives it.
            worst = (width_squared / length**2)[:, None] * squares / mean_inverse**2
            log_weights = worst @ inverses / (2.0 * r**2) - half_log_dets
            weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            p = 0.5 * p + 0.5 * weights
        return np.asarray(np.sqrt(best))

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.bounds.mixture import new_mixture

        log_count = math.log(self.scales / stage.problem.delta)
        return new_mixture(log_count, self.grid, stage.book.cross.shape)

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (noise_assumption(problem), TELLING_ASSUMPTION)


def _contenders(nats: FloatArray, grid: FloatArray, estimate: LeastSquares) -> range:
    """Return the scales among which every direction finds its best.

    The best scale depends on ‖V⁻¹y‖²/‖y‖²_{V⁻¹} alone and moves one way with it, and that ratio
    lies between the inverses of the largest and the smallest eigenvalue of V.
    """
    smallest, largest = estimate.spectrum[0], estimate.spectrum[-1] * math.exp(estimate.growth)
    first = int((nats * (smallest + grid)).argmin())
    last = int((nats * (largest + grid)).argmin())
    return range(first, last + 1)


def near(bound: object) -> float:
    """Return by how much refined widths may be shorter, or 0 if the bound has none."""
    return NEAR if isinstance(bound, Mixture) and bound.refined else 0.0


def refine(
    bound: object,
    problem: Problem,
    estimate: LeastSquares,
    leader: int,
    means: FloatArray,
    margins: FloatArray,
) -> bool:
    """Shorten the margins of all rivals (those above -∞) if that settles it, or none."""
    if not isinstance(bound, Mixture) or not bound.refined or not estimate.fresh:
        return False
    rivals = np.flatnonzero(margins > -np.inf)
    widths = bound.settling_widths(problem, estimate, leader, rivals, means)
    if widths is not None:
        margins[rivals] = means[rivals] + widths - means[leader]
    return widths is not None
