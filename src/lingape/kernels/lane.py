"""Drive the compiled loop of kernels/lingape.py with the parts of an explorer."""

import math
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import (
    Bound,
    FixedDesign,
    JedraProutiere,
    Mixture,
    SelfNormalized,
    Stylised,
    Unstructured,
    WorstCase,
)
from ..bounds.base import comparison_count, norm_bound_of
from ..bounds.mixture import NEAR
from ..least_squares import LeastSquares, ill_conditioned
from ..plans import OneByOne, Plan, Proportions
from ..problem import Problem
from ..pulls import PullRule, Tracking, greedy
from . import lingape as kernel
from .book import LEADING, MARGIN, PULLS, REBUILD_AT, RIVALLING, Arena, Book
from .memory import NONE, WANTED, Memory, new_memory
from .picks import Mixes
from .world import GAUSSIAN, CompiledWorld


class Opening(Protocol):
    """Which arms to pull first, and until when."""

    def pick(self, estimate: LeastSquares) -> int: ...

    def started(self, estimate: LeastSquares) -> bool: ...


# How the next arm is chosen: a pull rule, a plan, the wider of two intervals, a sampler, or
# greedily for the contest that the intervals of all pairs lead to.
Pull: TypeAlias = PullRule | Plan | Literal["by arm", "sampler", "by pair"]
# All K rows are kept while that is cheaper than computing the few that are needed; else so many.
ROWS = 4


