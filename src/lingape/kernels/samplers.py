"""Which arm next, for explorers that keep data of their own: one file each, dispatched here.

A sampler has two compiled functions. `learn` moves `memory` after a reward, as the explorer's
`_learn` does; `pick` returns the arm that the explorer's `_choose` would. All K rows of the book
are kept, in order.
"""

from . import frank_wolfe, lazy_track_and_stop, lin_game, lin_t3c
from .book import Arena, Book
from .compiling import compiled
from .memory import FRANK_WOLFE, LAZY, LEARNED, LIN_GAME, LIN_GAME_C, LIN_T3C, Memory


@compiled
def sampled(arena: Arena, book: Book, memory: Memory, leader: int, rival: int, pulls: int) -> int:
    """Let the sampler learn from the last reward, and return the arm that it pulls next.

    Or -1, if the caller has to solve for new shares first.
    """
    kind = memory.kind
    if memory.counters[LEARNED] != pulls:
        if kind == LIN_GAME:
            lin_game.learn(arena, book, memory, leader, pulls)
        elif kind == LIN_GAME_C:
            lin_game.learn_c(arena, book, memory, leader, pulls)
        elif kind == FRANK_WOLFE:
            frank_wolfe.learn(arena, book, memory, leader, pulls)
        elif kind == LAZY:
            lazy_track_and_stop.learn(memory, pulls)
        memory.counters[LEARNED] = pulls
    arm = rival
    if kind == LIN_GAME:
        arm = lin_game.pick(book, memory, pulls)
    elif kind == LIN_GAME_C:
        arm = lin_game.pick_c(memory, pulls)
    elif kind == FRANK_WOLFE:
        arm = frank_wolfe.pick(book, memory)
    elif kind == LAZY:
        arm = lazy_track_and_stop.pick(arena, book, memory, pulls)
    elif kind == LIN_T3C:
        arm = lin_t3c.pick(arena, book, memory, pulls)
    return arm
