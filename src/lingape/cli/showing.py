"""Progress displays: a live line on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def live_line(start: str, *, quiet: bool = False) -> Iterator[Callable[[str], None] | None]:
    """Yield a function that shows its text in place of the last, on standard error.

    Where that is no terminal, or rich is not installed, a text is printed at most every ten
    seconds. None if it is to be quiet.
    """
    if quiet:
        yield None
        return
    try:
        from rich.console import Console
    except ImportError:
        console = None
    else:
        console = Console(stderr=True)
    if console is None or not console.is_terminal:
        yield _now_and_then()
        return
    with console.status(start) as line:
        yield lambda text: line.update(text)


def _now_and_then(every: float = 10.0) -> Callable[[str], None]:
    last = time.monotonic()

    def show(text: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= every:
            click.echo(text, file=sys.stderr)
            last = now

    return show
