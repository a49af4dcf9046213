"""The kernel of bounds.SelfNormalized."""

import math
from typing import NamedTuple

from ..book import GROWTH, LOG_DET, Arena, Book
from .base import radius


class SelfNormalizedKernel(NamedTuple):
    nats: float  # 2 log(κ/δ)
    log_prior: float  # log det λI
    bias: float  # √λ S


@radius.of(SelfNormalizedKernel)
def _(bound: SelfNormalizedKernel, arena: Arena, book: Book) -> float:
    nats = bound.nats + book.gauge[LOG_DET] + book.gauge[GROWTH] - bound.log_prior
    return arena.noise_scale * math.sqrt(nats) + bound.bias  # (3)
