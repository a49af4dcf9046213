"""What parts look at when they make their kernels; needs no numba."""

from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrays import FloatArray
from ..least_squares import LeastSquares
from ..problem import Problem

if TYPE_CHECKING:
    from .book import Book


class Stage(NamedTuple):
    """A compiled run about to begin."""

    problem: Problem
    estimate: LeastSquares
    bound: Any  # by which arms are compared
    truth: FloatArray | None  # the means by which arms are compared, if not the estimated ones
    book: "Book"
    dropped: FloatArray  # finite for a leader and a rival not to be asked about, or empty
