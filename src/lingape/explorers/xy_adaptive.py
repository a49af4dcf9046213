"""XY-adaptive: a sequence of static phases, each about the arms that the last one left in play."""

from typing import Any, ClassVar, Literal

import numpy as np

from ..arrays import IntArray
from ..bounds import FixedDesign
from ..checks import as_float
from ..designs import differences, even_xy, trimmed
from ..errors import InvalidArgument, InvalidBound
from ..least_squares import LeastSquares
from ..plans import OneByOne, Proportions
from ..printable import stated
from ..problem import Problem
from ..scaffold.phases import PhasedExplorer
from ..ties import PULL


class XYAdaptive(PhasedExplorer):
    """Narrow the arms down phase by phase.

    Soare, Lazaric and Munos, Best-arm identification in linear bandits (NIPS 2014), as compared
    with in Section 7 of Xu et al. (2018). Within a phase pulls are fixed, so that a fixed-design
    bound applies; between phases all rewards are forgotten, for the same reason. Each phase pulls
    every arm once, then follows the design for the differences of the arms in play, and ends when
    the longest of these is α times as long as the longest was at the end of the phase before.

    problem: the arms, and what counts as an answer.
    alpha: how much shorter the longest difference gets in a phase.
    monotone: whether an arm once discarded stays out. As published (False) it may come back, and
        does: a phase about few arms learns little of the others. It may even cycle
        without end, so that this is for reproducing published figures.
    bound: FixedDesign() has its constants right, and phase j gets 6/(π²j²) of δ;
        FixedDesign("printed") is as in Proposition 1.
    design, ridge: as for XYStatic.

    The published box divides by the number of pulls twice; the reading here is the one that makes
    sense of it, and that the authors of the 2018 paper ran.

    >>> from lingape import Problem, XYAdaptive
    >>> explorer = XYAdaptive(Problem([[1, 0], [0, 1]], noise=0.5))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend(), explorer.phase
    (0, 1)
    """

    settings: ClassVar[tuple[str, ...]] = ("design", "alpha", "monotone")
    plan: OneByOne | Proportions

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
        self._begin(np.arange(len(problem)))

    def _begin(self, active: IntArray, *, longest: float = 1.0) -> None:
        self._longest = longest  # at the end of the phase before
        self.history.append(active.tolist())
        self.estimate = self.bound.estimate(self.problem, self._ridge)
        x = self.problem.orthonormal
        self._directions = differences(self.estimate.features[active])
        self.plan = OneByOne(tuple(active.tolist()))
        if self.design == "rounded" and self._directions.any():
            shares = trimmed(even_xy(x, differences(x[active])).proportions)
            self.plan = Proportions(shares, each_first=True)

    @property
    def target(self) -> float:
        """How long the phase leaves the longest difference, squared."""
        return self.alpha * self._longest * (1 + PULL)

    def phase_over(self, estimate: LeastSquares) -> bool:
        """Whether `estimate` has the longest difference as short as the phase was to make it."""
        return self.plan.over(estimate) and self._length(estimate) <= self.target

    def _length(self, estimate: LeastSquares) -> float:
        y = self._directions
        return float(np.einsum("md,de,me->m", y, estimate.inverse, y).max())

    def _candidates(self) -> IntArray:
        return super()._candidates() if self.monotone else np.arange(len(self.problem))

    def _go_on(self, survivors: IntArray, margin: float) -> None:
        self._begin(survivors, longest=self._length(self.estimate))

    def _phase_problem(self) -> Problem:
        assert isinstance(self.bound, FixedDesign)
        if self.bound.constants != "corrected":
            return self.problem
        share = 6 / (np.pi * self.phase) ** 2
        return self.problem.replace(delta=share * self.problem.delta)

    def _assumptions(self) -> tuple[str, ...]:
        return (
            self.problem.noise.assumption(),
            stated(
                "The order of the pulls of a phase was decided before its first reward came in.",
                "which arm is pulled at which time of a phase was fixed before the first reward "
                "of that phase was seen.",
            ),
            stated(
                "Rewards of a phase are reported in an order that has nothing to do with how high "
                "they are.",
                "which rewards of a phase are told, and when, does not depend on rewards of that "
                "phase.",
            ),
        )

    def _caveat(self) -> str:
        assert isinstance(self.bound, FixedDesign)
        unshared = (
            ""
            if self.bound.constants == "corrected"
            else f"with {self.bound} XYAdaptive does not share δ among its phases. With "
            "FixedDesign() it does."
        )
        return super()._caveat() or unshared

    def _kept(self) -> dict[str, Any]:
        return super()._kept() | {"longest": self._longest}

    def _rejoin(self, active: IntArray, kept: dict[str, Any]) -> None:
        longest = float(kept["longest"])
        if not longest > 0:
            raise ValueError(f"the longest difference was {longest}")
        self._begin(active, longest=longest)
