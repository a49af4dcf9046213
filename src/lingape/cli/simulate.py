"""lingape simulate: the study that a file describes."""

from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource

from .compare import conduct, study_options


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@study_options
def simulate(
    file: str,
    jobs: int,
    lane: Literal["auto", "gpu"],
    out: str | None,
    resume: bool,
    plot: str | None,
    json: bool,
) -> None:
    """Run the study that FILE describes.

    FILE is TOML, for example:

    \b
    seeds = 20
    max_pulls = 1_000_000
    world = "gaussian"
    explorers = ["lingape", "xy_static(design=greedy)"]
    instances = ["soare(5, 0.1)", {arms = "arms.csv", theta = [1, 0.5, 0]}]
    [problem]
    delta = 0.05
    noise = 1.0

    noise may also be [low, high], "binary" or "normal", and the world "signed" or "zero_one";
    explorers may also be a table of labels and explorers; lane may be "gpu". Where arms.csv has
    headings, the first number of theta is for the constant; header = true or false says whether
    it has some. Rows go to --out, by default FILE with the ending .jsonl.
    """
    from ..study import read_study

    study = read_study(file)
    source = click.get_current_context().get_parameter_source("lane")
    if source is ParameterSource.COMMANDLINE:  # else as the file says
        study.lane = lane
    conduct(
        study,
        jobs=jobs,
        out=out or str(Path(file).with_suffix(".jsonl")),
        resume=resume,
        plot=plot,
        json=json,
    )
