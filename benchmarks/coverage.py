"""How often does a race discard an arm that is best? On ties, where that is hardest to avoid.

    python -m benchmarks.coverage [--runs 10000]

The theorem of docs/bounds.md says that a best arm is discarded in at most a share δ of the runs.
Of arms that tie for best this holds for each: the one discarded most often is counted. Counted as
well are runs in which any of them was discarded, of which there may be more, and those in which
none is left, whose answer would be wrong.
"""

import argparse
import json
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
SLOWER = 4  # so many times fewer runs against adversaries, which are asked and told one by one


class Tie(NamedTuple):
    """Arms of which several are best."""

    instance: Instance
    noise: Any
    world: Callable[[], Any]
    pulls: int

    @property
    def problem(self) -> Problem:
        """What races are told."""
        return Problem(self.instance.arms, noise=self.noise, delta=DELTA)

    def discarded(self, seed: int) -> BoolArray:
        """Play once and return which of the best arms were discarded."""
        explorer = Race(self.problem)
        run(explorer, self.world(), seed=seed, max_pulls=self.pulls)
        found: BoolArray = ~explorer.in_play[best_arms(self.instance)]
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


Pay = Callable[[int], float]


def delayed_rewards(explorer: Race, pay: Pay, rng: np.random.Generator, pulls: int) -> Race:
    """Ten workers, of whom any may be the next to report."""
    pending: list[int] = []
    for _ in range(pulls):
        if explorer.done:
            break
        pending += explorer.ask_many(10 - len(pending), pending=pending)
        arm = pending.pop(int(rng.integers(len(pending))))
        explorer.tell(arm, pay(arm))
    return explorer


def batches(explorer: Race, pay: Pay, rng: np.random.Generator, pulls: int) -> Race:
    """Batches of twenty, reported from the last to the first."""
    while not explorer.done and explorer.counts.sum() < pulls:
        arms = explorer.ask_many(20)[::-1]
        explorer.tell_many(arms, [pay(arm) for arm in arms])
    return explorer


def restarts(explorer: Race, pay: Pay, rng: np.random.Generator, pulls: int) -> Race:
    """Saved and read again every fifty pulls."""
    for n in range(pulls):
        if explorer.done:
            break
        explorer.tell(arm := explorer.ask(), pay(arm))
        if n % 50 == 0:
            explorer = Race.from_state(json.loads(json.dumps(explorer.state())))
    return explorer


def noise_chaser(explorer: Race, pay: Pay, rng: np.random.Generator, pulls: int) -> Race:
    """Between pulls that are asked for, unasked ones of the arm with the best average."""
    while not explorer.done and explorer.counts.sum() < pulls:
        explorer.tell(arm := explorer.ask(), pay(arm))
        counts, sums, _ = explorer.told
        lucky = int(np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf).argmax())
        explorer.tell(lucky, pay(lucky))
    return explorer


ADVERSARIES = {
    "delays": delayed_rewards,
    "batches": batches,
    "restarts": restarts,
    "a sampler that chases noise": noise_chaser,
}


def discards_against(name: str, runs: int, pulls: int = 400) -> BoolArray:
    """Return which of three equal arms each run discarded in which rewards come in such a way."""
    return np.array(
        Parallel(n_jobs=-1)(delayed(_against)(name, seed, pulls) for seed in range(runs))
    )


def _against(name: str, seed: int, pulls: int) -> BoolArray:
    explorer, rng = Race(Problem(np.eye(3), noise=1.0, delta=DELTA)), np.random.default_rng(seed)
    explorer = ADVERSARIES[name](explorer, lambda arm: float(rng.standard_normal()), rng, pulls)
    found: BoolArray = ~explorer.in_play
    return found


def discards(name: str, runs: int, first: int = 0) -> BoolArray:
    """Return which of the best arms each run discarded, shape (runs, best arms)."""
    seeds = range(first, first + runs)
    return np.array(Parallel(n_jobs=-1)(delayed(_discarded)(name, seed) for seed in seeds))


def _discarded(name: str, seed: int) -> BoolArray:
    return ties()[name].discarded(seed)


def coverage_row(name: str, found: BoolArray) -> dict[str, Any]:
    """Return how often best arms were discarded.

    found: which of them each run discarded, shape (runs, best arms).
    """
    worst, runs = int(found.sum(axis=0).max()), len(found)
    low, high = clopper_pearson(worst, runs)
    row = {"tie": name, "runs": runs, "discarded": worst, "low": low, "high": high}
    return row | {"any": int(found.any(axis=1).sum()), "none_left": int(found.all(axis=1).sum())}


def main() -> None:
    """Print and save how often a best arm was discarded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    runs = parser.parse_args().runs
    rows: list[dict[str, Any]] = []
    for name in (*ties(), *ADVERSARIES):
        count = runs // SLOWER if name in ADVERSARIES else runs
        found = discards_against(name, count) if name in ADVERSARIES else discards(name, count)
        row = coverage_row(name, found)
        rows.append(row)
        print(
            f"{name}: {row['discarded']} of {count} ({row['low']:.2%} – {row['high']:.2%}); "
            f"any {row['any']}, none left {row['none_left']}",
            flush=True,
        )
        record.write("coverage", rows)  # so that what is done is kept


if __name__ == "__main__":
    main()
