"""The command line, one command a file.

Commands import what they need when they run, so that help comes at once.
"""

import click

from .compare import compare, simulate
from .complexity import complexity
from .demo import demo
from .find import find
from .group import Group
from .leaderboard import leaderboard
from .live import live
from .live_run import run as live_run
from .plan import plan
from .reproduce import reproduce
from .serve import serve

live.add_command(live_run)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
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
