"""Play explorers that pull in blocks (explorers/race.py) in compiled code.

What is computed is what Race computes, for one block after the other: in a simulation no reward
comes late.
"""

import math
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..evidence.base import BlockKernel, ContestKernel, Guess, Sums
from ..evidence.shares import FAINT, Desk, compiled_racing, new_desk
from ..explorers.race import (
    CAUTION,
    FIRST,
    FRESH,
    GROWTH,
    ROUNDING,
    Race,
)
from ..kernels.book import factored_inverse
from ..kernels.functions import EntryPoint, compiled, on_gpu
from ..kernels.loops import multiply
from ..kernels.parts import expect, log_value, pay
from ..kernels.teams import ALONE
from ..scaffold.blocks import REFINEMENTS, RIDGE, SLIGHT, SOLVED, Block
from ..ties import LEADER

# Places in `clock`.
PULLS, BLOCK_PULLS, LEADING, RUNNER_UP, PLANNED_AT, PLANNED_FOR, PLANNED_AMONG, LED, OPENED = (
    range(9)
)
PAUSED, SETTLED, CROWDED, PLAYING = range(4)
ROOM = 16  # leaders to begin with, if ε > 0


@on_gpu("x", "pullable", "spread", "basis")
class Course(NamedTuple):
    """The state of a race."""

    x: FloatArray  # (K, d)
    pullable: IntArray  # arms
    spread: FloatArray
    basis: BoolArray  # by arm
    told: Sums
    in_play: BoolArray
    log_evidence: FloatArray
    peaks: FloatArray
    shares: FloatArray
    leaders: IntArray  # (room,) of which clock[LED] have led
    within: FloatArray  # (2, room, K) log-evidence and its peaks
    quotas: IntArray  # of the block
    block: Sums
    guess: Guess
    rivals: BoolArray
    gaps: FloatArray
    errors: FloatArray
    clock: IntArray
    epsilon: float
    out: float  # what log-evidence has to reach
    close: float


@on_gpu()
class Work(NamedTuple):
    """Arrays that are written before they are read, as what runs on a GPU cannot make any."""

    arms: IntArray  # (K,) those of the block; what follows, up to `weights`, is by place in it
    told: Sums
    guess: Guess
    turns: FloatArray
    weights: FloatArray
    means: FloatArray  # (K,)
    leverages: FloatArray  # (K,)
    solver: FloatArray  # (d, d)
    products: FloatArray  # (2, d, d)
    b: FloatArray  # (d,)
    theta: FloatArray  # (d,)
    y: FloatArray  # (d,)
    z: FloatArray  # (d,)
    fitted: FloatArray  # (d,)
    desk: Desk  # whose matrices serve here as well


def new_course(explorer: Race, room: int) -> Course:
    """Return the state of a race that has one open block.

    room: for leaders, if ε > 0.
    """
    problem, block = explorer.problem, explorer.blocks[0]
    count = len(problem)
    room = max(room, len(explorer.leaders)) if problem.epsilon > 0 else 1
    clock: IntArray = np.zeros(9, dtype=np.int64)
    clock[PULLS], clock[BLOCK_PULLS] = explorer.told.counts.sum(), block.pulls
    clock[LEADING], clock[RUNNER_UP] = block.leader, block.runner_up
    clock[PLANNED_AT : PLANNED_AMONG + 1] = explorer.planned
    clock[LED], clock[OPENED] = len(explorer.leaders), len(block.rivals) > 0
    leaders: IntArray = np.zeros(room, dtype=np.int64)
    leaders[: len(explorer.leaders)] = explorer.leaders
    within = np.zeros((2, room, count))
    for n, pair in enumerate(explorer.within):
        within[:, n] = pair

    def over_all(places: IntArray, values: Any) -> Any:
        """Return values by arm, zero elsewhere."""
        wide = np.zeros(count, dtype=values.dtype)
        wide[places] = values
        return wide

    out, close = explorer.thresholds()
    return Course(
        x=explorer.estimate.features,
        pullable=np.flatnonzero(problem.can_pull),
        spread=explorer.spread,
        basis=np.isin(np.arange(count), problem.spanning),
        told=explorer.told.copy(),
        in_play=explorer.in_play.copy(),
        log_evidence=explorer.log_evidence.copy(),
        peaks=explorer.peaks.copy(),
        shares=explorer.shares.copy(),
        leaders=leaders,
        within=within,
        quotas=over_all(block.arms, block.quotas),
        block=Sums(*(over_all(block.arms, values) for values in block.told)),
        guess=Guess(*(over_all(block.arms, values) for values in block.guess)),
        rivals=over_all(block.rivals, np.ones(len(block.rivals), dtype=np.bool_)),
        gaps=over_all(block.rivals, block.gaps),
        errors=over_all(block.rivals, block.errors),
        clock=clock,
        epsilon=problem.epsilon,
        out=out,
        close=close,
    )


