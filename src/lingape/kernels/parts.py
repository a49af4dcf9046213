"""Functions that compiled code calls, chosen by the type of a kernel.

A part's kernel, below the part in its file, is a NamedTuple of what compiled code needs to know,
with implementations of the functions listed here from `pay` on. numba compiles a function
separately for each combination of argument types, so implementations are selected when a loop is
compiled, and parts that are not in use are never compiled. Called from Python, the same functions
are selected when they are called.

Functions stay plain Python until compiling.py, which needs numba, compiles a loop that calls them.

What a part with a kernel has:

    kernel(stage)    the kernel for a run about to begin (book.Stage), or None
    most_arms        the largest number of arms that it has a kernel for, if there is one
    all_rows         whether the kernel needs all rows of the book
    help(...)        what NEEDS_HELP asks for: returns the kernel to continue with (pulls/base.py)
    adopt(kernel)    takes over what the kernel has kept, for stopping rules that keep something
    memory           the same for pull rules: a NamedTuple of arrays that the kernel has a copy of
    sample           for stopping rules: whether pull rules heed what the kernel has `dropped`
    skips            for stopping rules: whether tests that cannot succeed may be left out
    truth            for contests: the means by which arms are compared, if they are known
    shortlists       whether the kernel also works where only a shortlist is kept up to date
                     (shortlist.py); stated by the class that has the kernel
"""

import functools
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from .book import Arena, Book, Model

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])
F = TypeVar("F", bound=Callable[..., Any])
Implementation = TypeVar("Implementation", bound=Callable[..., Any])


class Declaration(NamedTuple):
    """A function that compiled code may call."""

    function: Callable[..., Any]
    chosen: Callable[..., Callable[..., Any]]  # from numba's types: what is compiled for them
    inline: bool


DECLARED: list[Declaration] = []  # in order; numba hears of them once it is loaded
FILES: set[str] = set()  # that define these functions
LOADED = time.time()  # files that are newer may differ from the code in this process


def compiled(function: F) -> F:
    """Let compiled code call this function."""
    _declare(function, lambda *_: function, inline=False)
    return function


def inlined(function: F) -> F:
    """Inline this function into compiled callers. It must not create arrays.

    Callers then skip reference counting for the arrays that they pass.
    """
    _declare(function, lambda *_: function, inline=True)
    return function


def _declare(
    function: Callable[..., Any], chosen: Callable[..., Callable[..., Any]], *, inline: bool
) -> None:
    FILES.add(function.__code__.co_filename)
    DECLARED.append(Declaration(function, chosen, inline))


@inlined
def unrolled() -> bool:
    """Whether loops over few arms are unrolled: on a GPU, where sizes are constants.

    Loops that may stop early are slower there, because arrays are then not kept in registers.
    """
    return False


FIXED: dict[type, tuple[str, ...]] = {}  # kernels for the GPU, and what does not change in a run


def on_gpu(*fixed: str) -> Callable[[type[Tuple]], type[Tuple]]:
    """Let the GPU lane use a kernel, for which each run needs its own copy of most arrays.

    fixed: names of arrays that no run changes, and all runs share.
    """

    def register(kind: type[Tuple]) -> type[Tuple]:
        FIXED[kind] = fixed
        return kind

    return register


def has_kernel(part: Any) -> bool:
    """Whether a part has a kernel for what it does.

    A class that overrides methods needs a kernel of its own: the inherited one is of the methods
    overridden.
    """
    if "kernel" in getattr(part, "__dict__", {}):
        return True
    for kind in type(part).__mro__:
        if "kernel" in vars(kind):
            return True
        if any(_is_method(name, value) for name, value in vars(kind).items()):
            return False
    return False


def shortlists(part: Any) -> bool:
    """Whether the class that has a part's kernel states that a shortlist is enough."""
    for kind in type(part).__mro__:
        if "kernel" in vars(kind):
            return bool(vars(kind).get("shortlists", False))
    return False


def _is_method(name: str, value: object) -> bool:
    public = not name.startswith("__") or name == "__call__"
    return public and (callable(value) or hasattr(value, "__get__"))


