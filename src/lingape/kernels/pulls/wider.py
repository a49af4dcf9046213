"""The kernel of pulls.wider."""

from typing import NamedTuple

from ..book import Model
from .base import choose


class WiderKernel(NamedTuple):
    slack: float  # ties.PULL


@choose.of(WiderKernel)
def _(pull: WiderKernel, model: Model, leader: int, rival: int) -> int:
    variances = model.book.variances
    if variances[leader] > variances[rival] * (1.0 + pull.slack):
        return leader
    return rival
