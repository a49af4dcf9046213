"""The kernel of bounds.FixedDesign."""

import math
from typing import NamedTuple

from ..book import PULLS, Arena, Book
from .base import radius


class FixedDesignKernel(NamedTuple):
    nats: float  # log(share·κ/δ)
    twice: float  # 2, or 2·4 with the printed factor 2


@radius.of(FixedDesignKernel)
def _(bound: FixedDesignKernel, arena: Arena, book: Book) -> float:
    nats = max(0.0, bound.nats + 2.0 * math.log(float(book.clock[PULLS])))
    return arena.noise_scale * math.sqrt(bound.twice * nats)  # (2)
