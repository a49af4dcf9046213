"""The choices of explorers/lin_t3c.py, compiled."""

import math

from ..arrays import FloatArray, IntArray
from ..ties import LEADER, RIVAL
from .book import Arena, Book
from .compiling import compiled
from .draws import normal
from .memory import Memory
from .picks import greedy


@compiled
def pick(arena: Arena, book: Book, memory: Memory, pulls: int) -> int:
    """Return the arm that settles best between a drawn leader and its challenger."""
    leader = _drawn_leader(arena, book, memory.seed, pulls)
    rival = _challenger(
        book.means,
        book.gap_variance,
        arena.twins,
        leader,
        arena.epsilon,
        arena.noise_scale,
        book.b,
    )
    return greedy(book.cross, book.variances, leader, rival, book.scores)


@compiled
def _drawn_leader(arena: Arena, book: Book, seed: int, pulls: int) -> int:
    counts, cross, means, drawn, noise = book.counts, book.cross, book.means, book.c, book.b
    count = len(counts)
    for k in range(count):
        noise[k] = 0.0
        if counts[k] > 0:
            noise[k] = arena.noise_scale * math.sqrt(counts[k]) * normal(seed, pulls, k)
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
def _challenger(
    means: FloatArray,
    gap_variance: FloatArray,
    twins: IntArray,
    leader: int,
    epsilon: float,
    noise_scale: float,
    deviations: FloatArray,
) -> int:
    """Return the arm that is least far behind the leader, in standard deviations."""
    least = math.inf
    for k in range(len(means)):
        deviations[k] = math.inf
        if twins[k] != twins[leader]:
            ahead = means[leader] - means[k] + epsilon
            deviations[k] = ahead / math.sqrt(gap_variance[leader, k])
            least = min(least, deviations[k])
    rival = 0
    while deviations[rival] > least + RIVAL * (noise_scale + abs(least)):
        rival += 1
    return rival
