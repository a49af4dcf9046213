"""The estimate of a compiled run: rows of XA⁻¹Xᵀ for the arms in use, from counts and sums.

The formulas are those of least_squares.py. With few arms all K rows are kept; with many, a
handful, and a missing one is computed in O(Kd).

Bounds and pull rules may keep more that moves with the estimate. They are told when it is rebuilt
(`on_rebuild`), when a row is fetched (`on_fetch`) and when a pull moves it (`on_pull`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..least_squares import CANCELLED, PIVOT, STEEP, LeastSquares, next_rebuild
from ..problem import Problem
from .parts import compiled, inlined, on_fetch, on_pull, on_rebuild

# Positions in Book.clock and Book.gauge.
PULLS, REBUILD_AT, LEADING, RIVALLING, TICK, CHECKED = 0, 1, 2, 3, 4, 5
MARGIN, GROWTH, LOG_DET = 0, 1, 2
# So many rows are kept where keeping all K would cost more than computing those needed.
ROWS = 4
FEW = 4  # times the dimension: up to so many arms all rows are kept
MOST_ROWS = 500  # the largest number of arms for kernels that need all K rows

compiled(next_rebuild)


class Arena(NamedTuple):
    """What stays the same during a run."""

    features: FloatArray  # (K, d)
    columns: FloatArray  # (d, K): loops over arms run along memory
    twins: IntArray  # (K,)
    noise_scale: float
    ridge: float


class Book(NamedTuple):
    """What changes during a run. Rows: see the module's docstring."""

    counts: IntArray  # (K,)
    sums: FloatArray  # (K,)
    means: FloatArray  # (K,)
    variances: FloatArray  # (K,) ‖x_k‖² in the norm of A⁻¹
    inverse: FloatArray  # (d, d) A⁻¹; kept up to date only while some rows are missing
    products: FloatArray  # (K, d) XA⁻¹ at the last rebuild
    factor: FloatArray  # (d, d) work
    gram: FloatArray  # (d, d) work; the lower half of V after a rebuild
    row_of: IntArray  # (K,) or -1
    owner: IntArray  # (rows,) or -1
    used: IntArray  # (rows,) when last
    cross: FloatArray  # (rows, K) x_kᵀA⁻¹x_i
    gap_variance: FloatArray  # (rows, K) ‖x_k - x_i‖² in the norm of A⁻¹
    c: FloatArray  # (K,) work
    scores: FloatArray  # (K,) upper ends of intervals, then work
    h: FloatArray  # (d,) work
    h2: FloatArray  # (d,) work
    clock: IntArray
    gauge: FloatArray


class Stage(NamedTuple):
    """A compiled run about to begin: what parts look at when they make their kernels."""

    problem: Problem
    estimate: LeastSquares
    bound: Any  # by which arms are compared
    truth: FloatArray | None  # the means by which arms are compared, if not the estimated ones
    skips: bool  # whether tests that cannot succeed may be left out
    book: Book
    dropped: FloatArray  # finite for a leader and a rival not to be asked about, or empty


class Model(NamedTuple):
    """The estimate, and the bound that says how wrong it can be."""

    arena: Arena
    book: Book
    bound: Any


def new_arena(estimate: LeastSquares, noise_scale: float) -> Arena:
    """Return what stays the same during a run."""
    x = estimate.features
    return Arena(
        np.array(x),
        np.array(x.T, order="C"),
        np.array(estimate.twins),
        noise_scale,
        estimate.ridge,
    )


def new_book(estimate: LeastSquares, *, all_rows: bool) -> Book:
    """Return a book with the data of an estimate, and caches still to be built."""
    count, d = estimate.features.shape
    rows = count if all_rows or count <= FEW * d else ROWS
    clock = np.zeros(6, dtype=np.int64)
    clock[PULLS] = estimate.pulls
    return Book(
        counts=estimate.counts.copy(),
        sums=estimate.sums.copy(),
        means=np.zeros(count),
        variances=np.zeros(count),
        inverse=np.zeros((d, d)),
        products=np.zeros((count, d)),
        factor=np.zeros((d, d)),
        gram=np.zeros((d, d)),
        row_of=np.full(count, -1, dtype=np.int64),
        owner=np.full(rows, -1, dtype=np.int64),
        used=np.zeros(rows, dtype=np.int64),
        cross=np.zeros((rows, count)),
        gap_variance=np.zeros((rows, count)),
        c=np.zeros(count),
        scores=np.zeros(count),
        h=np.zeros(d),
        h2=np.zeros(d),
        clock=clock,
        gauge=np.zeros(3),
    )


@compiled
def cholesky(matrix: FloatArray, shift: float, factor: FloatArray) -> float:
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
def factored_inverse(matrix: FloatArray, inverse: FloatArray) -> None:
    """Write the inverse of a positive definite matrix, of which the lower half counts."""
    factor = np.zeros(matrix.shape)
    cholesky(matrix, 0.0, factor)
    _invert(factor, inverse)


