"""An event declared outside the package, by the recipe in CONTRIBUTING.md; and older logs."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass

import pytest
from outpost import TestClient
from tamper import change

from lingape import Problem
from lingape.cli import main
from lingape.errors import Conflict, InvalidState
from lingape.live import Experiment, read_export, verify
from lingape.live.events import KINDS, Event, Time, as_data, from_data, words_by_kind
from lingape.live.server import create_app
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
    assert (
        json.loads(path.read_text("utf-8").splitlines()[1])["at"]
        == "2001-09-09T01:46:40.000+00:00"
    )


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


def rewrite(path, edit):
    """Change the events of an export, as data, and return their texts and right hashes."""
    digest, entries, lines = START, [], []
    for line in path.read_text("utf-8").splitlines():
        data = json.loads(line)
        del data["hash"]
        edit(data)
        text = json.dumps(data, sort_keys=True, separators=(",", ":"))
        digest = chained(digest, text)
        entries.append((text, digest))
        lines.append(json.dumps(data | {"hash": digest}) + "\n")
    path.write_text("".join(lines), "utf-8")
    return entries


def as_format_3(data):
    """Change an event to how logs of format 3 have it."""
    if data["event"] == "created":
        data["format"] = 3
        for name in ("question", "notes", "owner"):
            data.pop(name, None)


def as_newer_format(data):
    """Change an event to how a log of a newer format may have it."""
    if data["event"] == "created":
        data |= {"format": 5, "version": "9.9", "colour": "red"}


def with_newer_kind(data):
    """Change an event to a kind that a newer version may have, in a format that is read here."""
    if data["seq"] == 2:
        data |= {"event": "repainted"}


def with_newer_field(data):
    """Add a field to an event."""
    if data["seq"] == 2:
        data |= {"colour": "red"}


def test_logs_of_format_3_are_read(url, tmp_path):
    path = tmp_path / "run.jsonl"
    with Experiment.open(f"sqlite:///{tmp_path}/new.db", "ads", create=PROBLEM) as new:
        for ticket in new.ask(2):
            new.tell(ticket, 0.5)
        new.export(path)
    rewrite(path, as_format_3)
    found = verify(read_export(path))
    with Experiment.from_export(path, url) as old:
        (created,) = old.events(limit=1)
        assert (created.format, created.question) == (3, None)
        assert old.verify() == found
        old._save(old._memory)
        old.add(0, 0.25)
        old.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text("utf-8").startswith(path.read_text("utf-8"))
    with Experiment.open(url, "ads", create=PROBLEM) as again:  # from the snapshot
        assert again._loaded == 4 and again.status().pulls == 3
        assert verify(read_export(tmp_path / "again.jsonl")) == again.verify()
    with pytest.raises(Conflict, match=r"question \(none there, 'Which\?' now\)"):
        Experiment.open(url, "ads", create=PROBLEM, question="Which?")


def test_other_formats_are_refused(sqlite_url):
    with Experiment.open(sqlite_url, "ads", create=PROBLEM) as experiment:
        (created,) = experiment.events()
    for other in (2, 5):
        with pytest.raises(InvalidState, match=f"format {other}.*reads 3 to 4"):
            from_data(as_data(created) | {"format": other}, place=1)


NEWER = {
    as_newer_format: "The log of 'ads' has format 5, and this version of lingape reads 3 to 4. "
    "Use version 9.9, or a newer one.",
    with_newer_kind: "Event 2 of the log is damaged, or a newer version of lingape wrote it: it "
    "is none of created, ",
    with_newer_field: "Event 2 of the log is damaged, or a newer version of lingape wrote it: an "
    "event asked has deadline, ",
}


@pytest.mark.parametrize("edit", NEWER, ids=lambda edit: edit.__name__)
def test_logs_of_newer_versions_are_refused_and_unchanged(edit, sqlite_url, tmp_path, capsys):
    path, database, words = tmp_path / "run.jsonl", tmp_path / "run.db", NEWER[edit]
    with Experiment.open(sqlite_url, "ads", create=PROBLEM) as ads:
        ads.ask()
        ads.export(path)
    entries = rewrite(path, edit)
    for seq, entry in enumerate(entries, start=1):
        change(sqlite_url, "UPDATE entries SET text = ?, digest = ? WHERE seq = ?", *entry, seq)
    change(sqlite_url, "UPDATE logs SET digest = ?", entries[-1][1])
    change(sqlite_url, "DELETE FROM snapshots")
    before, new = list_of(database), f"sqlite:///{tmp_path}/new.db"
    for arguments in (
        ["verify", str(path)],
        ["import", str(path), new],
        ["status", sqlite_url, "ads"],
        ["ask", sqlite_url, "ads"],
    ):
        with pytest.raises(SystemExit) as end:
            main(["live", *arguments])
        assert end.value.code == 1
        assert words in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["live", "list", sqlite_url])
    assert capsys.readouterr().out.startswith(f"ads\tunreadable\t{words}")
    with TestClient(create_app(sqlite_url), base_url="http://127.0.0.1") as client:
        (line,) = client.get("/api/experiments").json()["unreadable"]
        assert line["name"] == "ads" and line["error"].startswith(words)
    assert list_of(database) == before


def list_of(database):
    """Return what is in a file of SQLite."""
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())
