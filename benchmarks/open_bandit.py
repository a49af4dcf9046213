"""What a real click log can prove: `python -m benchmarks.open_bandit PATH` (some minutes).

PATH is the wheel of obp, which has a sample of the Open Bandit Dataset (`pip download obp
--no-deps`), or the folder `obd` of an unpacked one. docs/open-bandit.md has the findings.

The log is that of a policy that picks items at random, so each item's rows are a fair sample of
its clicks, and the log can answer an explorer that chooses: it asks for an item and is told the
next row of that item.
"""

import argparse
import csv
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import record
from lingape import Problem, Race, ZeroOne, run
from lingape.arrays import FloatArray
from lingape.complexity import characteristic_time, divergence
from lingape.designs import xy
from lingape.printable import markdown_table

CAMPAIGNS = ("all", "men", "women")
DELTA = 0.05
LIMIT = 100_000_000  # pulls of a simulated run
SEEDS = 10
NEEDED = ("R = 1/2, at least", "variances known, at least", f"Race, {SEEDS} runs")
DRAWS = 20_000  # of clicks among items, to test whether items differ


@dataclass(frozen=True, eq=False)
class Log:
    """The rows of a campaign, in order of time: the item shown, and whether it was clicked."""

    campaign: str
    items: list[int]
    clicks: list[int]
    features: FloatArray  # a row for each item

    @property
    def shown(self) -> FloatArray:
        """How often each item was shown."""
        return np.bincount(self.items, minlength=len(self.features)).astype(np.float64)

    @property
    def clicked(self) -> FloatArray:
        """How often each item was clicked."""
        counts = np.bincount(self.items, weights=self.clicks, minlength=len(self.features))
        return counts.astype(np.float64)

    def rewards(self) -> list[Iterator[int]]:
        """Return the clicks of each item, in order of time."""
        found: list[list[int]] = [[] for _ in self.features]
        for item, click in zip(self.items, self.clicks, strict=True):
            found[item].append(click)
        return [iter(clicks) for clicks in found]


def read(path: Path, campaign: str) -> Log:
    """Return the log of the random policy in a campaign."""
    rows = sorted(_table(path, f"random/{campaign}/{campaign}.csv"), key=lambda r: r["timestamp"])
    items = sorted(_table(path, f"random/{campaign}/item_context.csv"), key=_item)
    assert [_item(row) for row in items] == list(range(len(items)))
    return Log(
        campaign,
        [_item(row) for row in rows],
        [int(row["click"]) for row in rows],
        _features(items),
    )


def _item(row: dict[str, str]) -> int:
    return int(row["item_id"])


def _table(path: Path, name: str) -> list[dict[str, str]]:
    if path.is_dir():
        text = (path / name).read_text()
    else:
        with zipfile.ZipFile(path) as wheel:
            text = wheel.read(f"obp/dataset/obd/{name}").decode()
    return list(csv.DictReader(io.StringIO(text)))


def _features(items: list[dict[str, str]]) -> FloatArray:
    """Return a constant, the one numeric feature, and indicators of the coarsest other one."""
    kinds = sorted({row["item_feature_3"] for row in items})
    return np.array(
        [
            [1.0, float(row["item_feature_0"])]
            + [float(row["item_feature_3"] == kind) for kind in kinds[1:]]
            for row in items
        ]
    )


def replay(explorer: Race, log: Log) -> None:
    """Tell the next row of the item that is asked for, until it has none left."""
    rewards = log.rewards()
    while not explorer.done:
        item = explorer.ask()
        click = next(rewards[item], None)
        if click is None:
            return
        explorer.tell(item, click)


def in_order(explorer: Race, log: Log) -> None:
    """Tell all rows as they come; the policy chose the items, and not by clicks."""
    for item, click in zip(log.items, log.clicks, strict=True):
        explorer.tell(item, click)


