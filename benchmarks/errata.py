"""What other readings of the paper's settings would change: rows 3, 4 and 25 of ERRATA.md."""

import math
from collections.abc import Iterable
from typing import Any

from lingape import Instance, Study, canonical, soare
from lingape.paper import settings
from lingape.paper.movielens import load_movielens
from lingape.provenance import stamp


def mean_pulls(instances: Iterable[Instance], *, seeds: int, **how: Any) -> float:
    """Return the mean pulls of LinGapE as in the paper."""
    study = Study(
        {"LinGapE": settings.lingape}, instances, seeds=seeds, max_pulls=100_000_000, **how
    )
    rows = study.run().rows
    return sum(row.pulls for row in rows) / len(rows)


def main() -> None:
    for s in (2.0, 0.1):
        pulls = mean_pulls([canonical(5, 0.1)], seeds=40, problem={"norm_bound": s})
        print(f"row 3: canonical(5, 0.1), S = {s:g}: {pulls:,.0f}")
    gap = 2 * (1 - math.cos(0.01))
    pulls = mean_pulls([soare(5, 0.01)], seeds=40, problem={"norm_bound": 2.0, "epsilon": gap})
    print(f"row 4: soare(5, 0.01), ε = the gap: {pulls:,.0f}")
    data = load_movielens()
    draws = [data.sample(20, seed) for seed in range(20)]
    for r in (1.0, 2.0):
        pulls = mean_pulls(draws, seeds=1, world="signed", problem={"noise_scale": r})
        print(f"row 25: MovieLens, 20 arms, R = {r:g}: {pulls:,.0f}")
    print(stamp())


if __name__ == "__main__":
    main()
