"""How often does a race discard an arm that is best? On ties, where that is hardest to avoid.

    python -m benchmarks.coverage [--runs 10000]

The theorem of docs/bounds.md says that a best arm is discarded in at most a share δ of the runs.
Of arms that tie for best this holds for each: the one discarded most often is counted. Counted as
well are runs in which any of them was discarded, of which there may be more, and those in which
none is left, whose answer would be wrong.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks import record
from lingape import Problem, Race, canonical, factorial, run, soare_tied, sphere
from lingape.arrays import BoolArray, IntArray
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

    def discarded(self, seed: int) -> BoolArray:
        """Play once and return which of the best arms were discarded."""
        instance = self.instance
        explorer = Race(Problem(instance.arms, noise=self.noise, delta=DELTA))
        run(explorer, self.world(), seed=seed, max_pulls=self.pulls)
        found: BoolArray = ~explorer.in_play[best_arms(instance)]
        return found


def best_arms(instance: Instance) -> IntArray:
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


def discards(name: str, runs: int, first: int = 0) -> BoolArray:
    """Return which of the best arms each run discarded, shape (runs, best arms)."""
    seeds = range(first, first + runs)
    return np.array(Parallel(n_jobs=-1)(delayed(_discarded)(name, seed) for seed in seeds))


def _discarded(name: str, seed: int) -> BoolArray:
    return ties()[name].discarded(seed)


def main() -> None:
    """Print and save how often a best arm was discarded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    runs = parser.parse_args().runs
    rows: list[dict[str, Any]] = []
    for name in ties():
        found = discards(name, runs)
        worst = int(found.sum(axis=0).max())
        low, high = clopper_pearson(worst, runs)
        row = {"tie": name, "runs": runs, "discarded": worst, "low": low, "high": high}
        row |= {"any": int(found.any(axis=1).sum()), "none_left": int(found.all(axis=1).sum())}
        rows.append(row)
        print(
            f"{name}: {worst} of {runs} ({low:.2%} – {high:.2%}); any {row['any']}, "
            f"none left {row['none_left']}",
            flush=True,
        )
    record.write("coverage", rows)


if __name__ == "__main__":
    main()
