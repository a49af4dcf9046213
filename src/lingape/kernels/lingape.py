"""LinGapE against a simulated world, compiled: the same pulls as ask and tell, a thousandfold.

The formulas are those of least_squares.py. What differs is that rows of XA⁻¹Xᵀ are kept and
updated for the arms in use (leader, rival, the arm pulled): a round then costs O(K) for each
such row instead of O(Kd) for each product with X. With few arms all K rows are kept; with many,
a handful, and a missing one is computed in O(Kd).
"""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..least_squares import CANCELLED, STEEP
from ..ties import LEADER, PULL, RIVAL
from .compiling import compiled, inlined
from .world import GAUSSIAN, CompiledWorld

# Kinds of bound.
SELF_NORMALIZED, WORST_CASE, MIXTURE = 0, 1, 2
# How `advance` ended.
PAUSED, SETTLED, NEEDS_MIX, NEARLY = 0, 1, 2, 3
# Positions in Book.clock and Book.gauge.
PULLS, REBUILD_AT, LEADING, RIVALLING, TICK, CHECKED = 0, 1, 2, 3, 4, 5
MARGIN, GROWTH, LOG_DET = 0, 1, 2


class Arena(NamedTuple):
    """What stays the same during a run."""

    features: FloatArray  # (K, d)
    columns: FloatArray  # (d, K): loops over arms run along memory
    twins: IntArray  # (K,)
    epsilon: float
    noise_scale: float
    ridge: float
    bound: int
    constants: FloatArray  # log(κ/δ), √λ S, L²/λ, d log λ; for MIXTURE only log(J/δ)
    grid: FloatArray  # (J,) prior scales; empty unless MIXTURE
    tracking: bool
    near: float  # return when widths this much shorter would settle it; 0 for never


class Mixes(NamedTuple):
    """Proportions p* of the pairs seen so far, as an open-addressing hash table."""

    keys: IntArray  # (slots,) i·K + j with i < j, or -1
    sizes: IntArray  # (slots,)
    support: IntArray  # (slots, d) arms, ascending
    proportions: FloatArray  # (slots, d)


class Book(NamedTuple):
    """What changes during a run. Rows: see the module's docstring."""

    counts: IntArray  # (K,)
    sums: FloatArray  # (K,)
    means: FloatArray  # (K,)
    variances: FloatArray  # (K,) ‖x_k‖² in the norm of A⁻¹
    spread: FloatArray  # (K,) ‖A⁻¹x_k‖²
    inverse: FloatArray  # (d, d) A⁻¹; kept up to date only while some rows are missing
    products: FloatArray  # (K, d) XA⁻¹ at the last rebuild
    factor: FloatArray  # (d, d) work
    gram: FloatArray  # (d, d) work
    row_of: IntArray  # (K,) or -1
    owner: IntArray  # (rows,) or -1
    used: IntArray  # (rows,) when last
    cross: FloatArray  # (rows, K) x_kᵀA⁻¹x_i
    cross2: FloatArray  # (rows, K) x_kᵀA⁻²x_i
    gap_variance: FloatArray  # (rows, K) ‖x_k - x_i‖² in the norm of A⁻¹
    gap_sensitivity: FloatArray  # (rows, K) ‖A⁻¹(x_k - x_i)‖²
    log_dets: FloatArray  # (J,) log det(I + V/λ_j) at the last rebuild
    nats: FloatArray  # (J,) work
    c: FloatArray  # (K,) work
    b: FloatArray  # (K,) work
    scores: FloatArray  # (K,) work
    h: FloatArray  # (d,) work
    h2: FloatArray  # (d,) work
    clock: IntArray
    gauge: FloatArray


@compiled
def _cholesky(matrix: FloatArray, shift: float, factor: FloatArray) -> float:
    """Write the lower factor of matrix + shift·I and return its log-determinant."""
    d = len(matrix)
    total = 0.0
    for p in range(d):
        for q in range(p + 1):
            value = matrix[p, q]
            for m in range(q):
                value -= factor[p, m] * factor[q, m]
            if p == q:
                root = math.sqrt(value + shift)
                factor[p, p] = root
                total += 2.0 * math.log(root)
            else:
                factor[p, q] = value / factor[q, q]
    return total


@compiled
def _invert(factor: FloatArray, inverse: FloatArray) -> None:
    """Write (L Lᵀ)⁻¹ and leave L⁻¹ in `factor`."""
    d = len(factor)
    for q in range(d):
        factor[q, q] = 1.0 / factor[q, q]
        for p in range(q + 1, d):
            value = 0.0
            for m in range(q, p):
                value -= factor[p, m] * factor[m, q]
            factor[p, q] = value / factor[p, p]
    for p in range(d):
        for q in range(p + 1):
            value = 0.0
            for m in range(p, d):
                value += factor[m, p] * factor[m, q]
            inverse[p, q] = inverse[q, p] = value


