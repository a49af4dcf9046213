"""Intervals on each arm alone, as if features meant nothing: the bound of UGapE."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..certificate import TELLING_ASSUMPTION
from ..errors import InvalidBound
from ..kernels.book import PULLS, Arena, Book, Stage
from ..kernels.functions import on_gpu
from ..kernels.parts import radius, write_ends
from ..kernels.teams import begin, stride
from ..least_squares import LeastSquares
from ..problem import Problem
from .base import Bound, no_ridge

LARGEST_K = 4_000  # the estimate keeps a K × K matrix


@dataclass(frozen=True)
class Unstructured(Bound):
    """Widths β_i + β_k with β_k = R √(2 log(4K n³/δ) / T_k) after n pulls.

    Gabillon, Ghavamzadeh and Lazaric (2012), for R-sub-Gaussian rewards (theirs have a range
    b = 2R). Hoeffding's inequality for each arm, each count and each time costs at most
    Σ_n K·n·2·δ/(4K n³) < δ.

    >>> import numpy as np
    >>> from lingape import Problem, Unstructured
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> bound = Unstructured()
    >>> estimate = bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    >>> bound.widths(problem, estimate, leader=0).round(3).tolist()
    [0.0, 1.295]
    """

    adaptive: ClassVar[bool] = True

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        no_ridge(ridge, "Unstructured")
        if len(problem) > LARGEST_K:
            raise InvalidBound(
                f"Unstructured takes at most {LARGEST_K} arms; got {len(problem)}. With so many, "
                "use their features: Mixture()."
            )
        if problem.pullable is not None:
            raise InvalidBound(
                "Unstructured learns of an arm from its own pulls alone, so every arm must be one "
                "that can be pulled. Mixture() goes by features."
            )
        # Without features no two arms are known to be the same.
        return LeastSquares(np.eye(len(problem)), twins=np.arange(len(problem)))

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        """Return β_k √T_k for a `problem` and an `estimate`."""
        nats = math.log(4 * len(problem) / problem.delta) + 3 * math.log(estimate.pulls)
        return problem.noise_scale * math.sqrt(2 * nats)

    def widths(self, problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
        own = np.sqrt(estimate.variances) * self.radius(problem, estimate)
        widths: FloatArray = own + own[leader]
        widths[leader] = 0.0
        return widths

    def kernel(self, stage: Stage) -> "UnstructuredKernel":
        """Return this bound for the compiled lane, as a run begins at `stage`."""
        return UnstructuredKernel(math.log(4 * len(stage.problem) / stage.problem.delta))

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (
            problem.noise.assumption(linear=False),
            TELLING_ASSUMPTION,
        )

    def caveat(self, problem: Problem, ridge: float) -> str:
        return ""  # proven


@on_gpu()
class UnstructuredKernel(NamedTuple):
    nats: float  # log(4K/δ)


@radius.of(UnstructuredKernel)
def _(bound: UnstructuredKernel, arena: Arena, book: Book) -> float:
    nats = bound.nats + 3.0 * math.log(float(book.clock[PULLS]))
    return arena.noise_scale * math.sqrt(2.0 * nats)


@write_ends.of(UnstructuredKernel)
def _(
    bound: UnstructuredKernel, book: Book, means: FloatArray, factor: float, leader: int, row: int
) -> None:
    """Add the widths of both arms."""
    scores, variances, team = book.scores, book.variances, book.team
    own = factor * math.sqrt(variances[leader])
    k = begin(team)
    while k < len(scores):
        scores[k] = means[k] + factor * math.sqrt(variances[k]) + own
        k += stride(team)
