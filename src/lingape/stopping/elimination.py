"""Count a rival that the leader has once beaten as beaten (Tirinzoni and Degenne 2022)."""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds.base import near, refine
from ..contests.base import Contest, Contests, Unasked
from ..kernels.book import Book, Stage
from ..kernels.functions import on_gpu
from ..kernels.parts import GO_ON, STOP, decide, narrow, nearly, restart
from ..kernels.teams import anyone, begin, highest, stride, write_all
from ..least_squares import LeastSquares
from ..problem import Problem


class Eliminating:
    """Drop the rivals that the leader beats, for good, and stop if none is left.

    All intervals hold at all times together, so that a rival that the leader once beat is beaten.

    problem: the arms, and what counts as an answer.
    sample: whether beaten rivals are not asked about any more, either.

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import ByGap
    >>> from lingape.stopping import Eliminating
    >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=1.0)
    >>> contests, rule = ByGap(problem, Mixture()), Eliminating(problem, sample=True)
    >>> estimate = contests.bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100, 0]), sums=np.array([90.0, 10.0, 0.0]))
    >>> _, settled = rule.judge(contests, estimate, contests.closest(estimate, rule.unasked))
    >>> settled, {leader: sorted(rivals) for leader, rivals in rule.unasked.items()}
    (False, {2: [1]})
    """

    most_arms: ClassVar[int] = 4_000  # of which the kernel keeps track in pairs

    def __init__(self, problem: Problem, *, sample: bool) -> None:
        self.problem, self.sample = problem, sample
        self.dropped: dict[int, dict[int, float]] = {}  # leader → rivals beaten → margin then
        self.unasked: Unasked = self.dropped if sample else {}

    def judge(
        self, contests: Contests, estimate: LeastSquares, contest: Contest
    ) -> tuple[Contest, bool]:
        """Return the closest contest, and whether the leader has beaten all rivals.

        contests, estimate, contest: as for StoppingRule.
        """
        leader = contest.leader
        margins, _ = contests.margins(estimate, leader)
        means = contests.means(estimate)
        rivals, dropped = np.flatnonzero(margins > -np.inf), self.dropped.setdefault(leader, {})
        beaten, refined = rivals[margins[rivals] <= self.problem.epsilon], False
        dropped |= {k: float(margins[k]) for k in beaten.tolist() if k not in dropped}
        if len(dropped) < len(rivals):
            margins[list(dropped)] = -np.inf
            if refined := refine(contests.bound, self.problem, estimate, leader, means, margins):
                dropped |= {k: float(margins[k]) for k in rivals.tolist() if k not in dropped}
        if len(dropped) < len(rivals):
            return contests.closest(estimate, self.unasked) if self.sample else contest, False
        closest = contests.closest(estimate, self.unasked).rival
        rival = int(margins.argmax()) if refined else closest
        return Contest(leader, rival, max(dropped.values(), default=0.0)), True

    def kept(self) -> Any:
        return [
            [leader, rival, margin]
            for leader, rivals in self.dropped.items()
            for rival, margin in rivals.items()
        ]

    def restore(self, kept: Any) -> None:
        for leader, rival, margin in kept:
            pair = self.problem.check_arm(leader), self.problem.check_arm(rival)
            self.dropped.setdefault(pair[0], {})[pair[1]] = float(margin)

    def kernel(self, stage: Stage) -> "EliminatingKernel":
        count = len(self.problem)
        dropped = np.full((count, count), np.inf)
        for leader, rivals in self.dropped.items():
            for rival, margin in rivals.items():
                dropped[leader, rival] = margin
        return EliminatingKernel(self.problem.epsilon, near(stage.bound), self.sample, dropped)

    def adopt(self, kernel: Any) -> None:
        """Take over what a compiled run has dropped."""
        self.dropped.clear()
        for leader, rival in np.argwhere(np.isfinite(kernel.dropped)).tolist():
            margin = float(kernel.dropped[leader, rival])
            self.dropped.setdefault(leader, {})[rival] = margin


@on_gpu(split="dropped")
class EliminatingKernel(NamedTuple):
    epsilon: float
    near: float  # as of MarginKernel
    sample: bool  # whether beaten rivals are not asked about any more
    dropped: FloatArray  # (K, K) margin when a leader beat a rival, or infinite


@narrow.of(EliminatingKernel)
def _(
    stopping: EliminatingKernel, book: Book, means: FloatArray, twins: IntArray, leader: int
) -> float:
    """Drop the rivals that the leader beats; return the largest margin once all are dropped."""
    dropped, left, worst = stopping.dropped, 0, -math.inf
    scores, team = book.scores, book.team
    k = begin(team)
    while k < len(means):
        if twins[k] != twins[leader]:
            margin = scores[k] - means[leader]
            if margin <= stopping.epsilon and dropped[leader, k] == math.inf:
                dropped[leader, k] = margin
            if dropped[leader, k] == math.inf:
                left += 1
            else:
                worst = max(worst, dropped[leader, k])
        k += stride(team)
    if not anyone(team, left > 0):
        worst = highest(team, worst)
        return worst if worst > -math.inf else 0.0  # without rivals
    if stopping.sample:
        k = begin(team)
        while k < len(means):
            if dropped[leader, k] < math.inf:
                scores[k] = -math.inf
            k += stride(team)
    return -math.inf


@decide.of(EliminatingKernel)
def _(
    stopping: EliminatingKernel, leader: int, margin: float, pulls: int, noise_scale: float
) -> int:
    return STOP if margin <= stopping.epsilon else GO_ON


@restart.of(EliminatingKernel)
def _(stopping: EliminatingKernel, team: Any) -> None:
    for leader in range(len(stopping.dropped)):
        write_all(team, stopping.dropped[leader], math.inf)


@nearly.of(EliminatingKernel)
def _(
    stopping: EliminatingKernel,
    means: FloatArray,
    scores: FloatArray,
    twins: IntArray,
    leader: int,
) -> bool:
    near, best = stopping.near, -math.inf
    if near > 0.0:
        for k in range(len(means)):
            if twins[k] != twins[leader] and stopping.dropped[leader, k] == math.inf:
                best = max(best, means[k] + near * (scores[k] - means[k]))
    return near > 0.0 and best - means[leader] <= stopping.epsilon
