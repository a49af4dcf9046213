"""An explorer is a choice of parts: how it begins, which contest is closest, what to pull for it,
and when it is over.
"""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..contests import Contests
from ..errors import InvalidArm, InvalidBound
from ..least_squares import LeastSquares
from ..openings import Opening
from ..pulls import PullRule
from ..pulls.base import Learner
from ..stopping import StoppingRule
from .conversation import Conversation


class Parts(NamedTuple):
    opening: Opening  # what to pull before arms can be compared
    contests: Contests  # which comparison is closest
    pull: PullRule  # which arm settles it
    stopping: StoppingRule  # is the question answered?


class ContestExplorer(Conversation):
    """Settle the closest contest until the question is answered. A subclass sets `parts`."""

    parts: Parts

    def _pick(self, estimate: LeastSquares) -> int:
        opening, contests, pull, stopping = self.parts
        contest = self._contest
        if contest is None:
            return opening.pick(estimate)
        if estimate is not self.estimate:
            contest = contests.closest(estimate, stopping.unasked)
        leader, rival, _ = contest
        if estimate.twins[leader] == estimate.twins[rival]:  # all arms are the same arm
            return leader
        return pull(estimate, leader, rival)

    def _update(self, arm: int, reward: float) -> None:
        estimate, (opening, contests, pull, stopping) = self.estimate, self.parts
        estimate.update(arm, reward)
        if self._contest is None and not opening.over(estimate):
            return
        self._contest = contests.closest(estimate, stopping.unasked)
        if self.done:
            return
        self._contest, settled = stopping.judge(contests, estimate, self._contest)
        if settled:
            self._verdict = self._certified(self._contest.margin, settled=True)
        elif isinstance(pull, Learner):
            pull.learn(estimate, self._contest.leader)

    def _allow(self, arm: int) -> None:
        allows = getattr(self.parts.pull, "allows", None)
        if allows is not None and not self.done and not allows(self.estimate, arm):
            raise InvalidArm(
                f"The pulls of {type(self).__name__} are fixed in advance, or its bound would not "
                f"hold; {self.problem.name(arm)} is not due (arm {self._pick(self.estimate)} "
                "is). Pull what ask() says, or explore with LinGapE. Nothing was recorded."
            )

    def _looks_best(self) -> list[int]:
        if self._contest is None:
            return super()._looks_best()
        return self.parts.contests.leaders(self.estimate, self._contest)

    def _proven(self) -> float:
        return np.inf if self._contest is None else self._contest.margin

    def _kept(self) -> dict[str, Any]:
        pull = self.parts.pull
        memory = pull.memory._asdict() if isinstance(pull, Learner) else {}
        return {
            "stopping": self.parts.stopping.kept(),
            "memory": {name: array.tolist() for name, array in memory.items()},
        }

    def _restore(self, kept: dict[str, Any]) -> None:
        opening, contests, pull, stopping = self.parts
        stopping.restore(kept["stopping"], self.problem)
        if isinstance(pull, Learner):
            for name, array in pull.memory._asdict().items():
                values = np.array(kept["memory"][name], dtype=array.dtype).reshape(array.shape)
                if not np.isfinite(values).all():
                    raise ValueError(f"{name} must be finite")
                array[...] = values
        if opening.over(self.estimate):
            self._contest = contests.closest(self.estimate, stopping.unasked)

    def adopt(self, lane: Any) -> None:
        """Take over what a compiled run (lanes.ContestLane) was paid, as if it had been told."""
        _, contests, pull, stopping = self.parts
        self.estimate.load(lane.counts, lane.sums)
        lane.hand_over(pull, stopping)
        if lane.contest is None:
            return
        self._contest = lane.contest
        if lane.settled:
            self._verdict = self._certified(self._contest.margin, settled=True)
        elif isinstance(pull, Learner) and pull.memory.learned[0] != self.estimate.pulls:
            pull.learn(self.estimate, self._contest.leader)


def half_widths(explorer: ContestExplorer, leader: int) -> FloatArray:
    """Return how wrong each arm's estimated gap to the leader can be.

    The widths are those of the explorer's own contests, so that the highest upper end but the
    leader's is B(t). A duplicate of the leader has a gap that is known.
    """
    estimate = explorer.estimate
    _, widths = explorer.parts.contests.margins(estimate, leader)
    return np.where(estimate.twins == estimate.twins[leader], 0.0, widths)


def refuse_hidden_twins(explorer: Conversation) -> None:
    """Raise if the bound tells arms apart that have the same features, by which pulls go."""
    problem = explorer.problem
    if (apart := np.flatnonzero(explorer.estimate.twins != problem.twins)).size:
        arm, twin = int(apart[0]), int(problem.twins[apart[0]])
        raise InvalidBound(
            f"{type(explorer).__name__} pulls by features, and {problem.name(twin)} and "
            f"{problem.name(arm)} have the same, while {explorer.bound} takes them for different "
            "arms that it would never tell apart. Pass Mixture(), or use UGapE."
        )
