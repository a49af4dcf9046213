"""How many samples an even split takes by what it stops by: `python -m benchmarks.even_splits`.

Arms are unrelated, with one feature each, and the first is better than the others, which are all
the same. FixedDesign pays for the time, and Mixture for the number of features.
"""

from typing import Any

import numpy as np

from benchmarks import record
from lingape import FixedDesign, Gaussian, Mixture, Problem, Uniform, run_many
from lingape.printable import markdown_table

GAP = 0.5
RUNS = 100


def mean_pulls(count: int, bound: Mixture | FixedDesign) -> tuple[float, float]:
    """Return the mean number of samples, and its standard error."""
    arms = np.eye(count)
    world = Gaussian(arms, GAP * arms[0])
    pulls = run_many(Uniform(Problem(arms, noise=1.0), bound=bound), world, runs=RUNS).pulls
    return float(pulls.mean()), float(pulls.std(ddof=1) / RUNS**0.5)


def main() -> None:
    rows: list[dict[str, Any]] = []
    for count in (2, 5, 10, 20, 40, 80):
        (mixture, error), (fixed, other) = (
            mean_pulls(count, bound) for bound in (Mixture(), FixedDesign())
        )
        row = {"arms": count, "mixture": mixture, "mixture_error": error}
        rows.append(row | {"fixed_design": fixed, "fixed_design_error": other})
    table = [["arms", "Mixture", "FixedDesign", "FixedDesign / Mixture"]]
    table += [
        [
            str(row["arms"]),
            f"{row['mixture']:,.0f} ± {row['mixture_error']:,.0f}",
            f"{row['fixed_design']:,.0f} ± {row['fixed_design_error']:,.0f}",
            f"{row['fixed_design'] / row['mixture']:.2f}",
        ]
        for row in rows
    ]
    print(markdown_table(table))
    print(record.write("even-splits", rows))


if __name__ == "__main__":
    main()
