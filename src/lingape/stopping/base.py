"""What every stopping rule has."""

from typing import Any, Protocol

import numpy as np

from ..arrays import FloatArray
from ..bounds import Mixture
from ..bounds.mixture import NEAR
from ..contests.base import Contest, Contests, Unasked
from ..least_squares import LeastSquares
from ..problem import Problem


class StoppingRule(Protocol):
    """Decides when the question is answered. Only `judge` changes what it keeps."""

    @property
    def unasked(self) -> Unasked:
        """For some leaders, the rivals that need not be asked about any more."""
        ...

    def judge(
        self, contests: Contests, estimate: LeastSquares, contest: Contest
    ) -> tuple[Contest, bool]:
        """Return the closest contest, and whether it settles the question."""
        ...

    def kept(self) -> Any:
        """Return what it keeps, as JSON-able data."""
        ...

    def restore(self, kept: Any, problem: Problem) -> None:
        """Take over what `kept` returned; ValueError, TypeError or KeyError if it is damaged."""
        ...


def refine(contests: Contests, estimate: LeastSquares, leader: int, margins: FloatArray) -> bool:
    """Shorten the margins of all rivals (those above -∞) if that settles it, or none."""
    bound, problem = contests.bound, contests.problem
    if not isinstance(bound, Mixture) or not bound.refined or not estimate.fresh:
        return False
    rivals, means = np.flatnonzero(margins > -np.inf), contests.means(estimate)
    widths = bound.settling_widths(problem, estimate, leader, rivals, means)
    if widths is not None:
        margins[rivals] = means[rivals] + widths - means[leader]
    return widths is not None


def near(bound: Any) -> float:
    """Return by how much refined widths may be shorter, or 0 if there are none."""
    return NEAR if isinstance(bound, Mixture) and bound.refined else 0.0