def new_work(course: Course) -> Work:
    """Return arrays for a race of this size."""
    count, d = course.x.shape
    return Work(
        arms=np.zeros(count, dtype=np.int64),
        told=Sums.nothing(count),
        guess=Guess(np.zeros(count), np.zeros(count)),
        turns=np.zeros(count),
        weights=np.zeros(count),
        means=np.zeros(count),
        leverages=np.zeros(count),
        solver=np.zeros((d, d)),
        products=np.zeros((2, d, d)),
        b=np.zeros(d),
        theta=np.zeros(d),
        y=np.zeros(d),
        z=np.zeros(d),
        fitted=np.zeros(d),
        desk=new_desk(len(course.pullable), count, d),
    )


class BlockLane:
    """A race in compiled code."""

    def __init__(self, explorer: Race) -> None:
        self._explorer, self.settled = explorer, False
        self.course = new_course(explorer, max(ROOM, 2 * len(explorer.leaders)))
        self._work = new_work(self.course)

    @classmethod
    def of(cls, explorer: Race) -> Self | None:
        """Return a lane, or None.

        There is none while rewards that came out of order leave two blocks open, or if an arm was
        retired that alone went in some direction.
        """
        problem, blocks = explorer.problem, explorer.blocks
        return cls(explorer) if len(blocks) == 1 and problem.reach == problem.rank else None

    @property
    def pulls(self) -> int:
        return int(self.course.clock[PULLS])

    def prepare(self, world: Any) -> None:
        """Compile what a run in this world needs."""
        kernel = self._explorer.evidence.kernel()
        rng = np.random.default_rng(0)
        play_blocks.compile_for(self.course, self._work, kernel, world, rng, 0)

    def advance(self, world: Any, rng: np.random.Generator, until: int) -> None:
        """Play on until settled or `until` pulls."""
        kernel = self._explorer.evidence.kernel()
        while (
            status := play_blocks(self.course, self._work, kernel, world, rng, until)
        ) == CROWDED:
            course = self.course
            more = np.zeros_like(course.within)
            self.course = course._replace(
                leaders=np.concatenate([course.leaders, np.zeros_like(course.leaders)]),
                within=np.concatenate([course.within, more], axis=1),
            )
        self.settled = status == SETTLED

    def hand_over(self, explorer: Race) -> None:
        """Give the explorer what was paid."""
        course, clock = self.course, self.course.clock
        arms, rivals = np.flatnonzero(course.quotas), np.flatnonzero(course.rivals)
        led = int(clock[LED])
        block = Block(
            arms=arms,
            quotas=course.quotas[arms],
            told=course.block.of(arms),
            guess=Guess(*(values[arms] for values in course.guess)),
            leader=int(clock[LEADING]),
            runner_up=int(clock[RUNNER_UP]),
            rivals=rivals,
            gaps=course.gaps[rivals],
            errors=course.errors[rivals],
            pulls=int(clock[BLOCK_PULLS]),
            among=len(self._explorer.problem),
        )
        explorer.take_over(
            told=course.told.copy(),
            log_evidence=course.log_evidence.copy(),
            peaks=course.peaks.copy(),
            leaders=[int(arm) for arm in course.leaders[:led]],
            within=[(course.within[0, n].copy(), course.within[1, n].copy()) for n in range(led)],
            shares=course.shares.copy(),
            planned=tuple(int(part) for part in clock[PLANNED_AT : PLANNED_AMONG + 1]),
            block=block,
            settled=self.settled,
        )


@partial(EntryPoint, counting=False)
def play_blocks(
    course: Course, work: Work, evidence: Any, world: Any, rng: np.random.Generator, until: int
) -> int:
    """Play on until settled, `until` pulls, or until there are more leaders than room for them."""
    status = PLAYING
    while status == PLAYING:
        status = play_block(course, work, evidence, world, rng, until)
    return status


@compiled
def play_block(course: Course, work: Work, evidence: Any, world: Any, rng: Any, until: int) -> int:
    """Fill the block, weigh it, and plan the next unless that ends the run."""
    if not _fill(course, work, world, rng, until):
        return PAUSED
    if course.clock[OPENED]:
        _weigh(course, work, evidence)
    if _judge(course):
        return SETTLED
    if course.clock[LED] == len(course.leaders) < len(course.x):
        return CROWDED
    _plan(course, work, evidence)
    return PLAYING


