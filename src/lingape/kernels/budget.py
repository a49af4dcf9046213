"""Runs with a budget, compiled: the same pulls as ask and tell.

Budgets are small, so all of XA⁻¹ is kept and moved by each pull, in O(Kd), and what a pull needs
beside that is computed from it directly. Rebuilds are left to LeastSquares, at the times at which
the plain lane makes them.
"""

import copy
import math
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..arrays import FloatArray, IntArray
from ..least_squares import STEEP, LeastSquares, ill_conditioned
from ..problem import Problem
from ..pulls import PullRule, Tracking
from ..ties import LEADER, PULL, RIVAL
from .compiling import compiled, inlined
from .picks import reward
from .world import GAUSSIAN, CompiledWorld

# Ways to choose the next arm.
GREEDY, TRACKING, BY_ARM, BAYES = 0, 1, 2, 3
# How `_play` ended.
PAUSED, REBUILD, FIRST_PULL, NEEDS_MIX, BROKEN = 0, 1, 2, 3, 4
# Positions in Sheet.clock and Sheet.gauge.
PULLS, LEADING, RIVALLING, SUREST, REBUILD_AT = 0, 1, 2, 3, 4
LEAST = 0

Pull: TypeAlias = PullRule | Literal["by arm", "bayes"]


class Rules(NamedTuple):
    """What stays the same during a run."""

    kind: int  # GREEDY, TRACKING, BY_ARM or BAYES
    features: FloatArray  # (K, d)
    twins: IntArray  # (K,)
    noise_scale: float
    epsilon: float
    radius: float  # √a
    strength: float  # for BAYES instead: R²β² H_ε


class Sheet(NamedTuple):
    """What changes during a run."""

    counts: IntArray  # (K,)
    sums: FloatArray  # (K,)
    means: FloatArray  # (K,)
    variances: FloatArray  # (K,) ‖x_k‖² in the norm of A⁻¹
    products: FloatArray  # (K, d) XA⁻¹
    scores: FloatArray  # (K,) work
    widths: FloatArray  # (K,) work
    h: FloatArray  # (d,) work
    clock: IntArray
    gauge: FloatArray


class Table(NamedTuple):
    """Proportions p* of the pairs seen so far, for TRACKING."""

    slots: IntArray  # (K, K) where to find a pair i < j below, or -1
    sizes: IntArray  # (m,)
    support: IntArray  # (m, d) arms, ascending
    proportions: FloatArray  # (m, d)


@inlined
def _between(x: FloatArray, products: FloatArray, k: int, i: int) -> float:
    """Return ‖x_k - x_i‖² in the norm of A⁻¹."""
    value = 0.0
    for p in range(x.shape[1]):
        value += (products[k, p] - products[i, p]) * (x[k, p] - x[i, p])
    return max(0.0, value)


@compiled
def _contest(rules: Rules, sheet: Sheet) -> tuple[int, int, float]:
    """Return leader, rival and B(t) from intervals on gaps (skeleton._closest_contest)."""
    x, twins, means = rules.features, rules.twins, sheet.means
    scores, widths, count = sheet.scores, sheet.widths, len(sheet.means)
    top = means[0]
    for k in range(1, count):
        top = max(top, means[k])
    leader, least = 0, top - LEADER * (rules.noise_scale + abs(top))
    while means[leader] < least:
        leader += 1
    closest = -1
    for k in range(count):
        if twins[k] != twins[leader]:
            widths[k] = rules.radius * math.sqrt(_between(x, sheet.products, k, leader))
            scores[k] = means[k] + widths[k] - means[leader]
            if scores[k] != scores[k]:
                return leader, leader, math.nan
            if closest < 0 or scores[k] > scores[closest]:
                closest = k
    if closest < 0:  # all arms are the same arm
        return leader, (leader + 1) % count, 0.0
    rival, enough = 0, scores[closest] - RIVAL * widths[closest]
    while twins[rival] == twins[leader] or scores[rival] < enough:
        rival += 1
    return leader, rival, scores[closest]


@compiled
def _two_best(values: FloatArray, twins: IntArray) -> tuple[int, int]:
    """Return the arm with the largest value, and the best of those that are not the same arm."""
    first, second = 0, -1
    for k in range(1, len(values)):
        if values[k] > values[first]:
            first = k
    for k in range(len(values)):
        if twins[k] != twins[first] and (second < 0 or values[k] > values[second]):
            second = k
    return first, second


