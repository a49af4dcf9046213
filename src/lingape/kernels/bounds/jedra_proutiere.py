"""The kernel of bounds.JedraProutiere."""

import math
from typing import NamedTuple

from ...arrays import FloatArray, IntArray
from ..book import GROWTH, Arena, Book, cholesky, on_rebuild
from .base import radius


class JedraProutiereKernel(NamedTuple):
    nats: float  # 2 log(1/δ)
    u: float
    c: float
    spanning: IntArray  # (d,) arms that span (Problem.spanning)
    log_det: FloatArray  # (1,) log det(I + V/uc) at the last rebuild
    unknown: FloatArray  # (1,) c/g, where V ⪰ gI; it only falls, so it rests at 1


@radius.of(JedraProutiereKernel)
def _(bound: JedraProutiereKernel, arena: Arena, book: Book) -> float:
    if bound.unknown[0] > 1.0:
        least, trace = book.counts[bound.spanning[0]], 0.0
        for k in bound.spanning:
            least = min(least, book.counts[k])
            trace += book.variances[k]
        inverse = min(trace, 1.0 / least) if least > 0 else trace
        bound.unknown[0] = max(1.0, bound.c * inverse)
    nats = bound.nats + bound.log_det[0] + book.gauge[GROWTH]
    return arena.noise_scale * math.sqrt(nats * (1.0 + bound.u * bound.unknown[0]))


@on_rebuild.of(JedraProutiereKernel)
def _(bound: JedraProutiereKernel, book: Book) -> None:
    scale = bound.u * bound.c
    log_det = cholesky(book.gram, scale, book.factor)
    bound.log_det[0] = log_det - len(book.h) * math.log(scale)
