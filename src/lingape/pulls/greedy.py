"""Pull the arm that shrinks the contested gap's variance most: equation (9) of the paper."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..kernels.book import (
    TICK,
    Arena,
    Book,
    Model,
    Stage,
    cholesky,
    has_gaps_only,
    row_for,
    write_gram,
)
from ..kernels.functions import compiled, inlined, on_gpu
from ..kernels.loops import first_from, largest, multiply, write_products
from ..kernels.parts import choose, on_pull, on_rebuild, pick
from ..kernels.shortlist import CERTAIN, cut
from ..kernels.teams import ALONE, begin, meet, stride
from ..least_squares import LeastSquares
from ..many_arms import ManyArms
from ..ties import PULL, first_max
from .pivots import sharpest_of_many

PAIRS = 256  # for which so many arms are remembered:
ENTRY = 32
# A gap whose variance is this small beside its ends' has lost digits in the difference of rows.
CLOSE = 1e-2


class _Greedy:
    """Pull the arm that shrinks the contested gap's variance most, equation (9).

    argmin_a yᵀ(A + x_a x_aᵀ)⁻¹y = argmax_a (x_aᵀA⁻¹y)² / (1 + x_aᵀA⁻¹x_a)  (Sherman-Morrison)

    >>> from lingape import LinGapE, Problem
    >>> explorer = LinGapE(Problem([[1, 0], [1, 0.1], [0, 1]], noise=0.3), pull=greedy)
    >>> explorer.tell_many([0, 1, 2], [5.0, 5.1, 1.0])
    >>> explorer.contest.leader, explorer.contest.rival, explorer.ask()
    (1, 0, 2)
    """

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        if isinstance(estimate, ManyArms):
            return sharpest_of_many(estimate, leader, rival)
        features = estimate.features
        u = features @ (estimate.inverse @ (features[leader] - features[rival]))
        u *= u
        u /= 1.0 + estimate.variances
        if estimate.pullable is not None:
            u[~estimate.pullable] = -1.0
        return first_max(u, PULL * float(u[u.argmax()]))

    shortlists = True

    def kernel(self, stage: Stage) -> "GreedyKernel | PairsKernel":
        """Return this rule for the compiled lane, as a run begins at `stage`."""
        if stage.listed:
            return new_pairs(*stage.estimate.features.shape)
        kept = 0 if has_gaps_only(stage.book) else len(stage.problem)
        return GreedyKernel(np.zeros(kept), np.full(1, -1, dtype=np.int64))

    __name__ = "greedy"

    def __repr__(self) -> str:
        return "greedy"

    def __reduce__(self) -> str:
        return "greedy"  # there is only one


#: The pull rule of equation (9): pull the arm that shrinks the contested gap's variance most.
greedy = _Greedy()


@on_gpu(split="contrast")
class GreedyKernel(NamedTuple):
    contrast: FloatArray  # (K,) x_kᵀA⁻¹(x_i - x_j) for a pair of arms that are alike
    pair: IntArray  # (1,) that pair, i·K + j with i < j, or -1 for none


@choose.of(GreedyKernel)
def _(pull: GreedyKernel, model: Model, leader: int, rival: int) -> int:
    arena, book, _ = model
    first, variances, scores = row_for(model, leader), book.variances, book.scores
    if has_gaps_only(book):
        arm = _sharpest_by_gaps(book.gap_variance, variances, leader, rival, scores)
    elif book.gap_variance[first, rival] < CLOSE * variances[leader]:
        key = min(leader, rival) * len(scores) + max(leader, rival)
        if pull.pair[0] != key:
            pull.pair[0] = key
            _write_contrast(arena, book, pull.contrast, leader, rival)
        arm = _sharpest(book.team, pull.contrast, variances, scores)
    else:
        pull.pair[0] = -1
        second = row_for(model, rival)
        arm = sharpest_between(book.team, book.cross, variances, first, second, scores)
    return arm


@inlined
def sharpest_between(
    team: Any,
    cross: FloatArray,
    variances: FloatArray,
    first: int,
    second: int,
    scores: FloatArray,
) -> int:
    """Return the arm that shrinks the variance of the gap between two rows' arms most (9)."""
    k = begin(team)
    while k < len(scores):
        u = cross[first, k] - cross[second, k]
        scores[k] = u * u / (1.0 + variances[k])
        k += stride(team)
    return _first_best(team, scores)


