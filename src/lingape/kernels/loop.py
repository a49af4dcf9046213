"""The loop of a compiled run, assembled from the kernels of the parts in use.

The same pulls as ask and tell, a thousand times faster. Each step is a function that the type of a
part chooses (kernels/parts.py): which contest is closest, whether that settles it, what to pull.
"""

import math
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..least_squares import STEEP
from .book import (
    CHECKED,
    GROWTH,
    LEADING,
    MARGIN,
    PULLS,
    REBUILD_AT,
    RIVALLING,
    TICK,
    Arena,
    Book,
    absorb,
    rebuild,
)
from .compiling import compiled, compiled_loop, inlined
from .contests.base import closest
from .pulls.base import choose, glide
from .stopping.base import GO_ON, STOP, decide, nearly
from .worlds import pay

# How `advance` ended.
PAUSED, SETTLED, NEEDS_HELP, NEARLY, BROKEN = 0, 1, 2, 3, 4


@inlined
def _log(x: float, s: float) -> float:
    """Return log(s) for s = 1 + x; x is small after a few thousand pulls, and a series is fast."""
    return x * (1.0 - x * (0.5 - x * (1.0 / 3.0))) if x < 1e-4 else math.log(s)


@compiled
def none_left(counts: IntArray) -> bool:
    """Whether every arm has been pulled; the plain lane rebuilds when the last one is."""
    for n in counts:  # noqa: SIM110 (numba compiles no generators)
        if n == 0:
            return False
    return True


@compiled
def pull_each(
    counts: IntArray, sums: FloatArray, world: Any, rng: np.random.Generator, most: int
) -> int:
    """Pull arms that have not been pulled, in order, at most so many; return how many."""
    pulls = 0
    for arm in range(len(counts)):
        if counts[arm] == 0 and pulls < most:
            counts[arm] = 1
            sums[arm] = pay(world, arm, rng)
            pulls += 1
    return pulls


@compiled_loop
def advance(
    arena: Arena,
    book: Book,
    bound: Any,
    contest: Any,
    pull: Any,
    stopping: Any,
    world: Any,
    rng: np.random.Generator,
    until: int,
) -> int:
    """Play on until settled, `until` pulls, or something that the caller has to look at."""
    counts, clock, gauge, twins = book.counts, book.clock, book.gauge, arena.twins
    if clock[REBUILD_AT] == 0:
        rebuild(arena, book, bound, pull)
    status, pulls, growth = -1, clock[PULLS], gauge[GROWTH]
    while status < 0:
        clock[TICK] += 1  # rows used from now on are not replaced before the next round
        leader, rival, margin, factor = closest(
            contest, arena, book, bound, stopping, pulls, growth
        )
        clock[PULLS], clock[LEADING], clock[RIVALLING] = pulls, leader, rival
        gauge[GROWTH], gauge[MARGIN] = growth, margin
        arm, decision = -1, decide(stopping, leader, margin, pulls, arena.noise_scale)
        if margin != margin:
            status = BROKEN
        elif decision != GO_ON:
            if decision == STOP or growth == 0.0:
                status = SETTLED
        elif (
            growth == 0.0
            and clock[CHECKED] != pulls
            and nearly(stopping, contest.means, book.scores, twins, leader)
        ):
            clock[CHECKED] = pulls
            status = NEARLY
        elif pulls >= until:
            status = PAUSED
        else:
            glided = glide(pull, arena, book, contest, world, rng, until, leader, rival, factor)
            if glided:
                pulls += glided
            else:
                arm = leader  # if all arms are the same arm
                if twins[leader] != twins[rival]:
                    arm = choose(pull, arena, book, bound, leader, rival, pulls)
                if arm < 0:
                    status = NEEDS_HELP
        if status >= 0:
            continue
        stale = True  # before the final decision, and after a glide
        if arm >= 0:
            paid = pay(world, arm, rng)
            counts[arm] += 1
            book.sums[arm] += paid
            pulls += 1
            stale = pulls >= clock[REBUILD_AT] or (counts[arm] == 1 and none_left(counts))
            if not stale:
                s = absorb(arena, book, bound, pull, arm, paid)
                stale = not 1.0 <= s <= STEEP
                growth += _log(book.c[arm], s)
        if stale:
            clock[PULLS] = pulls
            rebuild(arena, book, bound, pull)
            growth = 0.0
    return status
