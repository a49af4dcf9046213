"""Pulls fixed in advance: which arm comes next depends on the counts so far and on no reward."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from .arrays import FloatArray, IntArray
from .designs import differences
from .designs.rounding import steepest
from .kernels.book import PULLS, Arena, Book, Model, Stage
from .kernels.functions import compiled, inlined, on_gpu
from .kernels.parts import choose, glide, pay
from .kernels.teams import begin, lowest, meet, owns, stride, total
from .least_squares import LeastSquares
from .ties import PULL, first_max

# Pulls that must be expected to go untested before it pays to rebuild all caches after them.
WORTHWHILE = 64
# A pull may be told this many turns early: workers side by side finish in any order.
AHEAD = 100


class Plan(Protocol):
    """An opening and a pull rule in one: see scaffold/conversation.py and pulls/base.py."""

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        """Return the arm to pull next, which does not depend on who leads."""
        ...

    def pick(self, estimate: LeastSquares) -> int:
        """Return the arm to pull next."""
        ...

    def over(self, estimate: LeastSquares) -> bool:
        """Whether the opening is over, and there is an estimate."""
        ...

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        """Whether the plan has `arm` pulled soon, so that it may be told ahead of its turn."""
        ...


class _Planned:
    """What plans have in common."""

    def pick(self, estimate: LeastSquares) -> int:
        raise NotImplementedError

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        return self.pick(estimate)


@dataclass(frozen=True, eq=False)
class Proportions(_Planned):
    """Pull the arm that is furthest behind its share.

    Every arm's count then stays within one pull of its share, which is an apportionment as good as
    rounding once the number of pulls is known, without having to know it.

    each_first: pull each arm once before, for designs that do not span.
    """

    shares: FloatArray
    each_first: bool = False

    def pick(self, estimate: LeastSquares) -> int:
        if not self.started(estimate):
            return int(estimate.counts.argmin())
        used = np.flatnonzero(self.shares)
        behind = -estimate.counts[used] / self.shares[used]
        return int(used[first_max(behind, -PULL * float(behind.max()))])

    def started(self, estimate: LeastSquares) -> bool:
        """Whether the pulls that every run begins with are done."""
        return not self.each_first or bool(estimate.counts.all())

    def over(self, estimate: LeastSquares) -> bool:
        return estimate.ready and self.started(estimate)

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        if self.each_first and estimate.counts[arm] == 0:
            return True
        due = (estimate.pulls + AHEAD) * self.shares[arm]
        return bool(self.shares[arm] > 0 and estimate.counts[arm] <= due)

    def kernel(self, stage: Stage) -> "ProportionsKernel":
        return ProportionsKernel(
            shares=self.shares,
            turns=np.zeros(len(self.shares)),
            epsilon=stage.problem.epsilon,
            glides=stage.skips and getattr(stage.bound, "shrinks_with_lengths", False),
            moves=1.0 if stage.truth is None else 0.0,
        )


@dataclass(frozen=True, eq=False)
class OneByOne(_Planned):
    """Each arm once, then whichever leaves the longest difference of two arms shortest.

    active: the arms whose differences count; all unless given.
    """

    active: tuple[int, ...] | None = None
    all_rows: ClassVar[bool] = True

    def pick(self, estimate: LeastSquares) -> int:
        if not estimate.counts.all():
            return int(estimate.counts.argmin())
        x = estimate.features
        arms = x if self.active is None else x[list(self.active)]
        return steepest(estimate.inverse, x, differences(arms))

    def over(self, estimate: LeastSquares) -> bool:
        return estimate.ready and bool(estimate.counts.all())

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        return arm == self.pick(estimate)

    def kernel(self, stage: Stage) -> "OneByOneKernel":
        return self.kernel_for(len(stage.problem))

    def kernel_for(self, count: int) -> "OneByOneKernel":
        """Return the kernel for so many arms."""
        active = range(count) if self.active is None else self.active
        return OneByOneKernel(np.array(active, dtype=np.int64), np.zeros(count), np.zeros(count))


@dataclass(frozen=True, eq=False)
class Quotas:
    """Pull each arm so many times, side by side; the order in which they are told is free."""

    quotas: IntArray

    def pick(self, estimate: LeastSquares) -> int:
        due = np.flatnonzero(estimate.counts < self.quotas)
        if not len(due):  # all are under way; more of the same until it is known what comes next
            due = np.flatnonzero(self.quotas)
        behind = -estimate.counts[due] / self.quotas[due]
        return int(due[first_max(behind, -PULL * float(behind.max()))])

    def allows(self, estimate: LeastSquares, arm: int) -> bool:
        return bool(estimate.counts[arm] < self.quotas[arm])


@on_gpu("shares", split="turns")
class ProportionsKernel(NamedTuple):
    shares: FloatArray  # (K,)
    turns: FloatArray  # (K,) work
    epsilon: float
    glides: bool  # whether to skip tests that cannot succeed
    moves: float  # 1, or 0 if arms are compared by means that are known


@compiled
def write_turns(team: Any, counts: IntArray, shares: FloatArray, turns: FloatArray) -> None:
    """Write how far each arm is with its share; infinitely far if it has none."""
    k = begin(team)
    while k < len(counts):
        turns[k] = counts[k] / shares[k] if shares[k] > 0.0 else math.inf
        k += stride(team)


@inlined
def most_behind(team: Any, turns: FloatArray) -> int:
    """Return the arm furthest behind its share, given how far each is."""
    least = math.inf
    k = begin(team)
    while k < len(turns):
        if turns[k] < least:
            least = turns[k]
        k += stride(team)
    least = lowest(team, least)
    least += PULL * least
    k = begin(team)
    while k < len(turns) and turns[k] > least:
        k += stride(team)
    return lowest(team, k)


@choose.of(ProportionsKernel)
def _(pull: ProportionsKernel, model: Model, leader: int, rival: int) -> int:
    team = model.book.team
    write_turns(team, model.book.counts, pull.shares, pull.turns)
    return most_behind(team, pull.turns)


@glide.of(ProportionsKernel)
def _(
    pull: ProportionsKernel,
    model: Model,
    means: FloatArray,
    world: Any,
    rng: np.random.Generator,
    until: int,
    contest: tuple[int, int, float],
) -> int:
    if not pull.glides:
        return 0
    return _glide(pull, model.arena, model.book, means, world, rng, until, contest)


@compiled
def _glide(
    pull: ProportionsKernel,
    arena: Arena,
    book: Book,
    judged: FloatArray,
    world: Any,
    rng: np.random.Generator,
    until: int,
    contest: tuple[int, int, float],
) -> int:
    """A pull of arm a that pays r moves the estimate of any gap yᵀθ by at most ‖y‖ ‖x_a‖ |r - m_a|
    and shortens ‖y‖² by at most ‖y‖² ‖x_a‖², in the norms of A⁻¹ as they are now, since A only
    grows. Until these add up to what B(t) has to fall, whichever arm leads, no test can succeed.
    """
    counts, sums, means, shares = book.counts, book.sums, book.means, pull.shares
    reaches, turns, left = book.c, pull.turns, until - book.clock[PULLS]
    factor, usual, team = contest[2], 0.0, book.team
    k = begin(team)
    while k < len(counts):
        reaches[k] = math.sqrt(book.variances[k])
        usual += shares[k] * reaches[k]
        k += stride(team)
    usual = total(team, usual)
    slack = _slack(pull, arena.twins, book, judged, contest)
    if slack < WORTHWHILE * usual * (pull.moves * arena.noise_scale + factor * usual):
        return 0
    pulls, moved, shrunk = 0, 0.0, 0.0
    write_turns(team, counts, shares, turns)
    meet(team)
    while pull.moves * moved + factor * shrunk < slack and pulls < left:
        arm = most_behind(team, turns)
        paid = pay(world, arm, rng)
        if owns(team, arm):
            counts[arm] += 1
            turns[arm] = counts[arm] / shares[arm]
            sums[arm] += paid
        pulls += 1
        reach = reaches[arm]
        moved += reach * (abs(paid - means[arm]) + reach * moved)
        shrunk += reach * reach
    return pulls


@compiled
def _slack(
    pull: ProportionsKernel,
    twins: IntArray,
    book: Book,
    means: FloatArray,
    contest: tuple[int, int, float],
) -> float:
    """Return how far the closest contest is from being settled, in units of ‖y‖."""
    leader, rival, factor = contest
    row, slack, team = book.row_of[leader], math.inf, book.team
    k = begin(team)
    while k < len(means):
        if twins[k] != twins[leader]:
            gap, length = means[leader] - means[k], math.sqrt(book.gap_variance[row, k])
            if k == rival:
                slack = min(slack, (-gap - pull.epsilon) / length + factor)
            # Were k to lead, the leader would be its rival.
            slack = min(slack, (gap - pull.epsilon) / length + factor)
        k += stride(team)
    return lowest(team, slack) * (1.0 - 1e-6)  # for rounding


class OneByOneKernel(NamedTuple):
    """All rows of the book are kept, in order."""

    active: IntArray  # the arms whose differences are to become short
    after: FloatArray  # (K,) work
    gains: FloatArray  # (K,) work


@choose.of(OneByOneKernel)
def _(pull: OneByOneKernel, model: Model, leader: int, rival: int) -> int:
    book = model.book
    return compiled_steepest(pull, book.cross, book.gap_variance, book.variances)


@compiled
def longest_of(gap_variance: FloatArray, active: IntArray) -> float:
    """Return the largest variance of a difference of two arms in `active`."""
    longest = 0.0
    for m in range(len(active)):
        for n in range(m):
            longest = max(longest, gap_variance[active[m], active[n]])
    return longest


@compiled
def compiled_steepest(
    pull: OneByOneKernel, cross: FloatArray, gap_variance: FloatArray, variances: FloatArray
) -> int:
    """Return the arm that leaves the longest difference shortest (designs.rounding.steepest)."""
    active, after, gains = pull.active, pull.after, pull.gains
    count, least = len(variances), math.inf
    longest = longest_of(gap_variance, active)
    for k in range(count):
        after[k], gains[k] = 0.0, 0.0
        for m in range(len(active)):
            i = active[m]
            for n in range(m):
                j = active[n]
                u = cross[i, k] - cross[j, k]
                gain = u * u / (1.0 + variances[k])
                after[k] = max(after[k], gap_variance[i, j] - gain)
                if gap_variance[i, j] >= longest * (1.0 - PULL):
                    gains[k] += gain
        least = min(least, after[k])
    best = -1.0
    for k in range(count):
        if after[k] <= least * (1.0 + PULL):
            best = max(best, gains[k])
    k = 0
    while after[k] > least * (1.0 + PULL) or gains[k] < best - PULL * longest:
        k += 1
    return k
