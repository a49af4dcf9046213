"""What K - 1 comparisons save over all pairs: `python -m benchmarks.comparisons` (some minutes).

It prints the table of docs/bounds.md.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from benchmarks import record
from lingape import (
    RAGE,
    FixedDesign,
    Instance,
    Problem,
    XYStatic,
    canonical,
    items,
    run,
    soare,
    sparse,
    sphere,
)
from lingape.explorers import Explorer
from lingape.printable import markdown_table

Build: TypeAlias = Callable[[Problem], Explorer]
DELTA = 0.05
INSTANCES = (
    soare(5, 0.1),
    soare(5, 0.03),
    canonical(5, 0.5),
    sphere(50, 10, 2),
    sparse(60, 20),
    items(5, 30),
)


def rage_by_pairs(problem: Problem) -> Explorer:
    """Return RAGE with |Z|(|Z| - 1) comparisons: a share of δ for each of |Z| arms more."""
    return RAGE(problem.replace(delta=problem.delta / int(problem.can_answer.sum())))


def static(problem: Problem) -> Explorer:
    return XYStatic(problem, bound=FixedDesign())


def static_by_pairs(problem: Problem) -> Explorer:
    return XYStatic(problem, bound=FixedDesign(comparisons="K^2"))


def mean_pulls(build: Build, instance: Instance, seeds: int) -> float:
    """Return the mean number of samples, of runs that were all right."""
    problem = instance.problem(delta=DELTA)
    results = [run(build(problem), instance.gaussian(), seed=seed) for seed in range(seeds)]
    assert all(result.correct for result in results)
    return float(np.mean([result.pulls for result in results]))


def main() -> None:
    rows: list[dict[str, Any]] = []
    for instance in INSTANCES:
        pairs: list[tuple[str, Build, Build, int]] = [("RAGE", rage_by_pairs, RAGE, 40)]
        if instance.problem().plain:
            pairs.append(("XYStatic", static_by_pairs, static, 20))
        for name, before, after, seeds in pairs:
            means = [mean_pulls(build, instance, seeds) for build in (before, after)]
            row = {"instance": instance.name, "explorer": name}
            rows.append(row | {"pairs": means[0], "best": means[1]})
    table = [["instance", "explorer", "all pairs", "K - 1", "saved"]]
    table += [
        [
            row["instance"],
            row["explorer"],
            f"{row['pairs']:,.0f}",
            f"{row['best']:,.0f}",
            f"{1 - row['best'] / row['pairs']:.0%}",
        ]
        for row in rows
    ]
    print(markdown_table(table))
    print(record.write("comparisons", rows))


if __name__ == "__main__":
    main()
