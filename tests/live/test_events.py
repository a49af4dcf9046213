"""An event declared outside the package, by the recipe in CONTRIBUTING.md; and older logs."""

import dataclasses
import json
from dataclasses import dataclass

import pytest

from lingape import Problem
from lingape.errors import Conflict, InvalidState
from lingape.live import Experiment, read_export, verify
from lingape.live.events import KINDS, Event, Time, as_data, from_data, words_by_kind
from lingape.live.replay import Replay
from lingape.live.store import START, chained

PROBLEM = Problem([[1, 0], [0, 1]], noise=0.1)


@dataclass(frozen=True, kw_only=True)
class Measured(Event):
    """A reward was measured somewhere else, at some time, perhaps under a label."""

    kind = "measured"
    words = "{arm} paid {reward}, measured elsewhere"
    arm: int
    reward: float
    at: Time
    label: str | None

    @property
    def reference(self):
        return None if self.label is None else f"measured {self.label}"

    def apply(self, replay, digest):
        replay.learn(self.seq, self.arm, self.reward, asked=False)
        replay.added += 1


class Laboratory(Experiment):
    """An experiment that can record such events."""

    def measure(self, arm, reward, *, at, label=None):
        def act(turn):
            event = Measured(**turn.next, arm=arm, reward=reward, at=at, label=label)
            turn.record(event)
            return turn.replay.progress

        return self._in_turn(act)


@pytest.fixture(autouse=True, scope="module")
def forgotten():
    yield
    del KINDS[Measured.kind]


@pytest.fixture
def url(each_url):
    return each_url


def test_an_event_is_declared_once(url, tmp_path):
    with Laboratory.open(url, "ads", create=PROBLEM, explorer="lingape") as laboratory:
        assert laboratory.measure(0, 0.25, at=1e9).pulls == 1
        laboratory.measure(1, 1.5, at=2e9, label="b")
        assert laboratory.status().settled
        path = tmp_path / "run.jsonl"
        assert laboratory.export(path) == 4
        found = laboratory.verify()
    with Experiment.open(url, "ads") as again:
        assert [event.kind for event in again.events()] == [
            *("created", "measured", "measured", "settled")
        ]
        measured = again.events()[1]
        assert isinstance(measured, Measured) and measured.at == 1e9
        assert [point.pulls for point in again.history()] == [2]
        assert again.verify() == found == verify(read_export(path))
    with Experiment.from_export(path, f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.verify() == found
    assert json.loads(path.read_text().splitlines()[1])["at"] == "2001-09-09T01:46:40.000+00:00"


def test_its_fields_are_checked(url):
    event = Measured(seq=3, time=1e9, arm=1, reward=0.5, at=1e9, label=None)
    data = as_data(event)
    assert from_data(data, place=3) == event
    for field, wrong in (
        ("arm", -1),
        ("arm", True),
        ("reward", "1"),
        ("reward", float("nan")),
        ("at", 3),
        ("label", 3),
        ("seq", 4),
    ):
        with pytest.raises(InvalidState, match="Event 3 of the log is damaged"):
            from_data(data | {field: wrong}, place=3)
    with pytest.raises(InvalidState, match="an event measured has arm, at, label"):
        from_data({name: value for name, value in data.items() if name != "at"}, place=3)


def test_its_reference_is_used_once(url):
    with Laboratory.open(url, "ads", create=PROBLEM, explorer="lingape") as laboratory:
        laboratory.measure(0, 0.25, at=1e9, label="a")
        with pytest.raises(InvalidState):
            laboratory.measure(0, 0.3, at=1e9, label="a")
    with Experiment.open(url, "ads") as again:
        assert again.status().pulls == 1


def test_servers_and_pages_know_it(sqlite_url):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from lingape.live.server import create_app

    with Laboratory.open(sqlite_url, "ads", create=PROBLEM) as laboratory:
        laboratory.measure(0, 0.25, at=1e9)
        (event,) = laboratory.events(after=1)
    app = create_app(sqlite_url, hosts=None)
    with TestClient(app) as client:
        page = client.get("/api/experiments/ads/events?after=1").json()
        assert page["events"] == [as_data(event)]
        assert page["words"] == words_by_kind() and "measured elsewhere" in str(page["words"])
        assert '"event": "measured"' in client.get("/api/experiments/ads/export").text
        assert client.get("/api/experiments/ads").json()["pulls"] == 1


def test_kinds_are_declared_once():
    with pytest.raises(TypeError, match="kind 'told' already"):
        type("Other", (Event,), {"kind": "told"})


def as_format_3(path):
    """Rewrite an export the way that logs of format 3 were written."""
    digest, lines = START, []
    for line in path.read_text().splitlines():
        data = json.loads(line)
        del data["hash"]
        if data["event"] == "created":
            data["format"] = 3
            for name in ("question", "notes", "owner"):
                data.pop(name, None)
        digest = chained(digest, json.dumps(data, sort_keys=True, separators=(",", ":")))
        lines.append(json.dumps(data | {"hash": digest}) + "\n")
    path.write_text("".join(lines))


def test_logs_of_format_3_are_read(url, tmp_path):
    path = tmp_path / "run.jsonl"
    with Experiment.open(f"sqlite:///{tmp_path}/new.db", "ads", create=PROBLEM) as new:
        for ticket in new.ask(2):
            new.tell(ticket, 0.5)
        new.export(path)
    as_format_3(path)
    found = verify(read_export(path))
    with Experiment.from_export(path, url) as old:
        (created,) = old.events(limit=1)
        assert (created.format, created.question) == (3, None)
        assert old.verify() == found
        old._save(old._memory)
        old.add(0, 0.25)
        old.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text().startswith(path.read_text())
    with Experiment.open(url, "ads", create=PROBLEM) as again:  # from the snapshot
        assert again._loaded == 4 and again.status().pulls == 3
        assert verify(read_export(tmp_path / "again.jsonl")) == again.verify()
    with pytest.raises(Conflict, match=r"question \(none there, 'Which\?' now\)"):
        Experiment.open(url, "ads", create=PROBLEM, question="Which?")


def test_other_formats_are_refused(sqlite_url):
    Experiment.open(sqlite_url, "ads", create=PROBLEM).close()
    with Experiment.open(sqlite_url, "ads") as experiment, experiment.current() as replay:
        for other in (2, 5):
            created = dataclasses.replace(replay.created, format=other)
            with pytest.raises(InvalidState, match=f"format {other}.*reads 3 to 4"):
                Replay(created, "")
