"""Write what a version leaves behind, for later versions to read.

    python tests/upgrades.py

writes into tests/written_by/VERSION, with what the version says about each of them:

- run.db: experiments in which each kind of event occurs, and NAME.jsonl, their exports;
- postgres.sql: the same experiments in PostgreSQL, as pg_dump writes them;
- states.json: the states of explorers, of every kind and with every part that is saved;
- rows.jsonl: the rows of a study.

Run it when a version is released, commit what it wrote, and never change it again: SHA256SUMS has
the hashes (tests/test_upgrades.py).
"""

import hashlib
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import arithmetic  # noqa: F401  before NumPy
import lingape
from lingape import (
    BOUNDS,
    BUDGET_EXPLORERS,
    EXPLORERS,
    Binary,
    Bounded,
    Experiment,
    Factors,
    LinGapE,
    Normal,
    Problem,
    Race,
    Study,
    Tracking,
    canonical,
)
from lingape.data import to_data

KEPT = Path(__file__).parent / "written_by"
SUMS = KEPT / "SHA256SUMS"
ARMS = [[1.0, 0.1, 0.2], [1.0, 0.9, 0.3], [1.0, 0.2, 0.8], [1.0, 1.1, 0.7]]  # no ties
THETA = [0.2, 0.1, 0.3]
PULLS = 40  # of the explorers whose states are kept
BEGAN = 1_750_000_000.0  # seconds since 1970
LATER = BEGAN + 3 * 86_400  # when experiments are looked at
# What is said in words, or foretold, may be said in a better way by a later version.
WORDS = {
    *("statement", "verdict", "remarks", "assumptions", "warnings", "caveat", "check"),
    *("remaining", "per_hour", "share_done", "certificate", "standings"),
}
QUOTED = ("sold out", "ads")  # in words, but said by users
NAMES = ("ads", "ads-per-arm", "ratings", "settled", "times")  # of experiments


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
    binary = isinstance(explorer.problem.noise, Binary)
    while not explorer.done and sum(explorer.counts) < pulls:
        arm = explorer.ask()
        reward = pays(arm, chance)
        explorer.tell(arm, float(reward > 0.3) if binary else max(-3.0, min(3.0, reward)))
    return explorer


# What is written


class Clock:
    """A time that passes by a second each time that it is looked at."""

    def __init__(self):
        self.time = BEGAN

    def __call__(self):
        self.time += 1.0
        return self.time


def begin_experiments(url):
    """Leave experiments in a database, with every kind of event, noise and ending."""
    chance, clock = random.Random(0), Clock()
    pictures, later = ["none", "photo", "drawing"], {"headline": "question", "picture": "drawing"}
    factors = Factors(headline=["plain", "question"], picture=pictures, exclude=[later])
    problem = Problem(factors, noise=Binary(), epsilon=0.15, control=0)
    words = {"question": "Which ad?", "notes": "Kept for later versions.", "owner": "tests"}
    with Experiment.open(url, "ads", create=problem, clock=clock, **words) as ads:
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
        ads.ask(3, worker="shop", ttl=None)  # left pending
        ads.ask(worker="till", ttl="6h", key="monday")  # overdue when it is looked at
        with ads.refit("ads-per-arm", per_arm=True) as refitted:
            refitted.add(arm=2, reward=1.0)
    simple = Problem(ARMS, noise=0.5, epsilon=0.3, names=["a", "b", "c", "d"])
    settings = {"create": simple, "explorer": "lingape", "clock": clock}
    with Experiment.open(url, "settled", **settings) as settled:
        settled.run(lambda ticket: pays(ticket.arm, chance), workers=1)
        settled.add(arm=0, reward=0.1)
    slowest = Problem(ARMS, noise=Normal(), epsilon=0.1, delta=0.1, minimize=True)
    with Experiment.open(url, "times", create=slowest, clock=clock) as times:
        for _ in range(60):
            (ticket,) = times.ask()
            times.tell(ticket, pays(ticket.arm, chance))
        times.correct(ticket.id, None, reason="no such trial")
    ratings = Problem(ARMS, noise=Bounded(-3, 3), epsilon=0.1)
    settings = {"create": ratings, "explorer": "lingape(pull=tracking, m=2)", "clock": clock}
    with Experiment.open(url, "ratings", **settings) as rated:
        for _ in range(60):
            (ticket,) = rated.ask(worker="shop")
            rated.tell(ticket, max(-3.0, min(3.0, pays(ticket.arm, chance))))


def facts(url, name):
    """Return what a log says, without words and without forecasts."""
    with Experiment.open(url, name, clock=lambda: LATER) as experiment:
        certificate = experiment.certificate().to_dict()
        return {
            "problem": experiment.problem.to_dict(),
            "status": _without_words(experiment.status().to_dict()),
            "certificate": _without_words(certificate),
            "arms": to_data(experiment.arms(sort="name").standings),
            "activity": to_data(experiment.activity()),
            "quoted": [words for words in QUOTED if words in certificate["statement"]],
            "events": len(experiment.events()),
        }


