"""lingape complexity: how hard is a problem?"""

import json as jsonlib
import math
from typing import Any

import click

from ..printable import printable
from .options import as_json, minimize, numbers, of_table, simulated_rewards, table_of
from .showing import say


@click.command()
@click.argument("arms", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--theta",
    required=True,
    help="The true θ: numbers separated by commas, the first for the constant if there is one.",
)
@simulated_rewards
@click.option("--norm-bound", type=float, help="S, for Theorem 2.  [default: the length of θ]")
@click.option("--ridge", default=1.0, show_default=True, help="λ, for Theorem 2.")
@of_table
@minimize
@as_json
def complexity(
    arms: str,
    theta: str,
    noise_scale: float,
    norm_bound: float | None,
    epsilon: float,
    delta: float,
    ridge: float,
    minimize: bool,
    json: bool,
    **options: Any,
) -> None:
    """Say how hard a problem is, given the θ that explorers are not told.

    ARMS is a table with one row per arm, as CSV, Parquet or NPY, or a TOML file with factors. What
    was taken for names, factors and numbers is said first; options say it otherwise. θ has a
    number for each feature.
    """
    from ..complexity import complexity as analyse

    table = table_of(arms, options)
    vector = numbers(theta, "--theta")
    problem = table.problem(
        noise=noise_scale,
        norm_bound=(math.hypot(*vector) or None) if norm_bound is None else norm_bound,
        epsilon=epsilon,
        delta=delta,
        minimize=minimize,
    )
    found = analyse(problem, vector, ridge=ridge)
    if json:
        click.echo(jsonlib.dumps(found.to_dict(), indent=2))
        return
    say(_complexity_table(problem, found))


def _complexity_table(problem: Any, found: Any) -> str:
    def number(value: float | None, otherwise: str) -> str:
        return otherwise if value is None else f"{value:,.6g}"

    time = found.characteristic
    rows = [
        ("best arm", printable(problem.name(found.best))),
        ("smallest gap", f"{found.gaps.min():.4g}"),
        (f"H_ε of LinGapE, ε = {problem.epsilon:g}", f"{found.lingape:,.4g}"),
        ("H_oracle", f"{found.oracle:,.4g}"),
        ("H'_oracle", f"{found.oracle_sum:,.4g}"),
        (
            f"H_ε / H'_oracle, at most 9(2K - 3) = {found.theorem_3_limit:,g}",
            f"{found.theorem_3:.4g}",
        ),
        ("H_ε of UGapE, which ignores features", f"{found.ugape:,.4g}"),
        ("characteristic time T*", f"{time.time:,.6g}, to {time.gap:.0e}"),
        (f"least samples for δ = {problem.delta:g}", number(found.lower_bound, "for ε = 0 only")),
        ("most samples by Theorem 2 (16)", number(found.theorem_2, "λ too large")),
        ("most samples by Theorem 2 (17)", number(found.theorem_2_large_ridge, "λ too small")),
    ]
    width = max(len(title) for title, _ in rows)
    lines = [f"{title:<{width}}  {value}" for title, value in rows]
    lines += ["", "best proportions of pulls if θ were known:"]
    order = (-time.allocation).argsort()[:10]
    lines += [
        f"  {printable(problem.name(int(k)))}: {time.allocation[k]:.3f}"
        for k in order
        if time.allocation[k] >= 5e-4
    ]
    return "\n".join(lines)
