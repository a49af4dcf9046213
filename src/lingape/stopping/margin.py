"""Stop when no rival can be more than ε better than the leader: B(t) ≤ ε, Algorithm 1."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds.base import near, refine
from ..contests.base import Contest, Contests, Unasked
from ..kernels.book import Stage
from ..kernels.functions import on_gpu
from ..kernels.parts import GO_ON, STOP_IF_FRESH, decide, nearly
from ..least_squares import LeastSquares
from ..problem import Problem


@dataclass(frozen=True, eq=False)
class Margin:
    """Stop when B(t) ≤ ε.

    problem: the arms, and what counts as an answer.

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import ByGap
    >>> from lingape.stopping import Margin
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0, epsilon=0.5)
    >>> contests, rule = ByGap(problem, Mixture()), Margin(problem)
    >>> estimate = contests.bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([20.0, 0.0]))
    >>> contest, settled = rule.judge(contests, estimate, contests.closest(estimate, {}))
    >>> round(contest.margin, 3), settled
    (0.376, True)
    """

    problem: Problem
    unasked: ClassVar[Unasked] = {}
    skips: ClassVar[bool] = True  # a test that cannot succeed may be left out
    shortlists: ClassVar[bool] = True

    def judge(
        self, contests: Contests, estimate: LeastSquares, contest: Contest
    ) -> tuple[Contest, bool]:
        """Return the closest contest, and whether its margin is at most ε.

        contests, estimate, contest: as for StoppingRule.
        """
        epsilon = self.problem.epsilon
        if contest.margin <= epsilon and not estimate.fresh:
            estimate.rebuild()  # before the final decision
            contest = contests.closest(estimate, {})
        if contest.margin > epsilon:
            contest = self._refined(contests, estimate, contest)
        return contest, contest.margin <= epsilon

    def _refined(self, contests: Contests, estimate: LeastSquares, contest: Contest) -> Contest:
        """Return the closest contest by refined widths if these settle it, or `contest`."""
        if not near(contests.bound) or not estimate.fresh:
            return contest
        leaders, means, found = contests.leaders(estimate, contest), contests.means(estimate), None
        for leader in leaders:
            margins, _ = contests.margins(estimate, leader)
            margins[leaders] = -np.inf
            if not refine(contests.bound, self.problem, estimate, leader, means, margins):
                return contest
            rival = int(margins.argmax())
            if found is None or margins[rival] > found.margin:
                found = Contest(leader, rival, float(margins[rival]))
        return found or contest

    def kept(self) -> Any:
        return []

    def restore(self, kept: Any) -> None:
        if kept != []:
            raise ValueError("nothing should have been dropped")

    def kernel(self, stage: Stage) -> "MarginKernel":
        return MarginKernel(self.problem.epsilon, near(stage.bound))


@on_gpu()
class MarginKernel(NamedTuple):
    epsilon: float
    near: float  # look closer when widths this much shorter would settle it; 0 for never (GPUs)


@decide.of(MarginKernel)
def _(stopping: MarginKernel, leader: int, margin: float, pulls: int, noise_scale: float) -> int:
    return STOP_IF_FRESH if margin <= stopping.epsilon else GO_ON


@nearly.of(MarginKernel)
def _(
    stopping: MarginKernel, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> bool:
    near, best = stopping.near, -math.inf
    if near > 0.0:
        for k in range(len(means)):
            if twins[k] != twins[leader]:
                best = max(best, means[k] + near * (scores[k] - means[k]))
    return near > 0.0 and best - means[leader] <= stopping.epsilon
