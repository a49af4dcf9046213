"""lingape plan: what will it cost, before any pull?"""

import json as jsonlib
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..printable import printable
from .options import as_json, jobs, minimize, new_file, of_table, pull_limit, table_of, to_prove
from .showing import ask_for_matplotlib, live_line, say, simulating

if TYPE_CHECKING:
    from ..environments import Instance
    from ..forecast import Cost, Forecast
    from ..noise import Noise
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
    help="Or assume a Gaussian prior: the standard deviation of each weight in θ, or of the "
    "effect of each level of a factor.",
)
@click.option(
    "--noise-scale", type=float, help="R: rewards are Gaussian with this standard deviation."
)
@click.option("--normal", is_flag=True, help="With --noise-scale: explorers are not told R.")
@click.option("--binary", is_flag=True, help="Rewards are 0 or 1.")
@click.option(
    "--bounded",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Rewards lie between LOW and HIGH; these two are simulated.",
)
@click.option(
    "--rate",
    type=float,
    help="With --binary or --bounded: the average reward of all arms.  [default: the middle]",
)
@minimize
@to_prove
@of_table
@click.option(
    "-e",
    "--explorer",
    "explorers",
    multiple=True,
    help="An explorer, such as 'lingape(bound=worst_case)'. May be repeated.  [default: "
    f"{', '.join(EXPLORERS)}; race with --normal]",
)
@click.option(
    "--draws",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="How many cases, each with a θ of its own, to simulate.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Another one draws other cases.",
)
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
    bounded: tuple[float, float] | None,
    rate: float | None,
    minimize: bool,
    epsilon: float,
    delta: float,
    explorers: tuple[str, ...],
    draws: int,
    seed: int,
    max_pulls: int,
    jobs: int,
    plot: str | None,
    json: bool,
    **columns: Any,
) -> None:
    """Simulate how many pulls a search will take, for the θ that you assume.

    ARMS is a table with one row per arm, a TOML file with factors or an NPY file, as for lingape
    find. Say what rewards to simulate: Gaussian ones with --noise-scale, and --normal if you will
    not know their standard deviation; 0 and 1 with --binary; or a range with --bounded. Of rewards
    in a range those at its two ends are simulated, which scatter most, and averages around the
    middle, where they do so most, unless --rate says otherwise: fewer pulls may do.

    Where arms are combinations of factors, effects are assumed that just add up, so that every
    model is right, and a second table says what each model costs the explorers of -e (race unless
    given): main effects, with interactions (those of --interactions, or all pairs), and one
    feature per arm, up to 64 features.

    \b
    lingape plan arms.csv --gap 0.1 --noise-scale 0.5
    lingape plan arms.csv --gap 0.05 --binary --rate 0.3
    lingape plan arms.csv --gap 2 --bounded 0 60 --minimize --interactions tone:length
    lingape plan arms.csv --prior-scale 1 --noise-scale 1 -e race -e 'lingape(pull=tracking)'
    """
    from ..forecast import MOST_FEATURES, forecast, models

    if plot is not None:
        ask_for_matplotlib()
    noise = _noise(noise_scale, normal, binary, bounded, rate)
    table = table_of(arms, columns)
    problem = table.problem(noise=noise, epsilon=epsilon, delta=delta, minimize=minimize)
    rewards = _rewards(problem.noise, noise_scale, rate)
    assumed, instances = _assumed(problem, gap, prior_scale, draws, seed, rate)
    compared = models(problem)
    with simulating(), live_line("starting", quiet=json) as show:

        def simulate(problem: "Problem", explorers: tuple[str, ...]) -> "Forecast":
            return forecast(
                problem,
                explorers,
                instances,
                max_pulls=max_pulls,
                noise_scale=noise_scale or 1.0,
                jobs=jobs,
                progress=lambda pace: show(str(pace)),
            )

        found = simulate(problem, explorers or (EXPLORERS[:1] if normal else EXPLORERS))
        by_model = [
            (name, model.rank, cost)
            for name, model in compared.items()
            if len(compared) > 1
            for cost in simulate(model, explorers or EXPLORERS[:1]).costs()
        ]
    files = _draw(found.samples(), plot or Path(arms).stem + ".plan", assumed)
    if json:
        data = {"assumed": assumed, "rewards": rewards, "draws": draws, "max_pulls": max_pulls}
        data["costs"] = [_as_data(cost) for cost in found.costs()]
        data["models"] = [
            {"model": name, "features": features} | _as_data(cost)
            for name, features, cost in by_model
        ]
        click.echo(jsonlib.dumps(data | {"files": files}, indent=2))
        return
    say(f"If {assumed} ({rewards}, δ = {delta:g}, ε = {epsilon:g}; {draws} draws):\n")
    say(_table(["pulls needed"], [([cost.explorer], cost) for cost in found.costs()], max_pulls))
    if by_model:
        rows = [([name, cost.explorer, f"{n}"], cost) for name, n, cost in by_model]
        say("What each model costs, if the effects of factors just add up:\n")
        say(_table(["model", "explorer", "features"], rows, max_pulls))
    if problem.factors is not None and len(problem) > MOST_FEATURES:
        say(f"Models with more than {MOST_FEATURES} features are not compared.\n")
    for file in files:
        say(f"Plot: {file}")


