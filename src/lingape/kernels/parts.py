"""Compiled functions that each kind of part implements in its own way.

A part reaches compiled code as a NamedTuple of what its kernel needs. numba compiles a function
for the types of its arguments, so the type of the part chooses the implementation when the caller
is compiled: the caller has no ladder of ifs, and nothing is compiled for parts that are not in
use. Called from Python, the same functions choose by type when they are called.
"""

import functools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])
Implementation = TypeVar("Implementation", bound=Callable[..., Any])


class PartFunction(Generic[F]):
    """A function of a part and more; see `part_function`."""

    of: Callable[[type], Callable[[Implementation], Implementation]]
    __call__: F


def part_function(*, inline: bool = False) -> Callable[[F], PartFunction[F]]:
    """Declare a function whose first argument is a part; `@declared.of(Kernel)` implements it.

    The function declared is what parts without an implementation of their own do.

    inline: compile it into its callers, which then need not count references to arrays in parts.
    """

    def declare(default: F) -> PartFunction[F]:
        implementations: dict[type | None, Callable[..., Any]] = {}

        @functools.wraps(default)
        def call(part: Any, *rest: Any) -> Any:
            return implementations.get(type(part), default)(part, *rest)

        @overload(  # type: ignore[untyped-decorator]
            call,
            strict=False,
            jit_options={"error_model": "numpy", "_nrt": not inline, "forceinline": inline},
        )
        def chosen(part: Any, *rest: Any) -> Callable[..., Any]:
            return implementations.get(getattr(part, "instance_class", None), default)

        def of(kind: type) -> Callable[[Implementation], Implementation]:
            def register(implementation: Implementation) -> Implementation:
                implementations[kind] = implementation
                return implementation

            return register

        call.of = of  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return declare
