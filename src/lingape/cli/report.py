"""lingape report: an experiment as one HTML file, to pass around."""

import click

from . import options
from .live import open_experiment, place
from .options import as_json
from .showing import say
from .threads import OneThreaded


@click.command(cls=OneThreaded)
@place
@click.option(
    "--out",
    required=True,
    type=options.new_file,
    help="The file to write, such as report.html; - for standard output.",
)
@as_json
def report(url: str, name: str, out: str, json: bool) -> None:
    """Write an experiment as one HTML file that needs nothing else: to pass around, to print.

    It has the question, the verdict, charts with their tables, and the certificate with the hash
    of the log and the command that verifies it. URL and NAME are as for lingape live.

    \b
    Example:
      lingape report sqlite:///run.db ads --out ads.html
    """
    from ..live import report as written

    with open_experiment(url, name) as experiment:
        text = written(experiment)
    if out == "-":
        click.echo(text, nl=False)
        return
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)
    say({"path": out} if json else f"{out}: {len(text) // 1000} kB")
