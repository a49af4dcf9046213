"""Compare gaps: Select-direction, Algorithm 2 of Xu, Honda and Sugiyama (2018)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds.base import is_foreseeable
from ..kernels.book import Model, Stage, row_for
from ..kernels.functions import inlined, on_gpu, unrolled
from ..kernels.loops import FEW, first_from, largest
from ..kernels.parts import closest, narrow, radius, write_ends
from ..kernels.teams import anyone, begin, stride
from ..least_squares import LeastSquares
from ..many_arms import ManyArms
from ..problem import Problem
from ..ties import LEADER, RIVAL, first_max
from .base import Contest, Contests, Unasked
from .shortlist import closest_of_many


@dataclass(frozen=True, eq=False)
class ByGap(Contests):
    """The leader has the largest mean; its rival is the arm that may be better by most.

    The paper also admits j = i, whose margin is 0. That floors B(t) at 0 but never changes
    B(t) ≤ ε, and 0 is not safely compared with a rounding error. The same goes for exact
    duplicates of the leader.

    problem: the arms, and what counts as an answer.
    bound: says how wrong each estimated gap can be, by its `widths`.
    truth: means to compare by instead of the estimated ones, for explorers that know them.

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import ByGap
    >>> contests = ByGap(Problem([[1, 0], [0, 1]], noise=1.0), Mixture())
    >>> estimate = contests.bound.estimate(contests.problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    >>> leader, rival, margin = contests.closest(estimate, unasked={})
    >>> leader, rival, round(margin, 3)
    (0, 1, 0.076)
    """

    problem: Problem
    bound: Any
    truth: FloatArray | None = None
    shortlists: ClassVar[bool] = True

    def closest(self, estimate: LeastSquares, unasked: Unasked) -> Contest:
        if isinstance(estimate, ManyArms) and self.foreseeable and not unasked:
            found = closest_of_many(self.problem, self.bound, estimate)
            if found is not None:
                return found
        means = self.means(estimate)
        if not self.problem.plain:
            means = np.where(self.problem.can_answer, means, -np.inf)
        top = float(means[means.argmax()])
        leader = first_max(means, LEADER * (self.problem.noise_scale + abs(top)))  # i_t
        margins, widths = self.margins(estimate, leader)
        beaten = unasked.get(leader)
        if beaten and len(beaten) < int((margins > -np.inf).sum()):
            margins[list(beaten)] = -np.inf
        closest = int(margins.argmax())
        margin = float(margins[closest])  # B(t)
        if margin == -np.inf:  # all arms are the same arm
            return Contest(leader, (leader + 1) % len(margins), 0.0)
        return Contest(leader, first_max(margins, RIVAL * float(widths[closest])), margin)  # j_t

    @property
    def foreseeable(self) -> bool:
        """Whether the closest contest can be found without looking at all arms."""
        return self.truth is None and is_foreseeable(self.bound) and type(self) is ByGap

    def means(self, estimate: LeastSquares) -> FloatArray:
        return estimate.means if self.truth is None else self.truth

    def leaders(self, estimate: LeastSquares, contest: Contest) -> list[int]:
        return [contest.leader]

    def margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        means = self.means(estimate)
        widths = self.bound.widths(self.problem, estimate, leader)  # β_t(·, i_t)
        margins = means + widths
        margins -= means[leader]
        margins[estimate.twins == estimate.twins[leader]] = -np.inf
        if not self.problem.plain:
            margins[~self.problem.can_answer] = -np.inf
        return margins, widths

    def kernel(self, stage: Stage) -> "ByGapKernel":
        return ByGapKernel(stage.book.means if self.truth is None else self.truth)


@on_gpu("means")
class ByGapKernel(NamedTuple):
    means: FloatArray  # (K,)


@closest.of(ByGapKernel)
def _(contest: ByGapKernel, model: Model, stopping: Any) -> tuple[int, int, float, float]:
    arena, book, bound = model
    means, twins, scores = contest.means, arena.twins, book.scores
    leader = best_arm(book.team, means, arena.noise_scale)  # i_t
    row = row_for(model, leader)
    factor = radius(bound, arena, book)
    write_ends(bound, book, means, factor, leader, row)
    beaten = narrow(stopping, book, means, twins, leader)
    rival, margin = furthest(book.team, means, scores, twins, leader)
    if margin == margin and beaten > -math.inf:
        margin = beaten
    return leader, rival, margin, factor


@inlined
def best_arm(team: Any, means: FloatArray, noise_scale: float) -> int:
    """Return the arm with the largest mean."""
    top = largest(team, means)
    return first_from(team, means, top - LEADER * (noise_scale + abs(top)))


@inlined
def furthest(
    team: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> tuple[int, float]:
    """Return j_t and B(t) from the upper ends of the intervals, in `scores`.

    The leader's duplicates get -∞. B(t) is 0 if all arms are the same arm, and NaN if some score
    is.
    """
    count, (best, others, lost) = len(means), _highest(team, scores, twins, twins[leader])
    rival = leader + 1 if leader + 1 < count else 0
    margin = math.nan if others else 0.0
    if not lost and best > -math.inf:
        top = first_from(team, scores, best)
        margin = best - means[leader]
        rival = first_from(team, scores, best - RIVAL * (best - means[top]))
    return rival, margin


@inlined
def _highest(
    team: Any, scores: FloatArray, twins: IntArray, same: int
) -> tuple[float, bool, bool]:
    """Return the highest score of arms that are not the same, if there are any, and if one is NaN.

    The others get -∞.
    """
    best, others, lost, count = -math.inf, False, False, len(scores)
    if count <= FEW and not unrolled():
        for k in range(count):
            score = scores[k] if twins[k] != same else -math.inf
            scores[k] = score
            others = others or twins[k] != same
            lost = lost or score != score
            best = score if score > best else best
        return best, others, lost
    different, nans = 0, 0
    k = begin(team)
    while k < count:
        if twins[k] == same:
            scores[k] = -math.inf
        else:
            different += 1
        nans += scores[k] != scores[k]
        k += stride(team)
    return largest(team, scores), anyone(team, different > 0), anyone(team, nans > 0)
