"""Explorers with a budget that discard arms phase by phase.

The number of phases and of survivors of each is known in advance. All phases are equally long, to
within one pull, and together exactly as long as the budget: phase r ends at pull ⌊rn/R⌋. How often
a phase pulls each arm is fixed when it begins, and at its end the arms in play are judged by the
rewards of that phase alone, as in the papers; what is proven rests on all rewards.

A pull that was not asked for takes up a pull of its phase like any other. If its arm is in play
its reward counts too.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import Bound, Mixture
from ..designs import g_optimal, rounded, trimmed
from ..least_squares import LeastSquares
from ..problem import Problem
from ..ties import LEADER, PULL, first_max
from .budget import BudgetExplorer

# Proportions this close to optimal are good enough: they become whole pulls anyway.
TOLERANCE = 0.01


class PhasedBudgetExplorer(BudgetExplorer):
    """Discard arms phase by phase until one is left.

    A subclass says how many arms survive each phase (`_survivors`), how many pulls a phase takes
    at least (`_needs`), how many of them each arm gets (`_plan`) and how arms are judged
    (`_judge`).
    """

    def __init__(
        self,
        problem: Problem,
        *,
        budget: int,
        bound: Bound = Mixture(),
        ridge: float | None = None,
    ) -> None:
        super().__init__(problem, budget=budget, bound=bound, ridge=ridge)
        self.survivors = self._survivors()
        self._check_budget()
        self.history: list[list[int]] = []  # the arms in play in each phase, best first
        self._begin(list(range(len(problem))))

    @abstractmethod
    def _survivors(self) -> tuple[int, ...]:
        """Return how many arms are left after each phase, in the end 1."""

    @abstractmethod
    def _needs(self, in_play: int) -> int:
        """Return how many pulls a phase about so many arms takes at least."""

    @abstractmethod
    def _plan(self, active: IntArray, pulls: int) -> IntArray:
        """Return how often to pull each arm in play, so many times in all."""

    @abstractmethod
    def _judge(self, active: IntArray, counts: IntArray, sums: FloatArray) -> FloatArray:
        """Return the arms' estimated means from a phase's rewards, given for these arms."""

    def _ends(self, budget: int) -> list[int]:
        """Return the number of pulls after which each phase is over."""
        phases = len(self.survivors)
        return [budget * r // phases for r in range(1, phases + 1)]

    def _least(self) -> tuple[int, str]:
        phases, first = len(self.survivors), self._needs(len(self.problem))
        return phases * first, f"{phases} phases of at least {first} pulls"

    @property
    def phase(self) -> int:
        """The number of the phase, from 1; after the last, one more."""
        return len(self.history)

    @property
    def phase_end(self) -> int:
        """The number of pulls after which the phase is over."""
        return self._ends(self.budget)[self.phase - 1]

    def _begin(self, active: list[int]) -> None:
        """Start a phase about the arms in `active`."""
        plan: IntArray = np.zeros(len(self.problem), dtype=np.int64)
        if len(active) > 1:
            arms = np.sort(np.array(active, dtype=np.int64))
            ends = [0, *self._ends(self.budget)]
            plan[arms] = self._plan(arms, ends[self.phase + 1] - ends[self.phase])
        self.plan = plan
        self.history.append(active)
        # Counts and sums so far are not this phase's.
        self.before = self.estimate.counts.copy()
        self._before_sums = self.estimate.sums.copy()

    def _pick(self, estimate: LeastSquares) -> int:
        """Return the arm that is furthest behind the phase's plan."""
        used = np.flatnonzero(self.plan)
        done = (estimate.counts[used] - self.before[used]) / self.plan[used]
        return int(used[first_max(-done, PULL * float(done.min()))])

    def _update(self, arm: int, reward: float) -> None:
        self.estimate.update(arm, reward)
        self._end_phase_if_over()

    def absorb(self, counts: IntArray, sums: FloatArray) -> None:
        """Take over the counts and sums that pulls up to the end of the phase have led to."""
        self.estimate.load(counts, sums)
        self._end_phase_if_over()

    def _end_phase_if_over(self) -> None:
        if not self.done and self.estimate.pulls == self.phase_end:
            self.end_phase()
        self._finish_if_spent()

    def end_phase(self) -> None:
        """Discard the arms that look worst, and start the next phase."""
        arms = np.sort(np.array(self.history[-1], dtype=np.int64))
        counts = self.estimate.counts[arms] - self.before[arms]
        sums = np.where(counts > 0, self.estimate.sums[arms] - self._before_sums[arms], 0.0)
        order = ranked(self._judge(arms, counts, sums), LEADER, self.problem.noise_scale)
        self._begin(arms[order][: self.survivors[self.phase - 1]].tolist())

    def _looks_best(self) -> list[int]:
        return super()._looks_best() if self.phase == 1 else self.history[-1][:1]

    def _kept(self) -> dict[str, Any]:
        return {
            "history": self.history,
            "before": self.before.tolist(),
            "before_sums": self._before_sums.tolist(),
        }

    def _restore(self, kept: dict[str, Any]) -> None:
        before = np.array(kept["before"], dtype=np.int64)
        sums = np.array(kept["before_sums"], dtype=np.float64)
        history = [[self.problem.check_arm(arm) for arm in arms] for arms in kept["history"]]
        sizes = [len(set(arms)) for arms in history]
        past = sum(end <= self.estimate.pulls for end in self._ends(self.budget))
        started = self._ends(self.budget)[past - 1] if past else 0
        if (
            not before.shape == sums.shape == self.before.shape
            or not np.isfinite(sums).all()
            or sizes != [len(self.problem), *self.survivors][: past + 1]
            or before.sum() != started
            or not ((before >= 0) & (before <= self.estimate.counts)).all()
        ):
            raise ValueError("the saved phases do not follow from the counts")
        self.history = history[:-1]
        self._begin(history[-1])
        self.before, self._before_sums = before, sums

    def adopt(self, lane: Any) -> None:
        """Take over what a compiled run, `lane`, was paid, as if it had been told."""
        self.__dict__.update(lane.explorer.__dict__)


