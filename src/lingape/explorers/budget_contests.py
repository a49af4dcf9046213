"""What explorers with a budget share that compare all arms after every pull.

Their intervals have a radius that is not proven to hold: it says how eagerly to explore. As in
LinGapE and UGapE there is always a leader, a rival, and B(t), the most by which the rival may be
better as far as these intervals go.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import Bound
from ..errors import InvalidArgument
from ..least_squares import LeastSquares
from ..problem import LARGEST, Problem, as_float
from ..pulls import PullRule, Tracking, greedy
from ..ties import LEADER
from .budget import BudgetExplorer, load_lanes
from .skeleton import Contest
from .starting import Start, first_pull

if TYPE_CHECKING:
    from ..kernels.budget import ContestLane

MOST = 1_000  # arms, of which the compiled lane keeps a table of pairs for Tracking


class Moment(NamedTuple):
    """The time at which the leader was surest so far."""

    arm: int  # who led then
    margin: float  # B(t) then, the least so far


@dataclass(frozen=True)
class Opening:
    """The first pulls, before arms can be compared."""

    problem: Problem
    start: Start

    def pick(self, estimate: LeastSquares) -> int:
        return first_pull(self.problem, estimate, self.start)

    def started(self, estimate: LeastSquares) -> bool:
        return estimate.ready if self.start == "spanning" else bool(estimate.counts.all())


class ContestBudgetExplorer(BudgetExplorer):
    """Compare arms after every pull, once the opening is over.

    A subclass gives the intervals' `_radius`, by which the norms of A⁻¹ are multiplied.
    """

    start: Start = "each"

    def __init__(
        self, problem: Problem, *, budget: int, bound: Bound, ridge: float | None
    ) -> None:
        super().__init__(problem, budget=budget, bound=bound, ridge=ridge)
        self.moment: Moment | None = None

    @abstractmethod
    def _radius(self, estimate: LeastSquares) -> float:
        """Return √a."""

    def _least(self) -> tuple[int, str]:
        if self.start == "spanning":
            return self.problem.rank, "one for each dimension"
        return len(self.problem), "one for each arm"

    def _begun(self, estimate: LeastSquares) -> bool:
        return Opening(self.problem, self.start).started(estimate)

    def _digest(self) -> None:
        if not self._begun(self.estimate):
            return
        self._contest = self._closest_contest(self.estimate)
        self._remember(self._contest)

    def _remember(self, contest: Contest) -> None:
        """Keep the contest if the leader has never been surer."""
        slack = LEADER * (self.problem.noise_scale + abs(contest.margin))
        if self.moment is None or contest.margin < self.moment.margin - slack:
            self.moment = Moment(contest.leader, contest.margin)

    def _memory(self) -> dict[str, Any]:
        return {} if self.moment is None else self.moment._asdict()

    def _recall(self, memory: dict[str, Any]) -> None:
        if memory:
            margin = float(memory["margin"])
            if not math.isfinite(margin):
                raise ValueError(f"the least margin must be finite; got {margin}")
            self.moment = Moment(self.problem.check_arm(memory["arm"]), margin)

    def _compiled(self, pull: "PullRule | str", **more: float) -> "ContestLane | None":
        """Return a compiled lane that goes on from here, if there is one for this pull rule."""
        lanes = load_lanes()
        known = isinstance(pull, str) or pull is greedy
        if self.done or not (known or (type(pull) is Tracking and len(self.problem) <= MOST)):
            return None
        lane: ContestLane = lanes.ContestLane(
            self.problem,
            self.estimate,
            pull,
            opening=Opening(self.problem, self.start),
            began=self._contest is not None,
            budget=self.budget,
            moment=self.moment,
            **more,
        )
        return lane

    def adopt(self, lane: "ContestLane") -> None:  # type: ignore[override]
        """Take over what a compiled lane was paid, as if it had been told."""
        self.estimate.load(lane.counts, lane.sums)
        self.moment = None if lane.moment is None else Moment(*lane.moment)
        if lane.began:
            if not self.estimate.ready:  # `load` looks at some numbers of pulled arms only
                self.estimate.rebuild()
            self._contest = self._closest_contest(self.estimate)
        self._finish_if_spent()


class ByArmBudgetExplorer(ContestBudgetExplorer):
    """Pull the less certain of the two arms whose own intervals overlap most.

    With U and L the ends of each arm's interval, B_k = max_{i≠k} U_i - L_k; the leader has the
    least B_k, its rival the largest U of the others. The answer is the leader of the moment at
    which B was least. Exact duplicates of an arm are not its rivals.
    """

    settings: ClassVar[tuple[str, ...]] = ("budget",)

    def _favourite(self) -> int:
        return super()._favourite() if self.moment is None else self.moment.arm

    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        if contest is None:
            return first_pull(self.problem, estimate, self.start)
        leader, rival, _ = contest
        variances = estimate.variances
        # The wider interval; of equal ones, to within rounding, the rival's.
        return leader if variances[leader] > variances[rival] * (1 + 1e-9) else rival

    def _closest_contest(self, estimate: LeastSquares) -> Contest:
        means, twins = estimate.means, estimate.twins
        if (twins == twins[0]).all():  # all arms are the same arm
            return Contest(0, 1, 0.0)
        widths = np.sqrt(estimate.variances) * self._radius(estimate)
        upper, lower = means + widths, means - widths
        slack = LEADER * (self.problem.noise_scale + float(np.abs(upper).max()))
        worst = best_of_others(upper, twins) - lower  # B_k
        leader = int((worst <= worst.min() + slack).argmax())
        rivals = np.where(twins == twins[leader], -np.inf, upper)
        rival = int((rivals >= rivals.max() - slack).argmax())
        return Contest(leader, rival, float(worst[leader]))


def best_of_others(values: FloatArray, twins: IntArray) -> FloatArray:
    """Return for each arm the largest value of an arm that is not the same arm."""
    first = int(values.argmax())
    same = twins == twins[first]
    others: FloatArray = np.where(same, values[~same].max(), values[first])
    return others


def checked_exploration(exploration: Any, budget: int) -> float:
    """Return a/R², 2 log n unless given, or raise."""
    if exploration is None:
        return 2.0 * math.log(max(2, budget))
    value = as_float(exploration)
    if not 0 < value <= LARGEST:
        raise InvalidArgument(
            f"exploration must be a number above 0 (the square of how many standard deviations "
            f"long the intervals are); got {exploration!r}. Leave it out for 2 log(budget)."
        )
    return value
