"""Pull the arm whose own interval is wider, as UGapE does."""

from dataclasses import dataclass
from typing import Any

from ..kernels.stage import Stage
from ..least_squares import LeastSquares
from ..ties import PULL


@dataclass(frozen=True)
class Wider:
    """Of equal intervals, to within rounding, pull the rival's: it was pulled less recently."""

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        variances = estimate.variances
        return leader if variances[leader] > variances[rival] * (1.0 + PULL) else rival

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.pulls.wider import WiderKernel

        return WiderKernel(PULL)
