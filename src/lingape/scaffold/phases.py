"""Explorers that work in phases: plan pulls, make them, discard arms, and forget all rewards.

What is pulled within a phase does not depend on its rewards, so that bounds for pulls fixed in
advance apply; between phases all rewards are forgotten, for the same reason. A reward counts in
the phase in which it is told, even if its arm was asked for in an earlier one. Rewards that the
phase does not need are counted but not used, so the order in which rewards are told must not
depend on their values.
"""

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import Bound
from ..errors import InvalidBound, InvalidState
from ..least_squares import LeastSquares
from ..plans import OneByOne, Proportions, Quotas
from ..problem import Problem
from .conversation import Conversation


class PhasedExplorer(Conversation):
    """Narrow the answers down phase by phase.

    A subclass says what a phase is, in `_begin`, and when it is over, in `phase_over`.
    """

    plan: Quotas | Proportions | OneByOne  # of the phase

    def __init__(self, problem: Problem, *, bound: Bound, ridge: float | None) -> None:
        super().__init__(problem, bound=bound, ridge=ridge)
        self.told: IntArray = np.zeros(len(problem), dtype=np.int64)  # in all phases
        self._favourite = int(problem.can_answer.argmax())  # the best-looking at the last end
        self.history: list[list[int]] = []  # the arms in play in each phase

    @abstractmethod
    def _begin(self, active: IntArray) -> None:
        """Start a phase about the arms in `active`, with no data: the next in `history`."""

    @abstractmethod
    def phase_over(self, estimate: LeastSquares) -> bool:
        """Whether the pulls in `estimate` are all those of the phase."""

    @abstractmethod
    def _phase_problem(self) -> Problem:
        """Return the problem with the share of δ that the phase has."""

    def _candidates(self) -> IntArray:
        """Return the arms that are compared at the end of a phase."""
        return np.array(self.history[-1], dtype=np.int64)

    def _means(self) -> FloatArray:
        """Return the estimates by which they are compared."""
        return self.estimate.means

    def _go_on(self, survivors: IntArray, margin: float) -> None:
        """Start the next phase."""
        self._begin(survivors)

    @property
    def counts(self) -> IntArray:
        """How often each arm has been told, in all phases."""
        return self.told.copy()

    @property
    def phase(self) -> int:
        """The number of the phase, from 1."""
        return len(self.history)

    def _looks_best(self) -> list[int]:
        return [self._favourite]

    def _pick(self, estimate: LeastSquares) -> int:
        return self.plan.pick(estimate)

    def _update(self, arm: int, reward: float) -> None:
        # What this phase does not need is counted, and not used.
        if self.done or self.plan.allows(self.estimate, arm):
            self.estimate.update(arm, reward)
        self.told[arm] += 1
        if not self.done and self.phase_over(self.estimate):
            self.end_phase()

    def absorb(self, counts: IntArray, sums: FloatArray) -> None:
        """Take over the counts and sums that pulls up to the end of the phase have led to."""
        self.told += counts - self.estimate.counts
        self.estimate.load(counts, sums)
        if self.phase_over(self.estimate):
            self.end_phase()

    def end_phase(self) -> None:
        """Discard the arms that another one beats, and stop or start the next phase."""
        means, twins = self._means(), self.problem.twins
        candidates = self._candidates()
        self._favourite = int(candidates[means[candidates].argmax()])
        beaten = np.zeros(len(means), dtype=bool)
        problem = self._phase_problem()
        for k in candidates:
            widths = self.bound.widths(problem, self.estimate, int(k))
            beaten |= (means[k] - means >= widths) & (twins != twins[k])
        survivors = candidates[~beaten[candidates]]  # with the favourite among them
        margin = self._margin(problem, candidates)
        if len(np.unique(twins[survivors])) == 1:
            self._favourite, margin = int(survivors[0]), min(margin, 0.0)
        if margin <= self.problem.epsilon:
            self._verdict = self._certified(margin, settled=True)
        else:
            self._go_on(survivors, margin)

    def _margin(self, problem: Problem, candidates: IntArray) -> float:
        """Return B for the favourite, against the arms that may still be best."""
        means, twins, leader = self._means(), self.problem.twins, self._favourite
        upper = means - means[leader] + self.bound.widths(problem, self.estimate, leader)
        rivals = candidates[twins[candidates] != twins[leader]]
        return float(upper[rivals].max()) if len(rivals) else 0.0

    def _kept(self) -> dict[str, Any]:
        return {
            "told": self.told.tolist(),
            "history": self.history,
            "favourite": self._favourite,
        }

    def _prepare(self, kept: dict[str, Any]) -> None:
        history = [[self.problem.check_arm(arm) for arm in arms] for arms in kept["history"]]
        told = np.array(kept["told"], dtype=np.int64)
        if told.shape != (len(self.problem),) or not history or not all(history):
            raise ValueError("counts or phases are missing")
        self.history, self.told = history[:-1], told
        self._rejoin(np.array(history[-1], dtype=np.int64), kept)

    def _rejoin(self, active: IntArray, kept: dict[str, Any]) -> None:
        """Start the phase that was under way."""
        self._begin(active)

    def _restore(self, kept: dict[str, Any]) -> None:
        self._favourite = self.problem.check_arm(kept["favourite"])
        if (self.estimate.counts > self.told).any():
            raise ValueError("a phase cannot have more pulls than the run")

    def adopt(self, lane: Any) -> None:
        """Take over what a compiled run, `lane`, was paid, as if it had been told."""
        self.__dict__.update(lane.explorer.__dict__)


