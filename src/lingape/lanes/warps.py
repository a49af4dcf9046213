"""The threads of a warp, which play a run together on a GPU (kernels/teams.py).

They tell each other numbers without memory in between: threads 16 apart exchange theirs, then
threads 8 apart and so on, until each number has reached all.
"""

import math
import threading
from typing import Any, NamedTuple

from numba import cuda

from ..arrays import FloatArray, IntArray
from ..kernels.functions import inlined, on_gpu
from ..kernels.loops import add_moments, first_from, largest, write_products
from ..kernels.teams import (
    Scalar,
    anyone,
    begin,
    begin_at,
    highest,
    lowest,
    meet,
    of_first,
    owns,
    stride,
    total,
)

SIMULATED = bool(cuda.config.ENABLE_CUDASIM)
WIDTH = 4 if SIMULATED else 32  # threads; the simulator is slow with many
ALL = 0xFFFFFFFF  # which threads take part


@on_gpu()
class Warp(NamedTuple):
    """One of the threads that play a run together."""


WARP = Warp()

if SIMULATED:  # which has neither shuffles nor votes, and plays one block at a time
    _board: list[Any] = [0] * WIDTH

    def _place() -> int:
        return int(threading.current_thread().threadIdx.x)  # type: ignore[attr-defined]

    def _meet() -> None:
        threading.current_thread().syncthreads()  # type: ignore[attr-defined]

    def _all(value: Any) -> list[Any]:
        _board[_place()] = value
        _meet()
        values = list(_board)
        _meet()
        return values

    def _across(value: Any, distance: int) -> Any:
        return _all(value)[_place() ^ distance]

    def _from_first(value: Any) -> Any:
        return _all(value)[0]

    def _votes(vote: bool) -> int:
        return sum(bool(value) << n for n, value in enumerate(_all(vote)))

    def _first_vote(votes: int) -> int:
        return (votes & -votes).bit_length() - 1
else:

    @inlined
    def _place() -> int:
        return cuda.threadIdx.x & (WIDTH - 1)  # type: ignore[no-any-return]

    @inlined
    def _meet() -> None:
        cuda.syncwarp()

    @inlined
    def _across(value: Any, distance: int) -> Any:
        return cuda.shfl_xor_sync(ALL, value, distance)

    @inlined
    def _from_first(value: Any) -> Any:
        return cuda.shfl_sync(ALL, value, 0)

    @inlined
    def _votes(vote: bool) -> int:
        return cuda.ballot_sync(ALL, vote)  # type: ignore[no-any-return]

    @inlined
    def _first_vote(votes: int) -> int:
        return cuda.ffs(votes) - 1  # type: ignore[no-any-return]


@begin.of(Warp)
def _(team: Warp) -> int:
    return _place()


@begin_at.of(Warp)
def _(team: Warp, least: int) -> int:
    return least + (_place() - least) % WIDTH


@stride.of(Warp)
def _(team: Warp) -> int:
    return WIDTH


@owns.of(Warp)
def _(team: Warp, place: int) -> bool:
    return place % WIDTH == _place()


@meet.of(Warp)
def _(team: Warp) -> None:
    _meet()


@of_first.of(Warp)
def _(team: Warp, value: int) -> int:
    return _from_first(value)  # type: ignore[no-any-return]


@anyone.of(Warp)
def _(team: Warp, vote: bool) -> bool:
    return _votes(vote) != 0


@highest.of(Warp)
def _(team: Warp, value: Scalar) -> Scalar:
    distance = WIDTH // 2
    while distance > 0:
        other = _across(value, distance)
        value = other if other > value else value
        distance //= 2
    return value


@lowest.of(Warp)
def _(team: Warp, value: Scalar) -> Scalar:
    distance = WIDTH // 2
    while distance > 0:
        other = _across(value, distance)
        value = other if other < value else value
        distance //= 2
    return value


@total.of(Warp)
def _(team: Warp, value: Scalar) -> Scalar:
    distance = WIDTH // 2
    while distance > 0:
        value += _across(value, distance)
        distance //= 2
    return value


@largest.of(Warp)
def _(team: Warp, values: FloatArray) -> float:
    best = -math.inf
    k = begin(team)
    while k < len(values):
        best = values[k] if values[k] > best else best
        k += stride(team)
    return highest(team, best)


@first_from.of(Warp)
def _(team: Warp, values: FloatArray, least: float) -> int:
    start, votes = 0, 0
    while votes == 0:
        k = start + _place()
        votes = _votes(k < len(values) and not values[k] < least)
        start += WIDTH
    return start - WIDTH + _first_vote(votes)


@write_products.of(Warp)
def _(team: Warp, columns: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    k = begin(team)
    while k < len(out):
        value = 0.0
        for m in range(len(vector)):
            value += vector[m] * columns[m, k]
        out[k] = value
        k += stride(team)


@add_moments.of(Warp)
def _(team: Warp, x: FloatArray, counts: IntArray, moments: FloatArray) -> None:
    """Count the elements of the lower half row by row; each thread looks after some of them."""
    p, q = 0, _place()
    while p < len(moments):
        while q > p:
            q -= p + 1
            p += 1
        if p < len(moments):
            value = moments[p, q]
            for k in range(len(counts)):
                if counts[k] != 0:
                    value += float(counts[k]) * x[k, p] * x[k, q]
            moments[p, q] = value
            q += WIDTH
