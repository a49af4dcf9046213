"""What explorers share that have a fixed number of pulls and answer as well as these allow.

They never stop early. What they pull follows from intervals or phases of their own, which are
rules of thumb unless their papers' constants are known; what is proven at the end follows from the
bound alone, which holds for every way of choosing pulls, and is worked out from counts and sums
when it is asked for.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound, Mixture
from ..certificate import Certificate, share
from ..errors import (
    ExplorationOver,
    IllConditioned,
    InvalidArgument,
    InvalidBound,
    InvalidState,
    MissingExtra,
    in_words,
)
from ..least_squares import SPANNING
from ..problem import Problem
from .skeleton import GapExplorer


@dataclass(frozen=True)
class BudgetCertificate(Certificate):
    """What is proven about the answer of an explorer that has `budget` pulls."""

    budget: int = 0

    def _claim(self) -> str:
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


class BudgetExplorer(GapExplorer):
    """Spend `budget` pulls and answer.

    A subclass says which arm to pull next (`_pick`), what to make of a reward (`_digest`), which
    arm is the answer so far (`_favourite`), and how many pulls are too few (`_least`).
    """

    settings: ClassVar[tuple[str, ...]] = ("budget",)

    def __init__(
        self, problem: Problem, *, budget: int, bound: Bound, ridge: float | None
    ) -> None:
        if not getattr(bound, "adaptive", True):
            raise InvalidBound(
                f"{type(self).__name__} lets past rewards choose the next arm, but "
                f"{type(bound).__name__}() holds "
                "only for pulls fixed in advance. Pass Mixture() or SelfNormalized()."
            )
        super().__init__(problem, bound=bound, ridge=ridge)
        self._blank = self.estimate.copy()  # what the bound is about, without data
        if isinstance(budget, bool) or not isinstance(budget, int | np.integer):
            raise InvalidArgument(f"budget must be a whole number of pulls; got {budget!r}.")
        self.budget = int(budget)

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

    @abstractmethod
    def _digest(self) -> None:
        """Move what a subclass keeps of its own after a reward, up to that of the last pull."""

    def _favourite(self) -> int:
        """Return the answer so far."""
        return super().recommend() if self._contest is None else self._contest.leader

    @property
    def left(self) -> int:
        """How many pulls are left."""
        return max(0, self.budget - int(self.estimate.pulls))

    def recommend(self) -> int:
        """Return the answer, or the best guess while pulls are left."""
        return self._favourite() if self._verdict is None else self._verdict.arm

    def top(self) -> list[int]:
        """Return the answer in a list."""
        return [self.recommend()]

    def ask_many(self, n: int, *, pending: Iterable[int] = ()) -> list[int]:
        """Return `n` arms to pull side by side, or as many as the budget has left.

        pending: arms pulled but not told yet; they are paid for as well.
        """
        under_way = list(pending) if isinstance(pending, Iterable) else pending
        room = self.left - len(under_way) if isinstance(under_way, list) else 1
        whole = isinstance(n, int | np.integer) and not isinstance(n, bool)
        chosen = super().ask_many(max(1, room) if whole and n > room else n, pending=under_way)
        return chosen if room > 0 else []

    def certificate(self) -> Certificate:
        """Return what is proven now; once done, what was when the budget was spent."""
        if self._verdict is not None:
            return self._verdict
        arm = self.recommend()
        return self._certified(arm, self._gap_bound(arm), int(self.counts.sum()))

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
        rivals = np.flatnonzero(proof.twins != proof.twins[arm])
        widths = self.bound.widths(self.problem, proof, arm)[rivals]
        if isinstance(self.bound, Mixture):
            shorter = self.bound.settling_widths(self.problem, proof, arm, rivals, proof.means)
            widths = widths if shorter is None else shorter
        margins = proof.means[rivals] + widths - proof.means[arm]
        return float(margins.max(initial=0.0))

    def _certified(self, arm: int, gap_bound: float, pulls: int) -> BudgetCertificate:
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

    def _update(self, arm: int, reward: float) -> None:
        self.estimate.update(arm, reward)
        if not self.done:
            self._digest()
            self._finish_if_spent()

    def _finish_if_spent(self) -> None:
        if not self.left:
            self._verdict = self.certificate()

    def _caveat(self) -> str:
        return self.bound.caveat(self.problem, self._blank.ridge)

    def progress(self) -> dict[str, Any]:
        """Return the state but for the problem."""
        return super().progress() | {"ridge": self._blank.ridge}

    def _revived(self, verdict: Any) -> Certificate:
        try:
            gap_bound = math.inf if verdict["gap_bound"] is None else float(verdict["gap_bound"])
            arm = self.problem.check_arm(verdict["arm"])
            again = self._certified(arm, gap_bound, self.budget)
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

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if (state["verdict"] is None) != bool(self.left):
            raise InvalidState(
                f"A saved state has a verdict just when its {self.budget} pulls are spent; this "
                f"one has {self.left} left. Restore an undamaged copy."
            )


def _determined(pulled: FloatArray, shape: tuple[int, ...]) -> bool:
    """Whether these arms, of so many, determine all others to a good share of all digits."""
    if len(pulled) == shape[0] or len(pulled) < shape[1]:
        return len(pulled) == shape[0]
    values = np.linalg.svd(pulled, compute_uv=False)
    return bool(values[-1] > SPANNING * values[0])


def load_lanes() -> ModuleType:
    """Return the module of compiled lanes for budgets, or raise MissingExtra."""
    try:
        from ..kernels import budget
    except ImportError as reason:
        raise MissingExtra(
            "The compiled lane needs numba, which is not installed: pip install 'lingape[sim]', "
            "or use lane='plain'."
        ) from reason
    return budget
