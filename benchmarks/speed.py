"""How fast is a round? Ratios to plain implementations timed in the same minute: `make bench`."""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import record, yardsticks
from lingape import (
    Explorer,
    Instance,
    LinGapE,
    Problem,
    Race,
    SelfNormalized,
    Tracking,
    run,
    soare,
    sphere,
)
from lingape.printable import markdown_table
from lingape.provenance import provenance

Build = Callable[[Problem], Explorer]
PAPER = functools.partial(LinGapE, bound=SelfNormalized(comparisons="K^2"))
REPEATS = 7  # the fastest counts: the machine may be busy with other things


def fastest(job: Callable[[], float]) -> float:
    """Return the least seconds that `job` reports in several tries."""
    return min(job() for _ in range(REPEATS))


def seconds_of(job: Callable[[], object]) -> float:
    """Return how long `job` takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def compiled_round(instance: Instance, build: Build, rounds: int) -> float:
    """Return seconds per round in the compiled lane, drawing the noise included."""
    world = instance.gaussian()

    def once() -> float:
        # A tiny δ keeps the run from ending; it changes no cost.
        problem = instance.problem(norm_bound=2.0, delta=1e-300)
        result = run(build(problem), world, max_pulls=rounds, lane="compiled")
        assert result.pulls == rounds
        return result.seconds / rounds

    once()  # compile
    return fastest(once)


def asked_round(count: int, d: int, build: Build, rounds: int) -> tuple[float, float]:
    """Return seconds for ask and tell together, and for one pass of X @ v."""
    instance = sphere(count, d, seed=0)
    problem = instance.problem(norm_bound=2.0, noise=30.0)
    explorer, rng = build(problem), np.random.default_rng(0)
    for arm in range(count):
        explorer.tell(arm, 30 * rng.standard_normal())
    rewards = (30 * rng.standard_normal(rounds)).tolist()
    vector = rng.standard_normal(d)

    def talk() -> None:
        for reward in rewards:
            explorer.tell(explorer.ask(), reward)

    def multiply() -> None:
        for _ in range(rounds):
            problem.arms @ vector

    talked, multiplied = [], []
    for _ in range(REPEATS):  # in turn, so that both see the same load
        talked.append(seconds_of(talk))
        multiplied.append(seconds_of(multiply))
    return min(talked) / rounds, min(multiplied) / rounds


def compiled_rows() -> list[dict[str, Any]]:
    """Time the compiled lane against the yardsticks."""
    small, large, rng = soare(5, 0.01), sphere(500, 20, seed=0), np.random.default_rng(0)
    rounds = 300

    def transcribed(mixture: bool) -> float:
        arms, theta = small.arms, small.theta
        job = functools.partial(
            yardsticks.transcription, arms, theta, rounds, rng, mixture=mixture
        )
        return fastest(lambda: seconds_of(job)) / (rounds + len(arms))

    yardsticks.noise_alone(1, rng)
    noise = fastest(lambda: seconds_of(lambda: yardsticks.noise_alone(10**6, rng))) / 10**6
    yardsticks.quadratic_loop(large.arms, large.theta, 1, rng)
    job = functools.partial(yardsticks.quadratic_loop, large.arms, large.theta, rounds, rng)
    loop = fastest(lambda: seconds_of(job)) / (rounds + len(large.arms))
    rows = []
    for title, build, mixture in (
        ("paper's bound, greedy", PAPER, False),
        ("paper's bound, tracking", functools.partial(PAPER, pull=Tracking()), False),
        ("Mixture, greedy", LinGapE, True),
        ("Race", Race, None),
    ):
        one = compiled_round(small, build, 300_000)
        row = {"what": f"compiled, K=6, d=5, {title}", "nanoseconds": one * 1e9}
        if mixture is not None:
            row["times faster than a NumPy transcription"] = transcribed(mixture) / one
        rows.append(row | {"times the noise alone": one / noise})
    for title, build in (("paper's bound", PAPER), ("Mixture", LinGapE), ("Race", Race)):
        one = compiled_round(large, build, 20_000)
        rows.append(
            {
                "what": f"compiled, K=500, d=20, {title}",
                "nanoseconds": one * 1e9,
                "times faster than a compiled O(Kd²) loop": loop / one,
            }
        )
    return rows


def asked_rows() -> list[dict[str, Any]]:
    """Time ask and tell against multiplying the features by a vector."""
    rows = []
    for count, d, rounds in ((6, 5, 2_000), (10_000, 50, 300)):
        for title, build in (
            ("paper's bound", functools.partial(LinGapE, bound=SelfNormalized())),
            ("Mixture", LinGapE),
            ("Race", Race),
        ):
            talked, multiplied = asked_round(count, d, build, rounds)
            rows.append(
                {
                    "what": f"ask + tell, K={count}, d={d}, {title}",
                    "nanoseconds": talked * 1e9,
                    "passes of X @ v": talked / multiplied,
                }
            )
    return rows


def main() -> None:
    """Print a table and write it as JSON."""
    rows = compiled_rows() + asked_rows()
    lines = []
    for row in rows:
        ratios = [f"{value:,.1f} {key}" for key, value in row.items() if key.startswith("times")]
        ratios += (
            [f"{row['passes of X @ v']:.1f} passes of X @ v"] if "passes of X @ v" in row else []
        )
        lines.append([row["what"], f"{row['nanoseconds']:,.0f} ns", "; ".join(ratios)])
    print(markdown_table([["one round", "time", "that is"], *lines]))
    print(f"\n{provenance()}\nwritten to {record.write('speed', rows)}")


if __name__ == "__main__":
    main()
