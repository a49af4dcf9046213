"""Which arm next, for explorers that keep data of their own: one file each, dispatched here.

A sampler has two compiled functions. `learn` moves `memory` after a reward, as the explorer's
`_learn` does; `pick` returns the arm that the explorer's `_choose` would. All K rows of the book
are kept, in order.
"""

from .book import Arena, Book
from .compiling import compiled
from .memory import LEARNED, Memory


@compiled
def sampled(arena: Arena, book: Book, memory: Memory, leader: int, rival: int, pulls: int) -> int:
    """Let the sampler learn from the last reward, and return the arm that it pulls next."""
    if memory.counters[LEARNED] != pulls:
        memory.counters[LEARNED] = pulls
    return rival
