"""Where should pulls go? Designs depend on the arms alone, never on rewards."""

from .direction import DirectionProgram, Mix, direction
from .g_optimal import GOptimal, g_optimal
from .min_max import MinMax, differences, even_xy, xy
from .rounding import one_by_one, rounded, trimmed

__all__ = [
    "DirectionProgram",
    "GOptimal",
    "MinMax",
    "Mix",
    "differences",
    "direction",
    "even_xy",
    "g_optimal",
    "one_by_one",
    "rounded",
    "trimmed",
    "xy",
]
