"""What the kernel of every bound does."""

import math
from typing import Any

from ...arrays import FloatArray
from ..book import Arena, Book
from ..parts import part_function


@part_function(inline=True)
def radius(bound: Any, arena: Arena, book: Book) -> float:
    """Return the factor in front of ‖y‖."""
    return math.nan  # every bound has its own


@part_function(inline=True)
def write_ends(
    bound: Any, book: Book, means: FloatArray, factor: float, leader: int, row: int
) -> None:
    """Write the upper end of each arm's interval against `leader` into book.scores.

    factor: what `radius` returned. row: of the leader, in the book.
    """
    scores, gap_variance = book.scores, book.gap_variance
    for k in range(len(scores)):
        scores[k] = means[k] + factor * math.sqrt(gap_variance[row, k])
