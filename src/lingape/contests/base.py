"""What every way to choose the closest contest has."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound
from ..least_squares import LeastSquares
from ..problem import Problem

#: For some leaders, the rivals that no longer need to be compared with them.
Unasked: TypeAlias = Mapping[int, Collection[int]]


class Contest(NamedTuple):
    """The two arms whose comparison decides the answer.

    leader: i_t, the arm with the largest estimated mean.
    rival: j_t, the arm that may still beat it by most.
    margin: B(t), by how much at most.

    >>> from lingape import LinGapE, Problem
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=0.1))
    >>> explorer.tell_many([0, 1], [0.3, 0.0])
    >>> leader, rival, margin = explorer.contest
    >>> leader, rival, round(margin, 2)
    (0, 1, 0.31)
    """

    leader: int
    rival: int
    margin: float


class Contests:
    """Chooses the closest contest. A subclass is a frozen dataclass with at least these fields.

    Its `problem` says what counts as an answer, and its `bound` how wrong estimates can be.

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import ByGap
    >>> contests = ByGap(Problem([[1, 0], [0, 1]], noise=1.0), Mixture())
    >>> estimate = contests.bound.estimate(contests.problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    >>> contests.leaders(estimate, contests.closest(estimate, unasked={}))
    [0]
    """

    problem: Problem
    bound: Any

    def closest(self, estimate: LeastSquares, unasked: Unasked) -> Contest:
        """Return the closest contest.

        estimate: of all means, with data enough for one.
        unasked: for some leaders, rivals that are not to be compared with them.
        """
        raise NotImplementedError

    def margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        """Return by how much each rival may be better than the leader, and the widths in it.

        Non-rivals have a margin of -∞.

        estimate: as for `closest`.
        """
        raise NotImplementedError

    def half_widths(self, estimate: LeastSquares, leader: int) -> FloatArray:
        """Return how wrong each arm's estimated gap to the leader can be.

        The highest upper end but the leader's is B(t). A duplicate of the leader has a gap that is
        known.

        estimate: as for `closest`.
        """
        _, widths = self.margins(estimate, leader)
        return np.where(estimate.twins == estimate.twins[leader], 0.0, widths)

    def leaders(self, estimate: LeastSquares, contest: Contest) -> list[int]:
        """Return the answers so far, best first; `contest` is the closest.

        estimate: as for `closest`.
        """
        raise NotImplementedError

    def means(self, estimate: LeastSquares) -> FloatArray:
        """Return the means by which arms are compared, by default the `estimate`'s."""
        return estimate.means


class Radius(Protocol):
    """How far intervals reach, in norms of A⁻¹; of a bound, or to explore by."""

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        """Return the half-width of an interval, per unit of its direction's norm.

        problem: with the scale of the noise, and δ.
        estimate: of all means, with data.
        """
        ...


class RadiusBound(Bound, Radius, Protocol):
    """A bound whose widths are norms times one radius.

    >>> import numpy as np
    >>> from lingape import Problem, SelfNormalized
    >>> problem, bound = Problem([[1, 0], [0, 1]], noise=1.0, norm_bound=1.0), SelfNormalized()
    >>> estimate = bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    >>> round(bound.radius(problem, estimate), 3)
    4.902
    """
