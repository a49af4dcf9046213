"""What the kernel of every stopping rule does."""

import math
from typing import Any

from ...arrays import FloatArray, IntArray
from ..parts import part_function


@part_function(inline=True)
def narrow(
    stopping: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> float:
    """Look at all rivals before the closest is chosen, from the upper ends in `scores`.

    Return B(t) if that settles it, or -∞.
    """
    return -math.inf


@part_function(inline=True)
def over(stopping: Any, leader: int, margin: float, pulls: int, noise_scale: float) -> bool:
    """Return whether to stop, given the closest contest."""
    return False


@part_function(inline=True)
def nearly(
    stopping: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> bool:
    """Return whether the caller is to look if refined widths settle it."""
    return False
