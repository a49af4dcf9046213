"""What a child process does with what its parent had open, before its threads can use it.

Comparing process numbers at each use is not enough: several threads would notice at once.
"""

import os
from collections.abc import Iterator
from itertools import count
from typing import Generic, Protocol, TypeVar
from weakref import ref

T = TypeVar("T")


class Living(Generic[T]):
    """Objects, for as long as they exist elsewhere.

    Unlike WeakSet and WeakMethod it has no callbacks: those are Python code that runs wherever an
    object is deleted, also while the interpreter ends, and a signal that arrives in one, such as
    Ctrl-C, is printed as an ignored exception and lost.
    """

    def __init__(self) -> None:
        self._numbers = count()
        self._refs: dict[int, ref[T]] = {}

    def add(self, thing: T) -> None:
        """Add an object, and forget those that no longer exist."""
        self._refs[next(self._numbers)] = ref(thing)
        for number, each in list(self._refs.items()):
            if each() is None:
                self._refs.pop(number, None)

    def __iter__(self) -> Iterator[T]:
        things = [each() for each in list(self._refs.values())]
        return iter([thing for thing in things if thing is not None])


class Renewable(Protocol):
    """Something that has a resource open which a child process must not use."""

    def _renew(self) -> None:
        """Leave it to the parent."""
        ...


_owners: Living[Renewable] = Living()


def after_fork(owner: Renewable) -> None:
    """Call `owner._renew()` in each child process, for as long as the owner exists."""
    _owners.add(owner)


def _in_child() -> None:
    for owner in _owners:
        owner._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
