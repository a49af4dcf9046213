"""Compare the intervals of single arms, as UGapE does (Gabillon et al. 2012)."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..bounds.exploring import best_of_others, two_best
from ..kernels.book import Arena, Book, Model, Stage
from ..kernels.functions import compiled
from ..kernels.parts import closest, radius
from ..least_squares import LeastSquares
from ..problem import Problem
from ..ties import LEADER
from .base import Contest, Contests, Radius, Unasked


@dataclass(frozen=True, eq=False)
class ByArm(Contests):
    """The leader is the arm that can be worse than another by least.

    With U and L the ends of each arm's interval, B_k = max_{i≠k} U_i - L_k is how much worse arm k
    can be than another. The leader has the least B, its rival the largest U of the others. Exact
    duplicates of an arm are not its rivals.

    problem: the arms, and what counts as an answer.
    bound: says how far the interval of an arm reaches, by its `radius`.

    >>> import numpy as np
    >>> from lingape import Problem, SelfNormalized
    >>> from lingape.contests import ByArm
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0, norm_bound=1.0)
    >>> contests = ByArm(problem, SelfNormalized())
    >>> estimate = contests.bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    >>> leader, rival, margin = contests.closest(estimate, unasked={})
    >>> leader, rival, round(margin, 3)
    (0, 1, 0.48)
    """

    problem: Problem
    bound: Radius

    def closest(self, estimate: LeastSquares, unasked: Unasked) -> Contest:
        means, twins = estimate.means, estimate.twins
        if (twins == twins[0]).all():  # all arms are the same arm
            return Contest(0, 1, 0.0)
        widths = self._widths(estimate)
        upper, lower = means + widths, means - widths
        slack = LEADER * (self.problem.noise_scale + float(np.abs(upper).max()))
        worst = best_of_others(upper, twins) - lower  # B_k
        leader = int((worst <= worst.min() + slack).argmax())
        rivals = np.where(twins == twins[leader], -np.inf, upper)
        rival = int((rivals >= rivals.max() - slack).argmax())
        return Contest(leader, rival, float(worst[leader]))

    def _widths(self, estimate: LeastSquares) -> FloatArray:
        """Return half the length of each arm's interval."""
        widths: FloatArray = np.sqrt(estimate.variances)
        widths *= self.bound.radius(self.problem, estimate)
        return widths

    def leaders(self, estimate: LeastSquares, contest: Contest) -> list[int]:
        return [contest.leader]

    def margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        """Return margins by the intervals of both arms, added together."""
        own = self._widths(estimate)
        widths = own + own[leader]
        margins = estimate.means + widths - estimate.means[leader]
        margins[estimate.twins == estimate.twins[leader]] = -np.inf
        return margins, widths

    def kernel(self, stage: Stage) -> "ByArmKernel":
        return ByArmKernel(stage.book.means)


class ByArmKernel(NamedTuple):
    means: FloatArray  # (K,)


@closest.of(ByArmKernel)
def _(contest: ByArmKernel, model: Model, stopping: Any) -> tuple[int, int, float, float]:
    arena, book, bound = model
    factor = radius(bound, arena, book)
    leader, rival, margin = _by_arm(contest.means, arena, book, factor)
    return leader, rival, margin, factor


@compiled
def _by_arm(means: FloatArray, arena: Arena, book: Book, factor: float) -> tuple[int, int, float]:
    twins, variances, upper = arena.twins, book.variances, book.scores
    count, size = len(means), 0.0
    for k in range(count):
        upper[k] = means[k] + factor * math.sqrt(variances[k])
        if upper[k] != upper[k]:
            return 0, 0, math.nan
        size = max(size, abs(upper[k]))
    first, second = two_best(upper, twins)
    if second < 0:  # all arms are the same arm
        return first, (first + 1) % count, 0.0
    slack = LEADER * (arena.noise_scale + size)
    least = math.inf
    for k in range(count):
        above = upper[second] if twins[k] == twins[first] else upper[first]
        least = min(least, above - (2.0 * means[k] - upper[k]))  # B_k
    leader, margin = -1, math.inf
    while not margin <= least + slack:
        leader += 1
        above = upper[second] if twins[leader] == twins[first] else upper[first]
        margin = above - (2.0 * means[leader] - upper[leader])
    best = upper[second] if twins[leader] == twins[first] else upper[first]
    rival = 0
    while twins[rival] == twins[leader] or upper[rival] < best - slack:
        rival += 1
    return leader, rival, margin
