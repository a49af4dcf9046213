"""How many rounds a second on a GPU? `make bench-gpu`, on a machine that has one.

Figures are absolute. Each case is compiled in a process of its own and then has the GPU alone.
"""

import functools
import math
import time
from collections.abc import Callable
from typing import Any

from benchmarks import record
from benchmarks.gpu_workers import alone, side_by_side
from lingape import (
    Explorer,
    Instance,
    LinGapE,
    Problem,
    Race,
    SelfNormalized,
    Tracking,
    Uniform,
    run_many,
    soare,
    sphere,
)
from lingape.many import Runs, gpu_name
from lingape.printable import markdown_table
from lingape.provenance import provenance

PAPER = functools.partial(LinGapE, bound=SelfNormalized(comparisons="K^2"))
TRACKING = functools.partial(PAPER, pull=Tracking())
DROPPING = functools.partial(PAPER, elimination="sample")
# What is played, where, and how many runs of how many rounds.
CASES: tuple[tuple[str, Callable[[Problem], Explorer], Instance, int, int], ...] = (
    ("paper's bound, greedy", PAPER, soare(2, 0.01), 1 << 20, 10_000),
    ("paper's bound, greedy", PAPER, soare(5, 0.01), 1 << 19, 10_000),
    ("paper's bound, greedy", PAPER, soare(9, 0.01), 1 << 17, 5_000),
    ("paper's bound, greedy", PAPER, sphere(50, 10, seed=0), 1 << 17, 2_000),
    ("paper's bound, tracking", TRACKING, soare(5, 0.01), 1 << 18, 10_000),
    ("paper's bound, elimination", DROPPING, soare(5, 0.01), 1 << 18, 10_000),
    ("Mixture, greedy", LinGapE, soare(5, 0.01), 1 << 18, 10_000),
    ("Race", Race, soare(5, 0.01), 1 << 18, 5_000),
    ("Uniform", Uniform, soare(5, 0.01), 1 << 18, 10_000),
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


def main() -> None:
    """Print a table and write it as JSON."""
    found = dict(side_by_side(job, range(len(CASES) + 1)))
    rows = [found[number] for number in sorted(found)]
    path = record.write("gpu", rows, gpu=gpu_name())
    cells = [[row["what"], f"{row['rounds a second']:.2e}"] for row in rows]
    print(markdown_table([["", "rounds a second"], *cells], "lr"))
    print(f"\n{gpu_name()}, {provenance()}\nwritten to {path}")


if __name__ == "__main__":
    main()
