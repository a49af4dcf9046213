"""lingape demo: the paper's instance, with two bounds."""

import json as jsonlib
from typing import Any

import click

from .options import as_json
from .showing import live_line, simulating


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
        for entry in job.demo_runs():
            if not json:
                click.echo(f"\nLinGapE with the {entry.title}")
            with live_line("starting", quiet=json) as show:
                result = job.play_demo(entry, seed=seed, tell=show)
            results.append(result)
            if not json:
                click.echo(f"{job.progress_line(entry.explorer, result.pulls)}\n{result}")
                click.echo(f"({result.seconds:.2f} s in the {result.lane} lane)")
    if json:
        click.echo(jsonlib.dumps([_as_data(result) for result in results], indent=2))
        return
    click.echo(
        "\nPulls of each arm. The paper's column is a single run, and runs scatter widely.\n"
    )
    click.echo(job.pulls_table(results))


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
