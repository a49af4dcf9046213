"""The kernel of stopping.Elimination."""

import math
from typing import NamedTuple

from ...arrays import FloatArray, IntArray
from ..compiling import compiled
from .base import GO_ON, STOP, decide, narrow, nearly


class EliminationKernel(NamedTuple):
    epsilon: float
    near: float  # as of MarginKernel
    sample: bool  # whether beaten rivals are not asked about any more
    dropped: FloatArray  # (K, K) margin when a leader beat a rival, or infinite


@narrow.of(EliminationKernel)
def _(
    stopping: EliminationKernel,
    means: FloatArray,
    scores: FloatArray,
    twins: IntArray,
    leader: int,
) -> float:
    return _drop(stopping, means, scores, twins, leader)


@compiled
def _drop(
    stopping: EliminationKernel,
    means: FloatArray,
    scores: FloatArray,
    twins: IntArray,
    leader: int,
) -> float:
    """Drop the rivals that the leader beats; return the largest margin once all are dropped."""
    dropped, left, worst = stopping.dropped, 0, -math.inf
    for k in range(len(means)):
        if twins[k] != twins[leader]:
            margin = scores[k] - means[leader]
            if margin <= stopping.epsilon and dropped[leader, k] == math.inf:
                dropped[leader, k] = margin
            if dropped[leader, k] == math.inf:
                left += 1
            else:
                worst = max(worst, dropped[leader, k])
    if left == 0:
        return worst if worst > -math.inf else 0.0  # without rivals
    if stopping.sample:
        for k in range(len(means)):
            if dropped[leader, k] < math.inf:
                scores[k] = -math.inf
    return -math.inf


@decide.of(EliminationKernel)
def _(
    stopping: EliminationKernel, leader: int, margin: float, pulls: int, noise_scale: float
) -> int:
    return STOP if margin <= stopping.epsilon else GO_ON


@nearly.of(EliminationKernel)
def _(
    stopping: EliminationKernel,
    means: FloatArray,
    scores: FloatArray,
    twins: IntArray,
    leader: int,
) -> bool:
    near, best = stopping.near, -math.inf
    if near > 0.0:
        for k in range(len(means)):
            if twins[k] != twins[leader] and stopping.dropped[leader, k] == math.inf:
                best = max(best, means[k] + near * (scores[k] - means[k]))
    return near > 0.0 and best - means[leader] <= stopping.epsilon
