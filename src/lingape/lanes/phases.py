"""Drive explorers made of phases, whose pulls depend on no reward of the phase.

How many pulls a phase takes is found first; then the rewards are drawn.
"""

import copy
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..kernels import phases
from ..kernels.book import new_arena, new_book
from ..least_squares import LeastSquares
from ..plans import OneByOne, Proportions, Quotas
from ..scaffold.budget_phases import PhasedBudgetExplorer
from ..scaffold.phases import PhasedExplorer


class PhaseLane:
    """A run of phases in compiled code, which starts from a copy of the explorer."""

    def __init__(self, explorer: PhasedExplorer | PhasedBudgetExplorer) -> None:
        self.explorer = copy.deepcopy(explorer)
        self._end: int | None = None  # how many pulls the phase has in all, once known

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
                phases.fill(within, sums, explorer.plan, world, rng, pulls)
                counts = explorer.before + within
            elif isinstance(explorer.plan, Quotas):
                quotas = explorer.plan.quotas
                pulls = min(int((quotas - counts).sum()), left)
                phases.fill(counts, sums, quotas, world, rng, pulls)
            elif isinstance(explorer.plan, Proportions):
                shares = explorer.plan.shares
                if self._end is None:
                    self._end = self._phase_end(explorer.estimate, shares)
                pulls = min(self._end - explorer.estimate.pulls, left)
                phases.follow(counts, sums, shares, world, rng, pulls)
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
        """Pull each arm once, and then see; after that, one by one."""
        if missing := int((counts == 0).sum()):
            phases.follow(counts, sums, np.zeros(len(counts)), world, rng, min(missing, left))
            return counts, sums
        explorer, estimate = self.explorer, self.explorer.estimate
        book = new_book(estimate, all_rows=True)
        arena, until = new_arena(estimate, explorer.problem.noise_scale), estimate.pulls + left
        kernel, target = plan.kernel_for(len(counts)), explorer.target  # type: ignore[union-attr]
        phases.walk(arena, book, kernel, world, rng, until, target)
        return book.counts, book.sums

    def _phase_end(self, estimate: LeastSquares, shares: FloatArray) -> int:
        """Return the number of pulls after which the phase is over: the first that is enough."""
        assert isinstance(self.explorer, PhasedExplorer)
        trial, rng = estimate.copy(), np.random.default_rng(0)
        counts, step = estimate.counts.copy(), 1
        while True:
            further, nothing = counts.copy(), np.zeros(len(counts))
            phases.follow(further, nothing, shares, phases.Nothing(), rng, step)
            trial.load(further, nothing)
            over = self.explorer.phase_over(trial)
            if over and step == 1:
                return int(further.sum())
            if over:
                step = max(1, step // 8)
            else:
                counts = further
                step = max(1, min(2 * step, int(counts.sum()) // 8)) if step > 1 else step + 1
