"""Error rates on tied arms from a hundred thousand runs and more, on a GPU (docs/bounds.md).

Two or more arms are exactly equal and best, so that every run that stops makes a false claim.
"""

import sys
from typing import Any

from benchmarks import record
from benchmarks.guarantees import DELTA, TIED_ROUNDS, tied_instances, upper_limit
from lingape import LinGapE, Mixture, SelfNormalized, Stylised, run_many
from lingape.many import gpu_name
from lingape.paper.settings import BOUND as PAPER
from lingape.printable import markdown_table
from lingape.provenance import provenance

CASES = (
    ("paper's (K²)", PAPER, 200_000),
    ("paper's, as printed", SelfNormalized(), 200_000),
    ("Mixture", Mixture(), 200_000),
    ("Stylised", Stylised(), 200_000),
)


def tied_rows(scale: float) -> list[dict[str, Any]]:
    """Count false verdicts.

    scale: how many runs there are, relative to CASES.
    """
    rows = []
    for instance in tied_instances():
        problem = instance.problem(norm_bound=2.0, delta=DELTA)
        for title, bound, runs in CASES:
            many = run_many(
                LinGapE(problem, bound=bound),
                instance.gaussian(),
                runs=round(scale * runs),
                max_pulls=TIED_ROUNDS,
                lane="gpu",
            )
            errors = int(many.settled.sum())
            rows.append(
                {
                    "instance": instance.name,
                    "bound": title,
                    "runs": len(many),
                    "rounds": TIED_ROUNDS,
                    "errors": errors,
                    "rate": errors / len(many),
                    "upper limit": upper_limit(errors, len(many)),
                    "seconds": many.seconds,
                }
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Print the table of docs/bounds.md and write it as JSON."""
    rows = tied_rows(float(sys.argv[1]) if sys.argv[1:] else 1.0)
    path = record.write("gpu-ties", rows, gpu=gpu_name())
    cells = [
        [
            row["instance"],
            row["bound"],
            f"{row['errors']:,} of {row['runs']:,}",
            f"{100 * row['rate']:.3f} %",
            f"{100 * row['upper limit']:.3f} %",
        ]
        for row in rows
    ]
    header = ["tied instance", "bound", "false", "rate", "95 % limit"]
    print(markdown_table([header, *cells]))
    print(f"\n{gpu_name()}, {provenance()}\nwritten to {path}")


if __name__ == "__main__":
    main()
