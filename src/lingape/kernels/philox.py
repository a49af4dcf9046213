"""Random numbers that depend on a key, a run and how many were drawn before, and on nothing else.

Philox4x32-10 of Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
Runs may then be played in any order and on any processor, and each meets its own noise.

A number has 32 random bits, so that normal ones stay below 6.8 standard deviations; of 10^11 about
one would not.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .functions import compiled, inlined, on_gpu
from .parts import draw_normal, draw_uniform
from .teams import begin, meet

RUN, DRAWN = 0, 1  # positions in Philox.place

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)
# Single precision: rewards have noise, and these functions take a third of a round in double.
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_MINUS_2, _TURN = np.float32(-2.0), np.float32(2.0 * math.pi)
_UNIT = 2.0**-32


@on_gpu("key", split="ahead")
class Philox(NamedTuple):
    """A source of either normal or uniform numbers, not of both."""

    team: Any  # who draws them (teams.py)
    key: IntArray  # (1,)
    place: IntArray  # (2,) the run, and how many numbers it has drawn
    ahead: FloatArray  # (4 for each thread,) numbers made but not yet drawn


@compiled
def philox(key: int, run: int, block: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return four numbers of 32 random bits."""
    k0, k1 = np.uint64(key) & _LOW, np.uint64(key) >> _32
    c0, c1 = np.uint64(block) & _LOW, np.uint64(block) >> _32
    c2, c3 = np.uint64(run) & _LOW, np.uint64(run) >> _32
    for _ in range(10):
        p0, p1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _LOW, (p0 >> _32) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _WEYL[0]) & _LOW, (k1 + _WEYL[1]) & _LOW
    return c0, c1, c2, c3


@compiled
def _write_normals(draws: Philox, drawn: int) -> None:
    """Write the next four normal numbers of each thread."""
    at, ahead = 4 * begin(draws.team), draws.ahead
    a, b, c, d = philox(draws.key[0], draws.place[RUN], (drawn + at) // 4)
    ahead[at], ahead[at + 1] = _two_normals(a, b)
    ahead[at + 2], ahead[at + 3] = _two_normals(c, d)


@inlined
def _two_normals(a: np.uint64, b: np.uint64) -> tuple[float, float]:
    """Return two normal numbers from 64 random bits, by Box and Muller."""
    u = (np.float32(a) + _HALF) * np.float32(_UNIT)
    angle = _TURN * (np.float32(b) * np.float32(_UNIT))
    radius = math.sqrt(_MINUS_2 * math.log(min(u, _ONE)))
    return radius * math.cos(angle), radius * math.sin(angle)


@draw_normal.of(Philox)
def _(draws: Philox) -> float:
    drawn, at = draws.place[DRAWN], draws.place[DRAWN] % len(draws.ahead)
    if at == 0:
        meet(draws.team)
        _write_normals(draws, drawn)
        meet(draws.team)
    draws.place[DRAWN] = drawn + 1
    return float(draws.ahead[at])


@compiled
def _write_uniforms(draws: Philox, drawn: int) -> None:
    """Write the next four uniform numbers of each thread."""
    at, ahead = 4 * begin(draws.team), draws.ahead
    a, b, c, d = philox(draws.key[0], draws.place[RUN], (drawn + at) // 4)
    ahead[at], ahead[at + 1] = a * _UNIT, b * _UNIT
    ahead[at + 2], ahead[at + 3] = c * _UNIT, d * _UNIT


@draw_uniform.of(Philox)
def _(draws: Philox) -> float:
    drawn, at = draws.place[DRAWN], draws.place[DRAWN] % len(draws.ahead)
    if at == 0:
        meet(draws.team)
        _write_uniforms(draws, drawn)
        meet(draws.team)
    draws.place[DRAWN] = drawn + 1
    return float(draws.ahead[at])
