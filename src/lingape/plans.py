"""Pulls fixed in advance: which arm comes next depends on the counts so far and on no reward."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .arrays import FloatArray
from .designs import differences
from .designs.rounding import steepest
from .least_squares import LeastSquares
from .ties import PULL, first_max


class Plan(Protocol):
    def pick(self, estimate: LeastSquares) -> int:
        """Return the arm to pull next."""
        ...

    def started(self, estimate: LeastSquares) -> bool:
        """Whether the pulls that every run begins with are done."""
        ...

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        """Whether the plan has `arm` pulled soon, so that it may be told ahead of its turn."""
        ...


# A pull may be told this many turns early: workers side by side finish in any order.
AHEAD = 100


@dataclass(frozen=True, eq=False)
class Proportions:
    """Pull the arm that is furthest behind its share.

    Every arm's count then stays within one pull of its share, which is an apportionment as good as
    rounding once the number of pulls is known, and needs not know it.

    each_first: pull each arm once before, for designs that do not span.
    """

    shares: FloatArray
    each_first: bool = False

    def pick(self, estimate: LeastSquares) -> int:
        if not self.started(estimate):
            return int(estimate.counts.argmin())
        used = np.flatnonzero(self.shares)
        behind = -estimate.counts[used] / self.shares[used]
        return int(used[first_max(behind, -PULL * float(behind.max()))])

    def started(self, estimate: LeastSquares) -> bool:
        return not self.each_first or bool(estimate.counts.all())

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        if self.each_first and estimate.counts[arm] == 0:
            return True
        due = (estimate.pulls + AHEAD) * self.shares[arm]
        return bool(self.shares[arm] > 0 and estimate.counts[arm] <= due)


@dataclass(frozen=True, eq=False)
class OneByOne:
    """Each arm once, then whichever leaves the longest difference of two arms shortest.

    active: the arms whose differences count; all unless given.
    """

    active: tuple[int, ...] | None = None

    def pick(self, estimate: LeastSquares) -> int:
        if not self.started(estimate):
            return int(estimate.counts.argmin())
        x = estimate.features
        arms = x if self.active is None else x[list(self.active)]
        return steepest(estimate.inverse, x, differences(arms))

    def started(self, estimate: LeastSquares) -> bool:
        return bool(estimate.counts.all())

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        return arm == self.pick(estimate)
