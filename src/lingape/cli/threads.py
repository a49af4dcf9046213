"""NumPy on one thread, for commands that do many small computations.

NumPy's BLAS starts a thread per core, and these wait for each other by spinning. The products in
an experiment are too small to gain from that. Where cores are busy, or a container may use only
some of those that it sees, they take many times longer. A program that uses
lingape as a library decides for itself (docs/live.md).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@contextmanager
def one_thread() -> Iterator[None]:
    """Make NumPy use one thread if it is loaded here, unless the environment says otherwise."""
    ours = () if any(name in os.environ for name in VARIABLES) else VARIABLES
    os.environ.update(dict.fromkeys(ours, "1"))
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


class OneThreaded(click.Command):
    """A command that runs on one thread; programs that it starts are not affected."""

    def invoke(self, ctx: click.Context) -> Any:
        with one_thread():
            import numpy  # noqa: F401
        return super().invoke(ctx)
