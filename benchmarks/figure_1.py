"""Figure 1 of the paper with a thousand repeats.

    python -m benchmarks.figure_1 gpu [--repeats 1000]
    python -m benchmarks.figure_1 processor

LinGapE is for a GPU. The rivals have long plans, which processors follow faster. All runs of
XY-adaptive are equally long: ten are played.
"""

import argparse
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.gpu_workers import alone, gpu_or_exit, side_by_side
from lingape import Study, run_many, soare
from lingape.paper import settings
from lingape.paper.figure_1 import ANGLE
from lingape.printable import markdown_table
from lingape.provenance import provenance

ON_GPU = {"LinGapE": settings.lingape, "LinGapE, tight": settings.lingape_tight}
ON_PROCESSOR = {
    "XY-static": settings.xy_static,
    "XY-oracle": settings.xy_oracle,
    "XY-adaptive": settings.xy_adaptive,
}
PARTS: dict[str, dict[str, Any]] = {"gpu": ON_GPU, "processor": ON_PROCESSOR}
FEWER = {"XY-adaptive": 10}
DIMENSIONS = range(2, 11)
SOME = 50  # runs that a process plays at once
LIMIT = 1_000_000_000


class Case(NamedTuple):
    """Some of the runs."""

    explorer: str
    d: int
    first: int
    end: int


def cases(part: str, repeats: int) -> list[Case]:
    """Return all runs of a part, the longest first."""
    found = []
    for explorer in PARTS[part]:
        runs = min(repeats, FEWER.get(explorer, repeats))
        some = runs if part == "gpu" else SOME
        for d in reversed(DIMENSIONS):
            for first in range(0, runs, some):
                found.append(Case(explorer, d, first, min(first + some, runs)))
    return found


def played(case: Case) -> tuple[list[int], int]:
    """Return the pulls of some runs, and how many were wrong."""
    instance = soare(case.d, ANGLE)
    if case.explorer in ON_GPU:
        explorer = ON_GPU[case.explorer](settings.synthetic_problem(instance))
        play = partial(run_many, explorer, instance.gaussian(), lane="gpu")
        play(runs=1, max_pulls=100)  # compile
        with alone():
            many = play(runs=case.end, max_pulls=LIMIT)
        assert many.settled.all()
        return many.pulls.tolist(), many.wrong
    study = Study(
        {case.explorer: ON_PROCESSOR[case.explorer]},
        [instance],
        seeds=range(case.first, case.end),
        max_pulls=LIMIT,
        problem=settings.SYNTHETIC,
    )
    rows = study.run(jobs=1).rows
    assert all(row.settled for row in rows)
    return [row.pulls for row in rows], sum(not row.correct for row in rows)


def summary(explorer: str, d: int, pulls: list[int], wrong: int) -> dict[str, Any]:
    """Return the row of an explorer and a dimension."""
    error = float(np.std(pulls, ddof=1) / len(pulls) ** 0.5) if len(pulls) > 1 else 0.0
    return {
        "explorer": explorer,
        "d": d,
        "runs": len(pulls),
        "mean": float(np.mean(pulls)),
        "standard error": error,
        "wrong": wrong,
    }


def main() -> None:
    """Print a table for docs/speed.md and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--repeats", type=int, default=1_000)
    given = parser.parse_args()
    name, more = f"figure1-{given.part}", {"gpu": gpu_or_exit()} if given.part == "gpu" else {}
    pulls: dict[tuple[str, int], list[int]] = {}
    wrong: dict[tuple[str, int], int] = {}
    for (explorer, d, _, _), found in side_by_side(played, cases(given.part, given.repeats)):
        pulls.setdefault((explorer, d), []).extend(found[0])
        wrong[explorer, d] = wrong.get((explorer, d), 0) + found[1]
        rows = [summary(*place, pulls[place], wrong[place]) for place in sorted(pulls)]
        record.write(name, rows, **more)  # so that what is done is kept
    cells = [
        [
            row["explorer"],
            str(row["d"]),
            f"{row['runs']:,}",
            f"{row['mean']:,.0f} ± {row['standard error']:,.0f}",
            str(row["wrong"]),
        ]
        for row in rows
    ]
    print(markdown_table([["explorer", "d", "runs", "pulls", "wrong"], *cells], "lrrr"))
    print(f"\n{provenance()}\nwritten to {record.RESULTS / name}.json")


if __name__ == "__main__":
    main()
