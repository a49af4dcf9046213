"""The kernel of stopping.Margin."""

import math
from typing import NamedTuple

from ...arrays import FloatArray, IntArray
from .base import GO_ON, STOP_IF_FRESH, decide, nearly


class MarginKernel(NamedTuple):
    epsilon: float
    near: float  # look closer when widths this much shorter would settle it; 0 for never


@decide.of(MarginKernel)
def _(stopping: MarginKernel, leader: int, margin: float, pulls: int, noise_scale: float) -> int:
    return STOP_IF_FRESH if margin <= stopping.epsilon else GO_ON


@nearly.of(MarginKernel)
def _(
    stopping: MarginKernel, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> bool:
    near, best = stopping.near, -math.inf
    if near > 0.0:
        for k in range(len(means)):
            if twins[k] != twins[leader]:
                best = max(best, means[k] + near * (scores[k] - means[k]))
    return near > 0.0 and best - means[leader] <= stopping.epsilon