@inlined
def _sharpest_by_gaps(
    gaps: FloatArray, variances: FloatArray, leader: int, rival: int, scores: FloatArray
) -> int:
    """Return the arm that shrinks a gap's variance most (9), from the variances of all gaps."""
    for k in range(len(scores)):
        u = 0.5 * ((variances[leader] - gaps[leader, k]) - (variances[rival] - gaps[rival, k]))
        scores[k] = u * u * (1.0 / (1.0 + variances[k]))  # GPUs are slow at dividing zeros
    return _first_best(ALONE, scores)


@inlined
def _sharpest(team: Any, contrast: FloatArray, variances: FloatArray, scores: FloatArray) -> int:
    """Return the arm that shrinks a gap's variance most (9), given all x_kᵀA⁻¹y."""
    k = begin(team)
    while k < len(scores):
        scores[k] = contrast[k] * contrast[k] / (1.0 + variances[k])
        k += stride(team)
    return _first_best(team, scores)


@inlined
def _first_best(team: Any, scores: FloatArray) -> int:
    best = largest(team, scores)
    return first_from(team, scores, best - PULL * best)


@on_pull.of(GreedyKernel)
def _(pull: GreedyKernel, arena: Arena, book: Book, arm: int, row: int, s: float) -> None:
    if pull.pair[0] >= 0:
        step, team = pull.contrast[arm] * (1.0 / s), book.team
        meet(team)
        k = begin(team)
        while k < len(pull.contrast):
            pull.contrast[k] -= book.c[k] * step
            k += stride(team)


@on_rebuild.of(GreedyKernel)
def _(pull: GreedyKernel, book: Book) -> None:
    pull.pair[0] = -1


@compiled
def _write_contrast(
    arena: Arena, book: Book, contrast: FloatArray, leader: int, rival: int
) -> None:
    """Write x_kᵀA⁻¹y for y = x_i - x_j, for arms so alike that the difference of their rows is
    mostly rounding.
    """
    x, h, y, team = arena.features, book.h, book.h2, book.team
    meet(team)
    p = begin(team)
    while p < len(y):
        y[p] = x[leader, p] - x[rival, p]
        p += stride(team)
    meet(team)
    if len(book.owner) < len(x):  # the inverse is up to date
        multiply(team, book.inverse, y, h)
        meet(team)
    else:  # all rows are kept, by one thread alone
        write_gram(team, x, book.counts, book.gram)
        if math.isnan(cholesky(team, book.gram, arena.ridge, book.factor)):
            book.means[:] = math.nan  # the loop ends as BROKEN
        _solve(book.factor, y, h)
    write_products(team, arena.columns, h, contrast)
    meet(team)


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


class PairsKernel(NamedTuple):
    """For pairs of arms contested lately, the arms that shrink the gap's variance most.

    For y = x_i - x_j let z₁ = A⁻¹y when an entry was made, and z = A⁻¹y now. An arm that is not in
    it had |xᵀz₁| ≤ rest, and |xᵀ(z - z₁)| ≤ ‖x‖ δ, where ‖x‖ is a norm of any A₀⁻¹ and δ the
    length of z - z₁ in the norm of A₀ (Cauchy-Schwarz). So its score (9) is at most
    (rest + ‖x‖ δ)², and while the best in the entry has a higher one, that is the best of all.
    """

    keys: IntArray  # (pairs,) i·K + j, or -1
    used: IntArray  # (pairs,) when last
    sizes: IntArray  # (pairs,)
    arms: IntArray  # (pairs, L) rising
    columns: FloatArray  # (pairs, d, L) their features
    rest: FloatArray  # (pairs,)
    z: FloatArray  # (pairs, d) z₁
    longest: FloatArray  # (1,) the largest ‖x‖, in the norm of A₀⁻¹ at the last rebuild
    products: FloatArray  # (K,) work
    values: FloatArray  # (L,) work
    scores: FloatArray  # (L,) work


def new_pairs(count: int, d: int) -> PairsKernel:
    return PairsKernel(
        keys=np.full(PAIRS, -1, dtype=np.int64),
        used=np.zeros(PAIRS, dtype=np.int64),
        sizes=np.zeros(PAIRS, dtype=np.int64),
        arms=np.zeros((PAIRS, ENTRY), dtype=np.int64),
        columns=np.zeros((PAIRS, d, ENTRY)),
        rest=np.zeros(PAIRS),
        z=np.zeros((PAIRS, d)),
        longest=np.zeros(1),
        products=np.zeros(count),
        values=np.zeros(ENTRY),
        scores=np.zeros(ENTRY),
    )


@on_rebuild.of(PairsKernel)
def _(pull: PairsKernel, book: Book) -> None:
    pull.longest[0] = math.sqrt(largest(book.team, book.variances))


