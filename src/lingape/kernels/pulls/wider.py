"""The kernel of pulls.wider."""

from typing import Any, NamedTuple

from ..book import Arena, Book
from .base import choose


class WiderKernel(NamedTuple):
    slack: float  # ties.PULL


@choose.of(WiderKernel)
def _(
    pull: WiderKernel, arena: Arena, book: Book, bound: Any, leader: int, rival: int, pulls: int
) -> int:
    if book.variances[leader] > book.variances[rival] * (1.0 + pull.slack):
        return leader
    return rival
