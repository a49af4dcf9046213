"""The kernel of plans.Proportions, and pulls by shares that no test has to interrupt."""

import math
from typing import Any, NamedTuple

import numpy as np

from ...arrays import FloatArray, IntArray
from ...ties import PULL
from ..book import PULLS, Arena, Book, Model
from ..compiling import compiled, inlined
from ..worlds import pay
from .base import choose, glide

# Pulls that must be expected to go untested before it pays to rebuild all caches after them.
WORTHWHILE = 64


class ProportionsKernel(NamedTuple):
    shares: FloatArray  # (K,)
    turns: FloatArray  # (K,) work
    epsilon: float
    glides: bool  # whether widths shrink no faster than their lengths do
    moves: float  # 1, or 0 if arms are compared by means that are known


@compiled
def write_turns(counts: IntArray, shares: FloatArray, turns: FloatArray) -> None:
    """Write how far each arm is with its share; infinitely far if it has none."""
    for k in range(len(counts)):
        turns[k] = counts[k] / shares[k] if shares[k] > 0.0 else math.inf


@inlined
def most_behind(turns: FloatArray) -> int:
    """Return the arm furthest behind its share, given how far each is."""
    least = turns[0]
    for k in range(1, len(turns)):
        if turns[k] < least:
            least = turns[k]
    least += PULL * least
    k = 0
    while turns[k] > least:
        k += 1
    return k


@choose.of(ProportionsKernel)
def _(pull: ProportionsKernel, model: Model, leader: int, rival: int) -> int:
    write_turns(model.book.counts, pull.shares, pull.turns)
    return most_behind(pull.turns)


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
    factor, usual = contest[2], 0.0
    for k in range(len(counts)):
        reaches[k] = math.sqrt(book.variances[k])
        usual += shares[k] * reaches[k]
    slack = _slack(pull, arena.twins, book, judged, contest)
    if slack < WORTHWHILE * usual * (pull.moves * arena.noise_scale + factor * usual):
        return 0
    pulls, moved, shrunk = 0, 0.0, 0.0
    write_turns(counts, shares, turns)
    while pull.moves * moved + factor * shrunk < slack and pulls < left:
        arm = most_behind(turns)
        paid = pay(world, arm, rng)
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
    row, slack = book.row_of[leader], math.inf
    for k in range(len(means)):
        if twins[k] != twins[leader]:
            gap, length = means[leader] - means[k], math.sqrt(book.gap_variance[row, k])
            if k == rival:
                slack = min(slack, (-gap - pull.epsilon) / length + factor)
            # Were k to lead, the leader would be its rival.
            slack = min(slack, (gap - pull.epsilon) / length + factor)
    return slack * (1.0 - 1e-6)  # for rounding