@pick.of(PairsKernel)
def _(pull: PairsKernel, whole: Model, small: Model, grown: float, leader: int, rival: int) -> int:
    return _pick(pull, whole.arena, whole.book, small.book, grown, leader, rival)


@compiled
def _pick(
    pull: PairsKernel,
    arena: Arena,
    book: Book,
    page: Book,
    grown: float,
    leader: int,
    rival: int,
) -> int:
    x, y, z = arena.features, page.h2, page.h
    key = leader * len(x) + rival
    for p in range(len(y)):
        y[p] = x[leader, p] - x[rival, p]
    multiply(page.team, page.inverse, y, z)
    entry = 0
    while entry < len(pull.keys) and pull.keys[entry] != key:
        entry += 1
    arm, root = -1, 0.0
    if entry < len(pull.keys):
        arm, root = _best_of(pull, arena, book, page, grown, entry)
        for p in range(len(y)):
            y[p] = z[p] - pull.z[entry, p]
        length = arena.ridge * _dot(y, y)
        multiply(book.team, book.gram, y, book.h)
        length = math.sqrt(max(0.0, length + _dot(y, book.h)))
        if not pull.rest[entry] + pull.longest[0] * length < root:
            arm = -1
    else:
        entry = int(pull.used.argmin())
    if arm < 0:
        _enter(pull, arena, z, key, entry)
        arm, root = _best_of(pull, arena, book, page, grown, entry)
        if not pull.rest[entry] < root:
            arm = _best_of_all(pull.products, arena, page, root)
    pull.used[entry] = book.clock[TICK]
    return arm


@inlined
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for p in range(len(a)):
        total += a[p] * b[p]
    return total


@compiled
def _enter(pull: PairsKernel, arena: Arena, z: FloatArray, key: int, entry: int) -> None:
    """Make an entry of the arms with the largest |xᵀz|, the first ones of their kind."""
    products, twins, arms = pull.products, arena.twins, pull.arms[entry]
    write_products(ALONE, arena.columns, z, products)
    for k in range(len(products)):
        products[k] = abs(products[k]) if twins[k] == k else -1.0
    top, size = largest(ALONE, products), 0
    pull.rest[entry] = rest = max(0.0, cut(products, len(arms), top, 0.1 * top))
    for k in range(len(products)):
        if products[k] > rest:
            arms[size] = k
            pull.columns[entry, :, size] = arena.features[k]
            size += 1
    pull.keys[entry], pull.sizes[entry] = key, size
    pull.z[entry] = z


@compiled
def _best_of(
    pull: PairsKernel, arena: Arena, book: Book, page: Book, grown: float, entry: int
) -> tuple[int, float]:
    """Return the best arm of an entry, and the root of its score or of slightly less.

    Its arms' variances lie between those at the last rebuild and these divided by 1 + grown, which
    nearly always tells which is best. z is in page.h.
    """
    arms, values, scores, size = pull.arms[entry], pull.values, pull.scores, pull.sizes[entry]
    write_products(page.team, pull.columns[entry], page.h, values)
    least = 0.0
    for m in range(size):
        square, variance = values[m] * values[m], book.variances[arms[m]]
        scores[m] = square / (1.0 + variance / (1.0 + grown))
        least = max(least, square / (1.0 + variance))
    least *= 1.0 - CERTAIN
    contenders, best = 0, -1
    for m in range(size):
        if scores[m] >= least:
            contenders += 1
            best = m
    if contenders > 1:
        top = 0.0
        for m in range(size):
            if scores[m] >= least:
                scores[m] = values[m] * values[m] / (1.0 + _variance(arena, page, arms[m]))
                top = max(top, scores[m])
        least, best = top * (1.0 - PULL), 0
        while scores[best] < least:
            best += 1
    if best < 0:
        return 0, 0.0
    return int(arms[best]), math.sqrt(least * (1.0 - CERTAIN))


@compiled
def _best_of_all(products: FloatArray, arena: Arena, page: Book, root: float) -> int:
    """Return the best arm, given all |xᵀz| and one that the root of its score is no less than."""
    top = 0.0
    for k in range(len(products)):
        if products[k] >= root:
            products[k] = products[k] ** 2 / (1.0 + _variance(arena, page, k))
            top = max(top, products[k])
        else:
            products[k] = -1.0
    return first_from(page.team, products, top - PULL * top)


@compiled
def _variance(arena: Arena, page: Book, arm: int) -> float:
    """Return xᵀA⁻¹x."""
    x, total = arena.features[arm], 0.0
    for p in range(len(x)):
        total += x[p] * _dot(page.inverse[p], x)
    return total
