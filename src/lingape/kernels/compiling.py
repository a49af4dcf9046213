"""Compile functions with numba where it is installed."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile on first use, and keep the machine code on disk where a place for it can be written.

    No fastmath: it reorders sums, and the compiled lane has to play the pulls of the plain one.
    NumPy's error model: checking every division for zero would keep loops from being vectorised.
    """
    return _compiled(function, counting=True)


def compiled_loop(function: F) -> F:
    """Compile a function that makes no arrays, without counting references to those it is given.

    Looking an array up in a NamedTuple counts a reference to it, which in a loop that looks up
    dozens takes five times as long as the loop itself.
    """
    return _compiled(function, counting=False)


def _compiled(function: F, *, counting: bool) -> F:
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": counting}
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast(F, numba.njit(**options)(function))


def inlined(function: F) -> F:
    """Compile into each caller."""
    return cast(F, numba.njit(inline="always", error_model="numpy")(function))


def timed(tell: Callable[[float], object]) -> AbstractContextManager[object]:
    """Tell at the end how many seconds went into compiling, or loading what was compiled before.

    Not called if none did.
    """
    timer: AbstractContextManager[object] = event.install_timer("numba:compiler_lock", tell)
    return timer
