"""The command line. Commands import what they need when they run, so that help comes at once."""

import json as jsonlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from .paper.demo import Entry
    from .run import Progress


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lingape")
def main() -> None:
    """Find the best of many options in the fewest noisy trials, with a guarantee."""


@main.command()
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the simulated noise.",
)
@click.option("--json", is_flag=True, help="Print the results as JSON.")
def demo(seed: int, json: bool) -> None:
    """Play LinGapE on the paper's instance, with its bound and with the tight one.

    Six arms in five dimensions. Arm 1 is best, arm 6 is at an angle of 0.01 to it and worse by
    0.0001; the noise has standard deviation 1.
    """
    from .errors import LingapeError
    from .paper import demo as job

    try:
        results = []
        for entry in job.entries():
            if not json:
                click.echo(f"\nLinGapE with the {entry.title}")
            with _display(entry, quiet=json) as progress:
                results.append(job.play(entry, seed=seed, progress=progress))
            if not json:
                _tell_result(results[-1])
    except LingapeError as error:
        raise click.ClickException(str(error)) from error
    if json:
        click.echo(jsonlib.dumps([_as_data(result) for result in results], indent=2))
        return
    click.echo(
        "\nPulls of each arm. The paper's column is a single run, and runs scatter widely.\n"
    )
    click.echo(job.table(results))


@main.command()
@click.argument("arms", type=click.Path(exists=True, dir_okay=False))
@click.option("--theta", required=True, help="The true θ: numbers separated by commas.")
@click.option("--noise-scale", default=1.0, show_default=True, help="R, the scale of the noise.")
@click.option("--norm-bound", type=float, help="S, for Theorem 2.  [default: the length of θ]")
@click.option("--epsilon", default=0.0, show_default=True, help="ε, the accuracy asked for.")
@click.option("--delta", default=0.05, show_default=True, help="δ, the error rate allowed.")
@click.option("--ridge", default=1.0, show_default=True, help="λ, for Theorem 2.")
@click.option("--json", is_flag=True, help="Print the results as JSON.")
def complexity(
    arms: str,
    theta: str,
    noise_scale: float,
    norm_bound: float | None,
    epsilon: float,
    delta: float,
    ridge: float,
    json: bool,
) -> None:
    """Say how hard a problem is, given the θ that explorers are not told.

    ARMS is a CSV file with one row of features per arm; a header and a first column of names are
    recognised.
    """
    from .complexity import complexity as analyse
    from .errors import LingapeError
    from .problem import Problem
    from .tables import read_arms

    try:
        names, features = read_arms(arms)
        vector = _numbers(theta)
        length = math.hypot(*vector)
        problem = Problem(
            features,
            names=names,
            noise_scale=noise_scale,
            norm_bound=length or None if norm_bound is None else norm_bound,
            epsilon=epsilon,
            delta=delta,
        )
        found = analyse(problem, vector, ridge=ridge)
    except LingapeError as error:
        raise click.ClickException(str(error)) from error
    if json:
        click.echo(jsonlib.dumps(found.to_dict(), indent=2))
        return
    click.echo(_complexity_table(problem, found))


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"must be numbers separated by commas; got {text!r}.", param_hint="--theta"
        ) from None


def _complexity_table(problem: Any, found: Any) -> str:
    def number(value: float | None, otherwise: str) -> str:
        return otherwise if value is None else f"{value:,.6g}"

    time = found.characteristic
    rows = [
        ("best arm", problem.name(found.best)),
        ("smallest gap", f"{found.gaps.min():.4g}"),
        (f"H_ε of LinGapE, ε = {problem.epsilon:g}", f"{found.lingape:,.4g}"),
        ("H_oracle", f"{found.oracle:,.4g}"),
        ("H'_oracle", f"{found.oracle_sum:,.4g}"),
        ("H_ε / H'_oracle (Theorem 3: at most 72 at ε = 0)", f"{found.theorem_3:.4g}"),
        ("H_ε of UGapE, which ignores features", f"{found.ugape:,.4g}"),
        ("characteristic time T*", f"{time.time:,.6g}, to {time.gap:.0e}"),
        (f"least samples for δ = {problem.delta:g}", number(found.lower_bound, "for ε = 0 only")),
        ("most samples by Theorem 2 (16)", number(found.theorem_2, "λ too large")),
        ("most samples by Theorem 2 (17)", number(found.theorem_2_large_ridge, "λ too small")),
    ]
    width = max(len(title) for title, _ in rows)
    lines = [f"{title:<{width}}  {value}" for title, value in rows]
    lines += ["", "best proportions of pulls for one who knows θ:"]
    order = (-time.allocation).argsort()[:10]
    lines += [f"  {problem.name(int(k))}: {time.allocation[k]:.6f}" for k in order]
    return "\n".join(lines)


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
    from .paper import demo as job

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
    with console.status("starting (the first run compiles, which takes some seconds)") as line:
        yield lambda explorer, pulls: line.update(job.status(explorer, pulls))
