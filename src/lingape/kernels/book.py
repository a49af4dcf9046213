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
from .functions import compiled, inlined, on_gpu
from .loops import add_moments, multiply, write_products
from .parts import on_fetch, on_pull, on_rebuild
from .teams import ALONE, begin, begin_at, meet, owns, stride, total, write_all

# Positions in Book.clock and Book.gauge.
PULLS, REBUILD_AT, LEADING, RIVALLING, TICK, CHECKED, SUMMED = 0, 1, 2, 3, 4, 5, 6
MARGIN, GROWTH, LOG_DET = 0, 1, 2
# So many rows are kept where keeping all K would cost more than computing those needed.
ROWS = 4
FEW = 2  # times the dimension: up to so many arms all rows are kept
MOST_ROWS = 500  # the largest number of arms for kernels that need all K rows

compiled(next_rebuild)


@on_gpu("features", "columns", "twins")
class Arena(NamedTuple):
    """What stays the same during a run."""

    features: FloatArray  # (K, d)
    columns: FloatArray  # (d, K): loops over arms run along memory
    twins: IntArray  # (K,)
    noise_scale: float
    ridge: float


@on_gpu(
    split="counts sums means variances inverse products factor gram moments counted row_of cross "
    "gap_variance c scores h h2"
)
class Book(NamedTuple):
    """What changes during a run. Rows: see the module's docstring."""

    team: Any  # who plays (teams.py)
    counts: IntArray  # (K,)
    sums: FloatArray  # (K,)
    means: FloatArray  # (K,)
    variances: FloatArray  # (K,) ‖x_k‖² in the norm of A⁻¹
    inverse: FloatArray  # (d, d) A⁻¹; kept up to date only while some rows are missing
    products: FloatArray  # (d, K) A⁻¹Xᵀ at the last rebuild
    factor: FloatArray  # (d, d) work
    gram: FloatArray  # (d, d) work; the lower half of V after a rebuild
    moments: FloatArray  # (d, d) the lower half of V at the last rebuild
    counted: IntArray  # (K,) the counts in it
    row_of: IntArray  # (K,) or -1
    owner: IntArray  # (rows,) or -1
    used: IntArray  # (rows,) when last
    cross: FloatArray  # (rows, K) x_kᵀA⁻¹x_i; or empty, if it is derived from the gaps
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
    listed: bool = False  # whether rounds are played in a shortlist (shortlist.py)


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
    clock = np.zeros(7, dtype=np.int64)
    clock[PULLS] = estimate.pulls
    return Book(
        team=ALONE,
        counts=estimate.counts.copy(),
        sums=estimate.sums.copy(),
        means=np.zeros(count),
        variances=np.zeros(count),
        inverse=np.zeros((d, d)),
        products=np.zeros((d, count)),
        factor=np.zeros((d, d)),
        gram=np.zeros((d, d)),
        moments=np.zeros((d, d)),
        counted=np.zeros(count, dtype=np.int64),
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
def cholesky(
    team: Any, matrix: FloatArray, shift: float, factor: FloatArray, least: float = PIVOT
) -> float:
    """Write the lower factor of matrix + shift·I and return its log-determinant, or NaN.

    NaN if a pivot is not above `least`, relative to what it was before elimination.

    The lower half of `matrix` counts. The upper half of `factor` is work: the factor's transpose,
    whose rows run along memory.
    """
    d, log_det = len(matrix), 0.0
    for q in range(d):
        p = begin_at(team, q)
        while p < d:
            factor[q, p] = matrix[p, q]
            p += stride(team)
        for m in range(q):
            value = factor[m, q]
            p = begin_at(team, q)
            while p < d:
                factor[q, p] -= value * factor[m, p]
                p += stride(team)
        meet(team)
        pivot = factor[q, q] + shift
        if not pivot > least * (matrix[q, q] + shift):
            meet(team)
            return math.nan
        root = math.sqrt(pivot)
        log_det += 2.0 * math.log(root)
        meet(team)
        if owns(team, q):
            factor[q, q] = root
        p = begin_at(team, q + 1)
        while p < d:
            factor[q, p] /= root
            factor[p, q] = factor[q, p]
            p += stride(team)
        meet(team)
    return log_det


@compiled
def _invert(team: Any, factor: FloatArray, inverse: FloatArray) -> None:
    """Write (L Lᵀ)⁻¹ and leave L⁻¹ in `factor`."""
    d = len(factor)
    for p in range(d):
        q = begin(team)
        while q < p:
            inverse[p, q] = 0.0
            q += stride(team)
        for m in range(p):
            value = factor[p, m]
            q = begin(team)
            while q < m + 1:
                inverse[p, q] -= value * factor[m, q]
                q += stride(team)
        root = factor[p, p]
        meet(team)
        q = begin(team)
        while q < p:
            factor[p, q] = inverse[p, q] / root
            q += stride(team)
        if owns(team, p):
            factor[p, p] = 1.0 / root
        meet(team)
    for p in range(d):
        q = begin(team)
        while q < p + 1:
            inverse[p, q] = 0.0
            q += stride(team)
        for m in range(p, d):
            value = factor[m, p]
            q = begin(team)
            while q < p + 1:
                inverse[p, q] += value * factor[m, q]
                q += stride(team)
        q = begin(team)
        while q < p:
            inverse[q, p] = inverse[p, q]
            q += stride(team)
    meet(team)


@compiled
def factored_inverse(matrix: FloatArray, factor: FloatArray, inverse: FloatArray) -> None:
    """Write the inverse of a positive definite matrix, of which the lower half counts.

    It may be nearly singular: designs leave directions out that no contest needs.

    factor: work.
    """
    if math.isnan(cholesky(ALONE, matrix, 0.0, factor, 0.0)):
        factor[:] = math.nan
    _invert(ALONE, factor, inverse)


@compiled
def write_gram(team: Any, x: FloatArray, counts: IntArray, gram: FloatArray) -> None:
    """Write the lower half of V, the sum of T_k x_k x_kᵀ."""
    for p in range(len(gram)):
        write_all(team, gram[p], 0.0)
    meet(team)
    add_moments(team, x, counts, gram)
    meet(team)


@compiled
def _add_up(x: FloatArray, book: Book) -> None:
    """Write V: from scratch when pulls have doubled, else by what has changed, which is quicker.

    So it is written from scratch a few dozen times, and rounding does not add up.
    """
    team, counts, counted, moments = book.team, book.counts, book.counted, book.moments
    if not book.clock[SUMMED] <= book.clock[PULLS] < 2 * book.clock[SUMMED]:
        book.clock[SUMMED] = book.clock[PULLS]
        write_gram(team, x, counts, moments)
    else:
        k = begin(team)
        while k < len(counts):
            counted[k] = counts[k] - counted[k]
            k += stride(team)
        meet(team)
        add_moments(team, x, counted, moments)
        meet(team)
    k = begin(team)
    while k < len(counts):
        counted[k] = counts[k]
        k += stride(team)
    for p in range(len(moments)):
        q = begin(team)
        while q < p + 1:
            book.gram[p, q] = moments[p, q]
            q += stride(team)


@inlined
def rebuild(model: Model, pull: Any) -> None:
    """Recompute every cache from counts and sums."""
    _rebuild(model.arena, model.book)
    on_rebuild(model.bound, model.book)
    on_rebuild(pull, model.book)


@compiled
def _rebuild(arena: Arena, book: Book) -> None:
    x, h, products, team = arena.features, book.h, book.products, book.team
    meet(team)
    _add_up(x, book)
    write_products(team, x, book.sums, h)
    meet(team)
    book.gauge[LOG_DET] = cholesky(team, book.gram, arena.ridge, book.factor)
    if math.isnan(book.gauge[LOG_DET]):  # V is singular to rounding: the loop ends as BROKEN
        for p in range(len(h)):
            write_all(team, book.factor[p], math.nan)
        meet(team)
    _invert(team, book.factor, book.inverse)
    refill(arena, book)
    write_products(team, products, h, book.means)
    meet(team)
    book.gauge[GROWTH] = 0.0
    book.clock[REBUILD_AT] = next_rebuild(book.clock[PULLS], len(x))


@compiled
def refill(arena: Arena, book: Book) -> None:
    """Compute variances from A⁻¹, and forget rows, or compute all."""
    columns, products, variances = arena.columns, book.products, book.variances
    team = book.team
    write_all(team, variances, 0.0)
    for p in range(len(book.inverse)):
        write_products(team, columns, book.inverse[p], products[p])
        k = begin(team)
        while k < len(variances):
            variances[k] += products[p, k] * columns[p, k]
            k += stride(team)
    write_all(team, book.row_of, -1)
    book.owner[:] = -1
    if len(book.owner) == len(variances):  # only one thread alone keeps all rows
        for k in range(len(variances)):
            _keep(columns, products, book, k)


@compiled
def _keep(columns: FloatArray, products: FloatArray, book: Book, arm: int) -> None:
    """Write the row of an arm that has all of XA⁻¹ to draw on (just after a rebuild)."""
    variance = book.gap_variance[arm]
    variance[:] = 0.0
    for p in range(len(columns)):
        product, feature = products[p, arm], columns[p, arm]
        for k in range(len(variance)):
            variance[k] += (product - products[p, k]) * (feature - columns[p, k])
    if not has_gaps_only(book):
        cross = book.cross[arm]
        cross[:] = 0.0
        for p in range(len(columns)):
            product = products[p, arm]
            for k in range(len(cross)):
                cross[k] += product * columns[p, k]
    book.owner[arm] = arm
    book.row_of[arm] = arm


@inlined
def row_for(model: Model, arm: int) -> int:
    """Return the row of `arm`, which is computed if it is missing."""
    arena, book = model.arena, model.book
    if len(book.owner) == len(book.row_of):  # all rows are kept, in order
        return arm
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
    count, row, team = len(x), 0, book.team
    meet(team)
    for m in range(len(book.owner)):
        if book.used[m] < book.used[row]:
            row = m
    if book.owner[row] >= 0 and owns(team, book.owner[row]):
        book.row_of[book.owner[row]] = -1
    book.owner[row] = arm
    if owns(team, arm):
        book.row_of[arm] = row
    multiply(team, inverse, x[arm], h)
    meet(team)
    cross, variance = book.cross[row], book.gap_variance[row]
    write_products(team, arena.columns, h, cross)
    own, least, lost = variances[arm], 2.0 * CANCELLED * variances[arm], 0
    k = begin(team)
    while k < count:
        variance[k] = variances[k] + own - 2.0 * cross[k]
        k += stride(team)
    k = begin(team)
    while k < count:
        lost += variance[k] < least
        k += stride(team)
    if total(team, lost) > 1:  # besides the arm itself: too few digits, so compute these directly
        k = begin(team)
        while k < count:
            if variance[k] < least:
                variance[k] = _gap_variance(inverse, x, k, arm)
            k += stride(team)
    if owns(team, arm):
        variance[arm] = 0.0
    meet(team)
    return row


@compiled
def _gap_variance(inverse: FloatArray, x: FloatArray, k: int, arm: int) -> float:
    """Return ‖x_k - x_arm‖² in the norm of A⁻¹, from the features."""
    variance = 0.0
    for p in range(x.shape[1]):
        z = 0.0
        for q in range(x.shape[1]):
            z += inverse[p, q] * (x[k, q] - x[arm, q])
        variance += z * (x[k, p] - x[arm, p])
    return variance


@inlined
def has_gaps_only(book: Book) -> bool:
    """Whether rows hold gap variances alone, which takes half the memory (lanes/gpu.py)."""
    return len(book.cross) == 0


@inlined
def absorb(model: Model, pull: Any, arm: int, paid: float) -> bool:
    """Do to the caches what a pull does (least_squares.py), unless they need a rebuild first."""
    arena, book, bound = model.arena, model.book, model.bound
    c, row, gaps_only, team = book.c, row_for(model, arm), has_gaps_only(book), book.team
    surprise = paid - book.means[arm]
    if gaps_only:
        write_cross(book.variances, book.gap_variance, arm, c)
    else:
        k = begin(team)
        while k < len(c):
            c[k] = book.cross[row, k]
            k += stride(team)
    meet(team)
    leverage = book.variances[arm] if gaps_only else c[arm]
    s = 1.0 + leverage
    fine = 1.0 <= s <= STEEP
    if fine:
        on_pull(bound, arena, book, arm, row, s)
        on_pull(pull, arena, book, arm, row, s)
        move(book, leverage, surprise)
        if len(book.owner) < len(c):
            multiply(team, book.inverse, arena.features[arm], book.h)
            meet(team)
            move_inverse(team, book.inverse, book.h, s)
    meet(team)
    return fine  # type: ignore[no-any-return]


@inlined
def write_cross(own: FloatArray, gaps: FloatArray, arm: int, out: FloatArray) -> None:
    """Write all products of vectors with that of `arm`, from squared lengths of all.

    own, gaps: of the vectors, and of the differences of any two.
    """
    for k in range(len(out)):
        out[k] = 0.5 * (own[arm] + own[k] - gaps[arm, k])


@inlined
def move(book: Book, leverage: float, surprise: float) -> None:
    """Move means, variances and rows after a pull of an arm a; book.c is XA⁻¹x_a.

    leverage: x_aᵀA⁻¹x_a.
    surprise: what it paid beyond the estimate.
    """
    means, variances, cross, c = book.means, book.variances, book.cross, book.c
    gap_variance, owner, count = book.gap_variance, book.owner, len(book.c)
    team = book.team
    s = 1.0 + leverage
    t = 1.0 / s
    step = surprise * t
    k = begin(team)
    while k < count:
        means[k] += c[k] * step
        variances[k] -= c[k] * c[k] * t
        k += stride(team)
    for m in range(len(owner)):
        i = m if len(owner) == count else owner[m]
        if i >= 0:
            own = c[i]
            if has_gaps_only(book):
                k = begin(team)
                while k < count:
                    y = own - c[k]
                    gap_variance[m, k] -= y * y * t
                    k += stride(team)
            else:
                f = own * t
                k = begin(team)
                while k < count:
                    y = own - c[k]
                    cross[m, k] -= f * c[k]
                    gap_variance[m, k] -= y * y * t
                    k += stride(team)
    book.gauge[GROWTH] += _log(leverage, s)


@inlined
def _log(x: float, s: float) -> float:
    """Return log(s) for s = 1 + x; x is small after a few thousand pulls, and a series is fast."""
    return x * (1.0 - x * (0.5 - x * (1.0 / 3.0))) if x < 1e-4 else math.log(s)


@compiled
def move_inverse(team: Any, inverse: FloatArray, h: FloatArray, s: float) -> None:
    """Move A⁻¹ after a pull; h = A⁻¹x_a."""
    t = 1.0 / s
    for p in range(len(h)):
        f = h[p] * t
        q = begin(team)
        while q < len(h):
            inverse[p, q] -= f * h[q]
            q += stride(team)
