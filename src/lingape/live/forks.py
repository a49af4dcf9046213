"""What a child process does with what its parent had open, before its threads can use it.

To look for a new process number at each use is not enough: several threads would see it at once.
"""

import os
from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

_methods: set[WeakMethod[Any]] = set()


def after_fork(method: Callable[[], None]) -> None:
    """Call a method of an object in each child process, for as long as there is the object."""
    _methods.add(WeakMethod(method, _methods.discard))


def _in_child() -> None:
    for found in list(_methods):
        method = found()
        if method is not None:
            method()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
