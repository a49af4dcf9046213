"""Error rates on tied arms from a hundred thousand runs and more, on a GPU (docs/bounds.md).

    python -m benchmarks.gpu_ties [--scale 1]

Two or more arms are exactly equal and best. So every run of LinGapE that stops makes a false
claim, and a race may discard each of them in a share δ of runs at most.
"""

import argparse
import sys
from typing import Any

from benchmarks import record
from benchmarks.coverage import best_arms, coverage_row, ties
from benchmarks.guarantees import DELTA, TIED_ROUNDS, tied_instances, upper_limit
from lingape import LinGapE, Mixture, Race, SelfNormalized, Stylised, run_many
from lingape.many import gpu_name
from lingape.paper.settings import BOUND as PAPER
from lingape.printable import markdown_table
from lingape.provenance import provenance

BOUNDS = {
    "paper's (K²)": PAPER,
    "paper's, as printed": SelfNormalized(),
    "Mixture": Mixture(),
    "Stylised": Stylised(),
}
RUNS, RACES = 100_000, 1_000_000


def tied_rows(runs: int) -> list[dict[str, Any]]:
    """Count false verdicts of LinGapE."""
    rows = []
    for instance in tied_instances():
        problem = instance.problem(norm_bound=2.0, delta=DELTA)
        for title, bound in BOUNDS.items():
            many = run_many(
                LinGapE(problem, bound=bound),
                instance.gaussian(),
                runs=runs,
                max_pulls=TIED_ROUNDS,
                lane="gpu",
            )
            errors = int(many.settled.sum())
            rows.append(
                {
                    "instance": instance.name,
                    "bound": title,
                    "runs": runs,
                    "rounds": TIED_ROUNDS,
                    "errors": errors,
                    "rate": errors / runs,
                    "upper limit": upper_limit(errors, runs),
                    "seconds": many.seconds,
                }
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def race_rows(runs: int) -> list[dict[str, Any]]:
    """Count which of the best arms races discard."""
    rows = []
    for name, tie in ties().items():
        world = tie.world()
        many = run_many(Race(tie.problem), world, runs=runs, max_pulls=tie.pulls, lane="gpu")
        assert many.in_play is not None
        row = coverage_row(name, ~many.in_play[:, best_arms(tie.instance)])
        rows.append(row | {"pulls": tie.pulls, "seconds": many.seconds})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Print the tables of docs/bounds.md and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="So many times as many runs.")
    scale = parser.parse_args().scale
    rows = tied_rows(round(scale * RUNS))
    path = record.write("gpu-ties", rows, gpu=gpu_name())
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
    header = ["tied instance", "bound", "false", "rate", "95 % limit"]
    print(markdown_table([header, *cells]))
    print(f"\n{gpu_name()}, {provenance()}\nwritten to {path}\n")
    races = race_rows(round(scale * RACES))
    path = record.write("gpu-coverage", races, gpu=gpu_name())
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
    header = ["ties", "worst best arm discarded", "95 % interval", "any of them", "all of them"]
    print(markdown_table([header, *cells]))
    print(f"\n{gpu_name()}, {provenance()}\nwritten to {path}")


if __name__ == "__main__":
    main()
