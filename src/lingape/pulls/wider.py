"""Pull the arm whose own interval is wider, as UGapE does."""

from dataclasses import dataclass
from typing import NamedTuple

from ..kernels.book import Model, Stage
from ..kernels.functions import on_gpu
from ..kernels.parts import choose
from ..least_squares import LeastSquares
from ..ties import PULL


@dataclass(frozen=True)
class Wider:
    """Pull the leader or its rival, whichever is known less well by itself.

    Of equal intervals, to within rounding, the rival's: it was pulled less recently.

    >>> import numpy as np
    >>> from lingape import LeastSquares
    >>> from lingape.pulls import Wider
    >>> estimate = LeastSquares(np.eye(2))
    >>> estimate.load(counts=np.array([2, 1]), sums=np.zeros(2))
    >>> Wider()(estimate, leader=0, rival=1)
    1
    """

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        variances = estimate.variances
        return leader if variances[leader] > variances[rival] * (1.0 + PULL) else rival

    def kernel(self, stage: Stage) -> "WiderKernel":
        return WiderKernel()


@on_gpu()
class WiderKernel(NamedTuple):
    """There is nothing that it needs to know."""


@choose.of(WiderKernel)
def _(pull: WiderKernel, model: Model, leader: int, rival: int) -> int:
    variances = model.book.variances
    if variances[leader] > variances[rival] * (1.0 + PULL):
        return leader
    return rival
