"""The caches of a compiled run: rows of XA⁻¹Xᵀ for the arms in use, built from counts and sums.

The formulas are those of least_squares.py. With few arms all K rows are kept; with many, a
handful, and a missing one is computed in O(Kd).
"""

import math
from typing import NamedTuple

from ..arrays import FloatArray, IntArray
from ..least_squares import CANCELLED, PIVOT, next_rebuild
from .compiling import compiled

# Positions in Book.clock and Book.gauge.
PULLS, REBUILD_AT, LEADING, RIVALLING, TICK, CHECKED = 0, 1, 2, 3, 4, 5
MARGIN, GROWTH, LOG_DET = 0, 1, 2

_next_rebuild = compiled(next_rebuild)


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
    grid: FloatArray  # (J,) prior scales; empty unless MIXTURE or JEDRA_PROUTIERE
    pull: int  # GREEDY, TRACKING, SHARES, ONE_BY_ONE, BY_ARM, SAMPLER or BY_PAIR
    shares: FloatArray  # (K,) for SHARES
    active: IntArray  # the arms whose differences ONE_BY_ONE shortens; empty for other pulls
    truth: FloatArray  # (K,) means to judge by instead of the estimated ones; empty to estimate
    opened: bool  # the caller sees to the first pulls; else each arm is pulled once
    eliminate: int  # 0 no, 1 to stop, 2 to choose pulls as well
    near: float  # return when widths this much shorter would settle it; 0 for never
    spanning: IntArray  # (d,) arms that span (Problem.spanning)


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
    dropped: FloatArray  # (K, K) if eliminating: margin when a leader beat a rival, or infinite
    scores: FloatArray  # (K,) work
    contrast: FloatArray  # (K,) x_kᵀA⁻¹(x_i - x_j) for a close pair (`write_contrast`)
    h: FloatArray  # (d,) work
    h2: FloatArray  # (d,) work
    clock: IntArray
    gauge: FloatArray


@compiled
def _cholesky(matrix: FloatArray, shift: float, factor: FloatArray) -> float:
    """Write the lower factor of matrix + shift·I and return its log-determinant, or NaN."""
    d = len(matrix)
    total = 0.0
    for p in range(d):
        for q in range(p + 1):
            value = matrix[p, q]
            for m in range(q):
                value -= factor[p, m] * factor[q, m]
            if p == q:
                if not value + shift > PIVOT * (matrix[p, p] + shift):
                    return math.nan
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
def _write_gram(x: FloatArray, counts: IntArray, gram: FloatArray) -> None:
    """Write the lower half of V, the sum of T_k x_k x_kᵀ."""
    count, d = x.shape
    gram[:] = 0.0
    for k in range(count):
        n = float(counts[k])
        for p in range(d):
            value = n * x[k, p]
            for q in range(p + 1):
                gram[p, q] += value * x[k, q]


@compiled
def rebuild(arena: Arena, book: Book) -> None:
    """Recompute every cache from counts and sums."""
    x, gram, inverse, products = arena.features, book.gram, book.inverse, book.products
    count, d = x.shape
    _write_gram(x, book.counts, gram)
    book.h[:] = 0.0
    for k in range(count):
        for p in range(d):
            book.h[p] += book.sums[k] * x[k, p]
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
    book.clock[REBUILD_AT] = _next_rebuild(pulls, count)
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
def fetch(arena: Arena, book: Book, arm: int) -> int:
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


@compiled
def write_contrast(arena: Arena, book: Book, leader: int, rival: int) -> None:
    """Write x_kᵀA⁻¹y for y = x_i - x_j, for arms so alike that the difference of their rows is
    mostly rounding.
    """
    x, inverse, factor, gram = arena.features, book.inverse, book.factor, book.gram
    h, y = book.h, book.h2
    count, d = x.shape
    for p in range(d):
        y[p] = x[leader, p] - x[rival, p]
    if len(book.owner) < count:  # the inverse is up to date
        for p in range(d):
            value = 0.0
            for q in range(d):
                value += inverse[p, q] * y[q]
            h[p] = value
    else:
        _write_gram(x, book.counts, gram)
        _cholesky(gram, arena.ridge, factor)
        _solve(factor, y, h)
    _times(arena.columns, h, book.contrast)


@compiled
def _solve(factor: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Write the solution of L Lᵀ out = vector."""
    d = len(vector)
    for p in range(d):
        value = vector[p]
        for q in range(p):
            value -= factor[p, q] * out[q]
        out[p] = value / factor[p, p]
    for p in range(d - 1, -1, -1):
        value = out[p]
        for q in range(p + 1, d):
            value -= factor[q, p] * out[q]
        out[p] = value / factor[p, p]
