"""What every stopping rule has."""

from typing import Any, Protocol

from ..contests.base import Contest, Contests, Unasked
from ..least_squares import LeastSquares


class StoppingRule(Protocol):
    """Decides when the question is answered. Only `judge` and `restore` change what it keeps.

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import ByGap
    >>> from lingape.stopping import Margin
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> contests, rule = ByGap(problem, Mixture()), Margin(problem)
    >>> estimate = contests.bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([80.0, 0.0]))
    >>> _, settled = rule.judge(contests, estimate, contests.closest(estimate, rule.unasked))
    >>> settled
    True
    """

    @property
    def unasked(self) -> Unasked:
        """For some leaders, the rivals that no longer need to be compared with them."""
        ...

    def judge(
        self, contests: Contests, estimate: LeastSquares, contest: Contest
    ) -> tuple[Contest, bool]:
        """Return the closest contest, and whether it settles the question.

        contests: how arms are compared.
        estimate: of all means; it may be rebuilt.
        contest: the closest by `contests`.
        """
        ...

    def kept(self) -> Any:
        """Return what it keeps, as JSON-able data."""
        ...

    def restore(self, kept: Any) -> None:
        """Take over what `kept` returned; ValueError, TypeError or KeyError if it is damaged."""
        ...
