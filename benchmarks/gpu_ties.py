"""Error rates on tied arms from a hundred thousand runs and more, on a GPU (docs/bounds.md).

    python -m benchmarks.gpu_ties [--scale 1]

Two or more arms are exactly equal and best. So every run of LinGapE that stops makes a false
claim, and a race may discard each of them in a share δ of runs at most.
"""

import argparse
from functools import partial
from itertools import product
from typing import Any

from benchmarks import record
from benchmarks.coverage import best_arms, coverage_row, ties
from benchmarks.gpu_workers import alone, gpu_or_exit, side_by_side
from benchmarks.guarantees import DELTA, TIED_ROUNDS, tied_instances, upper_limit
from lingape import LinGapE, Mixture, Race, Stylised, run_many
from lingape.paper.settings import BOUND as PAPER
from lingape.printable import markdown_table
from lingape.provenance import provenance

BOUNDS = {"paper's (K²)": PAPER, "Mixture": Mixture(), "Stylised": Stylised()}
RUNS = 100_000


def tied_row(scale: float, case: tuple[int, str]) -> dict[str, Any]:
    """Count false verdicts of LinGapE on an instance, with a bound."""
    (number, title), runs = case, round(scale * RUNS)
    instance = tied_instances()[number]
    explorer = LinGapE(instance.problem(norm_bound=2.0, delta=DELTA), bound=BOUNDS[title])
    play = partial(run_many, explorer, instance.gaussian(), lane="gpu")
    play(runs=1, max_pulls=100)  # compile
    with alone():
        errors = int(play(runs=runs, max_pulls=TIED_ROUNDS).settled.sum())
    return {
        "instance": instance.name,
        "bound": title,
        "runs": runs,
        "rounds": TIED_ROUNDS,
        "errors": errors,
        "rate": errors / runs,
        "upper limit": upper_limit(errors, runs),
    }


def race_row(scale: float, name: str) -> dict[str, Any]:
    """Count which of the best arms races discard on a tie."""
    tie = ties()[name]
    play = partial(run_many, Race(tie.problem), tie.world(), lane="gpu")
    play(runs=1, max_pulls=100)  # compile
    with alone():
        many = play(runs=round(scale * RUNS), max_pulls=tie.pulls)
    assert many.in_play is not None
    return coverage_row(name, ~many.in_play[:, best_arms(tie.instance)]) | {"pulls": tie.pulls}


def row_of(scale: float, case: tuple[int, str] | str) -> dict[str, Any]:
    """Return the row of either kind."""
    return race_row(scale, case) if isinstance(case, str) else tied_row(scale, case)


def main() -> None:
    """Print the tables of docs/bounds.md and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="So many times as many runs.")
    scale, gpu = parser.parse_args().scale, gpu_or_exit()
    verdicts = list(product(range(len(tied_instances())), BOUNDS))
    cases: list[tuple[int, str] | str] = [*ties(), *verdicts]
    found: dict[tuple[int, str] | str, dict[str, Any]] = {}
    for case, row in side_by_side(partial(row_of, scale), cases):
        found[case] = row
        rows = [found[case] for case in verdicts if case in found]
        races = [found[name] for name in ties() if name in found]
        record.write("gpu-ties", rows, gpu=gpu)  # so that what is done is kept
        record.write("gpu-coverage", races, gpu=gpu)
    header = ["tied instance", "bound", "false", "rate", "95 % limit"]
    cells = [
        [
            row["instance"],
            row["bound"],
            f"{row['errors']:,} of {row['runs']:,}",
            f"{row['rate']:.3%}",
            f"{row['upper limit']:.3%}",
        ]
        for row in rows
    ]
    print(markdown_table([header, *cells]), "\n")
    header = ["ties", "worst best arm discarded", "95 % interval", "any of them", "all of them"]
    cells = [
        [
            row["tie"],
            f"{row['discarded']:,} of {row['runs']:,}",
            f"{row['low']:.2%} – {row['high']:.2%}",
            f"{row['any']:,}",
            f"{row['none_left']:,}",
        ]
        for row in races
    ]
    print(markdown_table([header, *cells]))
    print(f"\n{gpu}, {provenance()}\nwritten to {record.RESULTS}")


if __name__ == "__main__":
    main()
