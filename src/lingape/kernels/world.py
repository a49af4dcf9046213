"""The worlds that compiled lanes can play against."""

from typing import NamedTuple

from ..arrays import FloatArray

GAUSSIAN, SIGNED = 0, 1


class CompiledWorld(NamedTuple):
    kind: int  # GAUSSIAN or SIGNED
    means: FloatArray
    scale: float  # of the Gaussian noise
