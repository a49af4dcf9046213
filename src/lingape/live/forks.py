"""What a child process does with what its parent had open, before its threads can use it.

To look for a new process number at each use is not enough: several threads would see it at once.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """Something with locks and connections that are the parent's."""

    def after_fork(self) -> None:
        """Get ones of its own; it is called in the child, where there is one thread."""
        ...


_things: WeakSet[Inherited] = WeakSet()


def renew_after_fork(thing: Inherited) -> None:
    """Let a thing know when it is in a child process."""
    _things.add(thing)


def _renew() -> None:
    for thing in list(_things):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
