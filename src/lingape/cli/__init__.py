"""The command line, one command a file.

Commands import what they need when they run, so that help comes at once.
"""

import errno
from typing import Any

import click

from ..errors import LingapeError, StorageFailed
from .compare import compare, simulate
from .complexity import complexity
from .demo import demo
from .find import find
from .leaderboard import leaderboard
from .live import live
from .live_run import run as live_run
from .plan import plan
from .reproduce import reproduce
from .serve import serve

live.add_command(live_run)


class _Again(click.ClickException):
    """A database or server that cannot be used now: the same may work later."""

    exit_code = 5


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; the errors that users can mend come as one sentence."""
        try:
            return super().invoke(ctx)
        except LingapeError as error:
            notes = getattr(error, "__notes__", [])
            kind = _Again if isinstance(error, StorageFailed) else click.ClickException
            raise kind(" ".join([str(error), *notes])) from error
        except MemoryError as error:
            raise click.ClickException("There is not enough memory for this.") from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever reads our output has gone; click knows
                raise
            what = f"{error.filename} cannot be used" if error.filename else "The system refused"
            raise click.ClickException(f"{what}: {error.strerror or error}.") from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lingape")
def main() -> None:
    """Find the best of many options in the fewest noisy trials, with a guarantee."""


for command in (
    demo,
    find,
    live,
    serve,
    plan,
    compare,
    simulate,
    reproduce,
    leaderboard,
    complexity,
):
    main.add_command(command)
