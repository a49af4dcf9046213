"""What earlier versions wrote says the same to this one, and goes on (tests/upgrades.py)."""

import json
import shutil
from dataclasses import asdict

import pytest

import lingape
from lingape import BUDGET_EXPLORERS, EXPLORERS, Experiment
from lingape.live import Asked, experiments, read_export, verify
from lingape.live.events import KINDS
from upgrades import KEPT, LATER, NAMES, SUMS, explorer_called, facts, lines, said_by, study

VERSIONS = sorted(path for path in KEPT.iterdir() if path.is_dir())
REGISTRY = {**EXPLORERS, **BUDGET_EXPLORERS}


def kept(version, name):
    return json.loads((KEPT / version / f"{name}.json").read_text(encoding="utf-8"))


STATES = [
    (folder.name, what, state)
    for folder in VERSIONS
    for what, state in kept(folder.name, "states").items()
]


def agrees(said, now):
    """Whether all that was said is still said, up to rounding. More may be said than before."""
    if isinstance(said, dict):
        return all(key in now and agrees(value, now[key]) for key, value in said.items())
    if isinstance(said, list):
        return len(said) == len(now) and all(map(agrees, said, now))
    return now == (pytest.approx(said, rel=1e-6, abs=1e-9) if isinstance(said, float) else said)


def ours(thing):
    """Whether it is the library's own, and not one that a test has added."""
    return thing.__module__.startswith("lingape.")


def test_this_version_is_kept_too():
    assert lingape.__version__ in [folder.name for folder in VERSIONS]


def test_what_is_kept_is_never_changed():
    assert SUMS.read_text(encoding="utf-8").splitlines() == lines()


def test_everything_there_is_is_kept():
    """Each kind of event and each explorer; of a later version too, once it is released."""
    texts = [path.read_text(encoding="utf-8") for path in KEPT.glob("*/*.jsonl")]
    kinds = {json.loads(line).get("event") for text in texts for line in text.splitlines()}
    explorers = {state["explorer"] for _, _, state in STATES}
    assert {kind for kind, event in KINDS.items() if ours(event)} <= kinds
    assert {name for name, explorer in REGISTRY.items() if ours(explorer)} <= explorers


@pytest.fixture(params=VERSIONS, ids=lambda folder: folder.name)
def written(request, tmp_path):
    """A copy of what a version wrote."""
    return shutil.copytree(request.param, tmp_path / request.param.name)


@pytest.mark.parametrize("name", NAMES)
def test_logs_say_what_they_said(written, name):
    url = f"sqlite:///{written / 'run.db'}"
    assert agrees(kept(written.name, "said")["experiments"][name], facts(url, name))
    with Experiment.open(url, name) as experiment:
        assert experiment.verify().certificate == experiment.certificate()
        lines = list(experiment.export_lines())
    assert "".join(lines) == (written / f"{name}.jsonl").read_text(encoding="utf-8")


def test_logs_go_on(written):
    url = f"sqlite:///{written / 'run.db'}"
    assert {one.name for one in experiments(url)} == set(NAMES)
    with Experiment.open(url, "ads", clock=lambda: LATER) as ads:
        before = ads.status()
        *_, left, late = [event for event in ads.events() if isinstance(event, Asked)]
        (first, _), (second, _), _ = left.tickets  # asked for with the old version
        again = ads.ask(worker="till", ttl="6h", key=late.key)
        assert [(ticket.id, ticket.arm) for ticket in again] == list(late.tickets)
        ads.tell(first, 1.0)
        ads.void(second, reason="too late")
        after = ads.status()
        assert (after.pulls, after.voided) == (before.pulls + 1, before.voided + 1)
        ads.verify()


@pytest.mark.parametrize("name", NAMES)
def test_exports_are_read_and_imported(written, name):
    path, said = written / f"{name}.jsonl", kept(written.name, "said")["experiments"][name]
    assert verify(read_export(path)).events == said["events"]
    url = f"sqlite:///{written / 'new.db'}"
    Experiment.from_export(path, url).close()
    assert agrees(said, facts(url, name))


@pytest.mark.parametrize(
    ("version", "what", "kept"), STATES, ids=[f"{version}, {what}" for version, what, _ in STATES]
)
def test_saved_states_resume(version, what, kept):
    explorer = REGISTRY[kept["explorer"]].from_state(kept["state"])
    assert agrees(kept["said"], json.loads(json.dumps(said_by(explorer))))


@pytest.mark.parametrize(
    ("what", "kept"),
    [(what, kept) for _, what, kept in STATES if what == kept["explorer"]],
)
def test_names_mean_what_they_meant(what, kept):
    """Logs and studies name explorers, with the settings that were not left out."""
    now = json.loads(json.dumps(explorer_called(what).state()))
    assert all(agrees(kept["state"][part], now[part]) for part in ("bound", "ridge", "settings"))


def test_rows_of_studies_are_continued(written):
    path = written / "rows.jsonl"
    before = path.read_text(encoding="utf-8")
    rows = study().run(path=path, resume=True, jobs=1).rows
    said = kept(written.name, "said")["rows"]
    assert agrees(said, [asdict(row) | {"counts": list(row.counts)} for row in rows])
    assert path.read_text(encoding="utf-8") == before