class QuotaExplorer(PhasedExplorer):
    """Fix how often each arm is pulled when a phase begins, and compare when that is done."""

    plan: Quotas

    def __init__(self, problem: Problem, *, bound: Bound, ridge: float | None) -> None:
        super().__init__(problem, bound=bound, ridge=ridge)
        self._last_margin = math.inf  # B at the end of the last phase
        self.lengths: list[int] = []  # the pulls of each phase
        self._begin(np.flatnonzero(problem.can_answer))

    @abstractmethod
    def _quotas(self, active: IntArray) -> IntArray:
        """Return how often each arm is pulled in a phase about `active`, the last in `history`."""

    def _begin(self, active: IntArray) -> None:
        self.history.append(active.tolist())
        self.estimate = self.bound.estimate(self.problem)
        self.plan = Quotas(self._quotas(active))
        self.lengths.append(int(self.plan.quotas.sum()))

    def phase_over(self, estimate: LeastSquares) -> bool:
        return bool((estimate.counts >= self.plan.quotas).all())

    def _go_on(self, survivors: IntArray, margin: float) -> None:
        self._last_margin = margin
        self._begin(survivors)

    def _proven(self) -> float:
        return self._last_margin

    def _kept(self) -> dict[str, Any]:
        margin = self._last_margin if math.isfinite(self._last_margin) else None
        return super()._kept() | {"lengths": self.lengths, "margin": margin}

    @classmethod
    def from_state(cls, state: dict[str, Any], **parts: Any) -> Self:
        """Return the explorer that `state` was taken from, to the last bit.

        parts: settings by name, if others than the saved ones are to be used.
        """
        return super().from_state(state, **{"bound": None} | parts)

    def _rejoin(self, active: IntArray, kept: dict[str, Any]) -> None:
        lengths, margin = kept["lengths"], kept["margin"]
        self._last_margin = math.inf if margin is None else float(margin)
        if len(lengths) != len(self.history) + 1 or not self._last_margin > self.problem.epsilon:
            raise ValueError("there must be a length for each phase, and something left to prove")
        self.lengths = [int(length) for length in lengths[:-1]]
        self._begin(active)
        if self.lengths[-1] != lengths[-1]:
            raise ValueError(f"the phase has {self.lengths[-1]} pulls, not {lengths[-1]}")

    def _check_restored(self) -> None:
        beyond = (self.estimate.counts > self.plan.quotas).any()
        if not self.done and (beyond or self.phase_over(self.estimate)):
            raise InvalidState(
                "The saved phase has pulls that it does not ask for, or should have ended. "
                "Restore an undamaged copy."
            )


def only_its_own(bound: Bound | None, explorer: str) -> None:
    """Raise if an explorer that brings its bound is given another."""
    if bound is not None:
        raise InvalidBound(
            f"{explorer} brings its own bound, which holds at the end of each phase; got {bound}. "
            "Leave it out, or choose the bound of LinGapE."
        )
