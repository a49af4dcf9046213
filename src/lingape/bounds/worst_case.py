"""The closed form that the paper's bound never exceeds, with its factor √d."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..kernels.book import PULLS, Arena, Book, Stage
from ..kernels.functions import on_gpu
from ..kernels.parts import radius
from ..least_squares import LeastSquares
from ..problem import Problem
from .base import comparison_count, norm_bound_of
from .self_normalized import SelfNormalized


@dataclass(frozen=True)
class WorstCase(SelfNormalized):
    """Widths ‖y‖·(R√(d log(κ(1 + tL²/λ)/δ)) + √λ S), equation (4) of Xu et al. (2018).

    Valid, and far wider than SelfNormalized: kept for comparison. In one dimension, where (4) as
    printed is not valid, d counts as 2.

    comparisons: κ, as in SelfNormalized.

    >>> import numpy as np
    >>> from lingape import Problem, SelfNormalized, WorstCase
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0, norm_bound=1.0)
    >>> for bound in (WorstCase(), SelfNormalized()):
    ...     estimate = bound.estimate(problem)
    ...     estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    ...     print(bound, bound.widths(problem, estimate, leader=0).round(3).tolist())
    WorstCase(comparisons=1) [0.0, 0.714]
    SelfNormalized(comparisons=1) [0.0, 0.69]
    """

    shortlists: ClassVar[bool] = True

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        """Return the right-hand side of (4) for a `problem` and an `estimate`."""
        features = estimate.features
        longest = float(np.einsum("kd,kd->k", features, features).max())  # L²
        kappa = comparison_count(self.comparisons, problem)
        s = norm_bound_of(problem, "WorstCase")
        nats = math.log(kappa * (1 + estimate.pulls * longest / estimate.ridge) / problem.delta)
        d = max(2, features.shape[1])  # in one dimension (4) is less than (3), and not valid
        return problem.noise_scale * math.sqrt(d * nats) + math.sqrt(estimate.ridge) * s  # (4)

    def kernel(self, stage: Stage) -> Any:
        """Return this bound for the compiled lane, as a run begins at `stage`."""
        features, ridge = stage.estimate.features, stage.estimate.ridge
        return WorstCaseKernel(
            nats=math.log(comparison_count(self.comparisons, stage.problem) / stage.problem.delta),
            bias=math.sqrt(ridge) * norm_bound_of(stage.problem, "WorstCase"),
            longest=float(np.einsum("kd,kd->k", features, features).max()) / ridge,
        )


@on_gpu()
class WorstCaseKernel(NamedTuple):
    nats: float  # log(κ/δ)
    bias: float  # √λ S
    longest: float  # L²/λ


@radius.of(WorstCaseKernel)
def _(bound: WorstCaseKernel, arena: Arena, book: Book) -> float:
    nats = bound.nats + math.log(1.0 + book.clock[PULLS] * bound.longest)
    return arena.noise_scale * math.sqrt(max(2, len(book.h)) * nats) + bound.bias  # (4)