def explorers() -> Iterator[tuple[str, str, object]]:
    """Yield what each explorer that is kept is, its name in a registry, and itself."""
    for name in sorted({**EXPLORERS, **BUDGET_EXPLORERS}):
        yield name, name, played(explorer_called(name), PULLS)
    problem = {"noise": 0.5, "epsilon": 0.01, "norm_bound": 1.0}
    easy = Problem(ARMS, noise=0.5, epsilon=0.3)
    for name in ("lingape", "race", "xy_static"):
        yield f"{name}, settled", name, played(EXPLORERS[name](easy), 100_000)
    for noise in (Binary(), Bounded(-3, 3), Normal()):
        asked = Problem(ARMS, noise=noise, epsilon=0.01)
        yield f"race, {noise}", "race", played(Race(asked), PULLS)
    for name, bound in BOUNDS.items():
        asked, explorer = Problem(ARMS, **problem), "lingape"
        if name == "fixed_design":  # which needs a design that ignores rewards
            explorer = "xy_static"
        made = EXPLORERS[explorer](asked, bound=bound())
        yield f"{explorer}, {name}", explorer, played(made, PULLS)
    for settings in (
        {"pull": Tracking()},
        {"m": 2},
        {"start": "spanning"},
        {"elimination": "stop"},
        {"elimination": "sample"},
    ):
        made = LinGapE(Problem(ARMS, **problem), **settings)
        yield f"lingape, {settings}", "lingape", played(made, PULLS)
    factors = Factors(size=["s", "l"], colour=["red", "blue"], interactions=[("size", "colour")])
    items = [[1.0, 0.0, 0.5], [1.0, 1.0, 0.0]]
    for what, asked in {
        "minimize": Problem(ARMS, minimize=True, **problem),
        "items": Problem.transductive(ARMS, items, **problem),
        "factors": Problem(factors, noise=0.5, epsilon=0.01, control=1),
        "names": Problem(ARMS, names=["a", "b", "c", "d"], **problem),
    }.items():
        yield f"lingape, {what}", "lingape", played(LinGapE(asked), PULLS)


def said_by(explorer):
    """Return what an explorer says, and then says after one more reward."""
    said = {"counts": [int(count) for count in explorer.counts], "done": explorer.done}
    said["certificate"] = _without_words(explorer.certificate().to_dict())
    if not explorer.done:
        said["next"] = int(explorer.ask())
        explorer.tell(said["next"], 1.0)
        said["then"] = _without_words(explorer.certificate().to_dict())
    return said


def _without_words(data):
    return {key: data[key] for key in sorted(data.keys() - WORDS)}


def states():
    """Return the state of each explorer that is kept, and what it then says."""
    found = {}
    for what, name, explorer in explorers():
        state = json.loads(json.dumps(explorer.state()))
        found[what] = {"explorer": name, "state": state, "said": said_by(explorer)}
    return found


def study():
    """Return the study whose rows are kept."""
    return Study({"lingape": LinGapE, "race": Race}, [canonical(3, gap=1.0)], seeds=3)


def write(folder):
    """Write all of it into a new folder."""
    folder.mkdir(parents=True)
    url = f"sqlite:///{folder / 'run.db'}"
    begin_experiments(url)
    for name in NAMES:
        with Experiment.open(url, name) as experiment:
            experiment.export(folder / f"{name}.jsonl")
    rows = study().run(path=folder / "rows.jsonl", jobs=1).rows
    said = {
        "experiments": {name: facts(url, name) for name in NAMES},
        "rows": [asdict(row) for row in rows],
    }
    for name, data in {"said": said, "states": states()}.items():
        text = json.dumps(data, indent=1, default=list) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


def write_postgres(path):
    """Write experiments in PostgreSQL, whose tables have another form."""
    sys.path.insert(0, str(Path(__file__).parent / "live"))
    import postgres

    server = postgres.Server()
    try:
        begin_experiments(server.url)
        path.write_text(server.dump(), encoding="utf-8")
    finally:
        server.remove()


def lines():
    """Return a line for each file that is kept, as in SHA256SUMS: its hash, its path in KEPT."""
    files = sorted(path for path in KEPT.glob("*/*") if path.is_file())
    return [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(KEPT).as_posix()}"
        for path in files
    ]


if __name__ == "__main__":
    where = KEPT / lingape.__version__
    before = SUMS.read_text(encoding="utf-8").splitlines() if SUMS.exists() else []
    if where.exists() or before != lines():
        sys.exit(
            f"What a version wrote is never changed: {where} exists, or SHA256SUMS disagrees."
        )
    write(where)
    write_postgres(where / "postgres.sql")
    SUMS.write_text("\n".join([*lines(), ""]), encoding="utf-8")
