"""LinGapE against a simulated world, compiled: the same pulls as ask and tell, a thousandfold.

What differs from the plain lane is that rows of XA⁻¹Xᵀ are kept and updated for the arms in use
(leader, rival, the arm pulled), so that a round costs O(K) for each such row (kernels/book.py).
"""

import math

import numpy as np

from ..arrays import FloatArray, IntArray
from ..ties import LEADER, RIVAL
from .book import (
    CHECKED,
    GROWTH,
    LEADING,
    LOG_DET,
    MARGIN,
    PULLS,
    REBUILD_AT,
    RIVALLING,
    TICK,
    Arena,
    Book,
    fetch,
    rebuild,
    write_contrast,
)
from .compiling import compiled, inlined
from .memory import Memory
from .picks import Mixes, greedy, most_behind, progress, reward, sharpest, steepest, track
from .samplers import sampled
from .world import CompiledWorld

# Kinds of bound.
SELF_NORMALIZED, WORST_CASE, MIXTURE, FIXED_DESIGN, UNSTRUCTURED = 0, 1, 2, 3, 4
JEDRA_PROUTIERE, STYLISED = 5, 6
# Ways to choose the next arm.
GREEDY, TRACKING, SHARES, ONE_BY_ONE, BY_ARM, SAMPLER, BY_PAIR = 0, 1, 2, 3, 4, 5, 6
# Pulls that must be expected to go untested before it pays to rebuild all caches after them.
WORTHWHILE = 64
# A gap whose variance is this small beside its ends' has lost digits in the difference of rows.
CLOSE = 1e-2
# How `advance` ended.
PAUSED, SETTLED, NEEDS_MIX, NEARLY, BROKEN, NEEDS_DESIGN = 0, 1, 2, 3, 4, 5


@inlined
def _leader(means: FloatArray, noise_scale: float) -> int:
    """Return i_t, the arm with the largest estimated mean."""
    top = means[0]
    for k in range(1, len(means)):
        if means[k] > top:
            top = means[k]
    least = top - LEADER * (noise_scale + abs(top))
    leader = 0
    while means[leader] < least:
        leader += 1
    return leader


@inlined
def _mixture_ends(
    row: int,
    means: FloatArray,
    variance: FloatArray,
    sensitivity: FloatArray,
    nats: FloatArray,
    grid: FloatArray,
    ends: FloatArray,
) -> None:
    """Write the upper end of each arm's interval by Mixture, the best of all scales for each."""
    count = len(ends)
    factor, scale = nats[0], grid[0]
    for k in range(count):
        ends[k] = factor * (variance[row, k] + scale * sensitivity[row, k])
    for j in range(1, len(grid)):
        factor, scale = nats[j], grid[j]
        for k in range(count):
            value = factor * (variance[row, k] + scale * sensitivity[row, k])
            ends[k] = value if value < ends[k] else ends[k]
    for k in range(count):
        ends[k] = means[k] + math.sqrt(ends[k])


