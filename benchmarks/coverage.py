"""How often does a race discard an arm that is best? On ties, where that is hardest to avoid.

    python -m benchmarks.coverage [--runs 10000]

A run counts as wrong if any of the arms that tie for best is discarded, which claims a difference
that does not exist. The theorem allows this for each of them in a share δ of the runs.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks import record
from lingape import Problem, Race, canonical, factorial, run, soare_tied, sphere
from lingape.environments import Instance
from lingape.rates import clopper_pearson

DELTA = 0.05
TIE = 1e-12


class Tie(NamedTuple):
    """Arms of which several are best."""

    instance: Instance
    noise: Any
    world: Callable[[], Any]
    pulls: int

    def wrong(self, seed: int) -> bool:
        """Play once and return whether a best arm was discarded."""
        instance = self.instance
        explorer = Race(Problem(instance.arms, noise=self.noise, delta=DELTA))
        run(explorer, self.world(), seed=seed, max_pulls=self.pulls)
        return not explorer.in_play[best_arms(instance)].all()


def best_arms(instance: Instance) -> Any:
    """Return the arms that tie for best."""
    means = instance.arms @ instance.theta
    return np.flatnonzero(means >= means.max() - TIE)


def ties() -> dict[str, Tie]:
    """Return the ties that are looked at, by name."""
    two, equal = soare_tied(5, 0.1), canonical(5, 0.0)
    null = factorial(0.3, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    many = Instance("50 equal arms", sphere(50, 10, 0).arms, np.zeros(10))
    half = Instance("two of five, ±1", np.eye(5), np.array([0.5, 0.5, 0.2, 0.0, -0.3]))
    rare = Instance("3 of 6 at 3 %", np.eye(6), np.array([0.03, 0.03, 0.03, 0.02, 0.01, 0.01]))
    return {
        "two best of six": Tie(two, 1.0, two.gaussian, 3_000),
        "two best of six, unknown σ": Tie(two, "normal", two.gaussian, 3_000),
        "all equal": Tie(equal, 1.0, equal.gaussian, 3_000),
        "factorial null": Tie(null, 1.0, null.gaussian, 2_000),
        "factorial null, 0/1": Tie(null, "binary", null.zero_one, 2_000),
        "50 arms in 10 dimensions": Tie(many, 1.0, many.gaussian, 2_000),
        "rewards of ±1": Tie(half, (-1, 1), half.signed, 3_000),
        "0/1 rewards of 3 %": Tie(rare, "binary", rare.zero_one, 20_000),
    }


def _wrong(name: str, seed: int) -> bool:
    return ties()[name].wrong(seed)


def main() -> None:
    """Print and save how often a best arm was discarded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    runs = parser.parse_args().runs
    rows = []
    for name in ties():
        wrong = sum(Parallel(n_jobs=-1)(delayed(_wrong)(name, seed) for seed in range(runs)))
        low, high = clopper_pearson(wrong, runs)
        rows.append({"tie": name, "runs": runs, "wrong": wrong, "low": low, "high": high})
        print(f"{name}: {wrong} of {runs} ({low:.2%} – {high:.2%})", flush=True)
    record.write("coverage", rows)


if __name__ == "__main__":
    main()
