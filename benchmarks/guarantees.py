"""The statistical claims of docs/bounds.md, measured: `make guarantees` (some minutes).

The slow tests (`make slow`) assert what this prints.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks import record
from lingape import (
    Bound,
    Instance,
    LinGapE,
    Mixture,
    SelfNormalized,
    Stylised,
    Tracking,
    canonical,
    run,
    soare,
    soare_tied,
)
from lingape.arrays import IntArray
from lingape.paper import TABLE_1
from lingape.paper.settings import BOUND as PAPER
from lingape.printable import markdown_table
from lingape.provenance import provenance
from lingape.pulls import PullRule, greedy
from lingape.rates import clopper_pearson

DELTA = 0.05
TIED_RUNS, TIED_ROUNDS = 2_000, 300_000
UNPROVEN_RUNS = 500


class Times(NamedTuple):
    """Stopping times over seeds."""

    pulls: IntArray
    wrong: int

    @property
    def mean(self) -> float:
        return float(self.pulls.mean())

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(self.pulls.std(ddof=1) / math.sqrt(len(self.pulls)))


def _one(
    instance: Instance, bound: Bound, pull: Callable[[], PullRule], limit: int, seed: int
) -> tuple[int, bool, bool]:
    problem = instance.problem(norm_bound=2.0, delta=DELTA)
    result = run(
        LinGapE(problem, bound=bound, pull=pull()),
        instance.gaussian(),
        seed=seed,
        max_pulls=limit,
        lane="compiled",
    )
    return result.pulls, result.certificate.settled, result.correct


def _greedy() -> PullRule:
    return greedy


def stopping_times(
    instance: Instance,
    bound: Bound,
    *,
    runs: int,
    pull: Callable[[], PullRule] = _greedy,
    limit: int = 20_000_000,
) -> Times:
    """Run LinGapE once for each seed, on all cores."""
    one = functools.partial(_one, instance, bound, pull, limit)
    rows = Parallel(n_jobs=-1, batch_size=4)(delayed(one)(seed) for seed in range(runs))
    assert all(settled for _, settled, _ in rows)
    pulls = np.array([pulls for pulls, _, _ in rows], dtype=np.int64)
    return Times(pulls, sum(not correct for _, _, correct in rows))


def false_separations(instance: Instance, bound: Bound, *, runs: int, rounds: int) -> int:
    """Count the runs that claim a difference between tied best arms."""
    one = functools.partial(_one, instance, bound, _greedy, rounds)
    rows = Parallel(n_jobs=-1, batch_size=4)(delayed(one)(seed) for seed in range(runs))
    return sum(settled for _, settled, _ in rows)


def _claims(instance: Instance, bound: Bound, limit: int, seed: int) -> bool:
    world = instance.gaussian()
    explorer = LinGapE(
        instance.problem(norm_bound=2.0, delta=DELTA), bound=bound, elimination="stop"
    )
    run(explorer, world, seed=seed, max_pulls=limit, lane="compiled")
    beaten = explorer.state()["dropped"]
    return any(world.means[rival] >= world.means[leader] for leader, rival, _ in beaten)


def false_claims(instance: Instance, bound: Bound, *, runs: int, rounds: int) -> int:
    """Count the runs in which some leader takes an arm as beaten that is no worse."""
    one = functools.partial(_claims, instance, bound, rounds)
    return sum(Parallel(n_jobs=-1, batch_size=4)(delayed(one)(seed) for seed in range(runs)))


def tied_instances() -> list[Instance]:
    """Instances whose best arms are exactly equal."""
    return [soare_tied(5, 0.01), soare_tied(2, 0.01), soare_tied(3, 0.5), canonical(5, 0.0)]


def upper_limit(errors: int, runs: int) -> float:
    """Return an upper limit of the error rate, exact at 95 % confidence."""
    return clopper_pearson(errors, runs, confidence=0.9)[1]  # 5 % lie above it, and 5 % below


def table_1_rows(runs: int = 400) -> list[dict[str, Any]]:
    """The paper's Table 1 instance: the distribution behind its single example."""
    rows = []
    for title, bound, pull in (
        ("paper's bound (K²), greedy", PAPER, _greedy),
        ("paper's bound (K²), tracking", PAPER, Tracking),
        ("paper's bound as printed, greedy", SelfNormalized(), _greedy),
        ("Mixture, greedy", Mixture(), _greedy),
        ("Mixture refined, greedy", Mixture(refined=True), _greedy),
    ):
        times = stopping_times(soare(5, 0.01), bound, runs=runs, pull=pull)
        low, median, high = np.quantile(times.pulls, [0.05, 0.5, 0.95])
        below = int((times.pulls < sum(TABLE_1["LinGapE"])).sum())
        rows.append(
            {
                "what": title,
                "runs": runs,
                "mean": times.mean,
                "standard error": times.error,
                "5 %": low,
                "median": median,
                "95 %": high,
                "below Table 1": below,
                "wrong": times.wrong,
            }
        )
    return rows


