"""Phases whose pulls are fixed in advance, compiled: 10^8 pulls in some seconds.

How many pulls a phase takes depends on no reward, so it is found first; then the rewards are
drawn.
"""

import copy
import math
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import Bound
from ..least_squares import LeastSquares
from ..plans import OneByOne, Proportions
from ..problem import Problem
from .book import PULLS, REBUILD_AT, Arena, Book, rebuild
from .compiling import compiled
from .lane import arena_of, book_of
from .lingape import absorb_first
from .picks import longest_of, most_behind, progress, reward, steepest
from .world import CompiledWorld


class Phased(Protocol):
    """An explorer made of phases."""

    problem: Problem
    bound: Bound
    estimate: LeastSquares
    plan: Any
    _told: IntArray

    @property
    def done(self) -> bool: ...

    @property
    def counts(self) -> IntArray: ...

    def phase_over(self, estimate: LeastSquares) -> bool: ...

    def end_phase(self) -> None: ...


class Stepwise(Phased, Protocol):
    """One whose phases end when the longest difference is short enough."""

    @property
    def target(self) -> float: ...


@runtime_checkable
class Quota(Protocol):
    """A plan that says how often each arm is pulled in a phase (explorers.phased.Quotas)."""

    @property
    def quotas(self) -> IntArray: ...


@compiled
def _follow(counts: IntArray, shares: FloatArray, pulls: int) -> None:
    """Count the next pulls of a plan that pulls each arm once before it follows its shares."""
    turns = np.empty(len(counts))
    for k in range(len(counts)):
        if pulls > 0 and counts[k] == 0:
            counts[k], pulls = 1, pulls - 1
    progress(counts, shares, turns)
    for _ in range(pulls):
        arm = most_behind(turns)
        counts[arm] += 1
        turns[arm] = counts[arm] / shares[arm]


@compiled
def _draw(
    counts: IntArray,
    sums: FloatArray,
    shares: FloatArray,
    world: CompiledWorld,
    rng: np.random.Generator,
    pulls: int,
) -> None:
    """Make the next pulls of such a plan."""
    kind, mu, scale, turns = world.kind, world.means, world.scale, np.empty(len(counts))
    for k in range(len(counts)):
        if pulls > 0 and counts[k] == 0:
            counts[k], pulls = 1, pulls - 1
            sums[k] += reward(kind, mu[k], scale, rng)
    progress(counts, shares, turns)
    for _ in range(pulls):
        arm = most_behind(turns)
        counts[arm] += 1
        turns[arm] = counts[arm] / shares[arm]
        sums[arm] += reward(kind, mu[arm], scale, rng)


@compiled
def _fill(
    counts: IntArray,
    sums: FloatArray,
    quotas: IntArray,
    world: CompiledWorld,
    rng: np.random.Generator,
    pulls: int,
) -> None:
    """Make the next pulls of a plan with quotas, of which at least so many are left."""
    kind, mu, scale, turns = world.kind, world.means, world.scale, np.empty(len(counts))
    for k in range(len(counts)):
        turns[k] = counts[k] / quotas[k] if counts[k] < quotas[k] else math.inf
    for _ in range(pulls):
        arm = most_behind(turns)
        counts[arm] += 1
        turns[arm] = counts[arm] / quotas[arm] if counts[arm] < quotas[arm] else math.inf
        sums[arm] += reward(kind, mu[arm], scale, rng)


@compiled
def _walk(
    arena: Arena,
    book: Book,
    world: CompiledWorld,
    rng: np.random.Generator,
    until: int,
    target: float,
) -> None:
    """Make pulls one by one, until the longest difference is no longer than `target`."""
    rebuild(arena, book)
    c, clock, means, variances = book.c, book.clock, book.means, book.variances
    cross, gap_variance = book.cross, book.gap_variance
    longest = math.inf
    while longest > target and clock[PULLS] < until:
        arm = steepest(cross, gap_variance, variances, arena.active, book.scores, book.b)
        paid = reward(world.kind, world.means[arm], world.scale, rng)
        book.counts[arm] += 1
        book.sums[arm] += paid
        clock[PULLS] += 1
        if clock[PULLS] >= clock[REBUILD_AT]:
            rebuild(arena, book)
        else:
            c[:] = cross[arm]
            t = 1.0 / (1.0 + c[arm])
            absorb_first(c, t, 0.0, means, variances, cross, gap_variance, book.owner)
        longest = longest_of(gap_variance, arena.active)


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
            estimate, plan = self.explorer.estimate, self.explorer.plan
            left = until - self.pulls
            if isinstance(plan, Quota):
                counts, sums = self._fill_quotas(plan.quotas, world, rng, left)
            elif isinstance(plan, Proportions):
                counts, sums = self._follow_shares(plan.shares, world, rng, left)
            else:
                counts, sums = self._follow_steepest(plan, world, rng, left)
            self.explorer._told += counts - estimate.counts
            estimate.load(counts, sums)
            if self.explorer.phase_over(estimate):
                self._end = None
                self.explorer.end_phase()

    def _fill_quotas(
        self, quotas: IntArray, world: CompiledWorld, rng: np.random.Generator, left: int
    ) -> tuple[IntArray, FloatArray]:
        counts, sums = self.explorer.estimate.counts.copy(), self.explorer.estimate.sums.copy()
        _fill(counts, sums, quotas, world, rng, min(int((quotas - counts).sum()), left))
        return counts, sums

    def _follow_shares(
        self, shares: FloatArray, world: CompiledWorld, rng: np.random.Generator, left: int
    ) -> tuple[IntArray, FloatArray]:
        estimate = self.explorer.estimate
        if self._end is None:
            self._end = self._phase_end(estimate, shares)
        counts, sums = estimate.counts.copy(), estimate.sums.copy()
        _draw(counts, sums, shares, world, rng, min(self._end - estimate.pulls, left))
        return counts, sums

    def _follow_steepest(
        self, plan: OneByOne, world: CompiledWorld, rng: np.random.Generator, left: int
    ) -> tuple[IntArray, FloatArray]:
        explorer, estimate = self.explorer, self.explorer.estimate
        if missing := int((estimate.counts == 0).sum()):  # each arm once, and then see
            counts, sums = estimate.counts.copy(), estimate.sums.copy()
            _draw(counts, sums, np.zeros(len(counts)), world, rng, min(missing, left))
            return counts, sums
        arena = arena_of(explorer.problem, explorer.bound, plan, estimate, None)
        book = book_of(arena, estimate)
        _walk(arena, book, world, rng, estimate.pulls + left, cast(Stepwise, explorer).target)
        return book.counts, book.sums

    def _phase_end(self, estimate: LeastSquares, shares: FloatArray) -> int:
        """Return the number of pulls after which the phase is over: the first that will do."""
        trial = estimate.copy()
        counts, step = estimate.counts.copy(), 1
        while True:
            further = counts.copy()
            _follow(further, shares, step)
            trial.load(further, np.zeros(len(further)))
            over = self.explorer.phase_over(trial)
            if over and step == 1:
                return int(further.sum())
            if over:
                step = max(1, step // 8)
            else:
                counts = further
                step = max(1, min(2 * step, int(counts.sum()) // 8)) if step > 1 else step + 1
