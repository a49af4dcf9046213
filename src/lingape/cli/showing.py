"""What commands print: text that is safe for a terminal, and progress."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..printable import printable

LAYOUT = "\n\t"  # for our own layout; names in it are escaped first

STARTING = "starting (the first runs compile, which may take minutes)"


def say(what: Any, *, err: bool = False) -> None:
    """Print text without control characters, or data as JSON."""
    text = printable(what, keep=LAYOUT) if isinstance(what, str) else json.dumps(what, indent=1)
    click.echo(text, err=err)


@contextmanager
def live_line(start: str, *, quiet: bool = False) -> Iterator[Callable[[str], None] | None]:
    """Yield a function that shows its text in place of the last, on standard error.

    If that is not a terminal, or rich is not installed, text is printed at most every ten seconds.
    Yields None if quiet.
    """
    if quiet:
        yield None
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
