"""Who plays a run: one thread alone, or the threads of a warp together (lanes/warps.py).

The threads of a team do the same thing with numbers that each keeps for itself, and share arrays
that are split (functions.on_gpu). Each thread writes its own elements of these, in loops::

    k = begin(team)
    while k < count:
        k += stride(team)

Between a write and a read of the same element by another thread, and between a read and the next
write, they have to `meet` (tests/test_warps.py). What a thread found among its elements becomes
known to all by `highest`, `lowest`, `total` and `anyone`, which all threads have to call, with no
NaN, and which are no `meet`. For one thread alone these functions do nothing, and compilers remove
them.
"""

from typing import Any, NamedTuple, TypeVar

from ..arrays import FloatArray, IntArray
from .functions import inlined, on_gpu, part_function

Scalar = TypeVar("Scalar", int, float)


@on_gpu()
class Alone(NamedTuple):
    """One thread that plays a run by itself."""


ALONE = Alone()


@part_function
def begin(team: Any) -> int:
    """Return the first position that this thread looks after."""
    return 0


@part_function
def begin_at(team: Any, least: int) -> int:
    """Return the first of these positions that is no less than `least`."""
    return least


@part_function
def stride(team: Any) -> int:
    """Return how far apart these positions are."""
    return 1


@part_function
def owns(team: Any, place: int) -> bool:
    """Whether this thread looks after a position."""
    return True


@part_function
def meet(team: Any) -> None:
    """Wait for the team; from here on, its threads see what each has written before."""


@part_function
def highest(team: Any, value: Scalar) -> Scalar:
    """Return the largest of the threads' values."""
    return value


@part_function
def lowest(team: Any, value: Scalar) -> Scalar:
    """Return the smallest of the threads' values."""
    return value


@part_function
def total(team: Any, value: Scalar) -> Scalar:
    """Return the sum of the threads' values."""
    return value


@part_function
def anyone(team: Any, vote: bool) -> bool:
    """Whether some thread says so."""
    return vote


@part_function
def of_first(team: Any, value: int) -> int:
    """Return the value of the first thread."""
    return value


@inlined
def write_all(team: Any, values: FloatArray | IntArray, value: float) -> None:
    """Write the same value everywhere."""
    k = begin(team)
    while k < len(values):
        values[k] = value
        k += stride(team)