@inlined
def _closest(
    means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> tuple[int, float]:
    """Return j_t and B(t) from the upper ends of the intervals, in `scores`.

    B(t) is 0 if all arms are the same arm, and NaN if some score is.
    """
    count = len(means)
    best, closest, others = -math.inf, -1, False
    for k in range(count):
        if twins[k] != twins[leader]:
            others = True
            if not scores[k] <= best:  # also if it is no number, which must not go unnoticed
                best = scores[k]
                closest = k
                if best != best:
                    break
    rival, margin = (leader + 1) % count, 0.0 if not others else math.nan
    if closest >= 0 and best == best:
        margin = best - means[leader]
        least = best - RIVAL * (best - means[closest])
        rival = 0
        while scores[rival] < least or twins[rival] == twins[leader]:
            rival += 1
    return rival, margin


@inlined
def _nearly(
    means: FloatArray,
    scores: FloatArray,
    twins: IntArray,
    leader: int,
    near: float,
    dropped: FloatArray,
) -> float:
    """Return what B(t) would be if widths, of rivals not dropped, were `near` times as long."""
    best = -math.inf
    for k in range(len(means)):
        value = means[k] + near * (scores[k] - means[k])
        left = len(dropped) == 0 or dropped[leader, k] == math.inf
        if left and value > best and twins[k] != twins[leader]:
            best = value
    return float(best - means[leader])


@compiled
def _drop(
    means: FloatArray,
    scores: FloatArray,
    twins: IntArray,
    leader: int,
    epsilon: float,
    dropped: FloatArray,
    eliminate: int,
) -> tuple[int, float]:
    """Drop the rivals that the leader beats (skeleton._eliminate).

    Return how many are left, and the largest margin among the dropped.
    """
    left, worst = 0, -math.inf
    for k in range(len(means)):
        if twins[k] != twins[leader]:
            margin = scores[k] - means[leader]
            if margin <= epsilon and dropped[leader, k] == math.inf:
                dropped[leader, k] = margin
            if dropped[leader, k] == math.inf:
                left += 1
            else:
                worst = max(worst, dropped[leader, k])
    if eliminate == 2 and left > 0:
        for k in range(len(means)):
            if dropped[leader, k] < math.inf:
                scores[k] = -math.inf
    return left, (worst if worst > -math.inf else 0.0)


@compiled
def _by_arm(
    means: FloatArray, upper: FloatArray, twins: IntArray, noise_scale: float
) -> tuple[int, int, float]:
    """Return leader, rival and B from the intervals of single arms (explorers/by_arm.py)."""
    count = len(means)
    first, size = 0, 0.0
    for k in range(count):
        if not upper[k] <= upper[first]:
            first = k
        size = max(size, abs(means[k]))
        if upper[k] != upper[k]:
            return 0, 0, math.nan
    second = -1
    for k in range(count):
        if twins[k] != twins[first] and (second < 0 or upper[k] > upper[second]):
            second = k
    if second < 0:  # all arms are the same arm
        return first, (first + 1) % count, 0.0
    slack = 1e-12 * (noise_scale + size)
    least = math.inf
    for k in range(count):
        other = upper[second] if twins[k] == twins[first] else upper[first]
        least = min(least, other - (2.0 * means[k] - upper[k]))
    leader = -1
    margin = 0.0
    for k in range(count):
        other = upper[second] if twins[k] == twins[first] else upper[first]
        margin = other - (2.0 * means[k] - upper[k])
        if margin <= least + slack:
            leader = k
            break
    best = -math.inf
    for k in range(count):
        if twins[k] != twins[leader]:
            best = max(best, upper[k])
    rival = 0
    while twins[rival] == twins[leader] or upper[rival] < best - slack:
        rival += 1
    return leader, rival, margin


@compiled
def _by_pair(arena: Arena, book: Book, radius: float) -> tuple[int, int, float]:
    """Return leader, rival and B from the intervals of all pairs (explorers/lin_gifa.py).

    Every arm has its row, in order. Leaves the upper ends of the leader's contests in `scores`.
    """
    means, twins, scores, largest = book.means, arena.twins, book.scores, book.c
    count = len(means)
    first = 0
    for j in range(count):
        _ends(arena, book, radius, j)
        best = -math.inf
        for k in range(count):
            if twins[k] != twins[j] and not scores[k] <= best:
                best = scores[k]
                if best != best:
                    return 0, 0, math.nan
        largest[j] = best - means[j]
        if largest[j] < largest[first]:
            first = j
    _ends(arena, book, radius, first)
    rival, margin = _closest(means, scores, twins, first)
    slack = RIVAL * (scores[rival] - means[rival])
    leader = 0
    while largest[leader] > largest[first] + slack:
        leader += 1
    if leader != first:
        _ends(arena, book, radius, leader)
        rival, margin = _closest(means, scores, twins, leader)
    return leader, rival, margin


@compiled
def _ends(arena: Arena, book: Book, radius: float, row: int) -> None:
    """Write the upper end of each arm's interval against the arm of `row`."""
    means, scores, variances = book.means, book.scores, book.variances
    if arena.bound == MIXTURE:
        _mixture_ends(
            row, means, book.gap_variance, book.gap_sensitivity, book.nats, arena.grid, scores
        )
    elif arena.bound == UNSTRUCTURED:
        for k in range(len(means)):
            scores[k] = means[k] + radius * (math.sqrt(variances[k]) + math.sqrt(variances[row]))
    else:
        for k in range(len(means)):
            scores[k] = means[k] + radius * math.sqrt(book.gap_variance[row, k])


@compiled
def _inverse_eigenvalue(counts: IntArray, variances: FloatArray, spanning: IntArray) -> float:
    """Return no less than the largest eigenvalue of V⁻¹ (bounds.JedraProutiere.factor)."""
    least, trace = counts[spanning[0]], 0.0
    for k in spanning:
        least = min(least, counts[k])
        trace += variances[k]
    return min(trace, 1.0 / least) if least > 0 else trace


@inlined
def absorb_first(
    c: FloatArray,
    t: float,
    step: float,
    means: FloatArray,
    variances: FloatArray,
    cross: FloatArray,
    gap_variance: FloatArray,
    owner: IntArray,
) -> None:
    """Do to means and variances what a pull does (least_squares.py)."""
    count = len(c)
    for k in range(count):
        means[k] += c[k] * step
        variances[k] -= c[k] * c[k] * t
    for m in range(len(owner)):
        i = m if len(owner) == count else owner[m]
        if i >= 0:
            own = c[i]
            f = own * t
            for k in range(count):
                y = own - c[k]
                cross[m, k] -= f * c[k]
                gap_variance[m, k] -= y * y * t


@inlined
def _absorb_second(
    c: FloatArray,
    b: FloatArray,
    s: float,
    hh: float,
    spread: FloatArray,
    cross2: FloatArray,
    gap_sensitivity: FloatArray,
    owner: IntArray,
) -> None:
    """Do to sensitivities what a pull does; hh = ‖A⁻¹x_a‖²."""
    count, t = len(c), 1.0 / s
    if len(owner) < count:
        for k in range(count):
            f = c[k] * t
            spread[k] -= f * (2.0 * b[k] - hh * f)
    for m in range(len(owner)):
        if owner[m] >= 0:
            own_c, own_b = c[owner[m]], b[owner[m]]
            f, g = own_c * t, (own_b - hh * own_c * t) * t
            for k in range(count):
                cross2[m, k] -= f * b[k] + g * c[k]
            for k in range(count):
                y = (own_c - c[k]) * t
                gap_sensitivity[m, k] -= y * (2.0 * (own_b - b[k]) - hh * y)


@compiled
def _absorb_inverse(x: FloatArray, inverse: FloatArray, h: FloatArray, arm: int, s: float) -> None:
    d = len(h)
    for p in range(d):
        value = 0.0
        for q in range(d):
            value += inverse[p, q] * x[arm, q]
        h[p] = value
    for p in range(d):
        f = h[p] / s
        for q in range(d):
            inverse[p, q] -= f * h[q]


@inlined
def _log(x: float, s: float) -> float:
    """Return log(s) for s = 1 + x; x is small after a few thousand pulls, and a series is fast."""
    return x * (1.0 - x * (0.5 - x * (1.0 / 3.0))) if x < 1e-4 else math.log(s)


@compiled
def _glide(
    arena: Arena,
    book: Book,
    world: CompiledWorld,
    rng: np.random.Generator,
    until: int,
    leader: int,
    rival: int,
    radius: float,
) -> int:
    """Make pulls of a plan of which all but the last cannot end the run; return how many.

    A pull of arm a that pays r moves the estimate of any gap yᵀθ by at most ‖y‖ ‖x_a‖ |r - m_a|
    and shortens ‖y‖² by at most ‖y‖² ‖x_a‖², in the norms of A⁻¹ as they are now, since A only
    grows. Until these add up to what B(t) has to fall, whoever leads, a test would be in vain.
    """
    counts, sums, means, shares = book.counts, book.sums, book.means, arena.shares
    judged = arena.truth if len(arena.truth) else means
    row, twins, reaches, turns = book.row_of[leader], arena.twins, book.c, book.scores
    moves = 0.0 if len(arena.truth) else 1.0
    kind, mu, scale = world.kind, world.means, world.scale
    left = until - book.clock[PULLS]
    slack, usual = math.inf, 0.0  # slack in units of ‖y‖
    for k in range(len(counts)):
        reaches[k] = math.sqrt(book.variances[k])
        usual += shares[k] * reaches[k]
        if twins[k] != twins[leader]:
            gap, length = judged[leader] - judged[k], math.sqrt(book.gap_variance[row, k])
            if k == rival:
                slack = min(slack, (-gap - arena.epsilon) / length + radius)
            # Were k to lead, the leader would be its rival.
            slack = min(slack, (gap - arena.epsilon) / length + radius)
    slack *= 1.0 - 1e-6  # for rounding
    if slack < WORTHWHILE * usual * (moves * arena.noise_scale + radius * usual):
        return 0
    pulls, moved, shrunk = 0, 0.0, 0.0
    progress(counts, shares, turns)
    while moves * moved + radius * shrunk < slack and pulls < left:
        arm = most_behind(turns)
        paid = reward(kind, mu[arm], scale, rng)
        counts[arm] += 1
        turns[arm] = counts[arm] / shares[arm]
        sums[arm] += paid
        pulls += 1
        reach = reaches[arm]
        moved += reach * (abs(paid - means[arm]) + reach * moved)
        shrunk += reach * reach
    return pulls


@compiled
def _none_left(counts: IntArray) -> bool:
    """Whether every arm has been pulled; the plain lane rebuilds when the last one is."""
    return bool(counts.min() > 0)


@compiled
def _start(book: Book, world: CompiledWorld, rng: np.random.Generator, until: int) -> bool:
    """Pull each arm once (Algorithm 1), as far as `until` allows."""
    for arm in range(len(book.counts)):
        if book.counts[arm] == 0:
            if book.clock[PULLS] >= until:
                return False
            book.counts[arm] = 1
            book.sums[arm] = reward(world.kind, world.means[arm], world.scale, rng)
            book.clock[PULLS] += 1
    return True


@compiled
def advance(
    arena: Arena,
    book: Book,
    mixes: Mixes,
    memory: Memory,
    world: CompiledWorld,
    rng: np.random.Generator,
    until: int,
) -> int:
    """Play on until settled, `until` pulls, or something that the caller has to look at."""
    if not arena.opened and not _start(book, world, rng, until):
        return PAUSED
    if book.clock[REBUILD_AT] == 0:
        rebuild(arena, book)
    # Locals, because looking an array up in a tuple costs as much as a short loop over it.
    bound, epsilon, noise_scale, near = arena.bound, arena.epsilon, arena.noise_scale, arena.near
    eliminate = arena.eliminate
    grid, twins, pull, constants = arena.grid, arena.twins, arena.pull, arena.constants
    spanning = arena.spanning
    judged = arena.truth if len(arena.truth) else book.means
    counts, sums, means, variances = book.counts, book.sums, book.means, book.variances
    spread, row_of, owner, used = book.spread, book.row_of, book.owner, book.used
    cross, cross2, log_dets, nats = book.cross, book.cross2, book.log_dets, book.nats
    gap_variance, gap_sensitivity = book.gap_variance, book.gap_sensitivity
    c, b, scores, clock, gauge = book.c, book.b, book.scores, book.clock, book.gauge
    contrast = book.contrast
    kind, mu, scale = world.kind, world.means, world.scale
    count, d, all_rows = len(counts), len(arena.columns), len(owner) == len(counts)
    # The widths of the others may shrink faster than their lengths do.
    gliding = pull == SHARES and bound in (SELF_NORMALIZED, WORST_CASE, FIXED_DESIGN, STYLISED)
    unknown = math.inf  # c/g of JEDRA_PROUTIERE, which only falls
    pulls, tick, growth = clock[PULLS], clock[TICK], gauge[GROWTH]
    pair = -1  # the contest that `contrast` is about and kept up to date for, if any
    while True:
        leader = _leader(judged, noise_scale)
        first = row_of[leader]
        if first < 0:
            first = fetch(arena, book, leader)
        radius = 0.0
        if bound == MIXTURE:
            for j in range(len(grid)):
                half = constants[0] + 0.5 * (log_dets[j] + growth)  # ℓ_j
                nats[j] = 2.0 * noise_scale * noise_scale * half
            _mixture_ends(first, judged, gap_variance, gap_sensitivity, nats, grid, scores)
        else:
            if bound == SELF_NORMALIZED:  # (3)
                radius = 2.0 * constants[0] + gauge[LOG_DET] + growth - constants[3]
            elif bound == UNSTRUCTURED:
                radius = 2.0 * (constants[0] + 3.0 * math.log(float(pulls)))
            elif bound == FIXED_DESIGN:  # (2)
                radius = constants[2] * max(0.0, constants[0] + 2.0 * math.log(float(pulls)))
            elif bound == JEDRA_PROUTIERE:
                if unknown > 1.0:
                    unknown = constants[3] * _inverse_eigenvalue(counts, variances, spanning)
                radius = 2.0 * constants[0] + log_dets[0] + growth
                radius *= 1.0 + constants[2] * max(1.0, unknown)
            elif bound == STYLISED:
                radius = 2.0 * (constants[0] + math.log(1.0 + math.log(float(pulls))))
            else:  # (4)
                radius = max(2, d) * (constants[0] + math.log(1.0 + pulls * constants[2]))
            radius = noise_scale * math.sqrt(radius) + constants[1]
            if pull == BY_ARM or bound == UNSTRUCTURED:
                own = radius * math.sqrt(variances[leader]) if pull != BY_ARM else 0.0
                for k in range(count):
                    scores[k] = judged[k] + radius * math.sqrt(variances[k]) + own
            else:
                for k in range(count):
                    scores[k] = judged[k] + radius * math.sqrt(gap_variance[first, k])
        if pull == BY_ARM:
            leader, rival, margin = _by_arm(means, scores, twins, noise_scale)
        elif pull == BY_PAIR:
            leader, rival, margin = _by_pair(arena, book, radius)
            first = leader
        else:
            left, worst = 1, 0.0
            if eliminate > 0:
                left, worst = _drop(
                    judged, scores, twins, leader, epsilon, book.dropped, eliminate
                )
            rival, margin = _closest(judged, scores, twins, leader)
            if left == 0 and margin == margin:
                margin, status = worst, SETTLED
                break
        if margin != margin:
            status = BROKEN
            break
        if margin <= epsilon:
            if growth == 0.0:
                status = SETTLED
                break
            clock[PULLS] = pulls
            rebuild(arena, book)  # a verdict deserves a fresh solve
            growth, pair = 0.0, -1
            continue
        unchecked = near > 0.0 and growth == 0.0 and clock[CHECKED] != pulls
        if unchecked and _nearly(judged, scores, twins, leader, near, book.dropped) <= epsilon:
            clock[CHECKED] = pulls
            status = NEARLY
            break
        if pulls >= until:
            status = PAUSED
            break
        if gliding:
            clock[PULLS] = pulls
            glided = _glide(arena, book, world, rng, until, leader, rival, radius)
            if glided:
                pulls += glided
                clock[PULLS] = pulls
                rebuild(arena, book)
                growth = 0.0
                continue
        tick += 1
        used[first] = tick
        if pull == BY_ARM:
            wider = variances[leader] > variances[rival] * (1.0 + 1e-9)
            arm = leader if wider else rival
        elif pull == SHARES:
            progress(counts, arena.shares, c)
            arm = most_behind(c)
        elif pull == ONE_BY_ONE:
            arm = steepest(cross, gap_variance, variances, arena.active, scores, c)
        elif pull == SAMPLER:
            arm = sampled(arena, book, memory, leader, rival, pulls)
            if arm < 0:
                status = NEEDS_DESIGN
                break
        elif pull == TRACKING:
            arm = track(mixes, counts, leader, rival)
            if arm < 0:
                status = NEEDS_MIX
                break
        elif gap_variance[first, rival] < CLOSE * variances[leader]:
            if pair != leader * count + rival:
                pair = leader * count + rival
                write_contrast(arena, book, leader, rival)
            arm = sharpest(contrast, variances, scores)
        else:
            pair = -1
            second = row_of[rival]
            if second < 0:
                second = fetch(arena, book, rival)
            used[second] = tick
            arm = greedy(cross, variances, first, second, scores)
        paid = reward(kind, mu[arm], scale, rng)
        counts[arm] += 1
        sums[arm] += paid
        pulls += 1
        if pulls >= clock[REBUILD_AT] or (counts[arm] == 1 and _none_left(counts)):
            clock[PULLS] = pulls
            rebuild(arena, book)
            growth, pair = 0.0, -1
            continue
        row = row_of[arm]
        if row < 0:
            row = fetch(arena, book, arm)
        used[row] = tick
        for k in range(count):
            c[k] = cross[row, k]
        s = 1.0 + c[arm]
        if bound == MIXTURE:
            for k in range(count):
                b[k] = cross2[row, k]
            _absorb_second(c, b, s, b[arm], spread, cross2, gap_sensitivity, owner)
        t = 1.0 / s
        step = (paid - means[arm]) * t
        absorb_first(c, t, step, means, variances, cross, gap_variance, owner)
        if not all_rows:
            _absorb_inverse(arena.features, book.inverse, book.h, arm, s)
        if pair >= 0:
            step = contrast[arm] * t
            for k in range(count):
                contrast[k] -= c[k] * step
        growth += _log(c[arm], s)
    clock[PULLS], clock[TICK], clock[LEADING], clock[RIVALLING] = pulls, tick, leader, rival
    gauge[GROWTH], gauge[MARGIN] = growth, margin
    return status
