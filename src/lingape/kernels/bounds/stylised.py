"""The kernel of bounds.Stylised."""

import math
from typing import NamedTuple

from ..book import PULLS, Arena, Book
from .base import radius


class StylisedKernel(NamedTuple):
    nats: float  # log(1/δ)


@radius.of(StylisedKernel)
def _(bound: StylisedKernel, arena: Arena, book: Book) -> float:
    nats = bound.nats + math.log(1.0 + math.log(float(book.clock[PULLS])))
    return arena.noise_scale * math.sqrt(2.0 * nats)
