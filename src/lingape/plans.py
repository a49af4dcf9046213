"""Pulls fixed in advance: which arm comes next depends on the counts so far and on no reward."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from .arrays import FloatArray, IntArray
from .designs import differences
from .designs.rounding import steepest
from .kernels.stage import Stage
from .least_squares import LeastSquares
from .ties import PULL, first_max


class Plan(Protocol):
    """An opening and a pull rule in one: see openings.py and pulls/base.py."""

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        """Return the arm to pull next, which does not depend on who leads."""
        ...

    def pick(self, estimate: LeastSquares) -> int:
        """Return the arm to pull next."""
        ...

    def over(self, estimate: LeastSquares) -> bool:
        """Whether the opening is over, and there is an estimate."""
        ...

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        """Whether the plan has `arm` pulled soon, so that it may be told ahead of its turn."""
        ...


# A pull may be told this many turns early: workers side by side finish in any order.
AHEAD = 100


class _Planned:
    """What plans have in common."""

    def pick(self, estimate: LeastSquares) -> int:
        raise NotImplementedError

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        return self.pick(estimate)


@dataclass(frozen=True, eq=False)
class Proportions(_Planned):
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
        """Whether the pulls that every run begins with are done."""
        return not self.each_first or bool(estimate.counts.all())

    def over(self, estimate: LeastSquares) -> bool:
        return estimate.ready and self.started(estimate)

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        if self.each_first and estimate.counts[arm] == 0:
            return True
        due = (estimate.pulls + AHEAD) * self.shares[arm]
        return bool(self.shares[arm] > 0 and estimate.counts[arm] <= due)

    def kernel(self, stage: Stage) -> Any:
        from .kernels.pulls.proportions import ProportionsKernel

        return ProportionsKernel(
            shares=self.shares,
            turns=np.zeros(len(self.shares)),
            epsilon=stage.problem.epsilon,
            glides=getattr(stage.bound, "shrinks_with_lengths", False),
            moves=1.0 if stage.truth is None else 0.0,
        )


@dataclass(frozen=True, eq=False)
class OneByOne(_Planned):
    """Each arm once, then whichever leaves the longest difference of two arms shortest.

    active: the arms whose differences count; all unless given.
    """

    active: tuple[int, ...] | None = None
    all_rows: ClassVar[bool] = True

    def pick(self, estimate: LeastSquares) -> int:
        if not estimate.counts.all():
            return int(estimate.counts.argmin())
        x = estimate.features
        arms = x if self.active is None else x[list(self.active)]
        return steepest(estimate.inverse, x, differences(arms))

    def over(self, estimate: LeastSquares) -> bool:
        return estimate.ready and bool(estimate.counts.all())

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        return arm == self.pick(estimate)

    def kernel(self, stage: Stage) -> Any:
        return self.kernel_for(len(stage.problem))

    def kernel_for(self, count: int) -> Any:
        """Return the kernel for so many arms."""
        from .kernels.pulls.one_by_one import OneByOneKernel

        active = range(count) if self.active is None else self.active
        return OneByOneKernel(np.array(active, dtype=np.int64), np.zeros(count), np.zeros(count))


@dataclass(frozen=True, eq=False)
class Quotas:
    """Pull each arm so many times, side by side; the order in which they are told is free."""

    quotas: IntArray

    def pick(self, estimate: LeastSquares) -> int:
        due = np.flatnonzero(estimate.counts < self.quotas)
        if not len(due):  # all are under way; more of the same until it is known what comes next
            due = np.flatnonzero(self.quotas)
        behind = -estimate.counts[due] / self.quotas[due]
        return int(due[first_max(behind, -PULL * float(behind.max()))])

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        return bool(estimate.counts[arm] < self.quotas[arm])