@compiled
def rebuild(arena: Arena, book: Book) -> None:
    """Recompute every cache from counts and sums."""
    x, gram, inverse, products = arena.features, book.gram, book.inverse, book.products
    count, d = x.shape
    gram[:] = 0.0
    book.h[:] = 0.0
    for k in range(count):
        n = float(book.counts[k])
        for p in range(d):
            book.h[p] += book.sums[k] * x[k, p]
            value = n * x[k, p]
            for q in range(p + 1):
                gram[p, q] += value * x[k, q]
    for j in range(len(arena.grid)):
        log_det = _cholesky(gram, arena.grid[j], book.factor)
        book.log_dets[j] = log_det - d * math.log(arena.grid[j])
    book.gauge[LOG_DET] = _cholesky(gram, arena.ridge, book.factor)
    _invert(book.factor, inverse)
    for k in range(count):
        for p in range(d):
            value = 0.0
            for q in range(d):
                value += inverse[p, q] * x[k, q]
            products[k, p] = value
        mean, variance, spread = 0.0, 0.0, 0.0
        for p in range(d):
            mean += products[k, p] * book.h[p]
            variance += products[k, p] * x[k, p]
            spread += products[k, p] * products[k, p]
        book.means[k], book.variances[k], book.spread[k] = mean, variance, spread
    book.gauge[GROWTH] = 0.0
    pulls = book.clock[PULLS]
    book.clock[REBUILD_AT] = pulls + max(64, pulls // 64, count // 16)
    book.row_of[:] = -1
    book.owner[:] = -1
    if len(book.owner) == count:
        for k in range(count):
            _keep(arena, book, k, k)


@compiled
def _keep(arena: Arena, book: Book, arm: int, row: int) -> None:
    """Write the rows of an arm that has all of XA⁻¹ to draw on (just after a rebuild)."""
    x, products = arena.features, book.products
    count, d = x.shape
    for k in range(count):
        cross, cross2, variance, sensitivity = 0.0, 0.0, 0.0, 0.0
        for p in range(d):
            cross += products[arm, p] * x[k, p]
            cross2 += products[arm, p] * products[k, p]
            z = products[arm, p] - products[k, p]
            variance += z * (x[arm, p] - x[k, p])
            sensitivity += z * z
        book.cross[row, k] = cross
        book.gap_variance[row, k] = variance
        if len(book.cross2):
            book.cross2[row, k] = cross2
            book.gap_sensitivity[row, k] = sensitivity
    book.owner[row] = arm
    book.row_of[arm] = row


@compiled
def _times(columns: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Write Xv, running along memory."""
    out[:] = 0.0
    for p in range(len(columns)):
        value = vector[p]
        for k in range(columns.shape[1]):
            out[k] += value * columns[p, k]


@compiled
def _fetch(arena: Arena, book: Book, arm: int) -> int:
    """Compute the rows of `arm` in place of those used least recently."""
    x, inverse, h, h2 = arena.features, book.inverse, book.h, book.h2
    count, d = x.shape
    row = 0
    for m in range(len(book.owner)):
        if book.used[m] < book.used[row]:
            row = m
    if book.owner[row] >= 0:
        book.row_of[book.owner[row]] = -1
    book.owner[row] = arm
    book.row_of[arm] = row
    for p in range(d):
        value = 0.0
        for q in range(d):
            value += inverse[p, q] * x[arm, q]
        h[p] = value
    cross, variance = book.cross[row], book.gap_variance[row]
    _times(arena.columns, h, cross)
    own = book.variances[arm]
    for k in range(count):
        variance[k] = book.variances[k] + own - 2.0 * cross[k]
    second = len(book.cross2) > 0
    if second:
        for p in range(d):
            value = 0.0
            for q in range(d):
                value += inverse[p, q] * h[q]
            h2[p] = value
        cross2, sensitivity = book.cross2[row], book.gap_sensitivity[row]
        _times(arena.columns, h2, cross2)
        for k in range(count):
            sensitivity[k] = book.spread[k] + book.spread[arm] - 2.0 * cross2[k]
    for k in range(count):
        lost = variance[k] < 2.0 * CANCELLED * own
        if second:
            lost = lost or book.gap_sensitivity[row, k] < 2.0 * CANCELLED * book.spread[arm]
        if lost:  # too few digits left: compute the gap directly
            value, length = 0.0, 0.0
            for p in range(d):
                z = 0.0
                for q in range(d):
                    z += inverse[p, q] * (x[k, q] - x[arm, q])
                value += z * (x[k, p] - x[arm, p])
                length += z * z
            variance[k] = value
            if second:
                book.gap_sensitivity[row, k] = length
    return row


@inlined
def _leader(means, noise_scale):  # type: ignore[no-untyped-def]
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
def _mixture_squares(variance, sensitivity, row, nats, grid, out):  # type: ignore[no-untyped-def]
    """Write the squared half-widths of Mixture, the best of all scales for each arm."""
    count = len(out)
    factor, scale = nats[0], grid[0]
    for k in range(count):
        out[k] = factor * (variance[row, k] + scale * sensitivity[row, k])
    for j in range(1, len(grid)):
        factor, scale = nats[j], grid[j]
        for k in range(count):
            value = factor * (variance[row, k] + scale * sensitivity[row, k])
            out[k] = value if value < out[k] else out[k]


@inlined
def _closest(means, scores, twins, leader):  # type: ignore[no-untyped-def]
    """Return j_t and B(t) from the upper ends of the intervals, in `scores`."""
    count = len(means)
    best = -math.inf
    closest = -1
    for k in range(count):
        if scores[k] > best and twins[k] != twins[leader]:
            best = scores[k]
            closest = k
    rival, margin = (leader + 1) % count, 0.0  # if all arms are the same arm
    if closest >= 0:
        margin = best - means[leader]
        least = best - RIVAL * (best - means[closest])
        rival = 0
        while scores[rival] < least or twins[rival] == twins[leader]:
            rival += 1
    return rival, margin


@inlined
def _nearly(means, scores, leader, near):  # type: ignore[no-untyped-def]
    """Return what B(t) would be if all widths were `near` times as long."""
    best = -math.inf
    for k in range(len(means)):
        value = means[k] + near * (scores[k] - means[k])
        if value > best:
            best = value
    return best - means[leader]


@inlined
def _greedy(cross, variances, first, second, scores):  # type: ignore[no-untyped-def]
    """Return the arm that shrinks the contested gap's variance most (9)."""
    count = len(scores)
    for k in range(count):
        u = cross[first, k] - cross[second, k]
        scores[k] = u * u / (1.0 + variances[k])
    best = scores[0]
    for k in range(1, count):
        if scores[k] > best:
            best = scores[k]
    least = best - PULL * best
    arm = 0
    while scores[arm] < least:
        arm += 1
    return arm


@compiled
def _track(mixes: Mixes, counts: IntArray, leader: int, rival: int) -> int:
    """Return the arm furthest behind p* (12), or -1 if p* is not known yet."""
    key = min(leader, rival) * len(counts) + max(leader, rival)
    slots = len(mixes.keys)
    slot = key % slots
    while mixes.keys[slot] != key:
        if mixes.keys[slot] < 0:
            return -1
        slot = (slot + 1) % slots
    least = math.inf
    for m in range(mixes.sizes[slot]):
        least = min(least, counts[mixes.support[slot, m]] / mixes.proportions[slot, m])
    m = 0
    while counts[mixes.support[slot, m]] / mixes.proportions[slot, m] > least + PULL * least:
        m += 1
    return int(mixes.support[slot, m])


@inlined
def _absorb_first(c, s, step, means, variances, cross, gap_variance, owner):  # type: ignore[no-untyped-def]
    """Do to means and variances what a pull does (least_squares.py)."""
    count, t = len(c), 1.0 / s
    for k in range(count):
        means[k] += c[k] * step
    for k in range(count):
        variances[k] -= c[k] * c[k] * t
    for m in range(len(owner)):
        if owner[m] >= 0:
            own = c[owner[m]]
            f = own * t
            for k in range(count):
                cross[m, k] -= f * c[k]
            for k in range(count):
                y = own - c[k]
                gap_variance[m, k] -= y * y * t


@inlined
def _absorb_second(c, b, s, hh, spread, cross2, gap_sensitivity, owner):  # type: ignore[no-untyped-def]
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
def _reward(kind, mean, scale, rng):  # type: ignore[no-untyped-def]
    if kind == GAUSSIAN:
        reward = mean + scale * rng.standard_normal()
    elif 2.0 * rng.random() - 1.0 < mean:
        reward = 1.0
    else:
        reward = -1.0
    return reward


@compiled
def advance(
    arena: Arena,
    book: Book,
    mixes: Mixes,
    world: CompiledWorld,
    rng: np.random.Generator,
    until: int,
) -> int:
    """Play on until settled, `until` pulls, or something that the caller has to look at."""
    # Locals, because looking an array up in a tuple costs as much as a short loop over it.
    grid, twins, epsilon, noise_scale = arena.grid, arena.twins, arena.epsilon, arena.noise_scale
    bound, tracking, near, constants = arena.bound, arena.tracking, arena.near, arena.constants
    counts, sums, means, variances, spread = book.counts, book.sums, book.means, book.variances, book.spread
    row_of, owner, used, cross, cross2 = book.row_of, book.owner, book.used, book.cross, book.cross2
    gap_variance, gap_sensitivity = book.gap_variance, book.gap_sensitivity
    log_dets, nats, c, b, scores = book.log_dets, book.nats, book.c, book.b, book.scores
    clock, gauge = book.clock, book.gauge
    kind, mu, scale = world.kind, world.means, world.scale
    count, d, all_rows = len(counts), len(arena.columns), len(owner) == len(counts)
    mixture = bound == MIXTURE
    for arm in range(count):  # pull each arm once (Algorithm 1)
        if counts[arm] == 0:
            if clock[PULLS] >= until:
                return PAUSED
            counts[arm] = 1
            sums[arm] = _reward(kind, mu[arm], scale, rng)
            clock[PULLS] += 1
    if clock[REBUILD_AT] == 0:
        rebuild(arena, book)
    pulls, tick, growth = clock[PULLS], clock[TICK], gauge[GROWTH]
    status = -1
    while True:
        leader = _leader(means, noise_scale)
        first = row_of[leader]
        if first < 0:
            first = _fetch(arena, book, leader)
        if mixture:
            for j in range(len(grid)):
                nats[j] = 2.0 * noise_scale * noise_scale * (constants[0] + 0.5 * (log_dets[j] + growth))
            _mixture_squares(gap_variance, gap_sensitivity, first, nats, grid, scores)
            for k in range(count):
                scores[k] = means[k] + math.sqrt(scores[k])
        else:
            if bound == SELF_NORMALIZED:  # (3)
                radius = 2.0 * constants[0] + gauge[LOG_DET] + growth - constants[3]
            else:  # (4)
                radius = d * (constants[0] + math.log(1.0 + pulls * constants[2]))
            radius = noise_scale * math.sqrt(radius) + constants[1]
            for k in range(count):
                scores[k] = means[k] + radius * math.sqrt(gap_variance[first, k])
        rival, margin = _closest(means, scores, twins, leader)
        if margin <= epsilon:
            if growth == 0.0:
                status = SETTLED
                break
            clock[PULLS] = pulls
            rebuild(arena, book)  # a verdict deserves a fresh solve
            growth = 0.0
            continue
        if near > 0.0 and growth == 0.0 and clock[CHECKED] != pulls:
            if _nearly(means, scores, leader, near) <= epsilon:
                clock[CHECKED] = pulls
                status = NEARLY
                break
        if pulls >= until:
            status = PAUSED
            break
        tick += 1
        used[first] = tick
        if tracking:
            arm = _track(mixes, counts, leader, rival)
            if arm < 0:
                status = NEEDS_MIX
                break
        else:
            second = row_of[rival]
            if second < 0:
                second = _fetch(arena, book, rival)
            used[second] = tick
            arm = _greedy(cross, variances, first, second, scores)
        reward = _reward(kind, mu[arm], scale, rng)
        counts[arm] += 1
        sums[arm] += reward
        pulls += 1
        if pulls >= clock[REBUILD_AT] or variances[arm] > STEEP - 1.0:
            clock[PULLS] = pulls
            rebuild(arena, book)
            growth = 0.0
            continue
        row = row_of[arm]
        if row < 0:
            row = _fetch(arena, book, arm)
        used[row] = tick
        for k in range(count):
            c[k] = cross[row, k]
        s = 1.0 + c[arm]
        if mixture:
            for k in range(count):
                b[k] = cross2[row, k]
            _absorb_second(c, b, s, b[arm], spread, cross2, gap_sensitivity, owner)
        _absorb_first(c, s, (reward - means[arm]) / s, means, variances, cross, gap_variance, owner)
        if not all_rows:
            _absorb_inverse(arena.features, book.inverse, book.h, arm, s)
        growth += math.log(s)
    clock[PULLS], clock[TICK], clock[LEADING], clock[RIVALLING] = pulls, tick, leader, rival
    gauge[GROWTH], gauge[MARGIN] = growth, margin
    return status
