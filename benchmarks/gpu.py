"""How many rounds a second does a GPU play? `make bench-gpu`, on a machine that has one.

Figures are absolute. Each case is compiled in a process of its own and then has the GPU alone.
The last figures are those in results/gpu.json, which are overwritten. The yardstick is one core,
as `make bench` has written to results/speed.json.
"""

import functools
import math
import time
from typing import Any

from benchmarks import record
from benchmarks.gpu_workers import alone, gpu_or_exit, side_by_side
from benchmarks.rounds import DROPPING, EVENLY, PAPER, TRACKING, Build
from lingape import (
    Instance,
    LinGapE,
    Problem,
    Race,
    run_many,
    soare,
    sphere,
)
from lingape.many import Runs
from lingape.printable import markdown_table
from lingape.provenance import provenance

# What is played, where, and how many runs of how many rounds.
CASES: tuple[tuple[str, Build, Instance, int, int], ...] = (
    ("paper's bound, greedy", PAPER, soare(2, 0.01), 1 << 20, 10_000),
    ("paper's bound, greedy", PAPER, soare(5, 0.01), 1 << 19, 10_000),
    ("paper's bound, greedy", PAPER, soare(9, 0.01), 1 << 17, 5_000),
    ("paper's bound, greedy", PAPER, sphere(50, 10, seed=0), 1 << 17, 2_000),
    ("paper's bound, tracking", TRACKING, soare(5, 0.01), 1 << 18, 10_000),
    ("paper's bound, elimination", DROPPING, soare(5, 0.01), 1 << 18, 10_000),
    ("Mixture, greedy", LinGapE, soare(5, 0.01), 1 << 18, 10_000),
    ("Race", Race, soare(5, 0.01), 1 << 18, 5_000),
    ("Uniform, FixedDesign", EVENLY, soare(5, 0.01), 1 << 18, 10_000),
)
REPEATS = 3
UNTIL_SETTLED = soare(5, 0.3), 1 << 20, 2_000  # runs on the GPU, and on a core
DIFFERENT = 5.0  # standard errors


def endless(instance: Instance) -> Problem:
    """Return a problem whose tiny δ keeps runs from ending; it changes no cost."""
    return instance.problem(norm_bound=2.0, delta=1e-300)


def case_row(number: int) -> dict[str, Any]:
    """Time whole runs of a case."""
    title, build, instance, runs, rounds = CASES[number]
    arms, d = instance.arms.shape
    problem, world, begun = endless(instance), instance.gaussian(), time.perf_counter()
    run_many(build(problem), world, runs=1, max_pulls=100, lane="gpu")
    compiling = time.perf_counter() - begun
    play = functools.partial(run_many, runs=runs, max_pulls=rounds, lane="gpu")
    with alone():
        played = [play(build(problem), world) for _ in range(REPEATS)]
    assert all((many.pulls == rounds).all() for many in played)
    best = max(float(many.pulls.sum() / many.seconds) for many in played)
    return {
        "what": f"K={arms}, d={d}, {title}",
        "rounds a second": best,
        "seconds to compile": compiling,
        "runs": runs,
        "rounds": rounds,
    }


def study_row() -> dict[str, Any]:
    """Time runs that end by themselves, and see that they are as long as on a processor."""
    instance, runs, fewer = UNTIL_SETTLED
    play = functools.partial(
        run_many, PAPER(instance.problem(norm_bound=2.0)), instance.gaussian()
    )
    core = play(runs=fewer, lane="compiled")
    play(runs=1, lane="gpu")
    with alone():
        many = max((play(runs=runs, lane="gpu") for _ in range(REPEATS)), key=rate)
    error = math.sqrt(many.pulls.var() / runs + core.pulls.var() / fewer)
    apart = float(many.pulls.mean() - core.pulls.mean()) / error
    assert abs(apart) < DIFFERENT, f"GPU and processor differ by {apart:.1f} standard errors"
    return {
        "what": f"{runs:,} runs until settled, {many.pulls.mean():,.0f} pulls each, K=6, d=5",
        "rounds a second": rate(many),
        "seconds": many.seconds,
        "runs": runs,
        "mean": float(many.pulls.mean()),
        "mean on a core": float(core.pulls.mean()),
        "standard errors apart": apart,
    }


def rate(many: Runs) -> float:
    """Return rounds a second."""
    return float(many.pulls.sum() / many.seconds)


def job(number: int) -> dict[str, Any]:
    """Return the row of a case, or the last one."""
    return case_row(number) if number < len(CASES) else study_row()


def table(rows: list[dict[str, Any]], last: dict[str, Any], core: dict[str, Any]) -> str:
    """Return the figures as Markdown, beside the last ones and those of one core."""
    before = {row["what"]: row["rounds a second"] for row in last["rows"]}
    seconds = {row["what"]: row["value"] for row in core["rows"]}
    lines = [["what", "rounds a second", f"at {last['commit']}", "times one core"]]
    for row in rows:
        what, speed = row["what"], row["rounds a second"]
        one = seconds.get(f"compiled, {what}")
        lines.append(
            [
                what,
                f"{speed:.2e}",
                f"{before[what]:.2e}" if what in before else "",
                f"{speed * one:,.0f}" if one else "",
            ]
        )
    return markdown_table(lines, "lrrr")


def main() -> None:
    """Print a table and write it as JSON."""
    gpu, last, core = gpu_or_exit(), record.read("gpu"), record.read("speed")
    found = dict(side_by_side(job, range(len(CASES) + 1)))
    rows = [found[number] for number in sorted(found)]
    path = record.write("gpu", rows, gpu=gpu)
    print(table(rows, last, core))
    print(f"\nOne core: {core['processor']}, {core['commit']}\n{gpu}, {provenance()}")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
