"""Do the intervals of values, gaps, lifts, effects and contrasts hold together at all times?

    python -m benchmarks.effects [--runs 80] [--jobs 1]

The theorem of docs/bounds.md says that in at least a share 1 - δ of the runs all of them hold,
whenever one looks. A run counts as wrong if any interval misses the truth at any look. Looks are
after every reward up to 100, and from then on whenever their number has grown by 5 %: in between
estimates and intervals hardly move.
"""

import argparse
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks import record
from lingape import Factors, LinGapE, Problem, Race, Values, play
from lingape.arrays import BoolArray, FloatArray
from lingape.environments import Instance
from lingape.rates import clopper_pearson
from lingape.values import contrast_weights

DELTA = 0.05
EVERY, GROWTH = 100, 1.05  # every pull up to here, then when pulls have grown by this
PULLS = 500
MAIN = Factors(
    tone=["plain", "warm", "dry"],
    length=["short", "long"],
    examples=[0, 3],
    numbers=["examples"],
    exclude=[{"tone": "dry", "examples": 3}],
)
BOTH = MAIN.model(interactions=[("tone", "length")])
# Weights of: constant, tone=warm, tone=dry, length=long, examples, and the interaction.
THETA = (0.3, 0.1, 0.2, 0.1, 0.05, 0.1, -0.1)
EQUAL = (0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Case(NamedTuple):
    """What is played: arms, their true weights, what rewards are like, and who chooses."""

    factors: Factors
    theta: tuple[float, ...]
    noise: Any
    explorer: type[LinGapE] | type[Race]

    def wrong(self, seed: int, pulls: int) -> BoolArray:
        """Play once, and return which intervals missed the truth at any look."""
        problem = Problem(self.factors, noise=self.noise, delta=DELTA)
        theta = np.array(self.theta[: problem.arms.shape[1]])
        instance = Instance("factors", problem.arms, theta)
        world = instance.zero_one() if self.noise == "binary" else instance.gaussian()
        weights = np.vstack(list(comparisons(self.factors).values()))
        truth = weights @ world.means
        wrong: BoolArray = np.zeros(len(weights), dtype=np.bool_)
        counts = np.zeros(len(problem), dtype=np.int64)
        means, squares, due = np.zeros(len(problem)), np.zeros(len(problem)), 1
        for step in play(self.explorer(problem), world, seed=seed, max_pulls=pulls):
            counts[step.arm] += 1
            apart = step.reward - means[step.arm]
            means[step.arm] += apart / counts[step.arm]
            squares[step.arm] += apart * (step.reward - means[step.arm])
            if step.number < due:
                continue
            due = max(due + 1, int(GROWTH * due) if due > EVERY else 0)
            values = Values(problem, counts.copy(), means.copy(), squares.copy())
            if values.ready:
                ends = np.array(values.contrasts(weights))
                wrong |= (truth < ends[:, 1]) | (truth > ends[:, 2])
        return wrong


def comparisons(factors: Factors) -> dict[str, FloatArray]:
    """Return all that is looked at, as weights on arms, by kind."""
    count, rng = len(factors), np.random.default_rng(0)
    eye = np.eye(count)
    return {
        "values": eye,
        "gaps": np.array([eye[i] - eye[j] for i, j in itertools.combinations(range(count), 2)]),
        "effects": np.array(list(_effects(factors))),
        "interactions": _interactions(factors),
        "contrasts": rng.normal(size=(5, count)),
    }


def _effects(factors: Factors) -> Iterator[FloatArray]:
    """Yield what changing a level makes, for all pairs of levels."""
    for factor in factors.factors:
        for i, j in itertools.combinations(range(len(factor.levels)), 2):
            (row,) = contrast_weights(factors, [({factor.name: i}, {factor.name: j})])
            assert row is not None
            yield row


def _interactions(factors: Factors) -> FloatArray:
    """Return how much more a tone adds to long texts than to short ones."""
    rows = []
    for tone in (1, 2):
        pairs = [({"tone": tone, "length": k}, {"tone": 0, "length": k}) for k in (1, 0)]
        long, short = contrast_weights(factors, pairs)
        assert long is not None and short is not None
        rows.append(long - short)
    return np.array(rows)


def cases() -> dict[str, Case]:
    """Return what is played, by name."""
    kinds = {"known σ": 1.0, "unknown σ": "normal", "0/1": "binary"}
    models = {"main effects": (MAIN, THETA), "interactions": (BOTH, THETA), "ties": (BOTH, EQUAL)}
    found = {}
    for (model, (factors, theta)), (kind, noise) in itertools.product(
        models.items(), kinds.items()
    ):
        for explorer in (LinGapE, Race):
            if explorer is Race or noise != "normal":
                name = f"{model}, {kind}, {explorer.__name__}"
                found[name] = Case(factors, theta, noise, explorer)
    return found


def misses(name: str, runs: int, *, pulls: int = PULLS, jobs: int = -1) -> BoolArray:
    """Return which intervals missed the truth in each run, shape (runs, comparisons)."""
    play_once = delayed(cases()[name].wrong)
    return np.array(Parallel(n_jobs=jobs)(play_once(seed, pulls) for seed in range(runs)))


def main() -> None:
    """Print and save in how many runs some interval was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=80)
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, case in cases().items():
        found = misses(name, arguments.runs, jobs=arguments.jobs)
        wrong, (low, high) = _rate(found)
        row = {"case": name, "runs": arguments.runs, "wrong": wrong, "low": low, "high": high}
        start = 0
        for kind, weights in comparisons(case.factors).items():
            row[kind] = int(found[:, start : start + len(weights)].any(axis=1).sum())
            start += len(weights)
        rows.append(row)
        parts = ", ".join(f"{kind} {row[kind]}" for kind in comparisons(case.factors))
        print(f"{name}: {wrong} of {arguments.runs} ({low:.2%} – {high:.2%}): {parts}", flush=True)
        record.write("effects", rows)  # so that what is done is kept


def _rate(found: BoolArray) -> tuple[int, tuple[float, float]]:
    wrong = int(found.any(axis=1).sum())
    return wrong, clopper_pearson(wrong, len(found))


if __name__ == "__main__":
    main()
