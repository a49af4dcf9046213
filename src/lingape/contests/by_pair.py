"""Compare all pairs of arms: the gap indices of LinGIFA (Réda et al. 2021)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound
from ..bounds.base import near
from ..kernels.book import MOST_ROWS, Model, Stage
from ..kernels.functions import compiled
from ..kernels.parts import closest, radius, write_ends
from ..least_squares import LeastSquares
from ..problem import Problem
from ..ties import RIVAL, first_max
from .base import Contest, Contests, Unasked
from .by_gap import ByGap, furthest


@dataclass(frozen=True, eq=False)
class ByPair(Contests):
    """The m leaders are the arms that can be worse than the m-th best by least.

    B_ij = x_iᵀθ̂ - x_jᵀθ̂ + width is how much better than arm j arm i can be. The index of j is the
    m-th largest of B_ij over i.

    problem: the arms, and what counts as an answer.
    bound: says how wrong each estimated gap can be, by its `widths`.
    m: how many of the best arms to find.

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import ByPair
    >>> contests = ByPair(Problem([[1, 0], [0, 1], [1, 1]], noise=1.0), Mixture(), m=2)
    >>> estimate = contests.bound.estimate(contests.problem)
    >>> estimate.load(counts=np.array([100, 100, 0]), sums=np.array([90.0, -40.0, 0.0]))
    >>> contest = contests.closest(estimate, unasked={})
    >>> contest.leader, contest.rival, contests.leaders(estimate, contest)
    (2, 1, [0, 2])
    """

    problem: Problem
    bound: Bound
    m: int
    all_rows: ClassVar[bool] = True
    most_arms: ClassVar[int] = MOST_ROWS

    def closest(self, estimate: LeastSquares, unasked: Unasked) -> Contest:
        margins, widths = self._pairs(estimate)
        chosen = self._ranking(margins, widths)
        margins[:, chosen] = -np.inf
        worst = margins[chosen].max(axis=1)
        b = chosen[first_max(worst, RIVAL * float(widths.max()))]
        closest = int(margins[b].argmax())
        margin = float(worst.max())  # B_cb, or slightly more
        if margin == -np.inf:  # all others are the same arm as b
            return Contest(b, next(k for k in range(len(margins)) if k not in chosen), 0.0)
        return Contest(b, first_max(margins[b], RIVAL * float(widths[b, closest])), margin)

    def _pairs(self, estimate: LeastSquares) -> tuple[FloatArray, FloatArray]:
        """Return B_ij in row j and column i, -∞ for duplicates, and the widths in it."""
        rows = [self.margins(estimate, leader) for leader in range(len(self.problem))]
        return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    def _ranking(self, margins: FloatArray, widths: FloatArray) -> list[int]:
        """Return J, the m arms whose m-th largest B_ij over i is least, least first."""
        indices = np.partition(margins, -self.m, axis=1)[:, -self.m]
        chosen: list[int] = []
        while len(chosen) < self.m:
            least = int(indices.argmin())
            slack = RIVAL * float(widths[least, margins[least].argmax()])
            chosen.append(first_max(-indices, slack))
            indices[chosen[-1]] = np.inf
        return chosen

    def leaders(self, estimate: LeastSquares, contest: Contest) -> list[int]:
        if self.m == 1:
            return [contest.leader]
        means = estimate.means
        return sorted(self._ranking(*self._pairs(estimate)), key=lambda k: -means[k])

    def margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        return ByGap(self.problem, self.bound).margins(estimate, leader)

    def kernel(self, stage: Stage) -> "ByPairKernel | None":
        """Return the kernel, for the one best arm and widths that the loop knows."""
        if self.m > 1 or near(self.bound):
            return None
        return ByPairKernel(stage.book.means, np.zeros(len(self.problem)))


class ByPairKernel(NamedTuple):
    """All rows of the book are kept, in order."""

    means: FloatArray  # (K,)
    largest: FloatArray  # (K,) work: the most by which another arm may be better than each


@closest.of(ByPairKernel)
def _(contest: ByPairKernel, model: Model, stopping: Any) -> tuple[int, int, float, float]:
    factor = radius(model.bound, model.arena, model.book)
    leader, rival, margin = _by_pair(contest, model, factor)
    return leader, rival, margin, factor


@compiled
def _by_pair(contest: ByPairKernel, model: Model, factor: float) -> tuple[int, int, float]:
    """Leave the upper ends of the leader's contests in book.scores."""
    arena, book, bound = model
    means, twins, scores, largest = contest.means, arena.twins, book.scores, contest.largest
    first = 0
    for j in range(len(means)):
        write_ends(bound, book, means, factor, j, j)
        best = -math.inf
        for k in range(len(means)):
            if twins[k] != twins[j] and not scores[k] <= best:
                best = scores[k]
                if best != best:
                    return 0, 0, math.nan
        largest[j] = best - means[j]
        if largest[j] < largest[first]:
            first = j
    write_ends(bound, book, means, factor, first, first)
    rival, margin = furthest(book.team, means, scores, twins, first)
    slack = RIVAL * (scores[rival] - means[rival])
    leader = 0
    while largest[leader] > largest[first] + slack:
        leader += 1
    if leader != first:
        write_ends(bound, book, means, factor, leader, leader)
        rival, margin = furthest(book.team, means, scores, twins, leader)
    return leader, rival, margin
