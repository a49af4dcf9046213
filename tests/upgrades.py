"""Write what a version leaves behind, for later versions to read.

    python tests/upgrades.py

writes into tests/written_by/VERSION: a database with a log in which each kind of event occurs, its
export, the state of every explorer in the middle of a search, and the rows of a study. Run it when
a version is released, commit what it wrote, and never change it again (tests/test_upgrades.py).
"""

import json
import random
import sys
from pathlib import Path

import arithmetic  # noqa: F401  before NumPy
import lingape
from lingape import (
    BUDGET_EXPLORERS,
    EXPLORERS,
    Binary,
    Experiment,
    Factors,
    LinGapE,
    Problem,
    Race,
    Study,
    canonical,
)

KEPT = Path(__file__).parent / "written_by"
ARMS = [[1.0, 0.1, 0.2], [1.0, 0.9, 0.3], [1.0, 0.2, 0.8], [1.0, 1.1, 0.7]]  # no ties
THETA = [0.2, 0.1, 0.3]
PULLS = 40  # of the explorers whose states are kept


def pays(arm, chance):
    """Return a reward of an arm of the kept problem."""
    mean = sum(x * weight for x, weight in zip(ARMS[arm], THETA, strict=True))
    return round(chance.gauss(mean, 0.5), 6)


def explorer_called(name):
    """Return an explorer for the kept problem, given by its name in a registry."""
    problem = Problem(ARMS, noise=0.5, epsilon=0.01, norm_bound=1.0)
    if name in BUDGET_EXPLORERS:
        return BUDGET_EXPLORERS[name](problem, budget=200)
    extra = {"theta": THETA} if name == "xy_oracle" else {}
    return EXPLORERS[name](problem, **extra)


def played(explorer, pulls):
    """Tell an explorer rewards of the kept problem, until it is over or has so many."""
    chance = random.Random(1)
    while not explorer.done and sum(explorer.counts) < pulls:
        arm = explorer.ask()
        explorer.tell(arm, pays(arm, chance))
    return explorer


def experiments(url):
    """Leave experiments in a database: one with every kind of event, and one that is settled."""
    chance = random.Random(0)
    pictures, later = ["none", "photo", "drawing"], {"headline": "question", "picture": "drawing"}
    factors = Factors(headline=["plain", "question"], picture=pictures, exclude=[later])
    problem = Problem(factors, noise=Binary(), epsilon=0.15, control=0)
    words = {"question": "Which ad?", "notes": "Kept for later versions.", "owner": "tests"}
    with Experiment.open(url, "ads", create=problem, **words) as ads:
        for _ in range(120):
            for ticket in ads.ask(2, worker="shop"):
                rate = 0.3 + 0.4 * (ticket.levels["picture"] == "photo")
                ads.tell(ticket, float(chance.random() < rate))
        (lost,) = ads.ask(worker="shop")
        ads.void(lost, reason="page did not load")
        ads.add(arm=1, reward=1.0)
        (wrong,) = ads.ask(worker="shop")
        ads.tell(wrong, 0.0)
        ads.correct(wrong.id, 1.0, reason="typing error")
        ads.add_arms([later])
        ads.retire(3, reason="sold out")
        ads.archive()
        ads.ask(3, worker="shop")  # left pending
        ads.refit("ads-per-arm", per_arm=True).close()
    simple = Problem(ARMS, noise=0.5, epsilon=0.3, names=["a", "b", "c", "d"])
    with Experiment.open(url, "settled", create=simple, explorer="lingape") as settled:
        settled.run(lambda ticket: pays(ticket.arm, chance), workers=1)
        settled.add(arm=0, reward=0.1)


def states():
    """Return for each explorer its state in the middle, and what it then says."""
    found = {}
    for name in sorted({**EXPLORERS, **BUDGET_EXPLORERS}):
        explorer = played(explorer_called(name), PULLS)
        found[name] = {
            "state": explorer.state(),
            "counts": [int(count) for count in explorer.counts],
            "next": None if explorer.done else int(explorer.ask()),
            "claim": explorer.certificate().claim,
        }
    return found


def study():
    """Return the study whose rows are kept."""
    return Study({"lingape": LinGapE, "race": Race}, [canonical(3, gap=1.0)], seeds=3)


def write(folder):
    """Write all of it into a new folder."""
    folder.mkdir(parents=True)
    url = f"sqlite:///{folder / 'run.db'}"
    experiments(url)
    with Experiment.open(url, "ads") as ads:
        ads.export(folder / "ads.jsonl")
    (folder / "states.json").write_text(json.dumps(states(), indent=1) + "\n", encoding="utf-8")
    study().run(path=folder / "rows.jsonl", jobs=1)


if __name__ == "__main__":
    where = KEPT / lingape.__version__
    if where.exists():
        sys.exit(f"{where} exists already: what a version wrote is never changed.")
    write(where)
