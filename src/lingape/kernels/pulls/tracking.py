"""The kernel of pulls.Tracking, equation (12) of Xu et al. (2018)."""

import math
from typing import NamedTuple

import numpy as np

from ...arrays import FloatArray, IntArray
from ...ties import PULL
from ..book import Model
from ..compiling import compiled
from .base import NEEDS_HELP, choose


class TrackingKernel(NamedTuple):
    """Proportions p* of the pairs seen so far, as an open-addressing hash table."""

    keys: IntArray  # (slots,) i·K + j with i < j, or -1
    sizes: IntArray  # (slots,)
    support: IntArray  # (slots, d) arms, ascending
    proportions: FloatArray  # (slots, d)


def new_tracking(d: int, slots: int = 16) -> TrackingKernel:
    return TrackingKernel(
        keys=np.full(slots, -1, dtype=np.int64),
        sizes=np.zeros(slots, dtype=np.int64),
        support=np.zeros((slots, d), dtype=np.int64),
        proportions=np.zeros((slots, d)),
    )


def with_pair(
    table: TrackingKernel, key: int, support: IntArray, proportions: FloatArray
) -> TrackingKernel:
    """Return a table with one more pair, larger if it would be more than half full."""
    if 2 * (int((table.keys >= 0).sum()) + 1) > len(table.keys):
        old, table = table, new_tracking(table.support.shape[1], 2 * len(table.keys))
        for slot in np.flatnonzero(old.keys >= 0).tolist():
            size = int(old.sizes[slot])
            table = with_pair(
                table, int(old.keys[slot]), old.support[slot, :size], old.proportions[slot, :size]
            )
    slot, size = key % len(table.keys), len(support)
    while table.keys[slot] >= 0:
        slot = (slot + 1) % len(table.keys)
    table.keys[slot], table.sizes[slot] = key, size
    table.support[slot, :size], table.proportions[slot, :size] = support, proportions
    return table


@choose.of(TrackingKernel)
def _(pull: TrackingKernel, model: Model, leader: int, rival: int) -> int:
    return _furthest_behind(pull, model.book.counts, leader, rival)


@compiled
def _furthest_behind(pull: TrackingKernel, counts: IntArray, leader: int, rival: int) -> int:
    """Return the arm furthest behind p* (12), or NEEDS_HELP if p* is not known yet."""
    key = min(leader, rival) * len(counts) + max(leader, rival)
    slots = len(pull.keys)
    slot = key % slots
    while pull.keys[slot] != key:
        if pull.keys[slot] < 0:
            return NEEDS_HELP
        slot = (slot + 1) % slots
    least = math.inf
    for m in range(pull.sizes[slot]):
        least = min(least, counts[pull.support[slot, m]] / pull.proportions[slot, m])
    m = 0
    while counts[pull.support[slot, m]] / pull.proportions[slot, m] > least + PULL * least:
        m += 1
    return int(pull.support[slot, m])