@compiled
def _fill(course: Course, work: Work, world: Any, rng: Any, until: int) -> bool:
    """Pull for the block, most behind first; return whether it is full."""
    told, block, quotas = course.told, course.block, course.quotas
    arms, turns = work.arms[: _write_arms(quotas, work.arms)], work.turns
    left = 0
    for a in range(len(arms)):
        k = arms[a]
        left += quotas[k] - block.counts[k]
        turns[a] = block.counts[k] / quotas[k] if block.counts[k] < quotas[k] else math.inf
    pulls = min(left, until - course.clock[PULLS])
    for _ in range(pulls):
        a = 0
        for b in range(1, len(arms)):
            if turns[b] < turns[a]:
                a = b
        k = arms[a]
        paid = pay(world, k, rng)
        block.counts[k] += 1
        block.sums[k] += paid
        block.squares[k] += paid * paid
        told.counts[k] += 1
        told.sums[k] += paid
        told.squares[k] += paid * paid
        turns[a] = block.counts[k] / quotas[k] if block.counts[k] < quotas[k] else math.inf
    course.clock[PULLS] += max(pulls, 0)
    return bool(pulls == left)


@compiled
def _write_arms(quotas: IntArray, arms: IntArray) -> int:
    """Write the arms that have a quota, and return how many."""
    number = 0
    for k in range(len(quotas)):
        if quotas[k] > 0:
            arms[number] = k
            number += 1
    return number


@compiled
def _weigh(course: Course, work: Work, evidence: Any) -> None:
    """Add what a full block says to the evidence."""
    x, clock, quotas, d = course.x, course.clock, course.quotas, course.x.shape[1]
    v, inverse, solver, y, z = work.desk.gram, work.desk.inverse, work.solver, work.y, work.z
    arms = work.arms[: _write_arms(quotas, work.arms)]
    weights, variances, sums = work.weights[: len(arms)], work.guess.variances, work.told.sums
    _write_weighted_gram(x, quotas, course.guess.variances, v)
    rank = _write_solver(v, work.desk.factor, inverse, work.products, solver)
    slots, variance = 0, 0.0
    for a in range(len(arms)):
        k = arms[a]
        work.told.counts[a], sums[a] = course.block.counts[k], course.block.sums[k]
        work.told.squares[a] = course.block.squares[k]
        variances[a], work.guess.means[a] = course.guess.variances[k], course.guess.means[k]
        slots += quotas[k]
        variance += quotas[k] * variances[a]
    variance /= slots
    block = BlockKernel(
        Sums(work.told.counts[: len(arms)], sums[: len(arms)], work.told.squares[: len(arms)]),
        Guess(variances[: len(arms)], work.guess.means[: len(arms)]),
        _residual(course, work, arms),
        slots - math.ceil(rank - SLIGHT),
    )
    n = 0
    if course.epsilon > 0.0:
        while course.leaders[n] != clock[LEADING]:
            n += 1
    for j in range(len(x)):
        if not (course.rivals[j] and course.in_play[j]):
            continue
        i = clock[RUNNER_UP] if j == clock[LEADING] else clock[LEADING]
        for m in range(d):
            y[m] = x[i, m] - x[j, m]
        if not _solve(v, solver, y, z, work.fitted):
            continue
        length, square, score = 0.0, 0.0, 0.0
        for m in range(d):
            length += y[m] * z[m]
            square += y[m] * y[m]
        largest = math.sqrt(square * (variance / (FIRST * d)))
        for a in range(len(arms)):
            product = 0.0
            for m in range(d):
                product += x[arms[a], m] * z[m]
            weights[a] = product / length / variances[a]
            score += weights[a] * sums[a]
            score -= ROUNDING * abs(weights[a] * sums[a])
        gap, error = course.gaps[j], course.errors[j]
        contest = ContestKernel(weights, score, 1.0 / length, gap, error, 0.0, largest)
        course.log_evidence[j] += log_value(evidence, contest, block)
        course.peaks[j] = max(course.peaks[j], course.log_evidence[j])
        if course.epsilon > 0.0 and j != clock[LEADING]:
            e = course.epsilon
            above = ContestKernel(weights, score, 1.0 / length, gap + e, error, e, largest)
            course.within[0, n, j] += log_value(evidence, above, block)
            course.within[1, n, j] = max(course.within[1, n, j], course.within[0, n, j])


