"""The threshold that experiments in the literature stop by, and that nobody has proven."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..certificate import TELLING_ASSUMPTION
from ..kernels.book import PULLS, Arena, Book, Stage
from ..kernels.functions import on_gpu
from ..kernels.parts import radius
from ..least_squares import LeastSquares
from ..problem import Problem
from .base import Bound, NormWidths, no_ridge


@dataclass(frozen=True)
class Stylised(NormWidths, Bound):
    """Widths R ‖y‖ √(2 log((1 + log n)/δ)) after n pulls: a rule of thumb, without a proof.

    Garivier and Kaufmann (2016) suggest log((1 + log t)/δ) in place of the thresholds that their
    theory supports, and papers since report sample counts with it. It pays for all times by a
    double logarithm, as the law of the iterated logarithm would have it for one comparison, but
    neither for the number of comparisons nor for the dimension. Where arms tie it errs far more
    often than δ: docs/bounds.md has the numbers.

    For comparing with published figures. Certificates by it say that nothing is guaranteed.

    >>> from lingape import LinGapE, Problem, Stylised
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=0.1), bound=Stylised())
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.certificate().proven, explorer.certificate().caveat
    (False, 'Stylised() is a rule of thumb without a proof. The mixture bound has one.')
    """

    adaptive: ClassVar[bool] = True
    shortlists: ClassVar[bool] = True

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        no_ridge(ridge, "Stylised")
        # Plain least squares is the same in any basis.
        return LeastSquares(problem.orthonormal, twins=problem.twins)

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        nats = math.log((1.0 + math.log(estimate.pulls)) / problem.delta)
        return problem.noise_scale * math.sqrt(2.0 * nats)

    def kernel(self, stage: Stage) -> "StylisedKernel":
        """Return this bound for the compiled lane, as a run begins at `stage`."""
        return StylisedKernel(-math.log(stage.problem.delta))

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (
            problem.noise.assumption(),
            "Intervals this short are right as often as they should be. That is not proven, and "
            "false where arms tie.",
            TELLING_ASSUMPTION,
        )

    def caveat(self, problem: Problem, ridge: float) -> str:
        return f"{self} is a rule of thumb without a proof. The mixture bound has one."


@on_gpu()
class StylisedKernel(NamedTuple):
    nats: float  # log(1/δ)


@radius.of(StylisedKernel)
def _(bound: StylisedKernel, arena: Arena, book: Book) -> float:
    nats = bound.nats + math.log(1.0 + math.log(float(book.clock[PULLS])))
    return arena.noise_scale * math.sqrt(2.0 * nats)
