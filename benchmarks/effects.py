"""Do the intervals of values, gaps, lifts, effects and contrasts hold together at all times?

    python -m benchmarks.effects [--runs 150] [--jobs 1]
    python -m benchmarks.effects --widths

The theorem of docs/bounds.md says that in at least a share 1 - δ of the runs all of them hold,
after every reward. A run counts as wrong if any interval misses the truth after any reward.

To save time most intervals are computed only where one could be wrong. By the algebra of the
proof (which tests/test_values.py checks without chance) one can be wrong only if the evidence W_t
against the truth is at least 1/δ. All are computed whenever it is above 1, and after every 25th
reward besides.

With --widths it prints how much wider intervals are if the standard deviation is not known.
"""

import argparse
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks import record
from lingape import Factors, LinGapE, Mixture, Problem, Race, Values, play
from lingape.arrays import BoolArray, FloatArray, IntArray
from lingape.bounds.mixture import EXCESS_WEIGHTS, EXCESSES
from lingape.environments import Instance
from lingape.rates import clopper_pearson
from lingape.values import contrast_weights

DELTA = 0.05
PULLS = 300
EVERY = 25  # how often to look in any case
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

    def wrong(self, seed: int, pulls: int, every: int) -> BoolArray:
        """Play once, and return which intervals missed the truth after any reward.

        every: how often to compute all of them, whether or not they could be wrong.
        """
        problem = Problem(self.factors, noise=self.noise, delta=DELTA)
        theta = np.array(self.theta[: problem.arms.shape[1]])
        instance = Instance("factors", problem.arms, theta)
        world = instance.zero_one() if self.noise == "binary" else instance.gaussian()
        weights = np.vstack(list(comparisons(self.factors).values()))
        truth, evidence = weights @ world.means, Evidence(problem, world.means)
        wrong: BoolArray = np.zeros(len(weights), dtype=np.bool_)
        counts = np.zeros(len(problem), dtype=np.int64)
        means, squares = np.zeros(len(problem)), np.zeros(len(problem))
        for step in play(self.explorer(problem), world, seed=seed, max_pulls=pulls):
            counts[step.arm] += 1
            apart = step.reward - means[step.arm]
            means[step.arm] += apart / counts[step.arm]
            squares[step.arm] += apart * (step.reward - means[step.arm])
            if step.number % every and evidence.against_truth(counts, means, squares) < 0:
                continue
            values = Values(problem, counts.copy(), means.copy(), squares.copy())
            if values.ready:
                ends = np.array(values.contrasts(weights))
                wrong |= (truth < ends[:, 1]) | (truth > ends[:, 2])
        return wrong


class Evidence:
    """W_t of docs/bounds.md at the truth, whose standard deviation is 1 if it is not known."""

    def __init__(self, problem: Problem, truth: FloatArray) -> None:
        self.features = Mixture().estimate(problem).features
        self.truth, scale = truth, problem.noise.scale
        self.scale = 1.0 if scale is None else scale
        self.excesses = np.zeros(1) if scale is not None else EXCESSES
        self.weights = np.ones(1) if scale is not None else EXCESS_WEIGHTS

    def against_truth(self, counts: IntArray, means: FloatArray, squares: FloatArray) -> float:
        """Return log W_t."""
        x, grid, excesses = self.features, Mixture().grid, self.excesses[:, None]
        apart = (means - self.truth) / self.scale
        v, basis = np.linalg.eigh((x.T * counts) @ x)
        lengths = ((counts * apart) @ x @ basis) ** 2 @ (1.0 / (v[:, None] + grid))
        whole = float(squares.sum() / self.scale**2 + counts @ apart**2)
        terms = 0.5 * (
            (1.0 + excesses) * lengths
            - excesses * whole
            + int(counts.sum()) * np.log1p(excesses)
            - np.log1p(v[:, None] / grid).sum(axis=0)
        )
        return float(np.log(self.weights @ np.exp(terms).mean(axis=1)))


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


def misses(
    name: str, runs: int, *, pulls: int = PULLS, every: int = EVERY, jobs: int = -1
) -> BoolArray:
    """Return which intervals missed the truth in each run, shape (runs, comparisons)."""
    play_once = delayed(cases()[name].wrong)
    return np.array(Parallel(n_jobs=jobs)(play_once(seed, pulls, every) for seed in range(runs)))


def ratio(factors: Factors, pulls: int, seed: int) -> float:
    """Return the width of gaps for unknown σ over that for known σ, on average."""
    known, unknown = (Problem(factors, noise=noise) for noise in (1.0, "normal"))
    order = np.random.default_rng(seed).permutation(len(factors))
    arms = np.tile(order, pulls // len(factors) + 1)[:pulls]
    counts = np.bincount(arms, minlength=len(factors))
    rng = np.random.default_rng(seed)
    means = np.where(counts > 0, rng.normal(size=len(counts)) / np.sqrt(np.maximum(counts, 1)), 0)
    squares = np.where(counts > 1, rng.chisquare(np.maximum(counts - 1, 1)), 0.0)
    widths = []
    for problem in (known, unknown):
        values = Values(problem, counts, means, squares)
        if not values.ready:
            return np.inf
        gaps = values.gaps(0, range(1, len(factors)))
        widths.append(np.array([gap.high - gap.low for gap in gaps]))
    return float((widths[1] / widths[0]).mean())


def print_widths() -> None:
    """Print what not knowing the standard deviation costs."""
    for factors in (Factors(a=[0, 1], b=[0, 1]), Factors(a=[0, 1, 2], b=[0, 1, 2], c=[0, 1, 2])):
        print(factors)
        for pulls in (10, 15, 20, 30, 50, 100, 300, 1_000, 10_000, 100_000):
            found = float(np.median([ratio(factors, pulls, seed) for seed in range(100)]))
            print(f"{pulls:,} pulls: {found:.2f}", flush=True)


def main() -> None:
    """Print and save in how many runs some interval was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", action="store_true")
    parser.add_argument("--runs", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    if arguments.widths:
        print_widths()
        return
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
