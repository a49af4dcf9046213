"""Pull the arm that shrinks the contested gap's variance most: equation (9) of the paper."""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..kernels.book import (
    Arena,
    Book,
    Model,
    Stage,
    cholesky,
    multiply,
    row_for,
    write_gram,
    write_products,
)
from ..kernels.parts import choose, compiled, inlined, on_pull, on_rebuild
from ..least_squares import LeastSquares
from ..ties import PULL, first_max

# A gap whose variance is this small beside its ends' has lost digits in the difference of rows.
CLOSE = 1e-2


class _Greedy:
    """Pull the arm that shrinks the contested gap's variance most, equation (9).

    argmin_a yᵀ(A + x_a x_aᵀ)⁻¹y = argmax_a (x_aᵀA⁻¹y)² / (1 + x_aᵀA⁻¹x_a)  (Sherman-Morrison)
    """

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        features = estimate.features
        u = features @ (estimate.inverse @ (features[leader] - features[rival]))
        u *= u
        u /= 1.0 + estimate.variances
        if estimate.pullable is not None:
            u[~estimate.pullable] = -1.0
        return first_max(u, PULL * float(u[u.argmax()]))

    def kernel(self, stage: Stage) -> "GreedyKernel":
        return GreedyKernel(np.zeros(len(stage.problem)), np.full(1, -1, dtype=np.int64))

    __name__ = "greedy"

    def __repr__(self) -> str:
        return "greedy"

    def __reduce__(self) -> str:
        return "greedy"  # there is only one


greedy = _Greedy()


class GreedyKernel(NamedTuple):
    contrast: FloatArray  # (K,) x_kᵀA⁻¹(x_i - x_j) for a pair of arms that are alike
    pair: IntArray  # (1,) that pair, i·K + j, or -1 for none


@choose.of(GreedyKernel)
def _(pull: GreedyKernel, model: Model, leader: int, rival: int) -> int:
    arena, book, _ = model
    first, variances, scores = row_for(model, leader), book.variances, book.scores
    if book.gap_variance[first, rival] < CLOSE * variances[leader]:
        key = leader * len(scores) + rival
        if pull.pair[0] != key:
            pull.pair[0] = key
            _write_contrast(arena, book, pull.contrast, leader, rival)
        arm = _sharpest(pull.contrast, variances, scores)
    else:
        pull.pair[0] = -1
        second = row_for(model, rival)
        arm = sharpest_between(book.cross, variances, first, second, scores)
    return arm


@inlined
def sharpest_between(
    cross: FloatArray, variances: FloatArray, first: int, second: int, scores: FloatArray
) -> int:
    """Return the arm that shrinks the variance of the gap between two rows' arms most (9)."""
    for k in range(len(scores)):
        u = cross[first, k] - cross[second, k]
        scores[k] = u * u / (1.0 + variances[k])
    return _first_best(scores)


@inlined
def _sharpest(contrast: FloatArray, variances: FloatArray, scores: FloatArray) -> int:
    """Return the arm that shrinks a gap's variance most (9), given all x_kᵀA⁻¹y."""
    for k in range(len(scores)):
        scores[k] = contrast[k] * contrast[k] / (1.0 + variances[k])
    return _first_best(scores)


@inlined
def _first_best(scores: FloatArray) -> int:
    best = scores[0]
    for k in range(1, len(scores)):
        if scores[k] > best:
            best = scores[k]
    least = best - PULL * best
    arm = 0
    while scores[arm] < least:
        arm += 1
    return arm


@on_pull.of(GreedyKernel)
def _(pull: GreedyKernel, book: Book, arm: int, row: int, s: float) -> None:
    if pull.pair[0] >= 0:
        step = pull.contrast[arm] * (1.0 / s)
        for k in range(len(pull.contrast)):
            pull.contrast[k] -= book.c[k] * step


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
    x, h, y = arena.features, book.h, book.h2
    for p in range(len(y)):
        y[p] = x[leader, p] - x[rival, p]
    if len(book.owner) < len(x):  # the inverse is up to date
        multiply(book.inverse, y, h)
    else:
        write_gram(x, book.counts, book.gram)
        if math.isnan(cholesky(book.gram, arena.ridge, book.factor)):
            book.means[:] = math.nan  # the loop ends as BROKEN
        _solve(book.factor, y, h)
    write_products(arena.columns, h, contrast)


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