def _noise(
    scale: float | None,
    normal: bool,
    binary: bool,
    bounded: tuple[float, float] | None,
    rate: float | None,
) -> float | str | tuple[float, float]:
    """Return what explorers are told about rewards."""
    if sum([scale is not None, binary, bounded is not None]) != 1 or (
        normal if scale is None else rate is not None
    ):
        raise click.UsageError(
            "Say what rewards to simulate: --noise-scale R for Gaussian ones with that standard "
            "deviation, with --normal if you will not know it; --binary for 0 and 1, or --bounded "
            "LOW HIGH for a range, with --rate for their average over all arms."
        )
    if scale is not None:
        return "normal" if normal else scale
    return "binary" if bounded is None else bounded


def _rewards(noise: "Noise", scale: float | None, rate: float | None) -> str:
    """Return in words what rewards are simulated."""
    from ..noise import Binary, Bounded

    if not isinstance(noise, Bounded):
        return f"R = {scale:g}" if noise.scale is not None else f"R = {scale:g} but not known"
    average = (noise.low + noise.high) / 2 if rate is None else rate
    words = f"rewards of {noise.low:g} or {noise.high:g}, {average:g} on average"
    if rate is None:
        return f"{words}, which is the worst case"
    return words if isinstance(noise, Binary) else f"{words}, the worst case for that average"


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
        adding = "" if problem.factors is None else "effects add up and "
        return f"{adding}the best arm leads by {gap:g}", instances
    if prior_scale is not None and gap is None:
        instances = from_prior(problem, prior_scale=prior_scale, draws=draws, seed=seed, rate=rate)
        weights = (
            "the weights in θ are"
            if problem.factors is None
            else "effects add up and those of levels are"
        )
        return f"{weights} Gaussian with standard deviation {prior_scale:g}", instances
    raise click.UsageError(
        "Say what to assume about θ: --gap (the smallest lead that matters) or --prior-scale."
    )


def _table(heads: list[str], rows: "list[tuple[list[str], Cost]]", max_pulls: int) -> str:
    """Return a table with labels and quantiles; the last of several labels is a number."""
    levels = list(rows[0][1].quantiles)
    lines = [[*heads, *(f"{level:>6.0%} of cases" for level in levels)]]
    for labels, cost in rows:
        cells = [
            f"{value:,.0f}" if math.isfinite(value) else f"> {max_pulls:,}"
            for value in cost.quantiles.values()
        ]
        lines.append([*(printable(label) for label in labels), *cells])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = max(1, len(heads) - 1)  # columns of text
    shown = [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join([*shown, ""])


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