@compiled
def _residual(course: Course, work: Work, arms: IntArray) -> float:
    """Return the sum of squares that the block's fit leaves, standardised."""
    x, (counts, sums, squares), variances = course.x, course.block, course.guess.variances
    b, theta, total = work.b, work.theta, 0.0
    b[:] = 0.0
    for k in arms:
        for m in range(len(b)):
            b[m] += x[k, m] * sums[k] / variances[k]
    _solve(work.desk.gram, work.solver, b, theta, work.fitted)
    for k in arms:
        average, fitted = sums[k] / counts[k], 0.0
        for m in range(len(b)):
            fitted += x[k, m] * theta[m]
        within = max(squares[k] - counts[k] * average**2, 0.0)
        total += (within + counts[k] * (average - fitted) ** 2) / variances[k]
    return total


@compiled
def _write_solver(
    v: FloatArray, factor: FloatArray, inverse: FloatArray, work: FloatArray, solver: FloatArray
) -> float:
    """Write what Fit.of has as `inverse` and `solver`, and return the rank but for the ridge."""
    d, trace, rank = len(v), 0.0, 0.0
    for m in range(d):
        trace += v[m, m]
    for m in range(d):
        for n in range(d):
            solver[m, n] = v[m, n]
        solver[m, m] += RIDGE * trace / d
    factored_inverse(solver, factor, inverse)
    for m in range(d):
        for n in range(d):
            rank += inverse[m, n] * v[m, n]
    product, square = work[0], work[1]
    _write_product(inverse, v, product)
    _write_product(product, inverse, solver)
    for _ in range(REFINEMENTS):
        _write_product(solver, v, product)
        _write_product(product, solver, square)
        for m in range(d):
            for n in range(d):
                solver[m, n] = 2.0 * solver[m, n] - square[m, n]
    return rank


