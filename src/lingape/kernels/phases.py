"""Phases whose pulls are fixed in advance, compiled: 10^8 pulls in some seconds.

How many pulls a phase takes depends on no reward, so it is found first; then the rewards are
drawn.
"""

import copy
from typing import Any, Protocol

import numpy as np

from ..arrays import FloatArray, IntArray
from ..least_squares import LeastSquares
from ..plans import Proportions
from .compiling import compiled
from .picks import most_behind, reward
from .world import CompiledWorld


class Phased(Protocol):
    """An explorer made of phases."""

    estimate: LeastSquares
    plan: Any
    _told: IntArray

    @property
    def done(self) -> bool: ...

    @property
    def counts(self) -> IntArray: ...

    def phase_over(self, estimate: LeastSquares) -> bool: ...

    def end_phase(self) -> None: ...


@compiled
def _next(counts: IntArray, shares: FloatArray) -> int:
    """Return the next arm of a plan that pulls each arm once before it follows its shares."""
    for k in range(len(counts)):
        if counts[k] == 0:
            return k
    return most_behind(counts, shares)


@compiled
def _follow(counts: IntArray, shares: FloatArray, pulls: int) -> None:
    """Count the next pulls of a plan."""
    for _ in range(pulls):
        counts[_next(counts, shares)] += 1


@compiled
def _draw(
    counts: IntArray,
    sums: FloatArray,
    shares: FloatArray,
    world: CompiledWorld,
    rng: np.random.Generator,
    pulls: int,
) -> None:
    """Make the next pulls of a plan."""
    for _ in range(pulls):
        arm = _next(counts, shares)
        counts[arm] += 1
        sums[arm] += reward(world.kind, world.means[arm], world.scale, rng)


class PhaseLane:
    """A run of phases in compiled code, which starts from a copy of the explorer."""

    contest = None

    def __init__(self, explorer: Phased) -> None:
        self.explorer = copy.deepcopy(explorer)
        self._end: int | None = None  # how many pulls the phase has in all, once known

    @property
    def settled(self) -> bool:
        return self.explorer.done

    @property
    def pulls(self) -> int:
        return int(self.explorer.counts.sum())

    def advance(self, world: CompiledWorld, rng: np.random.Generator, until: int) -> None:
        """Play on until settled or `until` pulls."""
        while not self.settled and self.pulls < until:
            estimate = self.explorer.estimate
            assert isinstance(self.explorer.plan, Proportions)
            shares = self.explorer.plan.shares
            if self._end is None:
                self._end = self._phase_end(estimate, shares)
            pulls = min(self._end - estimate.pulls, until - self.pulls)
            counts, sums = estimate.counts.copy(), estimate.sums.copy()
            _draw(counts, sums, shares, world, rng, pulls)
            self.explorer._told += counts - estimate.counts
            estimate.load(counts, sums)
            if estimate.pulls == self._end:
                self._end = None
                self.explorer.end_phase()

    def _phase_end(self, estimate: LeastSquares, shares: FloatArray) -> int:
        """Return the number of pulls after which the phase is over: the first that will do."""
        trial = estimate.copy()
        counts, step = estimate.counts.copy(), 1
        while True:
            further = counts.copy()
            _follow(further, shares, step)
            trial.load(further, np.zeros(len(further)))
            over = bool(further.all()) and self.explorer.phase_over(trial)
            if over and step == 1:
                return int(further.sum())
            if over:
                step = max(1, step // 8)
            else:
                counts = further
                step = max(1, min(2 * step, int(counts.sum()) // 8)) if step > 1 else step + 1
