"""What every way to choose the closest contest has."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound
from ..least_squares import LeastSquares
from ..problem import Problem

# For some leaders, the rivals that no longer need to be compared with them.
Unasked: TypeAlias = Mapping[int, Collection[int]]


class Contest(NamedTuple):
    """The two arms whose comparison decides the answer.

    leader: i_t, the arm with the largest estimated mean.
    rival: j_t, the arm that may still beat it by most.
    margin: B(t), by how much at most.
    """

    leader: int
    rival: int
    margin: float


class Contests:
    """Chooses the closest contest. A subclass is a frozen dataclass with at least these fields."""

    problem: Problem
    bound: Any

    def closest(self, estimate: LeastSquares, unasked: Unasked) -> Contest:
        """Return the closest contest."""
        raise NotImplementedError

    def margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        """Return by how much each rival may be better than the leader, and the widths in it.

        Non-rivals have a margin of -∞.
        """
        raise NotImplementedError

    def half_widths(self, estimate: LeastSquares, leader: int) -> FloatArray:
        """Return how wrong each arm's estimated gap to the leader can be.

        The highest upper end but the leader's is B(t). A duplicate of the leader has a gap that is
        known.
        """
        _, widths = self.margins(estimate, leader)
        return np.where(estimate.twins == estimate.twins[leader], 0.0, widths)

    def leaders(self, estimate: LeastSquares, contest: Contest) -> list[int]:
        """Return the answers so far, best first; `contest` is the closest."""
        raise NotImplementedError

    def means(self, estimate: LeastSquares) -> FloatArray:
        """Return the means by which arms are compared."""
        return estimate.means


class Radius(Protocol):
    """How far intervals reach, in norms of A⁻¹; of a bound, or to explore by."""

    def radius(self, problem: Problem, estimate: LeastSquares) -> float: ...


class RadiusBound(Bound, Radius, Protocol):
    """A bound whose widths are norms times one radius."""
