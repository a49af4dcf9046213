"""Compiled loops are assembled from the kernels of exactly the parts in use.

A part's kernel, below the part in its file, is a NamedTuple of what compiled code needs to know of
it, and its own ways to do some of what is listed here from `pay` on. numba compiles a function for
the types of its arguments, so the type of a kernel chooses what is done when the caller is
compiled: the caller has no ladder of ifs, and nothing is compiled for parts that are not in use.
Called from Python, the same functions choose by type when they are called.

Nothing here needs numba. Functions stay plain Python until compiling.py compiles a loop that
calls them.
"""

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from .book import Arena, Book, Model

F = TypeVar("F", bound=Callable[..., Any])
Implementation = TypeVar("Implementation", bound=Callable[..., Any])


class Declaration(NamedTuple):
    """A function that compiled code may call."""

    function: Callable[..., Any]
    chosen: Callable[..., Callable[..., Any]]  # from numba's types: what is compiled for them
    inline: bool


WAITING: list[Declaration] = []  # to be declared to numba, once it is loaded


def compiled(function: F) -> F:
    """Let compiled code call this function."""
    WAITING.append(Declaration(function, lambda *_: function, inline=False))
    return function


def inlined(function: F) -> F:
    """Let compiled code contain this function, which makes no arrays, wherever it is called.

    Callers then need not count references to the arrays that they pass.
    """
    WAITING.append(Declaration(function, lambda *_: function, inline=True))
    return function


class EntryPoint(Generic[F]):
    """A function that Python calls in compiled form, compiled on first use.

    counting: False for functions that make no arrays, not to count references to those they are
        given. Looking an array up in a NamedTuple counts one, which in a loop that looks up dozens
        takes five times as long as the loop itself.
    """

    def __init__(self, function: F, *, counting: bool = True) -> None:
        self._function, self._counting = function, counting

    @functools.cached_property
    def machine_code(self) -> Any:
        """Numba's form of the function."""
        from .compiling import dispatcher

        return dispatcher(self._function, counting=self._counting)

    def __call__(self, *arguments: Any) -> Any:
        return self.machine_code(*arguments)

    def compile_for(self, *arguments: Any) -> None:
        """Compile for arguments of these types, or load what was compiled before."""
        from numba import typeof

        self.machine_code.compile(tuple(map(typeof, arguments)))


class PartFunction(Generic[F]):
    """A function of a part and more; see `part_function`."""

    of: Callable[[type], Callable[[Implementation], Implementation]]
    __call__: F


def part_function(default: F) -> PartFunction[F]:
    """Declare a function whose first argument is a part; `@declared.of(Kernel)` implements it.

    The function declared is what parts without an implementation of their own do. It is inlined.
    """
    implementations: dict[type | None, Callable[..., Any]] = {}

    @functools.wraps(default)
    def call(part: Any, *rest: Any) -> Any:
        return implementations.get(type(part), default)(part, *rest)

    def chosen(part: Any, *rest: Any) -> Callable[..., Any]:
        return implementations.get(getattr(part, "instance_class", None), default)

    def of(kind: type) -> Callable[[Implementation], Implementation]:
        def register(implementation: Implementation) -> Implementation:
            implementations[kind] = implementation
            return implementation

        return register

    call.of = of  # type: ignore[attr-defined]
    WAITING.append(Declaration(call, chosen, inline=True))
    return call  # type: ignore[return-value]


@part_function
def pay(world: Any, arm: int, rng: np.random.Generator) -> float:
    """Draw one reward of an arm."""
    return math.nan  # every world has its own


@part_function
def radius(bound: Any, arena: "Arena", book: "Book") -> float:
    """Return the factor in front of ‖y‖."""
    return math.nan  # every bound has its own


@part_function
def write_ends(
    bound: Any, book: "Book", means: FloatArray, factor: float, leader: int, row: int
) -> None:
    """Write the upper end of each arm's interval against `leader` into book.scores.

    factor: what `radius` returned. row: of the leader, in the book.
    """
    scores, gap_variance = book.scores, book.gap_variance
    for k in range(len(scores)):
        scores[k] = means[k] + factor * math.sqrt(gap_variance[row, k])


@part_function
def closest(contest: Any, model: "Model", stopping: Any) -> tuple[int, int, float, float]:
    """Return leader, rival, B(t), or NaN if some interval is, and the bound's radius.

    Every contest has the `means` by which arms are compared: those of the book, or known ones.
    """
    return 0, 0, math.nan, math.nan  # every contest has its own


@part_function
def narrow(
    stopping: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> float:
    """Look at all rivals before the closest is chosen, from the upper ends in `scores`.

    Return B(t) if that settles it, or -∞.
    """
    return -math.inf


# What a stopping rule decides: STOP_IF_FRESH after the caches have been rebuilt.
GO_ON, STOP_IF_FRESH, STOP = 0, 1, 2


@part_function
def decide(stopping: Any, leader: int, margin: float, pulls: int, noise_scale: float) -> int:
    """Return GO_ON, STOP_IF_FRESH or STOP, given the closest contest."""
    return GO_ON


@part_function
def nearly(
    stopping: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> bool:
    """Return whether the caller is to look if refined widths settle it."""
    return False


NEEDS_HELP = -1  # in place of an arm


@part_function
def choose(pull: Any, model: "Model", leader: int, rival: int) -> int:
    """Return the arm to pull for this contest, or NEEDS_HELP if its part has to act first."""
    return NEEDS_HELP  # every rule has its own


@part_function
def glide(
    pull: Any,
    model: "Model",
    means: FloatArray,
    world: Any,
    rng: np.random.Generator,
    until: int,
    contest: tuple[int, int, float],
) -> int:
    """Make pulls of which all but the last cannot end the run, if any; return how many.

    contest: leader, rival, and the bound's radius.
    """
    return 0


# Bounds and pull rules may keep more that moves with the estimate (book.py).


@part_function
def on_rebuild(part: Any, book: "Book") -> None:
    """Let a bound or a pull rule recompute what it keeps, after a rebuild."""


@part_function
def on_fetch(part: Any, arena: "Arena", book: "Book", arm: int, row: int) -> None:
    """Let a bound compute its rows of `arm`; book.h is A⁻¹x_arm."""


@part_function
def on_pull(part: Any, book: "Book", arm: int, row: int, s: float) -> None:
    """Let a bound or a pull rule move what it keeps; book.c is XA⁻¹x_arm, and s = 1 + c_arm."""
