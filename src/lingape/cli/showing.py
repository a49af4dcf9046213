"""What commands print: text that is safe for a terminal, progress, and why they stop."""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ..kernels import ANNOUNCE_IN
from ..printable import printable

INTERRUPTED = 128 + signal.SIGINT  # exit code
LAYOUT = "\n\t"  # for our own layout; names in it are escaped first

WITHOUT_NUMBA = (
    'Simulating without numba: pip install "lingape[sim]" makes it hundreds of times faster.'
)


def say(what: Any, *, err: bool = False) -> None:
    """Print text without control characters, or data as JSON."""
    text = printable(what, keep=LAYOUT) if isinstance(what, str) else json.dumps(what, indent=1)
    click.echo(text, err=err)


def ask_for_matplotlib() -> None:
    """Raise MissingExtra without matplotlib: before the work, whose results would have no plot."""
    from ..plots.style import import_matplotlib

    import_matplotlib()


@contextmanager
def interruptible(closing: Callable[[], str]) -> Iterator[None]:
    """On Ctrl-C, print `closing()`, which says more than the usual "Stopped.", and exit."""
    try:
        yield
    except KeyboardInterrupt:
        say(closing(), err=True)
        sys.exit(INTERRUPTED)


@contextmanager
def simulating() -> Iterator[None]:
    """Say on standard error why a simulation is slow: numba is missing, or it is compiling.

    Compilation is announced once, also if worker processes compile; at the end comes how long it
    took.
    """
    if find_spec("numba") is None:
        say(WITHOUT_NUMBA, err=True)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        except OSError:  # nothing is writable; compiling.py warns instead
            yield
            return
        times = Path(folder, "times")  # of compiling: when it began and ended
        os.environ[ANNOUNCE_IN] = str(times)
        try:
            yield
        finally:
            del os.environ[ANNOUNCE_IN]
        if times.exists():
            took, last = 0.0, 0.0
            lines = times.read_text(encoding="ascii").splitlines()
            for begun, ended in sorted(tuple(map(float, line.split())) for line in lines):
                took, last = took + max(0.0, ended - max(begun, last)), max(ended, last)
            say(f"Compiling took {took:.1f} s.", err=True)


@contextmanager
def live_line(start: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows its text in place of the last, on standard error.

    If that is not a terminal, or rich is not installed, text is printed at most every ten seconds.
    If quiet, nothing is shown.
    """
    if quiet:
        yield lambda text: None
        return
    try:
        from rich.console import Console
        from rich.text import Text  # not markup: names may have brackets
    except ImportError:
        console = None
    else:
        console = Console(stderr=True)
    if console is None or not console.is_terminal:
        yield _now_and_then()
        return
    with console.status(start) as line:
        yield lambda text: line.update(Text(printable(text)))


def _now_and_then(every: float = 10.0) -> Callable[[str], None]:
    last = time.monotonic()

    def show(text: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= every:
            click.echo(printable(text), file=sys.stderr)
            last = now

    return show
