"""Drive explorers made of phases, whose pulls depend on no reward of the phase.

How many pulls a phase takes is found first; then the rewards are drawn.
"""

import copy
import math
from typing import Any, NamedTuple, Self

import numpy as np

from ..arrays import FloatArray, IntArray
from ..kernels.book import (
    PULLS,
    REBUILD_AT,
    Arena,
    Book,
    Model,
    absorb,
    new_arena,
    new_book,
    rebuild,
)
from ..kernels.functions import EntryPoint
from ..kernels.parts import pay
from ..kernels.teams import ALONE
from ..least_squares import LeastSquares
from ..plans import (
    OneByOne,
    OneByOneKernel,
    Proportions,
    Quotas,
    compiled_steepest,
    longest_of,
    most_behind,
    write_turns,
)
from ..scaffold.budget_phases import PhasedBudgetExplorer
from ..scaffold.phases import PhasedExplorer

PLANS = (Quotas, Proportions, OneByOne)


class PhaseLane:
    """A run of phases in compiled code, which starts from a copy of the explorer."""

    def __init__(self, explorer: PhasedExplorer | PhasedBudgetExplorer) -> None:
        self.explorer = copy.deepcopy(explorer)
        self._end: int | None = None  # how many pulls the phase has in all, once known

    @classmethod
    def of(cls, explorer: PhasedExplorer | PhasedBudgetExplorer) -> Self | None:
        """Return a lane, or None if the pulls of a phase are not planned in a way known here."""
        known = isinstance(explorer, PhasedBudgetExplorer) or type(explorer.plan) in PLANS
        return cls(explorer) if known else None

    @property
    def settled(self) -> bool:
        return self.explorer.done

    @property
    def pulls(self) -> int:
        return int(self.explorer.counts.sum())

    def prepare(self, world: Any) -> None:
        """Compile nothing: what phases need is small, and the same for all of them."""

    def advance(self, world: Any, rng: np.random.Generator, until: int) -> None:
        """Play on until settled or `until` pulls."""
        while not self.settled and self.pulls < until:
            explorer, left = self.explorer, until - self.pulls
            counts, sums = explorer.estimate.counts.copy(), explorer.estimate.sums.copy()
            phase = len(explorer.history)
            if isinstance(explorer, PhasedBudgetExplorer):
                within = counts - explorer.before
                pulls = min(explorer.phase_end - self.pulls, left)
                fill(within, sums, explorer.plan, world, rng, pulls)
                counts = explorer.before + within
            elif isinstance(explorer.plan, Quotas):
                quotas = explorer.plan.quotas
                pulls = min(int((quotas - counts).sum()), left)
                fill(counts, sums, quotas, world, rng, pulls)
            elif isinstance(explorer.plan, Proportions):
                plan = explorer.plan
                if self._end is None:
                    self._end = self._phase_end(explorer.estimate, plan)
                pulls = min(self._end - explorer.estimate.pulls, left)
                follow(counts, sums, plan.shares, world, rng, pulls, plan.each_first)
            else:
                counts, sums = self._walk(explorer.plan, counts, sums, world, rng, left)
            explorer.absorb(counts, sums)
            if len(explorer.history) > phase:
                self._end = None

    def _walk(
        self,
        plan: OneByOne,
        counts: IntArray,
        sums: FloatArray,
        world: Any,
        rng: np.random.Generator,
        left: int,
    ) -> tuple[IntArray, FloatArray]:
        """Pull each arm once, and then choose pulls one at a time."""
        if missing := int((counts == 0).sum()):
            follow(counts, sums, np.zeros(len(counts)), world, rng, min(missing, left), True)
            return counts, sums
        explorer, estimate = self.explorer, self.explorer.estimate
        book = new_book(estimate, all_rows=True)
        arena, until = new_arena(estimate, explorer.problem.noise_scale), estimate.pulls + left
        kernel, target = plan.kernel_for(len(counts)), explorer.target  # type: ignore[union-attr]
        walk(arena, book, kernel, world, rng, until, target)
        return book.counts, book.sums

    def _phase_end(self, estimate: LeastSquares, plan: Proportions) -> int:
        """Return the number of pulls after which the phase is over: the first that is enough."""
        assert isinstance(self.explorer, PhasedExplorer)
        trial, rng = estimate.copy(), np.random.default_rng(0)
        counts, step = estimate.counts.copy(), 1
        while True:
            further, nothing = counts.copy(), np.zeros(len(counts))
            follow(further, nothing, plan.shares, NoRewards(), rng, step, plan.each_first)
            trial.load(further, nothing)
            over = self.explorer.phase_over(trial)
            if over and step == 1:
                return int(further.sum())
            if over:
                step = max(1, step // 8)
            else:
                counts = further
                step = max(1, min(2 * step, int(counts.sum()) // 8)) if step > 1 else step + 1


class NoRewards(NamedTuple):
    """A world that pays nothing, to see where pulls would go."""


@pay.of(NoRewards)
def _(world: NoRewards, arm: int, rng: np.random.Generator) -> float:
    return 0.0


class NoBound(NamedTuple):
    """A bound that keeps nothing beside the estimate."""


@EntryPoint
def follow(
    counts: IntArray,
    sums: FloatArray,
    shares: FloatArray,
    world: Any,
    rng: np.random.Generator,
    pulls: int,
    each_first: bool,
) -> None:
    """Make the next pulls of a plan by shares, which may pull each arm once before."""
    turns = np.empty(len(counts))
    for k in range(len(counts)):
        if each_first and pulls > 0 and counts[k] == 0:
            counts[k], pulls = 1, pulls - 1
            sums[k] += pay(world, k, rng)
    write_turns(ALONE, counts, shares, turns)
    for _ in range(pulls):
        arm = most_behind(ALONE, turns)
        counts[arm] += 1
        turns[arm] = counts[arm] / shares[arm]
        sums[arm] += pay(world, arm, rng)


@EntryPoint
def fill(
    counts: IntArray,
    sums: FloatArray,
    quotas: IntArray,
    world: Any,
    rng: np.random.Generator,
    pulls: int,
) -> None:
    """Make the next pulls of a plan with quotas, of which at least so many are left."""
    turns = np.empty(len(counts))
    for k in range(len(counts)):
        turns[k] = counts[k] / quotas[k] if counts[k] < quotas[k] else math.inf
    for _ in range(pulls):
        arm = most_behind(ALONE, turns)
        counts[arm] += 1
        turns[arm] = counts[arm] / quotas[arm] if counts[arm] < quotas[arm] else math.inf
        sums[arm] += pay(world, arm, rng)


@EntryPoint
def walk(
    arena: Arena,
    book: Book,
    plan: OneByOneKernel,
    world: Any,
    rng: np.random.Generator,
    until: int,
    target: float,
) -> None:
    """Make pulls one by one, until the longest difference is no longer than `target`."""
    model, clock = Model(arena, book, NoBound()), book.clock
    rebuild(model, plan)
    longest = math.inf
    while longest > target and clock[PULLS] < until:
        arm = compiled_steepest(plan, book.cross, book.gap_variance, book.variances)
        paid = pay(world, arm, rng)
        book.counts[arm] += 1
        book.sums[arm] += paid
        clock[PULLS] += 1
        if clock[PULLS] >= clock[REBUILD_AT] or not absorb(model, plan, arm, paid):
            rebuild(model, plan)
        longest = longest_of(book.gap_variance, plan.active)
