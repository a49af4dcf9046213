"""Functions that compilers are told of, and those among them that the type of a kernel chooses.

numba compiles a function separately for each combination of argument types, so implementations
are selected when a loop is compiled, and parts that are not in use are never compiled. Called from
Python, the same functions are selected when they are called.

Functions stay plain Python until compiling.py, which needs numba, or lanes/gpu.py compiles a loop
that calls them.
"""

import functools
import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

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
SPLIT: dict[type, set[str]] = {}  # and what threads that play a run together share


def on_gpu(*fixed: str, split: str = "") -> Callable[[type[Tuple]], type[Tuple]]:
    """Let the GPU lane use a kernel, for which each run needs its own copy of most arrays.

    fixed: names of arrays that no run changes, and all runs share.
    split: names of arrays of which each thread of a team looks after some elements (teams.py). Of
        other arrays each thread has its own copy.
    """

    def register(kind: type[Tuple]) -> type[Tuple]:
        FIXED[kind], SPLIT[kind] = fixed, set(split.split())
        return kind

    return register


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


def part_function(default: F, *, required: bool = False, inline: bool = True) -> PartFunction[F]:
    """Declare a function whose first argument is a kernel; `@declared.of(Kernel)` implements it.

    required: whether each kernel needs its own implementation. If not, `default` is used.
    inline: whether implementations are inlined. They must not create arrays then.
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
    _declare(call, chosen, inline=inline)
    return call  # type: ignore[return-value]


required = functools.partial(part_function, required=True)
long_function = functools.partial(part_function, inline=False)
