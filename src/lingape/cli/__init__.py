"""The command line, one command per file; to add one, add its name to COMMANDS.

Commands import what they need when they run, so that help is quick.
"""

from importlib import import_module

import click

from .group import Group
from .live import live
from .live_run import run as live_run

# Each is a file here, with a command of the same name in it.
COMMANDS = (
    "demo",
    "find",
    "live",
    "serve",
    "report",
    "plan",
    "compare",
    "simulate",
    "reproduce",
    "leaderboard",
    "complexity",
)

live.add_command(live_run)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lingape")
def main() -> None:
    """Find the best of many options in few noisy trials, with a guarantee."""


for _name in COMMANDS:
    main.add_command(getattr(import_module(f".{_name}", __name__), _name))