class EntryPoint(Generic[F]):
    """A function that Python calls in compiled form, compiled on first use.

    counting: pass False for functions that create no arrays, to switch off reference counting.
        Each lookup of an array in a NamedTuple otherwise counts a reference, which can make a loop
        five times slower.
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

        if hasattr(self.machine_code, "compile"):  # unless compiling is switched off
            self.machine_code.compile(tuple(map(typeof, arguments)))


class PartFunction(Generic[F]):
    """What type checkers see of a function that `part_function` makes."""

    of: Callable[[type], Callable[[Implementation], Implementation]]
    __call__: F


def part_function(default: F, *, required: bool = False) -> PartFunction[F]:
    """Declare a function whose first argument is a kernel; `@declared.of(Kernel)` implements it.

    Implementations are inlined, so they must not create arrays; a `compiled` function may.

    required: whether each kernel needs its own implementation. If not, `default` is used.
    """
    implementations: dict[type, Callable[..., Any]] = {}

    def found(kind: type) -> Callable[..., Any]:
        for base in kind.__mro__:
            if base in implementations:
                return implementations[base]
        if required:
            name = default.__name__
            raise TypeError(f"{kind.__name__} does not implement {name}: use @{name}.of.")
        return default

    @functools.wraps(default)
    def call(part: Any, *rest: Any) -> Any:
        return found(type(part))(part, *rest)

    def chosen(part: Any, *rest: Any) -> Callable[..., Any]:
        return found(getattr(part, "instance_class", object))

    def of(kind: type) -> Callable[[Implementation], Implementation]:
        def register(implementation: Implementation) -> Implementation:
            implementations[kind] = implementation
            FILES.add(implementation.__code__.co_filename)
            return implementation

        return register

    call.of = of  # type: ignore[attr-defined]
    _declare(call, chosen, inline=True)
    return call  # type: ignore[return-value]


required = functools.partial(part_function, required=True)


@required
def pay(world: Any, arm: int, rng: Any) -> float:
    """Draw one reward of an arm, with what `draw_normal` and `draw_uniform` draw."""
    raise NotImplementedError


@part_function
def draw_normal(draws: Any) -> float:
    """Draw a number from the standard normal distribution."""
    return draws.standard_normal()  # type: ignore[no-any-return]


@part_function
def draw_uniform(draws: Any) -> float:
    """Draw a number uniformly from [0, 1)."""
    return draws.random()  # type: ignore[no-any-return]


@required
def radius(bound: Any, arena: "Arena", book: "Book") -> float:
    """Return the factor in front of ‖y‖, or what grows as fast as widths of a given ‖y‖ can.

    The latter from bounds with another `write_ends` that ignores it. Called once before that.
    """
    raise NotImplementedError


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
def write_reach(
    bound: Any,
    book: "Book",
    means: FloatArray,
    factor: float,
    leader: int,
    row: int,
    growth: float,
) -> None:
    """Write upper ends as `write_ends`, or higher ones: A may grow up to (1 + growth)A.

    Such growth must not lengthen an interval by more than the radius grows.
    """
    write_ends(bound, book, means, factor, leader, row)


@required
def closest(contest: Any, model: "Model", stopping: Any) -> tuple[int, int, float, float]:
    """Return leader, rival, B(t), or NaN if some interval is, and the bound's radius.

    Every contest has the `means` by which arms are compared: those of the book, or known ones.
    """
    raise NotImplementedError


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


@required
def decide(stopping: Any, leader: int, margin: float, pulls: int, noise_scale: float) -> int:
    """Return GO_ON, STOP_IF_FRESH or STOP, given the closest contest."""
    raise NotImplementedError


@part_function
def nearly(
    stopping: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> bool:
    """Return whether the caller is to look if refined widths settle it."""
    return False


NEEDS_HELP = -1  # in place of an arm


@required
def choose(pull: Any, model: "Model", leader: int, rival: int) -> int:
    """Return the arm to pull for this contest, or NEEDS_HELP if its part has to act first."""
    raise NotImplementedError


@part_function
def glide(
    pull: Any,
    model: "Model",
    means: FloatArray,
    world: Any,
    rng: Any,
    until: int,
    contest: tuple[int, int, float],
) -> int:
    """Make pulls of which all but the last cannot end the run, if any; return how many.

    contest: leader, rival, and the bound's radius.
    """
    return 0


@part_function
def restart(part: Any) -> None:
    """Let a pull or stopping rule forget what it keeps: another run begins (lanes/gpu.py)."""


@required
def pick(pull: Any, whole: "Model", small: "Model", grown: float, leader: int, rival: int) -> int:
    """Return what `choose` does, where only a shortlist is kept up to date (shortlist.py).

    whole: as of the last rebuild, but for counts and sums; A has grown up to (1 + grown)A since.
    small: the shortlist's; A⁻¹ in its book is of now.
    leader, rival: by their numbers among all arms.
    """
    raise NotImplementedError


# Bounds and pull rules may keep more that moves with the estimate (book.py).


@part_function
def on_rebuild(part: Any, book: "Book") -> None:
    """Let a bound or a pull rule recompute what it keeps, after a rebuild."""


@part_function
def on_refill(bound: Any, whole: Any, book: "Book") -> None:
    """Let a bound recompute what it keeps for other arms; `whole` is the one for all arms."""


@part_function
def on_write_back(bound: Any, small: Any, arms: IntArray, row: int, source: int) -> None:
    """Let a bound take rows of some arms over from the one for these arms, `small`."""


@part_function
def on_fetch(part: Any, arena: "Arena", book: "Book", arm: int, row: int) -> None:
    """Let a bound compute its rows of `arm`; book.h is A⁻¹x_arm."""


@part_function
def on_pull(part: Any, arena: "Arena", book: "Book", arm: int, row: int, s: float) -> None:
    """Let a bound or a pull rule move what it keeps; book.c is XA⁻¹x_arm, and s = 1 + c_arm.

    arm, row: -1 for an arm that is not in the book; book.h is A⁻¹x_arm then.
    """


# Evidence in blocks (evidence/): a kernel for each kind of noise.


@required
def expect(
    evidence: Any, means: FloatArray, leverages: FloatArray, told: Any, rank: int, guess: Any
) -> None:
    """Write what rewards are expected to be like into `guess`, given estimated means."""
    raise NotImplementedError


@required
def log_value(evidence: Any, contest: Any, block: Any) -> float:
    """Return the logarithm of the evidence of a block about one contest (evidence.base)."""
    raise NotImplementedError
