"""How many samples LinGapE takes by how it starts: `python -m benchmarks.starts` (half an hour).

By this start="auto" was decided (docs/how-to-choose.md).
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import record
from lingape import Instance, Study, canonical, soare, sparse, sphere
from lingape.printable import markdown_table
from lingape.scaffold import opening_for

SEEDS = 60
LEVELS = {  # how hard: what the problem is posed with
    "easy": {"epsilon": 0.5},
    "quiet": {"epsilon": 0.1, "noise": 0.3},
    "hard": {"epsilon": 0.1},
}


def instances() -> Iterator[tuple[str, list[Instance]]]:
    """Yield a name and the instances whose samples are added up under it."""
    for d in (3, 10, 20):
        for count in (20, 40, 100, 200, 500):
            if count >= 2 * d:
                yield f"sphere({count}, {d})", [sphere(count, d, seed) for seed in range(4)]
    yield "sphere(500, 20), other draws", [sphere(500, 20, seed) for seed in range(4, 12)]
    for instance in (soare(5, 0.5), canonical(10, 1.0), sparse(60, 20), sparse(300, 20)):
        yield instance.name, [instance]


def compared(found: list[Instance], level: str) -> dict[str, float]:
    """Return mean samples with each start, and their ratio with its standard error."""
    explorers = {start: f"lingape(start={start})" for start in ("each", "spanning")}
    rows = Study(explorers, found, seeds=SEEDS, problem=LEVELS[level]).run(jobs=2).rows
    each, spanning = (
        np.array([row.pulls for row in rows if row.explorer == start], dtype=float)
        for start in explorers
    )
    ratio = spanning.mean() / each.mean()
    error = (spanning - ratio * each).std(ddof=1) / math.sqrt(len(each)) / each.mean()
    return {
        "each": float(each.mean()),
        "spanning": float(spanning.mean()),
        "ratio": float(ratio),
        "error": float(error),
    }


def main() -> None:
    rows: list[dict[str, Any]] = []
    for name, found in instances():
        chosen = type(opening_for("auto", found[0].problem())).__name__
        for level in LEVELS:
            rows.append({"instances": name, "level": level, "auto": chosen})
            rows[-1] |= compared(found, level)
            print(rows[-1], flush=True)
    table = [["instance", "level", "each", "spanning", "spanning/each", "auto"]]
    table += [
        [
            row["instances"],
            row["level"],
            f"{row['each']:,.0f}",
            f"{row['spanning']:,.0f}",
            f"{row['ratio']:.3f} ± {row['error']:.3f}",
            row["auto"],
        ]
        for row in rows
    ]
    print(markdown_table(table))
    print(record.write("starts", rows))


if __name__ == "__main__":
    main()
