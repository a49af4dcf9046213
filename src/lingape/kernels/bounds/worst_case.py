"""The kernel of bounds.WorstCase."""

import math
from typing import NamedTuple

from ..book import PULLS, Arena, Book
from .base import radius


class WorstCaseKernel(NamedTuple):
    nats: float  # log(κ/δ)
    bias: float  # √λ S
    longest: float  # L²/λ


@radius.of(WorstCaseKernel)
def _(bound: WorstCaseKernel, arena: Arena, book: Book) -> float:
    nats = bound.nats + math.log(1.0 + book.clock[PULLS] * bound.longest)
    return arena.noise_scale * math.sqrt(max(2, len(book.h)) * nats) + bound.bias  # (4)