@compiled
def write_gram(x: FloatArray, counts: IntArray, gram: FloatArray) -> None:
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
def multiply(matrix: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Write the product of a (d, d) matrix and a vector."""
    for p in range(len(vector)):
        value = 0.0
        for q in range(len(vector)):
            value += matrix[p, q] * vector[q]
        out[p] = value


@compiled
def write_products(columns: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Write Xv, running along memory."""
    out[:] = 0.0
    for p in range(len(columns)):
        value = vector[p]
        for k in range(columns.shape[1]):
            out[k] += value * columns[p, k]


@inlined
def rebuild(model: Model, pull: Any) -> None:
    """Recompute every cache from counts and sums."""
    _rebuild(model.arena, model.book)
    on_rebuild(model.bound, model.book)
    on_rebuild(pull, model.book)


@compiled
def _rebuild(arena: Arena, book: Book) -> None:
    x, h, products = arena.features, book.h, book.products
    count, d = x.shape
    write_gram(x, book.counts, book.gram)
    h[:] = 0.0
    for k in range(count):
        for p in range(d):
            h[p] += book.sums[k] * x[k, p]
    book.gauge[LOG_DET] = cholesky(book.gram, arena.ridge, book.factor)
    if math.isnan(book.gauge[LOG_DET]):  # V is singular to rounding: the loop ends as BROKEN
        book.factor[:] = math.nan
    _invert(book.factor, book.inverse)
    for k in range(count):
        multiply(book.inverse, x[k], products[k])
        mean, variance = 0.0, 0.0
        for p in range(d):
            mean += products[k, p] * h[p]
            variance += products[k, p] * x[k, p]
        book.means[k], book.variances[k] = mean, variance
    book.gauge[GROWTH] = 0.0
    book.clock[REBUILD_AT] = next_rebuild(book.clock[PULLS], count)
    book.row_of[:] = -1
    book.owner[:] = -1
    if len(book.owner) == count:
        for k in range(count):
            _keep(x, products, book, k)


@compiled
def _keep(x: FloatArray, products: FloatArray, book: Book, arm: int) -> None:
    """Write the row of an arm that has all of XA⁻¹ to draw on (just after a rebuild)."""
    count, d = x.shape
    for k in range(count):
        cross, variance = 0.0, 0.0
        for p in range(d):
            cross += products[arm, p] * x[k, p]
            variance += (products[arm, p] - products[k, p]) * (x[arm, p] - x[k, p])
        book.cross[arm, k] = cross
        book.gap_variance[arm, k] = variance
    book.owner[arm] = arm
    book.row_of[arm] = arm


@inlined
def row_for(model: Model, arm: int) -> int:
    """Return the row of `arm`, which is computed if it is missing."""
    arena, book = model.arena, model.book
    row = book.row_of[arm]
    if row < 0:
        row = _fetch(arena, book, arm)
        on_fetch(model.bound, arena, book, arm, row)
    book.used[row] = book.clock[TICK]
    return row  # type: ignore[no-any-return]


@compiled
def _fetch(arena: Arena, book: Book, arm: int) -> int:
    """Compute the row of `arm` in place of the one used least recently; leave A⁻¹x in book.h."""
    x, inverse, h, variances = arena.features, book.inverse, book.h, book.variances
    count, d = x.shape
    row = 0
    for m in range(len(book.owner)):
        if book.used[m] < book.used[row]:
            row = m
    if book.owner[row] >= 0:
        book.row_of[book.owner[row]] = -1
    book.owner[row] = arm
    book.row_of[arm] = row
    multiply(inverse, x[arm], h)
    cross, variance = book.cross[row], book.gap_variance[row]
    write_products(arena.columns, h, cross)
    own = variances[arm]
    for k in range(count):
        variance[k] = variances[k] + own - 2.0 * cross[k]
        if variance[k] < 2.0 * CANCELLED * own:  # too few digits left: compute the gap directly
            variance[k] = 0.0
            for p in range(d):
                z = 0.0
                for q in range(d):
                    z += inverse[p, q] * (x[k, q] - x[arm, q])
                variance[k] += z * (x[k, p] - x[arm, p])
    return row


@inlined
def absorb(model: Model, pull: Any, arm: int, paid: float) -> bool:
    """Do to the caches what a pull does (least_squares.py), unless they need a rebuild first."""
    arena, book, bound = model.arena, model.book, model.bound
    means, variances, cross, c = book.means, book.variances, book.cross, book.c
    gap_variance, owner = book.gap_variance, book.owner
    row, count = row_for(model, arm), len(means)
    for k in range(count):
        c[k] = cross[row, k]
    s = 1.0 + c[arm]
    fine = 1.0 <= s <= STEEP
    if fine:
        on_pull(bound, book, arm, row, s)
        on_pull(pull, book, arm, row, s)
        t = 1.0 / s
        step = (paid - means[arm]) * t
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
        if len(owner) < count:
            _absorb_inverse(arena.features, book.inverse, book.h, arm, s)
        book.gauge[GROWTH] += _log(c[arm], s)
    return fine  # type: ignore[no-any-return]


@inlined
def _log(x: float, s: float) -> float:
    """Return log(s) for s = 1 + x; x is small after a few thousand pulls, and a series is fast."""
    return x * (1.0 - x * (0.5 - x * (1.0 / 3.0))) if x < 1e-4 else math.log(s)


@compiled
def _absorb_inverse(x: FloatArray, inverse: FloatArray, h: FloatArray, arm: int, s: float) -> None:
    multiply(inverse, x[arm], h)
    for p in range(len(h)):
        f = h[p] / s
        for q in range(len(h)):
            inverse[p, q] -= f * h[q]