@compiled
def _write_product(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    d = len(a)
    for m in range(d):
        for n in range(d):
            out[m, n] = 0.0
            for k in range(d):
                out[m, n] += a[m, k] * b[k, n]


@compiled
def _solve(
    v: FloatArray, solver: FloatArray, y: FloatArray, z: FloatArray, fitted: FloatArray
) -> bool:
    """Write z with Vz = y, and return whether there is one."""
    largest, error = 0.0, 0.0
    multiply(ALONE, solver, y, z)
    multiply(ALONE, v, z, fitted)
    for m in range(len(y)):
        largest, error = max(largest, abs(y[m])), max(error, abs(y[m] - fitted[m]))
    return bool(error <= SOLVED * largest)


@compiled
def _judge(course: Course) -> bool:
    """Discard arms with enough evidence against them; return whether that settles it."""
    in_play, peaks, leader = course.in_play, course.peaks, course.clock[LEADING]
    left, least = 0, -1
    for j in range(len(peaks)):
        if in_play[j]:
            least = j if least < 0 or peaks[j] < peaks[least] else least
            in_play[j] = not peaks[j] >= course.out  # NaN proves nothing
            left += in_play[j]
    if left == 0:
        in_play[least], left = True, 1
    if left == 1:
        return True
    if course.epsilon == 0.0 or not course.clock[OPENED]:
        return False
    n = 0
    while course.leaders[n] != leader:
        n += 1
    enough = course.close + math.log((n + 1.0) * (n + 2.0))
    for j in range(len(peaks)):
        if in_play[j] and j != leader and not course.within[1, n, j] >= enough:
            return False
    return True


@compiled
def _plan(course: Course, work: Work, evidence: Any) -> None:
    """Plan the next block."""
    x, told, guess, clock = course.x, course.told, course.guess, course.clock
    (count, d), in_play, y = x.shape, course.in_play, work.desk.y
    v, factor, inverse, b = work.desk.gram, work.desk.factor, work.desk.inverse, work.b
    means, leverages, theta = work.means, work.leverages, work.theta
    guess.variances[:] = 1.0  # for plain least squares
    _write_weighted_gram(x, told.counts, guess.variances, v)
    factored_inverse(v, factor, inverse)
    _estimate(x, told, guess.variances, inverse, b, theta, means)
    for k in range(count):
        multiply(ALONE, inverse, x[k], b)
        leverages[k] = 0.0
        for m in range(d):
            leverages[k] += x[k, m] * b[m]
    expect(evidence, means, leverages, told, d, guess)
    _write_weighted_gram(x, told.counts, guess.variances, v)
    factored_inverse(v, factor, inverse)
    _estimate(x, told, guess.variances, inverse, b, theta, means)
    widest, highest = 0.0, 0.0
    for k in range(count):
        widest, highest = max(widest, guess.variances[k]), max(highest, abs(means[k]))
    slack = LEADER * (math.sqrt(widest) + highest)
    leader = _best(means, in_play, slack, -1)
    runner_up = _best(means, in_play, slack, leader)
    among = 0
    for j in range(count):
        course.rivals[j] = in_play[j]
        if not in_play[j]:
            continue
        i = runner_up if j == leader else leader
        gap, length = 0.0, 0.0
        for m in range(d):
            y[among, m] = x[i, m] - x[j, m]
        for m in range(d):
            value = 0.0
            for n in range(d):
                value += inverse[m, n] * y[among, n]
            length += value * y[among, m]
            gap += y[among, m] * theta[m]
        course.gaps[j], course.errors[j] = gap, math.sqrt(length)
        among += 1
    if course.epsilon > 0.0:
        led = False
        for n in range(clock[LED]):
            led = led or course.leaders[n] == leader
        if not led:
            course.leaders[clock[LED]] = leader
            course.within[:, clock[LED]] = 0.0
            clock[LED] += 1
    changed = leader != clock[PLANNED_FOR] or among != clock[PLANNED_AMONG]
    if changed or clock[PULLS] >= FRESH * clock[PLANNED_AT]:
        _share_out(course, work.desk, leader)
        clock[PLANNED_AT], clock[PLANNED_FOR], clock[PLANNED_AMONG] = clock[PULLS], leader, among
    _write_whole(course.shares, max(FIRST * d, clock[PULLS] // GROWTH), course.quotas)
    course.block.counts[:] = 0
    course.block.sums[:] = 0.0
    course.block.squares[:] = 0.0
    clock[LEADING], clock[RUNNER_UP], clock[BLOCK_PULLS] = leader, runner_up, clock[PULLS]
    clock[OPENED] = 1


@compiled
def _share_out(course: Course, desk: Desk, leader: int) -> None:
    """Plan shares for the contests in play, whose directions are on the desk."""
    x, y, pullable, shares = course.x, desk.y, course.pullable, course.shares
    d, place, n = x.shape[1], 0, 0
    for j in range(len(x)):
        if course.in_play[j]:
            if j != leader:
                close = max(course.gaps[j] + course.epsilon, CAUTION * course.errors[j])
                for m in range(d):
                    y[n, m] = y[place, m] / close
                n += 1
            place += 1
    for a in range(len(pullable)):
        k = pullable[a]
        desk.start[a] = 0.5 * course.spread[k] + 0.5 / len(pullable)
        desk.used[a] = course.basis[k] or shares[k] >= FAINT
        for m in range(d):
            desk.x[a, m] = x[k, m] / math.sqrt(course.guess.variances[k])
    compiled_racing(desk, n)
    shares[:] = 0.0
    for a in range(len(pullable)):
        shares[pullable[a]] = desk.shares[a]


@compiled
def _write_whole(shares: FloatArray, pulls: int, quotas: IntArray) -> None:
    for k in range(len(shares)):
        whole = math.floor(shares[k] * pulls + 0.5 + 1e-9)
        quotas[k] = max(1, whole) if shares[k] > 0.0 else 0


@compiled
def _write_weighted_gram(
    x: FloatArray, counts: IntArray, variances: FloatArray, gram: FloatArray
) -> None:
    """Write Σ n_k x_k x_kᵀ / variance_k."""
    count, d = x.shape
    gram[:] = 0.0
    for k in range(count):
        if counts[k] > 0:
            weight = counts[k] / variances[k]
            for m in range(d):
                value = weight * x[k, m]
                for n in range(m + 1):
                    gram[m, n] += value * x[k, n]
    for m in range(d):
        for n in range(m):
            gram[n, m] = gram[m, n]


@compiled
def _estimate(
    x: FloatArray,
    told: Sums,
    variances: FloatArray,
    inverse: FloatArray,
    b: FloatArray,
    theta: FloatArray,
    means: FloatArray,
) -> None:
    """Write weighted least squares estimates of θ and of all means."""
    count, d = x.shape
    b[:] = 0.0
    for k in range(count):
        for m in range(d):
            b[m] += x[k, m] * (told.sums[k] / variances[k])
    multiply(ALONE, inverse, b, theta)
    for k in range(count):
        means[k] = 0.0
        for m in range(d):
            means[k] += x[k, m] * theta[m]


@compiled
def _best(means: FloatArray, in_play: BoolArray, slack: float, without: int) -> int:
    """Return the first arm in play whose mean is within `slack` of the largest."""
    largest = -math.inf
    for j in range(len(means)):
        if in_play[j] and j != without:
            largest = max(largest, means[j])
    for j in range(len(means)):
        if in_play[j] and j != without and means[j] >= largest - slack:
            return j
    return -1
