"""XY-adaptive: a sequence of static phases, each about the arms that the last one left in play.

Soare, Lazaric and Munos (NIPS 2014), as compared with in Section 7 of Xu et al. (2018). Within a
phase pulls are fixed, so that a fixed-design bound applies; between phases all rewards are
forgotten, for the same reason. Each phase pulls every arm once, then follows the design for the
differences of the arms in play, and ends when the longest of these is α times as long as the
longest was at the end of the phase before.

The published box divides by the number of pulls twice; the reading here is the one that makes
sense of it, and that the authors of the 2018 paper ran.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..arrays import IntArray
from ..bounds import FixedDesign
from ..designs import differences, even_xy
from ..errors import InvalidArgument, InvalidBound, InvalidState
from ..least_squares import LeastSquares
from ..plans import OneByOne, Plan, Proportions
from ..problem import Problem, as_float
from ..ties import PULL
from .planned import PlannedExplorer
from .xy_static import trimmed

if TYPE_CHECKING:
    from ..kernels.phases import PhaseLane


class XYAdaptive(PlannedExplorer):
    """Narrow the arms down phase by phase.

    alpha: how much shorter the longest difference gets in a phase.
    monotone: whether an arm once discarded stays out. As published (False) it may come back, and
        does: a phase about few arms learns little of the others. It may even go round in circles
        for ever, so that this is for reproducing published figures.
    bound: as for XYStatic; with corrected constants phase j gets 6/(π²j²) of δ.
    design: as for XYStatic.
    """

    settings: ClassVar[tuple[str, ...]] = ("design", "alpha", "monotone")

    def __init__(
        self,
        problem: Problem,
        *,
        bound: FixedDesign = FixedDesign(),
        design: Literal["rounded", "greedy"] = "rounded",
        alpha: float = 0.1,
        monotone: bool = True,
        ridge: float | None = None,
    ) -> None:
        if not isinstance(bound, FixedDesign):
            raise InvalidBound(
                f"XYAdaptive forgets between phases so that FixedDesign() applies; got {bound!r}. "
                "With a bound that holds under adaptive pulls nothing need be forgotten: LinGapE."
            )
        super().__init__(problem, bound=bound, ridge=ridge)
        if design not in ("rounded", "greedy"):
            raise InvalidArgument(f'design must be "rounded" or "greedy"; got {design!r}.')
        if not 0 < as_float(alpha) < 1:
            raise InvalidArgument(f"alpha must lie strictly between 0 and 1; got {alpha!r}.")
        if not isinstance(monotone, bool):
            raise InvalidArgument(f"monotone must be True or False; got {monotone!r}.")
        self.design, self.alpha, self.monotone, self._ridge = design, alpha, monotone, ridge
        self._told: IntArray = np.zeros(len(problem), dtype=np.int64)  # in all phases
        self._favourite = 0  # the best-looking arm at the end of the last phase
        self.history: list[list[int]] = []  # the arms in play in each phase
        self._begin(np.arange(len(problem)), longest=1.0)

    @property
    def counts(self) -> IntArray:
        """How often each arm has been told, in all phases."""
        return self._told.copy()

    @property
    def phase(self) -> int:
        """The number of the phase, from 1."""
        return len(self.history)

    def recommend(self) -> int:
        """Return the arm that won, or the best-looking one of the last phase."""
        return self._verdict.arm if self._verdict is not None else self._favourite

    def _begin(self, active: IntArray, *, longest: float) -> None:
        """Start a phase about the arms in `active`, with no data."""
        self._active, self._longest = active, longest
        self.history.append(active.tolist())
        self.estimate = self.bound.estimate(self.problem, self._ridge)
        x = self.problem.orthonormal
        self._directions = differences(self.estimate.features[active])
        self.plan: Plan = OneByOne(tuple(active.tolist()))
        if self.design == "rounded" and self._directions.any():
            shares = trimmed(even_xy(x, differences(x[active])).proportions)
            self.plan = Proportions(shares, each_first=True)

    def _allow(self, arm: int) -> None:
        """Let every arm be told: what this phase has no use for is counted and forgotten."""

    def _update(self, arm: int, reward: float) -> None:
        if self.done or self.plan.allows(self.estimate, arm):
            self.estimate.update(arm, reward)
        self._told[arm] += 1
        if not self.done and self._begun(self.estimate) and self.phase_over(self.estimate):
            self.end_phase()

    @property
    def target(self) -> float:
        """How long the phase leaves the longest difference, squared."""
        return self.alpha * self._longest * (1 + PULL)

    def phase_over(self, estimate: LeastSquares) -> bool:
        """Whether the longest difference is as short as the phase was to make it."""
        return self._length(estimate) <= self.target

    def _length(self, estimate: LeastSquares) -> float:
        y = self._directions
        return float(np.einsum("md,de,me->m", y, estimate.inverse, y).max())

    def end_phase(self) -> None:
        """Discard the arms that another one beats, and stop or start the next phase."""
        means, twins = self.estimate.means, self.problem.twins
        judges = self._active if self.monotone else np.arange(len(means))
        self._favourite = int(judges[means[judges].argmax()])
        beaten = np.zeros(len(means), dtype=bool)
        problem = self._phase_problem()
        for k in judges:
            widths = self.bound.widths(problem, self.estimate, int(k))
            beaten |= (means[k] - means >= widths) & (twins != twins[k])
        survivors = judges[~beaten[judges]]  # with the favourite among them
        margin = self._margin(problem, judges)
        if len(np.unique(self.problem.twins[survivors])) == 1:
            self._favourite, margin = int(survivors[0]), min(margin, 0.0)
        if margin <= self.problem.epsilon:
            self._verdict = self._certify(settled=True, margin=margin)
        else:
            self._begin(survivors, longest=self._length(self.estimate))

    def _margin(self, problem: Problem, judges: IntArray) -> float:
        """Return B for the favourite, against the arms that may still be best."""
        means, twins, leader = self.estimate.means, self.problem.twins, self._favourite
        upper = means - means[leader] + self.bound.widths(problem, self.estimate, leader)
        rivals = judges[twins[judges] != twins[leader]]
        return float(upper[rivals].max()) if len(rivals) else 0.0

    def _phase_problem(self) -> Problem:
        assert isinstance(self.bound, FixedDesign)
        if self.bound.constants != "corrected":
            return self.problem
        share = 6 / (np.pi * self.phase) ** 2
        return Problem(**self.problem.to_dict() | {"delta": share * self.problem.delta})

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on later, as JSON-able data."""
        return super().state() | {
            "told": self._told.tolist(),
            "history": self.history,
            "longest": self._longest,
            "favourite": self._favourite,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        count = len(self.problem)
        try:
            told = np.array(state["told"], dtype=np.int64)
            history = [[self.problem.check_arm(arm) for arm in arms] for arms in state["history"]]
            longest, favourite = (
                float(state["longest"]),
                self.problem.check_arm(state["favourite"]),
            )
            fine = told.shape == (count,) and all(history) and history and longest > 0
        except (KeyError, TypeError, ValueError, OverflowError) as reason:
            raise InvalidState(
                f"The saved phases are damaged: {reason!r}. Restore an undamaged copy."
            ) from reason
        if not fine:
            raise InvalidState("The saved phases are damaged. Restore an undamaged copy.")
        self._begin(np.array(history[-1], dtype=np.int64), longest=longest)
        self.history, self._told, self._favourite = history, told, favourite
        self.estimate.restore(state.get("estimate"), noise_scale=self.problem.noise_scale)
        if (self.estimate.counts > told).any():
            raise InvalidState(
                "A phase cannot have more pulls than the run. Restore an undamaged copy."
            )

    def compiled(self) -> "PhaseLane | None":  # type: ignore[override]
        """Return a compiled lane that goes on from here, if there is one for these parts."""
        from .lanes import load_phase_lane

        lane = load_phase_lane()
        return None if self.done else lane(self)

    def adopt(self, lane: "PhaseLane") -> None:  # type: ignore[override]
        """Take over what a compiled lane was paid, as if it had been told."""
        self.__dict__.update(lane.explorer.__dict__)