@compiled
def _bayes_radius(rules: Rules, sheet: Sheet) -> float:
    """Return Rβ (explorers/bayes_gap.py)."""
    twins, upper, lower = rules.twins, sheet.scores, sheet.widths
    for k in range(len(upper)):
        deviation = 3.0 * rules.noise_scale * math.sqrt(sheet.variances[k])
        upper[k], lower[k] = sheet.means[k] + deviation, sheet.means[k] - deviation
    first, second = _two_best(upper, twins)
    high, low = _two_best(lower, twins)
    h = 0.0
    for k in range(len(upper)):
        above = upper[second] if twins[k] == twins[first] else upper[first]
        below = lower[low] if twins[k] == twins[high] else lower[high]
        gap = max(above - lower[k], upper[k] - below)
        h += max(0.5 * (gap + rules.epsilon), rules.epsilon) ** -2.0
    return math.sqrt(rules.strength / h)


@compiled
def _contest_by_arm(rules: Rules, sheet: Sheet) -> tuple[int, int, float]:
    """Return leader, rival and B(t) from intervals on arms (ByArmBudgetExplorer)."""
    twins, means, upper, lower = rules.twins, sheet.means, sheet.scores, sheet.widths
    count, same = len(means), True
    for k in range(1, count):
        same = same and twins[k] == twins[0]
    if same:
        return 0, 1, 0.0
    radius = _bayes_radius(rules, sheet) if rules.kind == BAYES else rules.radius
    size = 0.0
    for k in range(count):
        width = radius * math.sqrt(sheet.variances[k])
        upper[k], lower[k] = means[k] + width, means[k] - width
        if upper[k] != upper[k]:
            return 0, 0, math.nan
        size = max(size, abs(upper[k]))
    slack = LEADER * (rules.noise_scale + size)
    first, second = _two_best(upper, twins)
    least = math.inf
    for k in range(count):
        above = upper[second] if twins[k] == twins[first] else upper[first]
        least = min(least, above - lower[k])  # B_k
    leader, margin = -1, math.inf
    while not margin <= least + slack:
        leader += 1
        above = upper[second] if twins[leader] == twins[first] else upper[first]
        margin = above - lower[leader]
    best = -math.inf
    for k in range(count):
        if twins[k] != twins[leader]:
            best = max(best, upper[k])
    rival = 0
    while twins[rival] == twins[leader] or upper[rival] < best - slack:
        rival += 1
    return leader, rival, margin


@compiled
def _greedy(rules: Rules, sheet: Sheet, leader: int, rival: int) -> int:
    """Return the arm that shrinks the contested gap's variance most (pulls.greedy)."""
    x, products, scores, h = rules.features, sheet.products, sheet.scores, sheet.h
    count, d = x.shape
    for p in range(d):
        h[p] = products[leader, p] - products[rival, p]
    best = 0.0
    for k in range(count):
        u = 0.0
        for p in range(d):
            u += x[k, p] * h[p]
        scores[k] = u * u / (1.0 + sheet.variances[k])
        best = max(best, scores[k])
    arm = 0
    while scores[arm] < best - PULL * best:
        arm += 1
    return arm


@compiled
def _track(table: Table, counts: IntArray, leader: int, rival: int) -> int:
    """Return the arm furthest behind p* (pulls.Tracking), or -1 if p* is not known yet."""
    slot = table.slots[min(leader, rival), max(leader, rival)]
    if slot < 0:
        return -1
    least = math.inf
    for m in range(table.sizes[slot]):
        least = min(least, counts[table.support[slot, m]] / table.proportions[slot, m])
    m = 0
    while counts[table.support[slot, m]] / table.proportions[slot, m] > least + PULL * least:
        m += 1
    return int(table.support[slot, m])


@compiled
def _absorb(x: FloatArray, sheet: Sheet, arm: int, paid: float) -> bool:
    """Do to the caches what a pull does (least_squares.py); False if they need a rebuild."""
    means, variances, products, h = sheet.means, sheet.variances, sheet.products, sheet.h
    count, d = x.shape
    for p in range(d):
        h[p] = products[arm, p]
    s = 1.0
    for p in range(d):
        s += x[arm, p] * h[p]
    if not 1.0 <= s <= STEEP:
        return False
    step = (paid - means[arm]) / s
    for k in range(count):
        c = 0.0
        for p in range(d):
            c += x[k, p] * h[p]
        means[k] += c * step
        variances[k] -= c * c / s
        f = c / s
        for p in range(d):
            products[k, p] -= f * h[p]
    return True


