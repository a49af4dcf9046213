"""What the kernel of every stopping rule does."""

import math
from typing import Any

from ...arrays import FloatArray, IntArray
from ..parts import part_function

# What a stopping rule decides: STOP_IF_FRESH after the caches have been rebuilt.
GO_ON, STOP_IF_FRESH, STOP = 0, 1, 2


@part_function(inline=True)
def narrow(
    stopping: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> float:
    """Look at all rivals before the closest is chosen, from the upper ends in `scores`.

    Return B(t) if that settles it, or -∞.
    """
    return -math.inf


@part_function(inline=True)
def decide(stopping: Any, leader: int, margin: float, pulls: int, noise_scale: float) -> int:
    """Return GO_ON, STOP_IF_FRESH or STOP, given the closest contest."""
    return GO_ON


@part_function(inline=True)
def nearly(
    stopping: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> bool:
    """Return whether the caller is to look if refined widths settle it."""
    return False