class DesignedBudgetExplorer(PhasedBudgetExplorer):
    """Pull by the G-optimal design for the arms in play, and judge by least squares.

    Proportions become whole pulls by efficient apportionment, so that a phase gets its pulls
    exactly and none is lost to rounding up.
    """

    def _needs(self, in_play: int) -> int:
        return min(in_play, self.problem.rank)

    def _plan(self, active: IntArray, pulls: int) -> IntArray:
        return apportioned(self.problem.orthonormal[active], pulls)

    def _judge(self, active: IntArray, counts: IntArray, sums: FloatArray) -> FloatArray:
        x, pulled = self.problem.orthonormal[active], counts > 0
        weights = np.sqrt(counts[pulled])
        # The shortest solution: arms in play need not span the space, only each other.
        theta = np.linalg.lstsq(weights[:, None] * x[pulled], sums[pulled] / weights, rcond=1e-10)[
            0
        ]
        return np.asarray(x @ theta, dtype=np.float64)


def apportioned(x: FloatArray, pulls: int) -> IntArray:
    """Return how often to pull each arm so as to know all about equally well (G-optimal).

    Arms with less than half a pull are left out, as long as the others span the same space.
    """
    if not x.any():  # nothing depends on the features: all alike
        return rounded(np.full(len(x), 1.0 / len(x)), pulls)
    shares = trimmed(g_optimal(x, tolerance=TOLERANCE).proportions)
    kept = _spanning(x, shares)
    for k in np.argsort(-shares, kind="stable"):
        if len(kept) == pulls or shares[k] * pulls < 0.5:
            break
        kept.add(int(k))
    used = np.zeros(len(x))
    used[sorted(kept)] = shares[sorted(kept)]
    return rounded(used / used.sum(), pulls)


def _spanning(x: FloatArray, shares: FloatArray) -> set[int]:
    """Return arms with large shares that span what all arms do."""
    rest = np.sqrt(shares)[:, None] * x
    values = np.linalg.svd(x, compute_uv=False)
    chosen: set[int] = set()
    while len(chosen) < (values > 1e-10 * values[0]).sum():
        lengths = np.einsum("kd,kd->k", rest, rest)
        arm = first_max(lengths, 1e-9 * float(lengths.max()))
        chosen.add(arm)
        direction = rest[arm] / np.sqrt(lengths[arm])
        rest = rest - np.multiply.outer(rest @ direction, direction)
    return chosen


def ranked(scores: FloatArray, slack: float, scale: float) -> IntArray:
    """Return positions from the largest score to the smallest, ties by position.

    Neighbours tie whose scores differ by less than `slack` times the scores' size or `scale`.
    """
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    size = float(np.abs(falling[np.isfinite(falling)]).max(initial=scale))
    steps = np.where(np.isfinite(falling[1:]), falling[:-1], 0.0) - np.where(
        np.isfinite(falling[1:]), falling[1:], 0.0
    )
    steps[np.isfinite(falling[:-1]) & ~np.isfinite(falling[1:])] = np.inf
    groups = np.concatenate([[0], np.cumsum(steps > slack * size)])
    return order[np.lexsort((order, groups))]