@compiled
def _play(
    rules: Rules,
    sheet: Sheet,
    table: Table,
    world: CompiledWorld,
    rng: np.random.Generator,
    until: int,
) -> int:
    """Play on until `until` pulls, or something that the caller has to look at."""
    counts, clock, gauge = sheet.counts, sheet.clock, sheet.gauge
    while True:
        if rules.kind >= BY_ARM:
            leader, rival, margin = _contest_by_arm(rules, sheet)
        else:
            leader, rival, margin = _contest(rules, sheet)
        if margin != margin:
            return BROKEN
        clock[LEADING], clock[RIVALLING] = leader, rival
        if clock[PULLS] > 0 and margin < gauge[LEAST] - LEADER * (rules.noise_scale + abs(margin)):
            clock[SUREST], gauge[LEAST] = leader, margin
        if clock[PULLS] >= until:
            return PAUSED
        if rules.twins[leader] == rules.twins[rival]:  # all arms are the same arm
            arm = leader
        elif rules.kind == GREEDY:
            arm = _greedy(rules, sheet, leader, rival)
        elif rules.kind == TRACKING:
            arm = _track(table, counts, leader, rival)
            if arm < 0:
                return NEEDS_MIX
        else:
            wider = sheet.variances[leader] > sheet.variances[rival] * (1.0 + 1e-9)
            arm = leader if wider else rival
        paid = reward(world.kind, world.means[arm], world.scale, rng)
        counts[arm] += 1
        sheet.sums[arm] += paid
        clock[PULLS] += 1
        if clock[PULLS] >= clock[REBUILD_AT] or not _absorb(rules.features, sheet, arm, paid):
            return REBUILD
        if counts[arm] == 1:
            return FIRST_PULL


class Opening(Protocol):
    """Which arms to pull first, and until when."""

    def pick(self, estimate: LeastSquares) -> int: ...

    def started(self, estimate: LeastSquares) -> bool: ...


class ContestLane:
    """A run in compiled code, which starts from the data in `estimate`.

    began: whether arms can be compared already; else `opening` says what to pull first.
    moment: the surest leader so far and its margin, if there was one.
    """

    def __init__(
        self,
        problem: Problem,
        estimate: LeastSquares,
        pull: Pull,
        *,
        opening: Opening,
        began: bool,
        budget: int,
        moment: tuple[int, float] | None,
        radius: float = 0.0,
        strength: float = 0.0,
    ) -> None:
        self._estimate, self._opening, self.began = estimate.copy(), opening, began
        self._pull, self._budget = pull, budget
        count, d = estimate.features.shape
        kind = {"by arm": BY_ARM, "bayes": BAYES}.get(str(pull))
        if kind is None:
            kind = TRACKING if isinstance(pull, Tracking) else GREEDY
        self._rules = Rules(
            kind,
            np.array(estimate.features),
            np.array(estimate.twins),
            problem.noise_scale,
            problem.epsilon,
            radius,
            strength,
        )
        self._sheet = Sheet(
            counts=np.zeros(count, dtype=np.int64),
            sums=np.zeros(count),
            means=np.zeros(count),
            variances=np.zeros(count),
            products=np.zeros((count, d)),
            scores=np.zeros(count),
            widths=np.zeros(count),
            h=np.zeros(d),
            clock=np.zeros(5, dtype=np.int64),
            gauge=np.array([math.inf]),
        )
        if moment is not None:
            self._sheet.clock[SUREST], self._sheet.gauge[LEAST] = moment
        pairs = count if kind == TRACKING else 0
        self._table = Table(
            np.full((pairs, pairs), -1, dtype=np.int64),
            np.zeros(16, dtype=np.int64),
            np.zeros((16, d), dtype=np.int64),
            np.zeros((16, d)),
        )
        self._known = 0
        self._load()

    @property
    def settled(self) -> bool:
        return self.pulls >= self._budget

    @property
    def pulls(self) -> int:
        return int(self._sheet.clock[PULLS])

    @property
    def counts(self) -> IntArray:
        return self._sheet.counts

    @property
    def sums(self) -> FloatArray:
        return self._sheet.sums

    @property
    def moment(self) -> tuple[int, float] | None:
        """The surest leader so far and its margin."""
        least = float(self._sheet.gauge[LEAST])
        return (int(self._sheet.clock[SUREST]), least) if math.isfinite(least) else None

    def advance(self, world: CompiledWorld, rng: np.random.Generator, until: int) -> None:
        """Play on until the budget is spent or `until` pulls."""
        until = min(until, self._budget)
        self._open(world, rng, until)
        while self.began:
            status = _play(self._rules, self._sheet, self._table, world, rng, until)
            if status == PAUSED:
                return
            if status == REBUILD or (status == FIRST_PULL and self.counts.all()):
                self._estimate.load(self.counts, self.sums)
                self._load()
            elif status == NEEDS_MIX:
                self._add_mix(*self._sheet.clock[[LEADING, RIVALLING]].tolist())
            elif status == BROKEN:
                raise ill_conditioned(self._estimate.ridge)

    def _load(self) -> None:
        """Take over the caches of the estimate."""
        estimate, sheet = self._estimate, self._sheet
        sheet.counts[:], sheet.sums[:] = estimate.counts, estimate.sums
        sheet.clock[PULLS], sheet.clock[REBUILD_AT] = estimate.pulls, estimate.rebuild_at
        if estimate.ready:
            sheet.means[:], sheet.variances[:] = estimate.means, estimate.variances
            sheet.products[:] = estimate.features @ estimate.inverse

    def _open(self, world: CompiledWorld, rng: np.random.Generator, until: int) -> None:
        """Make the first pulls."""
        estimate = self._estimate
        while not self.began and estimate.pulls < until:
            arm = self._opening.pick(estimate)
            if world.kind == GAUSSIAN:
                paid = float(world.means[arm] + world.scale * rng.standard_normal())
            else:
                paid = 1.0 if 2.0 * rng.random() - 1.0 < world.means[arm] else -1.0
            estimate.update(arm, paid)
            self.began = self._opening.started(estimate)
            self._load()

    def _add_mix(self, leader: int, rival: int) -> None:
        """Solve for the proportions of a pair that the compiled loop has not met before."""
        assert isinstance(self._pull, Tracking)
        table = self._table
        if self._known == len(table.sizes):
            self._table = table = table._replace(
                sizes=np.concatenate([table.sizes] * 2),
                support=np.concatenate([table.support] * 2),
                proportions=np.concatenate([table.proportions] * 2),
            )
        p = self._pull.mix(self._rules.features, leader, rival).proportions
        support, slot = np.flatnonzero(p), self._known
        table.slots[min(leader, rival), max(leader, rival)] = slot
        table.sizes[slot] = len(support)
        table.support[slot, : len(support)] = support
        table.proportions[slot, : len(support)] = p[support]
        self._known += 1


