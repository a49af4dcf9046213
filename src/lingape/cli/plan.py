"""lingape plan: what will it cost, before any pull?"""

import json as jsonlib
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..printable import printable
from .options import as_json, jobs, new_file, pull_limit, to_prove
from .showing import live_line, say, simulating

if TYPE_CHECKING:
    from ..environments import Instance
    from ..forecast import Cost
    from ..problem import Problem

EXPLORERS = ("race", "lingape", "xy_static", "uniform")


@click.command()
@click.argument("arms", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--gap", type=float, help="Assume the best arm leads by this: the smallest lead that matters."
)
@click.option(
    "--prior-scale",
    type=float,
    help="Or assume a Gaussian prior on θ: the standard deviation of each weight.",
)
@click.option(
    "--noise-scale", type=float, help="R: rewards are Gaussian with this standard deviation."
)
@click.option("--normal", is_flag=True, help="Explorers are not told R.")
@click.option("--binary", is_flag=True, help="Rewards are 0 or 1, as --rate says.")
@click.option("--rate", type=float, help="With --binary: the average reward of all arms.")
@click.option("--bounded", nargs=2, type=float, hidden=True)  # to say what to do instead
@to_prove
@click.option(
    "-e",
    "--explorer",
    "explorers",
    multiple=True,
    help="An explorer, such as 'lingape(bound=worst_case)'. May be repeated.  [default: "
    f"{', '.join(EXPLORERS)}; race with --normal]",
)
@click.option(
    "--draws", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Number of θ."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@pull_limit(1_000_000)
@jobs
@click.option(
    "--plot",
    type=new_file,
    help="Where to draw, as NAME.png and NAME.svg.  [default: the name of ARMS, with .plan]",
)
@as_json
def plan(
    arms: str,
    gap: float | None,
    prior_scale: float | None,
    noise_scale: float | None,
    normal: bool,
    binary: bool,
    rate: float | None,
    bounded: tuple[float, float] | None,
    epsilon: float,
    delta: float,
    explorers: tuple[str, ...],
    draws: int,
    seed: int,
    max_pulls: int,
    jobs: int,
    plot: str | None,
    json: bool,
) -> None:
    """Simulate how many pulls a search will take, for the θ that you assume.

    ARMS is a CSV, Parquet or NPY file with one row of features per arm. Say what rewards to
    simulate: Gaussian ones with --noise-scale, and --normal if you will not know their standard
    deviation; or with --binary --rate. Of rewards in a range, those at its two ends scatter most:
    for them use --binary too, and say --gap and --rate as shares of the range.

    \b
    lingape plan arms.csv --gap 0.1 --noise-scale 0.5
    lingape plan arms.csv --gap 0.05 --binary --rate 0.3
    lingape plan arms.csv --prior-scale 1 --noise-scale 1 -e race -e 'lingape(pull=tracking)'
    """
    from ..forecast import forecast
    from ..tables import read_arms

    noise, rewards = _simulated(noise_scale, normal, binary, rate, bounded)
    problem = read_arms(arms).problem(noise=noise, epsilon=epsilon, delta=delta)
    assumed, instances = _assumed(problem, gap, prior_scale, draws, seed, rate)
    with simulating(), live_line("starting", quiet=json) as show:
        found = forecast(
            problem,
            explorers or (EXPLORERS[:1] if normal else EXPLORERS),
            instances,
            max_pulls=max_pulls,
            noise_scale=noise_scale or 1.0,
            jobs=jobs,
            progress=lambda pace: show(str(pace)),
        )
    files = _draw(found.samples(), plot or Path(arms).stem + ".plan", assumed)
    if json:
        costs = [_as_data(cost) for cost in found.costs()]
        data = {"assumed": assumed, "rewards": rewards, "draws": draws, "max_pulls": max_pulls}
        data["costs"] = costs
        click.echo(jsonlib.dumps(data | {"files": files}, indent=2))
        return
    say(f"If {assumed} ({rewards}, δ = {delta:g}, ε = {epsilon:g}; {draws} draws):\n")
    say(_table(found.costs(), max_pulls))
    for file in files:
        say(f"Plot: {file}")


def _simulated(
    scale: float | None,
    normal: bool,
    binary: bool,
    rate: float | None,
    bounded: tuple[float, float] | None,
) -> tuple[float | str, str]:
    """Return what explorers are told about rewards, and in words what is simulated."""
    if bounded is not None:
        raise click.UsageError(
            "--bounded leaves open how rewards scatter within the range: simulate the worst, "
            "rewards at its ends, with --binary, and say --gap and --rate as shares of the range."
        )
    if scale is not None and not binary and rate is None:
        return ("normal", f"R = {scale:g} but not known") if normal else (scale, f"R = {scale:g}")
    if binary and rate is not None and scale is None and not normal:
        return "binary", f"rewards of 0 or 1, {rate:g} on average"
    raise click.UsageError(
        "Say what rewards to simulate: --noise-scale R for Gaussian ones with that standard "
        "deviation, with --normal if you will not know it, or --binary --rate P for 0 and 1, P on "
        "average over all arms."
    )


def _assumed(
    problem: "Problem",
    gap: float | None,
    prior_scale: float | None,
    draws: int,
    seed: int,
    rate: float | None,
) -> "tuple[str, list[Instance]]":
    """Return what is assumed about θ, in words and as instances."""
    from ..forecast import from_gap, from_prior

    if gap is not None and prior_scale is None:
        instances = from_gap(problem, gap=gap, draws=draws, seed=seed, rate=rate)
        return f"the best arm leads by {gap:g}", instances
    if prior_scale is not None and gap is None:
        instances = from_prior(problem, prior_scale=prior_scale, draws=draws, seed=seed, rate=rate)
        return f"the weights in θ are Gaussian with standard deviation {prior_scale:g}", instances
    raise click.UsageError(
        "Say what to assume about θ: --gap (the smallest lead that matters) or --prior-scale."
    )


def _table(costs: "list[Cost]", max_pulls: int) -> str:
    titles = [printable(cost.explorer) for cost in costs]
    width = max(len("pulls needed"), *map(len, titles))
    levels = list(costs[0].quantiles)
    heads = [f"{level:.0%} of cases" for level in levels]
    lines = [f"{'pulls needed':<{width}}  " + "  ".join(f"{head:>13}" for head in heads)]
    for title, cost in zip(titles, costs, strict=True):
        cells = [
            f"{value:,.0f}" if math.isfinite(value) else f"> {max_pulls:,}"
            for value in cost.quantiles.values()
        ]
        lines.append(f"{title:<{width}}  " + "  ".join(f"{cell:>13}" for cell in cells))
    return "\n".join([*lines, ""])


def _as_data(cost: "Cost") -> dict[str, object]:
    quantiles = {
        f"{level:g}": value if math.isfinite(value) else None
        for level, value in cost.quantiles.items()
    }
    return asdict(cost) | {"quantiles": quantiles}


def _draw(samples: dict[str, list[float]], path: str, assumed: str) -> list[str]:
    from .. import plots
    from ..errors import MissingExtra

    try:
        figure = plots.distribution(samples, xlabel=f"pulls until settled, if {assumed}")
    except MissingExtra as reason:
        say(f"No plot: {reason}", err=True)
        return []
    return [str(file) for file in plots.save(figure, path)]
