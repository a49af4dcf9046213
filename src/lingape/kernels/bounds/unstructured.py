"""The kernel of bounds.Unstructured."""

import math
from typing import NamedTuple

from ...arrays import FloatArray
from ..book import PULLS, Arena, Book
from .base import radius, write_ends


class UnstructuredKernel(NamedTuple):
    nats: float  # log(4K/δ)


@radius.of(UnstructuredKernel)
def _(bound: UnstructuredKernel, arena: Arena, book: Book) -> float:
    nats = bound.nats + 3.0 * math.log(float(book.clock[PULLS]))
    return arena.noise_scale * math.sqrt(2.0 * nats)


@write_ends.of(UnstructuredKernel)
def _(
    bound: UnstructuredKernel, book: Book, means: FloatArray, factor: float, leader: int, row: int
) -> None:
    """Add the widths of both arms."""
    scores, variances = book.scores, book.variances
    own = factor * math.sqrt(variances[leader])
    for k in range(len(scores)):
        scores[k] = means[k] + factor * math.sqrt(variances[k]) + own
