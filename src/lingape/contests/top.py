"""Compare each of the m best-looking arms with each of the rest."""

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound
from ..least_squares import LeastSquares
from ..problem import Problem
from ..ties import RIVAL
from .base import Contest, Contests, Unasked
from .by_gap import ByGap


@dataclass(frozen=True, eq=False)
class Top(Contests):
    """The closest contest between one of the m best-looking arms and one of the rest.

    Réda, Kaufmann and Delahaye-Duriez (2021): argmax over j ∈ J, i ∉ J of μ_i - μ_j + width.

    problem: the arms, and what counts as an answer.
    bound: says how wrong each estimated gap can be, by its `widths`.
    m: how many of the best arms to find.

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import Top
    >>> contests = Top(Problem([[1, 0], [0, 1], [1, 1]], noise=1.0), Mixture(), m=2)
    >>> estimate = contests.bound.estimate(contests.problem)
    >>> estimate.load(counts=np.array([100, 100, 0]), sums=np.array([90.0, -40.0, 0.0]))
    >>> contest = contests.closest(estimate, unasked={})
    >>> contest.leader, contest.rival, contests.leaders(estimate, contest)
    (2, 1, [0, 2])
    """

    problem: Problem
    bound: Bound
    m: int

    def closest(self, estimate: LeastSquares, unasked: Unasked) -> Contest:
        leaders = self._leaders(estimate)
        found = Contest(leaders[-1], leaders[-1], -np.inf)
        largest = -np.inf  # B(t), slightly more than the margin of the pair found first
        for leader in leaders:
            margins, _ = self.margins(estimate, leader)
            margins[leaders] = -np.inf
            rival = int(margins.argmax())
            largest = max(largest, float(margins[rival]))
            if margins[rival] > found.margin + RIVAL * self.problem.noise_scale:
                found = Contest(leader, rival, float(margins[rival]))
        if found.margin == -np.inf:  # nobody else, or only duplicates
            rest = [k for k in range(len(self.problem)) if k not in leaders]
            return Contest(leaders[-1], rest[0] if rest else leaders[0], 0.0)
        return found._replace(margin=largest)

    def leaders(self, estimate: LeastSquares, contest: Contest) -> list[int]:
        return self._leaders(estimate)

    def _leaders(self, estimate: LeastSquares) -> list[int]:
        means = np.where(self.problem.can_answer, estimate.means, -np.inf)
        return [int(k) for k in np.argsort(-means, kind="stable")[: self.m]]

    def margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        return ByGap(self.problem, self.bound).margins(estimate, leader)
