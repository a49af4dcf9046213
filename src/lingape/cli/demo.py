"""lingape demo: the paper's instance, with two bounds."""

import json as jsonlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .options import as_json
from .showing import simulating

if TYPE_CHECKING:
    from ..paper.demo import Entry
    from ..runs import Progress


@click.command()
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the simulated noise.",
)
@as_json
def demo(seed: int, json: bool) -> None:
    """Play LinGapE on the paper's instance, with its bound and with the tight one.

    Six arms in five dimensions. Arm 1 is best, arm 6 is at an angle of 0.01 to it and worse by
    0.0001; the noise has standard deviation 1.
    """
    from ..paper import demo as job

    results = []
    with simulating():
        for entry in job.entries():
            if not json:
                click.echo(f"\nLinGapE with the {entry.title}")
            with _display(entry, quiet=json) as progress:
                results.append(job.play(entry, seed=seed, progress=progress))
            if not json:
                _tell_result(results[-1])
    if json:
        click.echo(jsonlib.dumps([_as_data(result) for result in results], indent=2))
        return
    click.echo(
        "\nPulls of each arm. The paper's column is a single run, and runs scatter widely.\n"
    )
    click.echo(job.table(results))


def _tell_result(result: Any) -> None:
    click.echo(f"{result}\n({result.seconds:.2f} s in the {result.lane} lane)")


def _as_data(result: Any) -> dict[str, Any]:
    return {
        "arm": result.arm,
        "pulls": result.pulls,
        "counts": result.counts.tolist(),
        "ending": result.ending.value,
        "correct": result.correct,
        "seconds": result.seconds,
        "lane": result.lane,
        "certificate": result.certificate.to_dict(),
    }


@contextmanager
def _display(entry: "Entry", *, quiet: bool) -> "Iterator[Progress | None]":
    """Show how a run is going: with rich if it is installed, else line by line."""
    from ..paper import demo as job

    if quiet:
        yield None
        return
    try:
        from rich.console import Console
    except ImportError:
        yield job.printed_progress(click.echo)
        return
    console = Console()
    if not console.is_terminal:
        yield job.printed_progress(click.echo)
        return
    with console.status("starting") as line:
        yield lambda explorer, pulls: line.update(job.status(explorer, pulls))
