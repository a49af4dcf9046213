"""The loop of a compiled run, assembled from the kernels of the parts in use.

The same pulls as ask and tell, hundreds of times faster. Each step is a function that the type of
a part chooses (kernels/parts.py): which contest is closest, whether that settles it, what to pull.
"""

from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from .book import (
    CHECKED,
    GROWTH,
    LEADING,
    MARGIN,
    PULLS,
    REBUILD_AT,
    RIVALLING,
    TICK,
    Model,
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
PLAYING, STALE = 5, 6  # how it goes on


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
    model: Model,
    contest: Any,
    pull: Any,
    stopping: Any,
    world: Any,
    rng: np.random.Generator,
    until: int,
) -> int:
    """Play on until settled, `until` pulls, or something that the caller has to look at."""
    clock = model.book.clock
    if clock[REBUILD_AT] == 0:
        rebuild(model, pull)
    while True:
        clock[TICK] += 1  # rows used from now on are not replaced before the next round
        leader, rival, margin, factor = closest(contest, model, stopping)
        clock[LEADING], clock[RIVALLING], model.book.gauge[MARGIN] = leader, rival, margin
        status = _judged(model, contest, stopping, leader, margin, until)
        if status == PLAYING:
            means, found = contest.means, (leader, rival, factor)
            glided = glide(pull, model, means, world, rng, until, found)
            clock[PULLS] += glided
            if glided == 0:
                arm = leader  # if all arms are the same arm
                if model.arena.twins[leader] != model.arena.twins[rival]:
                    arm = choose(pull, model, leader, rival)
                if arm < 0:
                    return NEEDS_HELP
                if _pull(model, pull, world, rng, arm):
                    continue
        elif status != STALE:
            return status
        rebuild(model, pull)


@inlined
def _judged(
    model: Model, contest: Any, stopping: Any, leader: int, margin: float, until: int
) -> int:
    """Return how the run ends here; or PLAYING; or STALE, to rebuild and look again."""
    arena, book, _ = model
    pulls, fresh = book.clock[PULLS], book.gauge[GROWTH] == 0.0
    decision = decide(stopping, leader, margin, pulls, arena.noise_scale)
    status = PLAYING
    if margin != margin:
        status = BROKEN
    elif decision != GO_ON:  # before the final decision, caches are rebuilt
        status = SETTLED if decision == STOP or fresh else STALE
    elif (
        fresh
        and book.clock[CHECKED] != pulls
        and nearly(stopping, contest.means, book.scores, arena.twins, leader)
    ):
        book.clock[CHECKED] = pulls
        status = NEARLY
    elif pulls >= until:
        status = PAUSED
    return status


@inlined
def _pull(model: Model, pull: Any, world: Any, rng: np.random.Generator, arm: int) -> bool:
    """Pull an arm, and return whether the caches could take it in without a rebuild."""
    book = model.book
    paid = pay(world, arm, rng)
    book.counts[arm] += 1
    book.sums[arm] += paid
    book.clock[PULLS] += 1
    last = book.counts[arm] == 1 and none_left(book.counts)
    due = book.clock[PULLS] >= book.clock[REBUILD_AT] or last
    return not due and absorb(model, pull, arm, paid)
