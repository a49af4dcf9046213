"""Figures of ERRATA.md: what other readings of the paper would change (rows 3, 4, 13 and 25), and
where Theorem 3 fails (row 32).
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from lingape import FixedDesign, Instance, Problem, Study, XYAdaptive, canonical, run, soare
from lingape.arrays import IntArray
from lingape.complexity import complexity
from lingape.datasets.movielens import load_movielens
from lingape.least_squares import LeastSquares
from lingape.paper import settings
from lingape.provenance import stamp


def mean_pulls(instances: Iterable[Instance], *, seeds: int, **how: Any) -> float:
    """Return the mean pulls of LinGapE as in the paper."""
    study = Study(
        {"LinGapE": settings.lingape}, instances, seeds=seeds, max_pulls=100_000_000, **how
    )
    rows = study.run().rows
    return sum(row.pulls for row in rows) / len(rows)


class DividedTwice(XYAdaptive):
    """XY-adaptive exactly as its box says: a phase ends when ρ/n ≤ α ρ'/n'.

    ρ = max ‖y‖², which falls like 1/n by itself; ρ' and n' are those at the end of the phase
    before, and 1 and d(d + 1) + 1 before the first.
    """

    def __init__(self, problem: Problem, *, bound: FixedDesign, monotone: bool) -> None:
        d = problem.arms.shape[1]
        self._before = d * (d + 1) + 1  # n'
        super().__init__(problem, bound=bound, monotone=monotone)

    def phase_over(self, estimate: LeastSquares) -> bool:
        """Whether the longest difference, divided by the pulls, is small enough."""
        return self.plan.over(estimate) and (
            self._length(estimate) / estimate.pulls <= self.alpha * self._longest / self._before
        )

    def _go_on(self, survivors: IntArray, margin: float) -> None:
        self._before = self.estimate.pulls
        super()._go_on(survivors, margin)


def end_of_a_phase() -> None:
    """Print the pulls of XY-adaptive by either reading, with and without arms that come back."""
    instance = soare(5, 0.01)
    problem = settings.synthetic_problem(instance)
    for kind in (XYAdaptive, DividedTwice):
        for monotone in (True, False):
            results = [
                run(
                    kind(problem, bound=settings.PRINTED, monotone=monotone),
                    instance.gaussian(),
                    seed=seed,
                    max_pulls=1_000_000_000,
                )
                for seed in range(10 if monotone else 1)
            ]
            mean = sum(result.pulls for result in results) / len(results)
            over = all(result.certificate.settled for result in results)
            print(
                f"row 13: {instance.name}, {kind.__name__}, monotone={monotone}: {mean:,.0f}, "
                f"{'settled' if over else 'not settled'}"
            )


def shortcuts(n: int) -> Instance:
    """Return n + 1 unit vectors, the first of which is best by 1, and a long arm along each of
    their differences, which is never best and distinguishes the two by itself.
    """
    unit = np.eye(n + 1)
    long = [10 * (unit[j] - unit[i]) for j in range(n + 1) for i in range(j)]
    theta = np.full(n + 1, 999.0)
    theta[0] = 1000.0
    return Instance(f"shortcuts({n})", np.vstack([unit, *long]), theta)


def oracle_ratios() -> None:
    """Print H_0/H'_oracle, which Theorem 3 says is at most 72."""
    for n in (3, 10, 16, 20):
        instance = shortcuts(n)
        found = complexity(instance.problem(), instance.theta)
        print(
            f"row 32: {instance.name}, {len(instance.arms)} arms: H_0/H'_oracle = "
            f"{found.theorem_3:.1f} ≤ {found.theorem_3_limit:g}; 9(n + 1)/2 = {4.5 * (n + 1):g}"
        )


def main() -> None:
    oracle_ratios()
    end_of_a_phase()
    for s in (2.0, 0.1):
        pulls = mean_pulls([canonical(5, 0.1)], seeds=40, problem={"norm_bound": s})
        print(f"row 3: canonical(5, 0.1), S = {s:g}: {pulls:,.0f}")
    gap = 2 * (1 - math.cos(0.01))
    pulls = mean_pulls([soare(5, 0.01)], seeds=40, problem={"norm_bound": 2.0, "epsilon": gap})
    print(f"row 4: soare(5, 0.01), ε = the gap: {pulls:,.0f}")
    data = load_movielens()
    draws = [data.sample(20, seed) for seed in range(20)]
    for r in (1.0, 2.0):
        pulls = mean_pulls(draws, seeds=1, world="signed", problem={"noise": r})
        print(f"row 25: MovieLens, 20 arms, R = {r:g}: {pulls:,.0f}")
    print(stamp())


if __name__ == "__main__":
    main()
