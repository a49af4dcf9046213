"""How many rounds a second on a GPU? `make bench-gpu`, on a machine that has one.

Figures are absolute, beside one core of the processor in the same minute.
"""

import functools
from collections.abc import Callable
from typing import Any

from benchmarks import record
from lingape import (
    Explorer,
    Instance,
    LinGapE,
    Problem,
    SelfNormalized,
    Tracking,
    Uniform,
    run,
    run_many,
    soare,
    sphere,
)
from lingape.many import gpu_name
from lingape.printable import markdown_table
from lingape.provenance import provenance

PAPER = functools.partial(LinGapE, bound=SelfNormalized(comparisons="K^2"))
TRACKING = functools.partial(PAPER, pull=Tracking())
DROPPING = functools.partial(PAPER, elimination="sample")
# What is played, where, and how many runs of how many rounds.
CASES: tuple[tuple[str, Callable[[Problem], Explorer], Instance, int, int], ...] = (
    ("paper's bound, greedy", PAPER, soare(2, 0.01), 1 << 19, 10_000),
    ("paper's bound, greedy", PAPER, soare(5, 0.01), 1 << 18, 10_000),
    ("paper's bound, greedy", PAPER, soare(9, 0.01), 1 << 17, 5_000),
    ("paper's bound, greedy", PAPER, sphere(50, 10, seed=0), 1 << 15, 2_000),
    ("paper's bound, tracking", TRACKING, soare(5, 0.01), 1 << 18, 10_000),
    ("paper's bound, elimination", DROPPING, soare(5, 0.01), 1 << 18, 10_000),
    ("Mixture, greedy", LinGapE, soare(5, 0.01), 1 << 18, 5_000),
    ("Uniform", Uniform, soare(5, 0.01), 1 << 18, 10_000),
)
REPEATS = 3


def gpu_rows() -> list[dict[str, Any]]:
    """Time whole runs on a GPU."""
    rows = []
    for title, build, instance, runs, rounds in CASES:
        # A tiny δ keeps runs from ending; it changes no cost.
        problem, world = instance.problem(norm_bound=2.0, delta=1e-300), instance.gaussian()
        play = functools.partial(run_many, runs=runs, max_pulls=rounds, lane="gpu")
        best = max(
            (many.pulls.sum() / many.seconds)
            for many in (play(build(problem), world) for _ in range(REPEATS))
        )
        run(build(problem), world, max_pulls=1_000, lane="compiled")  # compile
        core = run(build(problem), world, max_pulls=300_000, lane="compiled")
        arms, d = instance.arms.shape
        rows.append(
            {
                "what": f"K={arms}, d={d}, {title}",
                "rounds a second": float(best),
                "times one core": float(best) * core.seconds / core.pulls,
                "runs": runs,
                "rounds": rounds,
            }
        )
    instance = soare(5, 0.3)
    problem, world = instance.problem(norm_bound=2.0), instance.gaussian()
    for _ in range(2):
        many = run_many(PAPER(problem), world, runs=1 << 20, lane="gpu")
    rows.append(
        {
            "what": f"a study of a million runs of {many.pulls.mean():,.0f} pulls, K=6, d=5",
            "rounds a second": float(many.pulls.sum() / many.seconds),
            "seconds": many.seconds,
        }
    )
    return rows


def main() -> None:
    """Print a table and write it as JSON."""
    rows = gpu_rows()
    path = record.write("gpu", rows, gpu=gpu_name())
    cells = [
        [
            row["what"],
            f"{row['rounds a second']:.2e}",
            f"{row['times one core']:,.0f}" if "times one core" in row else "",
        ]
        for row in rows
    ]
    print(markdown_table([["", "rounds a second", "times one core"], *cells]))
    print(f"\n{gpu_name()}, {provenance()}\nwritten to {path}")


if __name__ == "__main__":
    main()
