"""Pulls of a phase, which depend on no reward: 10^8 of them in some seconds."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .book import PULLS, REBUILD_AT, Arena, Book, Model, absorb, rebuild
from .compiling import compiled
from .pulls.one_by_one import OneByOneKernel, longest_of, steepest
from .pulls.proportions import most_behind, write_turns
from .worlds import pay


class Nothing(NamedTuple):
    """Pays nothing, to see where pulls would go; as a bound, keeps nothing beside the estimate."""

    reward: float = 0.0


@pay.of(Nothing)
def _(world: Nothing, arm: int, rng: np.random.Generator) -> float:
    return world.reward


@compiled
def follow(
    counts: IntArray,
    sums: FloatArray,
    shares: FloatArray,
    world: Any,
    rng: np.random.Generator,
    pulls: int,
) -> None:
    """Make the next pulls of a plan that pulls each arm once before it follows its shares."""
    turns = np.empty(len(counts))
    for k in range(len(counts)):
        if pulls > 0 and counts[k] == 0:
            counts[k], pulls = 1, pulls - 1
            sums[k] += pay(world, k, rng)
    write_turns(counts, shares, turns)
    for _ in range(pulls):
        arm = most_behind(turns)
        counts[arm] += 1
        turns[arm] = counts[arm] / shares[arm]
        sums[arm] += pay(world, arm, rng)


@compiled
def fill(
    counts: IntArray,
    sums: FloatArray,
    quotas: IntArray,
    world: Any,
    rng: np.random.Generator,
    pulls: int,
) -> None:
    """Make the next pulls of a plan with quotas, of which at least so many are left."""
    turns = np.empty(len(counts))
    for k in range(len(counts)):
        turns[k] = counts[k] / quotas[k] if counts[k] < quotas[k] else math.inf
    for _ in range(pulls):
        arm = most_behind(turns)
        counts[arm] += 1
        turns[arm] = counts[arm] / quotas[arm] if counts[arm] < quotas[arm] else math.inf
        sums[arm] += pay(world, arm, rng)


@compiled
def walk(
    arena: Arena,
    book: Book,
    plan: OneByOneKernel,
    world: Any,
    rng: np.random.Generator,
    until: int,
    target: float,
) -> None:
    """Make pulls one by one, until the longest difference is no longer than `target`."""
    model, clock = Model(arena, book, Nothing(0.0)), book.clock
    rebuild(model, plan)
    longest = math.inf
    while longest > target and clock[PULLS] < until:
        arm = steepest(plan, book.cross, book.gap_variance, book.variances)
        paid = pay(world, arm, rng)
        book.counts[arm] += 1
        book.sums[arm] += paid
        clock[PULLS] += 1
        if clock[PULLS] >= clock[REBUILD_AT] or not absorb(model, plan, arm, paid):
            rebuild(model, plan)
        longest = longest_of(book.gap_variance, plan.active)
