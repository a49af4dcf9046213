"""The kernel of the pull rule of LinT3C (explorers/lin_t3c.py)."""

import math
from typing import NamedTuple

from ...arrays import FloatArray
from ...ties import LEADER, RIVAL
from ..book import PULLS, Arena, Book, Model
from ..compiling import compiled
from ..draws import normal
from .base import choose
from .greedy import sharpest_between


class LinT3CKernel(NamedTuple):
    """All rows of the book are kept, in order."""

    seed: int
    epsilon: float
    noise: FloatArray  # (K,) work


@choose.of(LinT3CKernel)
def _(pull: LinT3CKernel, model: Model, leader: int, rival: int) -> int:
    return _drawn(pull, model.arena, model.book, model.book.clock[PULLS])


@compiled
def _drawn(pull: LinT3CKernel, arena: Arena, book: Book, pulls: int) -> int:
    """Return the arm that settles best between a drawn leader and its challenger."""
    leader = _drawn_leader(pull, arena, book, pulls)
    rival = _challenger(pull, arena, book, leader)
    return sharpest_between(book.cross, book.variances, leader, rival, book.scores)


@compiled
def _drawn_leader(pull: LinT3CKernel, arena: Arena, book: Book, pulls: int) -> int:
    counts, cross, means = book.counts, book.cross, book.means
    drawn, noise = book.c, pull.noise
    count = len(counts)
    for k in range(count):
        noise[k] = 0.0
        if counts[k] > 0:
            noise[k] = arena.noise_scale * math.sqrt(counts[k]) * normal(pull.seed, pulls, k)
    top = -math.inf
    for i in range(count):
        value = 0.0
        for k in range(count):
            value += cross[i, k] * noise[k]
        drawn[i] = means[i] + value
        top = max(top, drawn[i])
    leader = 0
    while drawn[leader] < top - LEADER * (arena.noise_scale + abs(top)):
        leader += 1
    return leader


@compiled
def _challenger(pull: LinT3CKernel, arena: Arena, book: Book, leader: int) -> int:
    """Return the arm that is least far behind the leader, in standard deviations."""
    means, twins, deviations, least = book.means, arena.twins, pull.noise, math.inf
    for k in range(len(means)):
        deviations[k] = math.inf
        if twins[k] != twins[leader]:
            ahead = means[leader] - means[k] + pull.epsilon
            deviations[k] = ahead / math.sqrt(book.gap_variance[leader, k])
            least = min(least, deviations[k])
    rival = 0
    while deviations[rival] > least + RIVAL * (arena.noise_scale + abs(least)):
        rival += 1
    return rival
