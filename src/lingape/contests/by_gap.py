"""Compare gaps: Select-direction, Algorithm 2 of Xu, Honda and Sugiyama (2018)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..kernels.stage import Stage
from ..least_squares import LeastSquares
from ..problem import Problem
from ..ties import LEADER, RIVAL, first_max
from .base import Contest, Contests, Unasked


@dataclass(frozen=True, eq=False)
class ByGap(Contests):
    """The leader has the largest mean; its rival is the arm that may be better by most.

    The paper also admits j = i, whose margin is 0. That floors B(t) at 0 but never changes
    B(t) ≤ ε, and 0 is not safely compared with a rounding error. The same goes for exact
    duplicates of the leader.

    truth: means to compare by instead of the estimated ones, for explorers that know them.
    """

    problem: Problem
    bound: Any
    truth: FloatArray | None = None

    def closest(self, estimate: LeastSquares, unasked: Unasked) -> Contest:
        means = self.means(estimate)
        if self.problem.answers is not None:
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

    def means(self, estimate: LeastSquares) -> FloatArray:
        return estimate.means if self.truth is None else self.truth

    def margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        means = self.means(estimate)
        widths = self.bound.widths(self.problem, estimate, leader)  # β_t(·, i_t)
        margins = means + widths
        margins -= means[leader]
        margins[estimate.twins == estimate.twins[leader]] = -np.inf
        if self.problem.answers is not None:
            margins[~self.problem.can_answer] = -np.inf
        return margins, widths

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.contests.by_gap import ByGapKernel

        return ByGapKernel(stage.book.means if self.truth is None else self.truth)
