"""Explorers that have a fixed number of pulls and answer as well as these allow.

They never stop early. What they pull follows from intervals or phases of their own, which are
rules of thumb unless their papers' constants are known; what is proven at the end follows from the
bound alone, which holds for every way of choosing pulls, and is worked out from counts and sums
when it is asked for.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound
from ..bounds.base import refine
from ..certificate import Certificate, share
from ..checks import LARGEST, as_float, checked_whole
from ..errors import (
    ExplorationOver,
    IllConditioned,
    InvalidArgument,
    InvalidState,
    in_words,
)
from ..least_squares import SPANNING
from ..problem import Problem
from ..stopping import Moment, Surest
from .conversation import ContestExplorer, Conversation, Spanning, adaptive_only


@dataclass(frozen=True)
class BudgetCertificate(Certificate):
    """What is proven about the answer of an explorer that has `budget` pulls.

    Everything else is as for Certificate.

    budget: n, how many pulls there are; `pulls` says how many are spent.

    >>> from lingape import LinGapEBudget, Problem
    >>> explorer = LinGapEBudget(Problem([[1, 0], [0, 1]], noise=0.5), budget=40)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> print(explorer.certificate().claim)
    The budget of 40 pulls is spent. No arm is better than arm 0, with probability at least 95 %.
    """

    budget: int = 0

    @property
    def claim(self) -> str:
        spent = (
            f"The budget of {self.budget} pulls is spent"
            if self.pulls >= self.budget
            else f"{self.pulls} of {self.budget} pulls are spent"
        )
        if not math.isfinite(self.gap_bound):
            return f"{spent} and nothing is proven; {self._shown} looks best."
        asked = "." if self.settled else f"; the goal of ε = {self.epsilon:g} is not proven."
        confidence = f"with probability at least {share(self.delta)}"
        return f"{spent}. {self._comparison()}, {confidence}{asked}"


class BudgetExplorer(Conversation):
    """Spend `budget` pulls and answer.

    A subclass says how many pulls are too few (`_least`), and calls `_finish_if_spent` after every
    reward.
    """

    settings: ClassVar[tuple[str, ...]] = ("budget",)

    def __init__(
        self, problem: Problem, *, budget: int, bound: Bound, ridge: float | None
    ) -> None:
        adaptive_only(self, bound)
        super().__init__(problem, bound=bound, ridge=ridge)
        self._blank = self.estimate.copy()  # what the bound is about, without data
        self.budget = checked_whole("budget", budget)

    def _check_budget(self) -> None:
        """Raise if there are too few pulls; for the end of a constructor."""
        least, why = self._least()
        if self.budget < least:
            raise InvalidArgument(
                f"{type(self).__name__} needs a budget of at least {least} pulls for this "
                f"problem, {why}; got {self.budget}."
            )

    @abstractmethod
    def _least(self) -> tuple[int, str]:
        """Return the smallest budget that works, and why."""

    @property
    def left(self) -> int:
        """How many pulls are left."""
        return max(0, self.budget - int(self.estimate.pulls))

    def ask_many(self, n: int, *, pending: Iterable[int] = ()) -> list[int]:
        """Return `n` arms to pull side by side, or as many as the budget has left.

        pending: arms pulled but not told yet; they are paid for as well.
        """
        n = checked_whole("n", n, least=1)
        under_way = list(pending) if isinstance(pending, Iterable) else pending
        room = self.left - len(under_way) if isinstance(under_way, list) else 1
        chosen = super().ask_many(min(n, max(1, room)), pending=under_way)
        return chosen if room > 0 else []

    def certificate(self) -> Certificate:
        """Return what is proven now; once done, what was when the budget was spent."""
        if self._verdict is not None:
            return self._verdict
        arm = self.recommend()
        return self._final(arm, self._gap_bound(arm), int(self.counts.sum()))

    def _gap_bound(self, arm: int) -> float:
        """Return by how much the bound lets other arms be better than `arm`."""
        proof, counts = self._blank.copy(), self.estimate.counts
        # Asked for outright, for `load` looks at some numbers of pulled arms only.
        proof.ready = _determined(proof.features[counts > 0], proof.features.shape)
        if not proof.ready:
            return math.inf
        try:
            proof.load(counts, self.estimate.sums)
        except IllConditioned:
            return math.inf
        means = proof.means
        margins = means + self.bound.widths(self.problem, proof, arm) - means[arm]
        margins[proof.twins == proof.twins[arm]] = -np.inf
        refine(self.bound, self.problem, proof, arm, means, margins)
        return float(margins.max(initial=0.0))

    def _final(self, arm: int, gap_bound: float, pulls: int) -> BudgetCertificate:
        settled = gap_bound <= self.problem.epsilon
        claim = self._certificate([arm], gap_bound, pulls, settled)
        return BudgetCertificate(**vars(claim), budget=self.budget)

    def _refuse_if_done(self) -> None:
        if self._verdict is not None:
            raise ExplorationOver(
                f"There is nothing left to pull: {type(self).__name__} has spent its "
                f"{self.budget} pulls and answers {self._verdict.name} (arm {self._verdict.arm}). "
                "Read certificate(); to go on, start again with a larger budget."
            )

    def _finish_if_spent(self) -> None:
        if not self.left and not self.done:
            self._verdict = self.certificate()

    def _caveat(self) -> str:
        return self.bound.caveat(self.problem, self._ridge_given())

    def _ridge_given(self) -> float:
        return self._blank.ridge

    def _revived(self, verdict: Any) -> Certificate:
        try:
            gap_bound = math.inf if verdict["gap_bound"] is None else float(verdict["gap_bound"])
            arm = self.problem.check_arm(verdict["arm"])
            again = self._final(arm, gap_bound, self.budget)
        except (KeyError, TypeError, ValueError) as reason:
            raise InvalidState(
                f"The saved verdict is damaged: {in_words(reason)}. Restore an undamaged copy."
            ) from reason
        if not gap_bound >= 0 or self.left or again.to_dict() != verdict:
            raise InvalidState(
                "The saved verdict does not follow from the saved problem, bound and budget. "
                "Restore an undamaged copy."
            )
        return again

    def _check_restored(self) -> None:
        if self.done == bool(self.left):
            raise InvalidState(
                f"A saved state has a verdict just when its {self.budget} pulls are spent; this "
                f"one has {self.left} left. Restore an undamaged copy."
            )


class BudgetContestExplorer(BudgetExplorer, ContestExplorer):
    """Spend the budget on the closest contests. A subclass sets `parts`, with Surest among them.

    The intervals by which contests are close have a radius that is not proven to hold: it says how
    eagerly to explore.
    """

    @property
    def moment(self) -> Moment | None:
        """The time at which the leader was surest so far."""
        assert isinstance(self.parts.stopping, Surest)
        return self.parts.stopping.moment

    def _least(self) -> tuple[int, str]:
        if isinstance(self.parts.opening, Spanning):
            return self.problem.rank, "one for each dimension"
        return len(self.problem), "one for each arm"

    def _update(self, arm: int, reward: float) -> None:
        super()._update(arm, reward)
        self._finish_if_spent()

    def _finish_if_spent(self) -> None:
        if self._contest is not None and not self.left and not self.estimate.fresh:
            self.estimate.rebuild()  # before the final decision
            self._contest = self.parts.contests.closest(self.estimate, {})
        super()._finish_if_spent()

    def adopt(self, lane: Any) -> None:
        """Take over what a compiled run, `lane`, was paid, as if it had been told."""
        self.estimate.load(lane.counts, lane.sums)
        lane.hand_over(self.parts.pull, self.parts.stopping)
        if lane.begun:
            if not self.estimate.ready:  # `load` looks at some numbers of pulled arms only
                self.estimate.rebuild()
            self._contest = self.parts.contests.closest(self.estimate, {})
        self._finish_if_spent()


class SurestArmExplorer(BudgetContestExplorer):
    """Answer with the leader of the moment at which B was least."""

    def _looks_best(self) -> list[int]:
        return super()._looks_best() if self.moment is None else [self.moment.arm]


def _determined(pulled: FloatArray, shape: tuple[int, ...]) -> bool:
    """Whether these arms, of so many, determine all others to a good share of all digits."""
    if len(pulled) == shape[0] or len(pulled) < shape[1]:
        return len(pulled) == shape[0]
    values = np.linalg.svd(pulled, compute_uv=False)
    return bool(values[-1] > SPANNING * values[0])


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
