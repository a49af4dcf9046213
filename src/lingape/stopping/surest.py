"""Never stop early, and remember when the leader was surest: for a fixed budget of pulls."""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..contests.base import Contest, Contests, Unasked
from ..kernels.book import Stage
from ..kernels.parts import GO_ON, decide
from ..least_squares import LeastSquares
from ..problem import Problem
from ..ties import LEADER


class Moment(NamedTuple):
    """The time at which the leader was surest so far.

    arm: who led then.
    margin: B(t) then, the least so far.

    >>> from lingape import LinGapEBudget, Problem
    >>> explorer = LinGapEBudget(Problem([[1, 0], [0, 1]], noise=0.1), budget=4)
    >>> explorer.tell_many([0, 1], [1.0, 0.0])
    >>> explorer.moment.arm, round(explorer.moment.margin, 3)
    (0, -0.765)
    """

    arm: int
    margin: float


class Surest:
    """Keep the moment at which B(t) was least.

    problem: the arms, and what counts as an answer.

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import ByGap
    >>> from lingape.stopping import Surest
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> contests, rule = ByGap(problem, Mixture()), Surest(problem)
    >>> estimate = contests.bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([80.0, 0.0]))
    >>> _, settled = rule.judge(contests, estimate, contests.closest(estimate, {}))
    >>> settled, rule.moment.arm, round(rule.moment.margin, 3)
    (False, 0, -0.224)
    """

    unasked: ClassVar[Unasked] = {}

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.moment: Moment | None = None

    def judge(
        self, contests: Contests, estimate: LeastSquares, contest: Contest
    ) -> tuple[Contest, bool]:
        """Return the contest, and False: the question stays open.

        contests, estimate, contest: as for StoppingRule.
        """
        slack = LEADER * (self.problem.noise_scale + abs(contest.margin))
        if self.moment is None or contest.margin < self.moment.margin - slack:
            self.moment = Moment(contest.leader, contest.margin)
        return contest, False

    def kept(self) -> Any:
        return None if self.moment is None else self.moment._asdict()

    def restore(self, kept: Any) -> None:
        if kept is not None:
            margin = float(kept["margin"])
            if not math.isfinite(margin):
                raise ValueError(f"the least margin must be finite; got {margin}")
            self.moment = Moment(self.problem.check_arm(kept["arm"]), margin)

    def kernel(self, stage: Stage) -> "SurestKernel":
        arm, margin = self.moment or Moment(0, math.inf)
        return SurestKernel(np.array([arm]), np.array([margin]))

    def adopt(self, kernel: Any) -> None:
        """Take over the moment of a compiled run."""
        least = float(kernel.least[0])
        self.moment = Moment(int(kernel.leader[0]), least) if math.isfinite(least) else None


class SurestKernel(NamedTuple):
    leader: IntArray  # (1,) who led when B(t) was least
    least: FloatArray  # (1,) B(t) then, or infinite


@decide.of(SurestKernel)
def _(stopping: SurestKernel, leader: int, margin: float, pulls: int, noise_scale: float) -> int:
    """Never stop: the budget does. Remember the time at which the leader was surest."""
    if pulls > 0 and margin < stopping.least[0] - LEADER * (noise_scale + abs(margin)):
        stopping.leader[0], stopping.least[0] = leader, margin
    return GO_ON
