"""The kernel of stopping.Surest."""

from typing import NamedTuple

from ...arrays import FloatArray, IntArray
from ...ties import LEADER
from .base import GO_ON, decide


class SurestKernel(NamedTuple):
    leader: IntArray  # (1,) who led when B(t) was least
    least: FloatArray  # (1,) B(t) then, or infinite


@decide.of(SurestKernel)
def _(stopping: SurestKernel, leader: int, margin: float, pulls: int, noise_scale: float) -> int:
    """Never stop: the budget does. Remember the time at which the leader was surest."""
    if pulls > 0 and margin < stopping.least[0] - LEADER * (noise_scale + abs(margin)):
        stopping.leader[0], stopping.least[0] = leader, margin
    return GO_ON