def proven(log: Log) -> list[dict[str, Any]]:
    """Return what the log proves, without and with features, replayed and in order."""
    found = []
    for name, arms in (("none", np.eye(len(log.features))), ("item", log.features)):
        for feed in (replay, in_order):
            explorer = Race(Problem(arms, noise="binary", delta=DELTA))
            feed(explorer, log)
            p = explorer.p_values
            found.append(
                {
                    "campaign": log.campaign,
                    "features": name,
                    "dimensions": explorer.problem.rank,
                    "fed": feed.__name__,
                    "rows": int(explorer.counts.sum()),
                    "ruled_out": int((p <= DELTA).sum()),
                    "smallest_p": np.sort(p)[:3].tolist(),
                    "done": explorer.done,
                }
            )
    return found


def differ(log: Log) -> float:
    """Return a p-value of all items having the same rate: Pearson's statistic, by permutation."""
    shown, clicked = log.shown.astype(np.int64), log.clicked
    total = int(clicked.sum())
    expected = total * shown / shown.sum()
    drawn = np.random.default_rng(0).multivariate_hypergeometric(shown, total, size=DRAWS)
    spread = ((np.vstack([clicked, drawn]) - expected) ** 2 / expected).sum(axis=1)
    return float((spread >= spread[0] - 1e-9).mean())


def needed(log: Log) -> dict[str, Any]:
    """Return how many impressions it would take if the rates in the log were the truth.

    Rates are (clicks + 1/2)/(shown + 1): no item is never clicked.
    """
    rates = (log.clicked + 0.5) / (log.shown + 1.0)
    arms = np.eye(len(rates))
    problem = Problem(arms, noise="binary", delta=DELTA)
    best, second = np.argsort(-rates)[:2]
    others = np.flatnonzero(np.arange(len(rates)) != best)
    scaled = arms / np.sqrt(rates * (1.0 - rates))[:, None]
    design = xy(
        scaled, arms[best] - arms[others], gaps=rates[best] - rates[others], tolerance=1e-3
    )
    runs = [
        run(Race(problem), ZeroOne(arms, rates), seed=seed, max_pulls=LIMIT)
        for seed in range(SEEDS)
    ]
    return {
        "campaign": log.campaign,
        "shown": len(log.items),
        "items": len(rates),
        "clicks": sum(log.clicks),
        "differ": differ(log),
        "best": float(rates[best]),
        "second": float(rates[second]),
        # 2.65·T*: with Gaussian noise that has R = 1/2, which is all that LinGapE uses, and with
        # the variances that 0/1 rewards have.
        "least_half": characteristic_time(problem, rates, tolerance=1e-3).samples(DELTA),
        "least_known": divergence(DELTA) * 2.0 * design.lower_bound,
        "race": [result.pulls for result in runs],
        "settled": [result.certificate.settled for result in runs],
        "correct": [result.correct for result in runs],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("path", type=Path, help="the wheel of obp, or its folder obd")
    given = parser.parse_args()
    logs = [read(given.path, campaign) for campaign in CAMPAIGNS]
    rows = [row for log in logs for row in proven(log)]
    table = [["campaign", "features", "rows told", "used", "p ≤ 0.05", "smallest p", "proven"]]
    for row in rows:
        features = "none" if row["features"] == "none" else f"{row['dimensions']} dimensions"
        smallest = ", ".join(f"{p:.2f}" for p in row["smallest_p"])
        fed = row["fed"].replace("_", " ")
        cells = [row["campaign"], features, fed, f"{row['rows']:,}", str(row["ruled_out"])]
        table.append([*cells, smallest, "the best item" if row["done"] else "nothing"])
    print(markdown_table(table, "lllrrll"))
    costs = [needed(log) for log in logs]
    table = [["campaign", "items", "clicks", "all the same?", "best two rates", *NEEDED]]
    for cost in costs:
        pulls, settled = cost["race"], all(cost["settled"])
        told = f"{np.mean(pulls):,.0f} ({min(pulls):,} to {max(pulls):,})"
        facts = [cost["campaign"], str(cost["items"]), str(cost["clicks"])]
        rates = f"{cost['best']:.2%}, {cost['second']:.2%}"
        least = [f"{cost['least_half']:,.0f}", f"{cost['least_known']:,.0f}"]
        told = told if settled else f"more than {told}"
        table.append([*facts, f"p = {cost['differ']:.2f}", rates, *least, told])
    print(markdown_table(table, "lrrllrrl"))
    print(record.write("open_bandit", [*rows, *costs]))


if __name__ == "__main__":
    main()
