"""lingape compare: explorers on named instances, or on arms of your own."""

import json as jsonlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from .options import (
    as_json,
    header,
    jobs,
    lane,
    new_file,
    numbers,
    pull_limit,
    simulated_rewards,
)
from .showing import ask_for_matplotlib, interruptible, live_line, say, simulating

if TYPE_CHECKING:
    from ..study import Study


def study_options(command: Any) -> Any:
    """Add the options of commands that run a study."""
    for option in (
        as_json,
        click.option(
            "--plot", type=new_file, help="Draw the stopping times, as NAME.png and NAME.svg."
        ),
        click.option("--resume", is_flag=True, help="Continue with the rows in --out."),
        click.option("--out", type=new_file, help="Write each row to this file, as JSON lines."),
        lane,
        jobs,
    ):
        command = option(command)
    return command


@click.command()
@click.option(
    "-e",
    "--explorer",
    "explorers",
    multiple=True,
    default=("lingape", "lingape(bound=self_normalized)", "xy_static"),
    show_default=True,
    help="An explorer, such as 'xy_static(design=greedy)'. May be repeated.",
)
@click.option(
    "-i",
    "--instance",
    "instances",
    multiple=True,
    help="An instance, such as 'soare(5, 0.1)'. May be repeated.  "
    "[default: soare(5, 0.1), canonical(5, 0.5), unless --arms is given]",
)
@click.option(
    "--arms",
    type=click.Path(exists=True, dir_okay=False),
    help="Your own arms: CSV, Parquet or NPY, one row of features per arm. Needs --theta; where "
    "the table has headings, its first number is for the constant.",
)
@click.option("--theta", help="The true θ of your own arms: numbers separated by commas.")
@header
@click.option("--seeds", default=20, show_default=True, help="How many runs of each.")
@pull_limit(10_000_000)
@click.option(
    "--world",
    default="gaussian",
    show_default=True,
    help="What pays: gaussian (standard deviation R), signed (±1), or zero_one (0 or 1).",
)
@simulated_rewards
@study_options
@click.pass_context
def compare(
    ctx: click.Context,
    explorers: tuple[str, ...],
    instances: tuple[str, ...],
    arms: str | None,
    theta: str | None,
    header: bool | None,
    seeds: int,
    max_pulls: int,
    world: str,
    noise_scale: float,
    epsilon: float,
    delta: float,
    jobs: int,
    lane: Literal["auto", "gpu"],
    out: str | None,
    resume: bool,
    plot: str | None,
    json: bool,
) -> None:
    """Compare explorers in simulation: pulls until settled, and errors.

    \b
    lingape compare -i 'soare(5, 0.1)' -e lingape -e 'lingape(pull=tracking)'
    lingape compare --arms arms.csv --theta 1,0.5,0 -e lingape -e uniform
    """
    from .. import specs
    from ..study import Study, read_instance
    from ..tables import read_arms

    if (arms is None) != (theta is None):
        raise click.UsageError("--arms and --theta go together: features, and the true θ.")
    chosen = [specs.instance(text) for text in instances]
    if arms is not None and theta is not None:
        say(" ".join(read_arms(arms, header=header).notes), err=True)
        chosen.append(read_instance(arms, numbers(theta, "--theta"), header=header))
    if not chosen:
        chosen = [specs.instance("soare(5, 0.1)"), specs.instance("canonical(5, 0.5)")]
    noise = {"noise": noise_scale}
    if world == "zero_one":  # whose noise is known
        if ctx.get_parameter_source("noise_scale") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--noise-scale does not go with --world zero_one: R is 1/2.")
        noise = {}
    study = Study(
        explorers,
        chosen,
        seeds=seeds,
        max_pulls=max_pulls,
        world=world,
        problem=noise | {"epsilon": epsilon, "delta": delta},
        lane=lane,
    )
    conduct(study, jobs=jobs, out=out, resume=resume, plot=plot, json=json)


def conduct(
    study: "Study", *, jobs: int, out: str | None, resume: bool, plot: str | None, json: bool
) -> None:
    """Run a study, show its progress, and print the results."""
    if resume and out is None:
        raise click.UsageError("--resume needs --out, the file to continue.")
    if plot is not None:
        ask_for_matplotlib()
    done, kept = 0, "" if out is None else f" Their rows are in {out}; --resume continues."
    with (
        interruptible(lambda: f"Stopped after {done} of {len(study)} runs.{kept}"),
        simulating(),
        live_line("starting", quiet=json) as show,
    ):

        def progress(pace: Any) -> None:
            nonlocal done
            done = pace.done
            show(str(pace))

        results = study.run(jobs=jobs, path=out, resume=resume, progress=progress)
    if json:
        data = {
            "header": study.header(),
            "summary": [asdict(cell) for cell in results.summary()],
            "rows": [asdict(row) for row in results.rows],
        }
        click.echo(jsonlib.dumps(data))
    else:
        say(results.table())
        if out is not None:
            say(f"\nRows: {out}")
    if plot is not None:
        from .. import plots

        figure = plots.stopping_times(results.rows, lower_bounds=results.lower_bounds)
        for written in plots.save(figure, plot):
            if not json:
                say(f"Plot: {written}")
