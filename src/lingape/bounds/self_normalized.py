"""The paper's bound: Abbasi-Yadkori, Pál and Szepesvári's self-normalised ellipsoid."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..certificate import TELLING_ASSUMPTION, norm_assumption
from ..kernels.book import GROWTH, LOG_DET, Arena, Book, Stage
from ..kernels.functions import on_gpu
from ..kernels.parts import radius
from ..least_squares import LeastSquares
from ..problem import Problem
from .base import (
    Bound,
    Comparisons,
    NormWidths,
    checked_comparisons,
    comparison_count,
    norm_bound_of,
    ridge_of,
)


@dataclass(frozen=True)
class SelfNormalized(NormWidths, Bound):
    """Widths ‖y‖·C_t with C_t from the determinant, equation (3) of Xu et al. (2018).

    C_t = R √(2 log(κ det(A)^½ det(λI)^-½ / δ)) + √λ S, around the ridge estimate: the ellipsoid of
    Abbasi-Yadkori, Pál and Szepesvári (2011).

    comparisons: κ. The ellipsoid holds for all directions at once, so 1, as printed in (3), is
        enough; "K^2" is what the paper's appendix and its authors' code use.

    >>> from lingape import LinGapE, Problem, SelfNormalized
    >>> problem = Problem([[1, 0], [0, 1]], noise=0.1, norm_bound=1.0)
    >>> explorer = LinGapE(problem, bound=SelfNormalized(), ridge=1.0)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend(), explorer.counts.tolist()
    (0, [5, 4])
    """

    comparisons: Comparisons = 1
    adaptive: ClassVar[bool] = True
    shortlists: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_comparisons(self.comparisons, type(self).__name__)

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        norm_bound_of(problem, type(self).__name__)
        ridge = ridge_of(ridge, 1.0, type(self).__name__)
        return LeastSquares(problem.coordinates, ridge=ridge, twins=problem.twins)

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        """Return C_t for a `problem` and an `estimate`."""
        kappa = comparison_count(self.comparisons, problem)
        growth = estimate.log_det - len(estimate.spectrum) * math.log(estimate.ridge)
        s = norm_bound_of(problem, "SelfNormalized")
        nats = math.log(kappa / problem.delta) + 0.5 * growth
        return problem.noise_scale * math.sqrt(2 * nats) + math.sqrt(estimate.ridge) * s  # (3)

    def kernel(self, stage: Stage) -> Any:
        """Return this bound for the compiled lane, as a run begins at `stage`."""
        kappa, ridge = comparison_count(self.comparisons, stage.problem), stage.estimate.ridge
        return SelfNormalizedKernel(
            nats=2.0 * math.log(kappa / stage.problem.delta),
            log_prior=stage.estimate.features.shape[1] * math.log(ridge),
            bias=math.sqrt(ridge) * norm_bound_of(stage.problem, "SelfNormalized"),
        )

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return problem.noise.assumption(), norm_assumption(problem), TELLING_ASSUMPTION

    def caveat(self, problem: Problem, ridge: float) -> str:
        return ""  # proven


@on_gpu()
class SelfNormalizedKernel(NamedTuple):
    nats: float  # 2 log(κ/δ)
    log_prior: float  # log det λI
    bias: float  # √λ S


@radius.of(SelfNormalizedKernel)
def _(bound: SelfNormalizedKernel, arena: Arena, book: Book) -> float:
    nats = bound.nats + book.gauge[LOG_DET] + book.gauge[GROWTH] - bound.log_prior
    return arena.noise_scale * math.sqrt(nats) + bound.bias  # (3)
