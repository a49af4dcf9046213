"""How many rounds a second on a GPU? `make bench-gpu`, on a machine that has one.

Figures are absolute, beside one core of the processor at the same time.
"""

import functools
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks import record
from lingape import (
    Explorer,
    Instance,
    LinGapE,
    Problem,
    Race,
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
    ("Race", Race, soare(5, 0.01), 1 << 18, 5_000),
    ("Uniform", Uniform, soare(5, 0.01), 1 << 18, 10_000),
)
REPEATS = 3
RUNS = 1 << 20  # of the study
LIMIT = 300_000  # rounds on a core


def endless(instance: Instance) -> Problem:
    """Return a problem whose tiny δ keeps runs from ending; it changes no cost."""
    return instance.problem(norm_bound=2.0, delta=1e-300)


def seconds_on_a_core(number: int) -> float:
    """Return seconds per round of a case in the compiled lane."""
    _, build, instance, _, _ = CASES[number]
    play = functools.partial(run, environment=instance.gaussian(), lane="compiled")
    play(build(endless(instance)), max_pulls=1_000)  # compile
    result = play(build(endless(instance)), max_pulls=LIMIT)
    return result.seconds / result.pulls


def case_row(number: int, on_a_core: Callable[[], float]) -> dict[str, Any]:
    """Time whole runs of a case on a GPU."""
    title, build, instance, runs, rounds = CASES[number]
    arms, d = instance.arms.shape
    problem, world = endless(instance), instance.gaussian()
    begun = time.perf_counter()
    run_many(build(problem), world, runs=1, max_pulls=100, lane="gpu")
    compiling = time.perf_counter() - begun
    play = functools.partial(run_many, runs=runs, max_pulls=rounds, lane="gpu")
    played = [play(build(problem), world) for _ in range(REPEATS)]
    assert all((many.pulls == rounds).all() for many in played)
    best = max(float(many.pulls.sum() / many.seconds) for many in played)
    return {
        "what": f"K={arms}, d={d}, {title}",
        "rounds a second": best,
        "times one core": best * on_a_core(),
        "seconds to compile": compiling,
        "runs": runs,
        "rounds": rounds,
    }


def study_row() -> dict[str, Any]:
    """Time many runs that end by themselves."""
    instance = soare(5, 0.3)
    problem, world = instance.problem(norm_bound=2.0), instance.gaussian()
    for _ in range(2):
        many = run_many(PAPER(problem), world, runs=RUNS, lane="gpu")
    return {
        "what": f"{RUNS:,} runs until settled, {many.pulls.mean():,.0f} pulls each, K=6, d=5",
        "rounds a second": float(many.pulls.sum() / many.seconds),
        "seconds": many.seconds,
        "runs": RUNS,
    }


def main() -> None:
    """Print a table and write it as JSON."""
    numbers = range(len(CASES))
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as pool:
        cores = [pool.submit(seconds_on_a_core, number) for number in numbers]
        rows = [case_row(number, cores[number].result) for number in numbers]
    rows.append(study_row())
    path = record.write("gpu", rows, gpu=gpu_name())
    cells = [
        [
            row["what"],
            f"{row['rounds a second']:.2e}",
            f"{row['times one core']:,.0f}" if "times one core" in row else "",
        ]
        for row in rows
    ]
    print(markdown_table([["", "rounds a second", "times one core"], *cells], "lrr"))
    print(f"\n{gpu_name()}, {provenance()}\nwritten to {path}")


if __name__ == "__main__":
    main()
