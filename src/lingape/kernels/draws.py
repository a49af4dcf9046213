"""The numbers of lingape.draws, compiled."""

import math

import numpy as np

from .functions import compiled

_FIRST, _SECOND, _THIRD = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def _mixed(z: np.uint64) -> np.uint64:
    z = z + _FIRST
    z = (z ^ (z >> _30)) * _SECOND
    z = (z ^ (z >> _27)) * _THIRD
    return z ^ (z >> _31)


@compiled
def compiled_uniform(seed: int, time: int, number: int) -> float:
    """Return a number drawn uniformly from (0, 1)."""
    z = _mixed(np.uint64(seed) * _FIRST)
    z = _mixed(z + np.uint64(time) * _SECOND)
    z = _mixed(z + np.uint64(number) * _THIRD)
    return (float(z >> _11) + 0.5) * 2.0**-53


@compiled
def compiled_normal(seed: int, time: int, number: int) -> float:
    """Return a number drawn from the standard normal distribution."""
    radius = math.sqrt(-2.0 * math.log(compiled_uniform(seed, time, 2 * number)))
    return radius * math.cos(2.0 * math.pi * compiled_uniform(seed, time, 2 * number + 1))