@compiled
def _draw(
    counts: IntArray,
    sums: FloatArray,
    before: IntArray,
    plan: IntArray,
    world: CompiledWorld,
    rng: np.random.Generator,
    pulls: int,
) -> None:
    """Make the next pulls of a phase: always the arm furthest behind the plan."""
    kind, mu, scale, turns = world.kind, world.means, world.scale, np.full(len(counts), np.inf)
    for k in range(len(counts)):
        if plan[k] > 0:
            turns[k] = (counts[k] - before[k]) / plan[k]
    for _ in range(pulls):
        arm = 0
        for k in range(1, len(turns)):
            if turns[k] < turns[arm]:
                arm = k
        counts[arm] += 1
        sums[arm] += reward(kind, mu[arm], scale, rng)
        turns[arm] = (counts[arm] - before[arm]) / plan[arm]


class Phased(Protocol):
    """An explorer made of phases of known length."""

    estimate: LeastSquares
    before: IntArray
    plan: IntArray

    @property
    def done(self) -> bool: ...

    @property
    def phase_end(self) -> int: ...

    def absorb(self, counts: IntArray, sums: FloatArray) -> None: ...


class PhasedLane:
    """A run of phases in compiled code, which starts from a copy of the explorer."""

    def __init__(self, explorer: Any) -> None:
        self._explorer: Phased = copy.deepcopy(explorer)
        self._counts = self._explorer.estimate.counts.copy()
        self._sums = self._explorer.estimate.sums.copy()
        self.pulls = int(self._counts.sum())

    @property
    def settled(self) -> bool:
        return self._explorer.done

    @property
    def explorer(self) -> Phased:
        """The explorer, told of all pulls so far."""
        if self.pulls != self._explorer.estimate.pulls:
            self._explorer.absorb(self._counts, self._sums)
        return self._explorer

    def advance(self, world: CompiledWorld, rng: np.random.Generator, until: int) -> None:
        """Play on until the budget is spent or `until` pulls."""
        while not self.settled and self.pulls < until:
            before, plan, end = (
                self._explorer.before,
                self._explorer.plan,
                self._explorer.phase_end,
            )
            pulls = min(end, until) - self.pulls
            _draw(self._counts, self._sums, before, plan, world, rng, pulls)
            self.pulls += pulls
            if self.pulls == end:
                self._explorer.absorb(self._counts, self._sums)
