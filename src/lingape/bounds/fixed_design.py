"""The bound of Soare et al. for pulls fixed before any reward is seen."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from ..errors import InvalidBound
from ..kernels.book import PULLS, Arena, Book, Stage
from ..kernels.functions import on_gpu
from ..kernels.parts import radius
from ..least_squares import LeastSquares
from ..printable import stated
from ..problem import Problem
from .base import (
    Bound,
    Comparisons,
    NormWidths,
    checked_comparisons,
    comparison_count,
    no_ridge,
    ridge_of,
)

# Also rewards that were told must not say which comes next: that would be an adaptive design.
FIXED_ASSUMPTIONS = (
    stated(
        "The order of the pulls was decided before the first reward came in.",
        "which arm is pulled at which time was fixed before any reward was seen.",
    ),
    stated(
        "Rewards are reported in an order that has nothing to do with how high they are.",
        "which rewards are told, and when, does not depend on rewards.",
    ),
)


@dataclass(frozen=True)
class FixedDesign(NormWidths, Bound):
    """Widths around plain least squares that hold at all n, for pulls fixed in advance.

    Proposition 1 of Xu et al. (2018), after Soare et al. (2014). For a fixed design the estimated
    gap is sub-Gaussian with scale R‖y‖, and shares 6/(π²n²) of δ pay for all times n.

    constants: "corrected" for R ‖y‖ √(2 log(π² n² κ / 6δ)). For published figures, "printed" for
        2R ‖y‖ √(2 log(6 n² κ / π²δ)), with the constant inverted and a factor 2 that costs four
        times the samples, and "halved" for the same without that factor.
    comparisons: κ, how many one-sided comparisons. "K-1" covers those with the best arm, on which
        alone a claim about it rests (docs/bounds.md); "K^2", which published figures have, every
        ordered pair.

    For published figures it also takes settings that are not proven to hold: a ridge, whose bias
    it ignores, and few comparisons. Certificates then say so (`caveat`).

    >>> from lingape import FixedDesign, Problem, XYStatic
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> XYStatic(problem, bound=FixedDesign()).certificate().proven
    True
    >>> as_published = FixedDesign("printed", comparisons="K^2")
    >>> XYStatic(problem, bound=as_published, ridge=1.0).certificate().proven
    False
    """

    constants: Literal["corrected", "printed", "halved"] = "corrected"
    comparisons: Comparisons = "K-1"
    adaptive: ClassVar[bool] = False
    shortlists: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_comparisons(self.comparisons, "FixedDesign")
        if self.constants not in ("corrected", "printed", "halved"):
            raise InvalidBound(
                'constants of FixedDesign must be "corrected", "printed" or "halved"; '
                f"got {self.constants!r}."
            )

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        if self.constants != "corrected" and ridge:  # as in published experiments
            ridge = ridge_of(ridge, 0.0, "FixedDesign")
            return LeastSquares(problem.coordinates, ridge=ridge, twins=problem.twins)
        no_ridge(ridge, 'FixedDesign(constants="corrected")')
        # Plain least squares is the same in any basis.
        return LeastSquares(problem.orthonormal, twins=problem.twins)

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        n = estimate.pulls
        kappa = comparison_count(self.comparisons, problem)
        if self.constants != "corrected":
            nats = max(0.0, math.log(6 * n**2 * kappa / (math.pi**2 * problem.delta)))
            factor = 2 if self.constants == "printed" else 1
            return factor * problem.noise_scale * math.sqrt(2 * nats)  # (2)
        nats = math.log(math.pi**2 * n**2 * kappa / (6 * problem.delta))
        return problem.noise_scale * math.sqrt(2 * nats)

    def kernel(self, stage: Stage) -> "FixedDesignKernel":
        """Return this bound for the compiled lane, as a run begins at `stage`."""
        kappa = comparison_count(self.comparisons, stage.problem)
        share = math.pi**2 / 6 if self.constants == "corrected" else 6 / math.pi**2
        nats = math.log(share * kappa / stage.problem.delta)
        return FixedDesignKernel(nats, 8.0 if self.constants == "printed" else 2.0)

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (problem.noise.assumption(), *FIXED_ASSUMPTIONS)

    def caveat(self, problem: Problem, ridge: float) -> str:
        if ridge > 0:
            return (
                f"{self} ignores the bias that a ridge of {ridge:g} brings. Leave the ridge out, "
                "or use the mixture bound."
            )
        if self._error(problem) > problem.delta:
            return (
                f"{self} covers too few comparisons for {len(problem)} arms. "
                'comparisons="K^2" is always enough.'
            )
        return ""

    def _error(self, problem: Problem) -> float:
        """Return how probable it is at most that a claim is false, by the union bound.

        A false claim takes the best arm to be worse than another one, at some n, than it is by
        more than the width. These are K - 1 comparisons, one side of each, and at n each errs
        with probability exp(-nats), exp(-4 nats) with the printed factor 2.
        """
        share = problem.delta / comparison_count(self.comparisons, problem)
        if self.constants == "corrected":
            return (len(problem) - 1) * share  # Σ_n 6/(π²n²) = 1
        share *= math.pi**2 / 6  # at n = 1; it falls with n²
        if self.constants == "halved":
            return (len(problem) - 1) * share * math.pi**2 / 6  # Σ_n n⁻²
        return (len(problem) - 1) * share**4 * math.pi**8 / 9450  # Σ_n n⁻⁸


@on_gpu()
class FixedDesignKernel(NamedTuple):
    nats: float  # log(share·κ/δ)
    twice: float  # 2, or 2·4 with the printed factor 2


@radius.of(FixedDesignKernel)
def _(bound: FixedDesignKernel, arena: Arena, book: Book) -> float:
    nats = max(0.0, bound.nats + 2.0 * math.log(float(book.clock[PULLS])))
    return arena.noise_scale * math.sqrt(bound.twice * nats)  # (2)
