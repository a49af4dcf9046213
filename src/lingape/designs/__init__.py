"""Where should pulls go? Designs depend on the arms alone, never on rewards."""

from .direction import DirectionProgram, Mix, direction
from .g_optimal import GOptimal, g_optimal

__all__ = ["DirectionProgram", "GOptimal", "Mix", "direction", "g_optimal"]
