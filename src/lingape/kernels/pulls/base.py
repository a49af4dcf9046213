"""What the kernel of every pull rule does."""

from typing import Any

import numpy as np

from ..book import Arena, Book
from ..parts import part_function

NEEDS_HELP = -1  # in place of an arm


@part_function(inline=True)
def choose(
    pull: Any, arena: Arena, book: Book, bound: Any, leader: int, rival: int, pulls: int
) -> int:
    """Return the arm to pull for this contest, or NEEDS_HELP if its part has to act first."""
    return NEEDS_HELP  # every rule has its own


@part_function(inline=True)
def glide(
    pull: Any,
    arena: Arena,
    book: Book,
    contest: Any,
    world: Any,
    rng: np.random.Generator,
    until: int,
    leader: int,
    rival: int,
    factor: float,
) -> int:
    """Make pulls of which all but the last cannot end the run, if any; return how many."""
    return 0
