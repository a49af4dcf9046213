"""Random numbers that depend on (seed, time, number) alone, for explorers that draw.

An explorer's state is a fold over rewards, so its draws must depend only on how many there are:
the same log gives the same next question on any machine. The mixer is SplitMix64 (Steele, Lea and
Flood 2014).
"""

import math

_WORD = 2**64 - 1
_STEPS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def uniform(seed: int, time: int, number: int) -> float:
    """Return a number drawn uniformly from (0, 1).

    >>> round(uniform(0, 1, 0), 6), round(uniform(0, 2, 0), 6)
    (0.49813, 0.913107)
    """
    z = _mixed(_mixed(_mixed(seed * _STEPS[0]) + time * _STEPS[1]) + number * _STEPS[2])
    return ((z >> 11) + 0.5) * 2.0**-53


def normal(seed: int, time: int, number: int) -> float:
    """Return a number drawn from the standard normal distribution (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(uniform(seed, time, 2 * number)))
    return radius * math.cos(2.0 * math.pi * uniform(seed, time, 2 * number + 1))


def _mixed(z: int) -> int:
    z = (z + _STEPS[0]) & _WORD
    z = ((z ^ (z >> 30)) * _STEPS[1]) & _WORD
    z = ((z ^ (z >> 27)) * _STEPS[2]) & _WORD
    return z ^ (z >> 31)