class Lane:
    """A run in compiled code, which starts from the data in `estimate`.

    truth: means by which to judge, for explorers that know them.
    opening: the first pulls, unless each arm is to be pulled once.
    eliminate, dropped: whether beaten rivals stay beaten (1 to stop, 2 also to choose pulls), and
        those that are.
    memory: what the pull rule "sampler" keeps (kernels/samplers.py).

    design: set by samplers that follow shares of pulls, and want new ones now and then: estimated
        means to shares.
    """

    design: Callable[[FloatArray], FloatArray] | None = None

    def __init__(
        self,
        problem: Problem,
        bound: Bound,
        pull: Pull,
        estimate: LeastSquares,
        *,
        truth: FloatArray | None = None,
        opening: Opening | None = None,
        eliminate: int = 0,
        dropped: Mapping[int, Mapping[int, float]] | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._problem, self._bound, self._pull, self._opening = problem, bound, pull, opening
        self._estimate = estimate.copy()
        self._verdict: tuple[int, int, float] | None = None
        arena = arena_of(problem, bound, pull, estimate, truth)
        self._arena = arena._replace(opened=opening is not None, eliminate=eliminate)
        self._book = book_of(self._arena, estimate)
        for leader, rivals in (dropped or {}).items():
            for rival, margin in rivals.items():
                self._book.dropped[leader, rival] = margin
        self._mixes = _no_mixes(16, estimate.features.shape[1])
        self.memory = memory or new_memory(NONE)
        self._known = 0
        self.settled = False

    @staticmethod
    def serves(bound: Bound, pull: Pull) -> bool:
        """Return whether there is a compiled lane for these parts."""
        return type(bound) in _KINDS and _pull_kind(pull) is not None

    @property
    def pulls(self) -> int:
        return int(self._book.clock[PULLS])

    @property
    def counts(self) -> IntArray:
        return self._book.counts

    @property
    def sums(self) -> FloatArray:
        return self._book.sums

    @property
    def dropped(self) -> dict[int, dict[int, float]]:
        """The rivals that each leader has beaten, with the margin then."""
        found: dict[int, dict[int, float]] = {}
        for leader, rival in np.argwhere(np.isfinite(self._book.dropped)).tolist():
            found.setdefault(leader, {})[rival] = float(self._book.dropped[leader, rival])
        return found

    @property
    def contest(self) -> tuple[int, int, float] | None:
        """Leader, rival and margin at the last stop, once every arm has been pulled."""
        if self._verdict is not None:
            return self._verdict
        if not self._book.clock[REBUILD_AT]:
            return None
        clock, margin = self._book.clock, self._book.gauge[MARGIN]
        return int(clock[LEADING]), int(clock[RIVALLING]), float(margin)

    def advance(self, world: CompiledWorld, rng: np.random.Generator, until: int) -> None:
        """Play on until settled or `until` pulls."""
        self._open(world, rng, until)
        while not self.settled and (self._opening is None or self._under_way(self._opening)):
            status = kernel.advance(
                self._arena, self._book, self._mixes, self.memory, world, rng, until
            )
            if status == kernel.BROKEN:
                raise ill_conditioned(self._arena.ridge)
            leader, rival = self._book.clock[[LEADING, RIVALLING]].tolist()
            if status == kernel.NEEDS_MIX:
                self._add_mix(leader, rival)
            elif status == kernel.NEARLY:
                self._try_refinement(leader)
            elif status == kernel.NEEDS_DESIGN:
                assert self.design is not None
                self.memory.vectors[0] = self.design(self._book.means)
                self.memory.counters[WANTED] = 0
            else:
                self.settled = status == kernel.SETTLED
                return

    def _under_way(self, opening: Opening) -> bool:
        """Whether the opening is over, and there is an estimate."""
        return self._estimate.ready and opening.started(self._estimate)

    def _open(self, world: CompiledWorld, rng: np.random.Generator, until: int) -> None:
        """Make the first pulls, which the compiled loop takes for granted."""
        estimate, opening = self._estimate, self._opening
        if opening is None or self._under_way(opening):
            return
        while not self._under_way(opening) and estimate.pulls < until:
            arm = opening.pick(estimate)
            if world.kind == GAUSSIAN:
                reward = float(world.means[arm] + world.scale * rng.standard_normal())
            else:
                reward = 1.0 if 2.0 * rng.random() - 1.0 < world.means[arm] else -1.0
            estimate.update(arm, reward)
        self._book.counts[:], self._book.sums[:] = estimate.counts, estimate.sums
        self._book.clock[PULLS] = estimate.pulls

    def _try_refinement(self, leader: int) -> None:
        """Settle if the refined widths of Mixture do."""
        assert isinstance(self._bound, Mixture)
        estimate, dropped = self._estimate, self._book.dropped
        estimate.load(self.counts, self.sums)
        rivals = np.flatnonzero(estimate.twins != estimate.twins[leader])
        if self._arena.eliminate:
            rivals = rivals[np.isinf(dropped[leader, rivals])]
        means = self._arena.truth if len(self._arena.truth) else estimate.means
        widths = self._bound.settling_widths(self._problem, estimate, leader, rivals, means)
        if widths is None:
            return
        margins = means[rivals] + widths - means[leader]
        largest = float(margins.max())
        rival = int(rivals[margins.argmax()])
        if self._arena.eliminate:
            dropped[leader, rivals] = margins
            largest = float(dropped[leader, np.isfinite(dropped[leader])].max())
        self._verdict, self.settled = (leader, rival, largest), True

    def _add_mix(self, leader: int, rival: int) -> None:
        """Solve for the proportions of a pair that the compiled loop has not met before."""
        assert isinstance(self._pull, Tracking)
        if 2 * (self._known + 1) > len(self._mixes.keys):
            self._grow()
        p = self._pull.mix(self._arena.features, leader, rival).proportions
        support = np.flatnonzero(p)
        self._insert(min(leader, rival) * len(p) + max(leader, rival), support, p[support])
        self._known += 1

    def _insert(self, key: int, support: IntArray, proportions: FloatArray) -> None:
        mixes, size = self._mixes, len(support)
        slot = key % len(mixes.keys)
        while mixes.keys[slot] >= 0:
            slot = (slot + 1) % len(mixes.keys)
        mixes.keys[slot], mixes.sizes[slot] = key, size
        mixes.support[slot, :size], mixes.proportions[slot, :size] = support, proportions

    def _grow(self) -> None:
        old = self._mixes
        self._mixes = _no_mixes(2 * len(old.keys), old.support.shape[1])
        for slot in np.flatnonzero(old.keys >= 0):
            size = old.sizes[slot]
            self._insert(
                int(old.keys[slot]), old.support[slot, :size], old.proportions[slot, :size]
            )


_KINDS: dict[type, int] = {
    SelfNormalized: kernel.SELF_NORMALIZED,
    WorstCase: kernel.WORST_CASE,
    Mixture: kernel.MIXTURE,
    FixedDesign: kernel.FIXED_DESIGN,
    Unstructured: kernel.UNSTRUCTURED,
    JedraProutiere: kernel.JEDRA_PROUTIERE,
    Stylised: kernel.STYLISED,
}


def _pull_kind(pull: Pull) -> int | None:
    if pull is greedy:
        return kernel.GREEDY
    if pull == "by arm":
        return kernel.BY_ARM
    if pull == "sampler":
        return kernel.SAMPLER
    if pull == "by pair":
        return kernel.BY_PAIR
    kinds: dict[type, int] = {
        Tracking: kernel.TRACKING,
        Proportions: kernel.SHARES,
        OneByOne: kernel.ONE_BY_ONE,
    }
    return kinds.get(type(pull))


def _active(pull: Pull, count: int) -> IntArray:
    if not isinstance(pull, OneByOne):
        return np.zeros(0, dtype=np.int64)
    return np.arange(count) if pull.active is None else np.array(pull.active, dtype=np.int64)


def arena_of(
    problem: Problem,
    bound: Bound,
    pull: Pull,
    estimate: LeastSquares,
    truth: FloatArray | None,
) -> Arena:
    x, ridge = estimate.features, estimate.ridge
    kind = _pull_kind(pull)
    assert kind is not None
    if isinstance(bound, Mixture):
        constants = np.array([math.log(bound.scales / problem.delta)])
        grid = bound.grid
    elif isinstance(bound, JedraProutiere):
        constants = np.array([-math.log(problem.delta), 0.0, bound.u, bound.c])
        grid = bound.grid
    elif isinstance(bound, Stylised):
        constants = np.array([-math.log(problem.delta), 0.0])
        grid = np.zeros(0)
    elif isinstance(bound, Unstructured):
        constants = np.array([math.log(4 * len(problem) / problem.delta), 0.0])
        grid = np.zeros(0)
    elif isinstance(bound, FixedDesign):
        kappa = comparison_count(bound.comparisons, problem)
        share = math.pi**2 / 6 if bound.constants == "corrected" else 6 / math.pi**2
        # The squared radius is 2·4 or 2·1 times log(share·n²κ/δ); no bias term.
        twice = 8.0 if bound.constants == "printed" else 2.0
        constants = np.array([math.log(share * kappa / problem.delta), 0.0, twice])
        grid = np.zeros(0)
    else:
        assert isinstance(bound, SelfNormalized | WorstCase)
        kappa = comparison_count(bound.comparisons, problem)
        s = norm_bound_of(problem, type(bound).__name__)
        longest = float(np.einsum("kd,kd->k", x, x).max())
        constants = np.array(
            [
                math.log(kappa / problem.delta),
                math.sqrt(ridge) * s,
                longest / ridge,
                x.shape[1] * math.log(ridge),
            ]
        )
        grid = np.zeros(0)
    return Arena(
        features=np.array(x),
        columns=np.array(x.T, order="C"),
        twins=np.array(estimate.twins),
        epsilon=problem.epsilon,
        noise_scale=problem.noise_scale,
        ridge=ridge,
        bound=_KINDS[type(bound)],
        constants=constants,
        grid=grid,
        pull=kind,
        shares=pull.shares if isinstance(pull, Proportions) else np.zeros(0),
        active=_active(pull, len(problem)),
        truth=np.zeros(0) if truth is None else truth,
        opened=False,
        eliminate=0,
        near=NEAR if isinstance(bound, Mixture) and bound.refined else 0.0,
        spanning=np.array(problem.spanning, dtype=np.int64),
    )


def book_of(arena: Arena, estimate: LeastSquares) -> Book:
    count, d = arena.features.shape
    whole = arena.pull in (kernel.ONE_BY_ONE, kernel.SAMPLER, kernel.BY_PAIR)
    all_rows = count <= 4 * d or whole
    rows = count if all_rows else ROWS
    rows2, scales = rows if arena.bound == kernel.MIXTURE else 0, len(arena.grid)
    clock = np.zeros(6, dtype=np.int64)
    clock[PULLS] = estimate.pulls
    return Book(
        counts=estimate.counts.copy(),
        sums=estimate.sums.copy(),
        means=np.zeros(count),
        variances=np.zeros(count),
        spread=np.zeros(count),
        inverse=np.zeros((d, d)),
        products=np.zeros((count, d)),
        factor=np.zeros((d, d)),
        gram=np.zeros((d, d)),
        row_of=np.full(count, -1, dtype=np.int64),
        owner=np.full(rows, -1, dtype=np.int64),
        used=np.zeros(rows, dtype=np.int64),
        cross=np.zeros((rows, count)),
        cross2=np.zeros((rows2, count)),
        gap_variance=np.zeros((rows, count)),
        gap_sensitivity=np.zeros((rows2, count)),
        log_dets=np.zeros(scales),
        nats=np.zeros(scales),
        c=np.zeros(count),
        b=np.zeros(count),
        dropped=np.full((count, count) if arena.eliminate else (0, 0), np.inf),
        scores=np.zeros(count),
        contrast=np.zeros(count),
        h=np.zeros(d),
        h2=np.zeros(d),
        clock=clock,
        gauge=np.zeros(3),
    )


def _no_mixes(slots: int, d: int) -> Mixes:
    return Mixes(
        keys=np.full(slots, -1, dtype=np.int64),
        sizes=np.zeros(slots, dtype=np.int64),
        support=np.zeros((slots, d), dtype=np.int64),
        proportions=np.zeros((slots, d)),
    )
