"""The kernel of bounds.Mixture."""

import math
from typing import NamedTuple

import numpy as np

from ...arrays import FloatArray
from ...least_squares import CANCELLED
from ..book import (
    GROWTH,
    Arena,
    Book,
    cholesky,
    multiply,
    on_fetch,
    on_pull,
    on_rebuild,
    write_products,
)
from ..compiling import compiled, inlined
from .base import radius, write_ends


class MixtureKernel(NamedTuple):
    """Besides the constants, what moves with the estimate: see kernels/book.py on rows."""

    log_count: float  # log(J/δ)
    grid: FloatArray  # (J,) prior scales
    log_dets: FloatArray  # (J,) log det(I + V/λ_j) at the last rebuild
    nats: FloatArray  # (J,) 2R²ℓ_j
    spread: FloatArray  # (K,) ‖A⁻¹x_k‖²
    cross: FloatArray  # (rows, K) x_kᵀA⁻²x_i
    sensitivity: FloatArray  # (rows, K) ‖A⁻¹(x_k - x_i)‖²
    b: FloatArray  # (K,) work


def new_mixture(log_count: float, grid: FloatArray, shape: tuple[int, int]) -> MixtureKernel:
    """Return the kernel for a book with rows of this shape, (rows, K)."""
    count = shape[1]
    return MixtureKernel(
        log_count=log_count,
        grid=grid,
        log_dets=np.zeros(len(grid)),
        nats=np.zeros(len(grid)),
        spread=np.zeros(count),
        cross=np.zeros(shape),
        sensitivity=np.zeros(shape),
        b=np.zeros(count),
    )


@radius.of(MixtureKernel)
def _(bound: MixtureKernel, arena: Arena, book: Book) -> float:
    twice = 2.0 * arena.noise_scale * arena.noise_scale
    for j in range(len(bound.grid)):
        bound.nats[j] = twice * (bound.log_count + 0.5 * (bound.log_dets[j] + book.gauge[GROWTH]))
    return 0.0


@write_ends.of(MixtureKernel)
def _(
    bound: MixtureKernel, book: Book, means: FloatArray, factor: float, leader: int, row: int
) -> None:
    """Take the best of all scales for each arm."""
    ends, variance, sensitivity = book.scores, book.gap_variance, bound.sensitivity
    nats, grid, count = bound.nats, bound.grid, len(book.scores)
    nat, scale = nats[0], grid[0]
    for k in range(count):
        ends[k] = nat * (variance[row, k] + scale * sensitivity[row, k])
    for j in range(1, len(grid)):
        nat, scale = nats[j], grid[j]
        for k in range(count):
            value = nat * (variance[row, k] + scale * sensitivity[row, k])
            ends[k] = value if value < ends[k] else ends[k]
    for k in range(count):
        ends[k] = means[k] + math.sqrt(ends[k])


@on_rebuild.of(MixtureKernel)
def _(bound: MixtureKernel, book: Book) -> None:
    _rebuild(bound, book)


@compiled
def _rebuild(bound: MixtureKernel, book: Book) -> None:
    products, grid = book.products, bound.grid
    count, d = products.shape
    for j in range(len(grid)):
        log_det = cholesky(book.gram, grid[j], book.factor)
        bound.log_dets[j] = log_det - d * math.log(grid[j])
    for k in range(count):
        bound.spread[k] = 0.0
        for p in range(d):
            bound.spread[k] += products[k, p] * products[k, p]
    if len(book.owner) == count:
        for arm in range(count):
            for k in range(count):
                cross, sensitivity = 0.0, 0.0
                for p in range(d):
                    z = products[arm, p] - products[k, p]
                    cross += products[arm, p] * products[k, p]
                    sensitivity += z * z
                bound.cross[arm, k], bound.sensitivity[arm, k] = cross, sensitivity


@on_fetch.of(MixtureKernel)
def _(bound: MixtureKernel, arena: Arena, book: Book, arm: int, row: int) -> None:
    _fetch(bound, arena, book, arm, row)


@compiled
def _fetch(bound: MixtureKernel, arena: Arena, book: Book, arm: int, row: int) -> None:
    inverse, spread, h2 = book.inverse, bound.spread, book.h2
    cross, sensitivity = bound.cross[row], bound.sensitivity[row]
    multiply(inverse, book.h, h2)
    write_products(arena.columns, h2, cross)
    for k in range(len(spread)):
        sensitivity[k] = spread[k] + spread[arm] - 2.0 * cross[k]
        if sensitivity[k] < 2.0 * CANCELLED * spread[arm]:  # too few digits left
            sensitivity[k] = _gap_sensitivity(inverse, arena.features, k, arm)


@inlined
def _gap_sensitivity(inverse: FloatArray, x: FloatArray, k: int, arm: int) -> float:
    """Return ‖A⁻¹(x_k - x_arm)‖², from the features."""
    length = 0.0
    for p in range(x.shape[1]):
        z = 0.0
        for q in range(x.shape[1]):
            z += inverse[p, q] * (x[k, q] - x[arm, q])
        length += z * z
    return length


@on_pull.of(MixtureKernel)
def _(bound: MixtureKernel, book: Book, arm: int, row: int, s: float) -> None:
    """Do to sensitivities what a pull does; hh = ‖A⁻¹x_a‖²."""
    c, b, owner = book.c, bound.b, book.owner
    spread, cross, sensitivity = bound.spread, bound.cross, bound.sensitivity
    count, t = len(c), 1.0 / s
    for k in range(count):
        b[k] = cross[row, k]
    hh = b[arm]
    if len(owner) < count:
        for k in range(count):
            f = c[k] * t
            spread[k] -= f * (2.0 * b[k] - hh * f)
    for m in range(len(owner)):
        if owner[m] >= 0:
            own_c, own_b = c[owner[m]], b[owner[m]]
            f, g = own_c * t, (own_b - hh * own_c * t) * t
            for k in range(count):
                cross[m, k] -= f * b[k] + g * c[k]
            for k in range(count):
                y = (own_c - c[k]) * t
                sensitivity[m, k] -= y * (2.0 * (own_b - b[k]) - hh * y)