def dimension_rows(runs: int = 200) -> list[dict[str, Any]]:
    """Samples by dimension, with the paper's bound and with Mixture."""
    rows = []
    for d in range(2, 11):
        paper = stopping_times(soare(d, 0.01), PAPER, runs=runs)
        tight = stopping_times(soare(d, 0.01), Mixture(), runs=runs)
        refined = stopping_times(soare(d, 0.01), Mixture(refined=True), runs=runs)
        rows.append(
            {
                "d": d,
                "runs": runs,
                "paper": paper.mean,
                "paper error": paper.error,
                "mixture": tight.mean,
                "mixture error": tight.error,
                "refined": refined.mean,
                "ratio": paper.mean / tight.mean,
                "wrong": [paper.wrong, tight.wrong, refined.wrong],
            }
        )
    return rows


def tied_rows(runs: int = TIED_RUNS, rounds: int = TIED_ROUNDS) -> list[dict[str, Any]]:
    """False claims on tied arms."""
    rows = []
    for instance in tied_instances():
        for title, bound in (
            ("paper's (K²)", PAPER),
            ("Mixture", Mixture()),
            ("Mixture refined", Mixture(refined=True)),
        ):
            errors = false_separations(instance, bound, runs=runs, rounds=rounds)
            rows.append(
                {
                    "instance": instance.name,
                    "bound": title,
                    "runs": runs,
                    "rounds": rounds,
                    "errors": errors,
                    "rate": errors / runs,
                    "upper limit": upper_limit(errors, runs),
                }
            )
    return rows


def unproven_rows(runs: int = UNPROVEN_RUNS, rounds: int = TIED_ROUNDS) -> list[dict[str, Any]]:
    """What the rule of thumb without a proof does on tied arms, beside a bound with one."""
    rows = []
    for instance in (soare_tied(5, 0.01), canonical(5, 0.0)):
        for title, bound in (("Stylised", Stylised()), ("Mixture", Mixture())):
            rows.append(
                {
                    "instance": instance.name,
                    "bound": title,
                    "runs": runs,
                    "rounds": rounds,
                    "verdicts": false_separations(instance, bound, runs=runs, rounds=rounds),
                    "claims": false_claims(instance, bound, runs=runs, rounds=rounds),
                }
            )
    return rows


def main() -> None:
    """Print the tables of docs/bounds.md and write them as JSON."""
    rows = table_1_rows()
    record.write("table1", rows)
    header = ["soare(5, 0.01)", "mean ± s.e.", "5 % – median – 95 %", "below 431,119", "wrong"]
    cells = [
        [
            row["what"],
            f"{row['mean']:,.0f} ± {row['standard error']:,.0f}",
            f"{row['5 %']:,.0f} – {row['median']:,.0f} – {row['95 %']:,.0f}",
            f"{row['below Table 1']} of {row['runs']}",
            str(row["wrong"]),
        ]
        for row in rows
    ]
    print(markdown_table([header, *cells]), "\n")
    rows = dimension_rows()
    record.write("dimensions", rows)
    cells = [
        [
            str(row["d"]),
            f"{row['paper']:,.0f} ± {row['paper error']:,.0f}",
            f"{row['mixture']:,.0f} ± {row['mixture error']:,.0f}",
            f"{row['refined']:,.0f}",
            f"{row['ratio']:.1f}",
        ]
        for row in rows
    ]
    header = ["d", "paper's (K²)", "Mixture", "refined", "paper's/Mixture"]
    print(markdown_table([header, *cells]), "\n")
    rows = tied_rows()
    record.write("ties", rows)
    cells = [
        [
            row["instance"],
            row["bound"],
            f"{row['errors']} of {row['runs']}",
            f"{100 * row['rate']:.2f} %",
            f"{100 * row['upper limit']:.2f} %",
        ]
        for row in rows
    ]
    header = ["tied instance", "bound", "false", "rate", "95 % limit"]
    print(markdown_table([header, *cells]), "\n")
    rows = unproven_rows()
    record.write("unproven", rows)
    cells = [
        [
            row["instance"],
            row["bound"],
            *(
                f"{row[what]} of {row['runs']} ({100 * row[what] / row['runs']:.1f} %)"
                for what in ("verdicts", "claims")
            ),
        ]
        for row in rows
    ]
    header = ["tied instance", "bound", "false verdicts", "false claims about a pair"]
    print(markdown_table([header, *cells]))
    print(provenance())


if __name__ == "__main__":
    main()
