"""Damage is damage: whatever byte flips, it is said, it is not to be tried again, others go on."""

import random
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from crew import problem
from outpost import TestClient
from tamper import change

import lingape.live.turns as live
from lingape.cli import main
from lingape.errors import InvalidArgument, InvalidState, NotFound, StorageFailed
from lingape.live import Experiment, Unreadable, experiments
from lingape.live.server import create_app

KINDS = (InvalidState, NotFound, InvalidArgument)  # that name an experiment which is not to be had


@pytest.fixture
def url(each_url, monkeypatch):
    """A database with two experiments, snapshots among them."""
    return filled(each_url, monkeypatch)


@pytest.fixture
def lite(sqlite_url, monkeypatch):
    """The same, in a file."""
    return filled(sqlite_url, monkeypatch)


def filled(url, monkeypatch):
    monkeypatch.setattr(live, "EVERY", 10)
    for name in ("ads", "other"):
        with Experiment.open(url, name, create=problem()) as experiment:
            for arm in range(6):
                (ticket,) = experiment.ask(worker="w", key=str(arm))
                experiment.tell(ticket, 0.25 * arm)
            experiment.ask(2)
            experiment.add(0, 1.5, key="k")
    return url


def text_of(url, seq):
    with Experiment.open(url, "other") as experiment, experiment._store.view("ads") as view:
        return next(iter(view.read(seq - 1, 1))).text


def look(url):
    """Read everything there is to read of an experiment; return what was raised."""
    raised = []
    try:
        with Experiment.open(url, "ads") as experiment:
            for act in (
                experiment.status,
                experiment.events,
                experiment.history,
                lambda: list(experiment.export_lines()),
                experiment.verify,
                lambda: experiment.ask(1, worker="w", key="1"),
                lambda: experiment.tell("2-0-aaaaaaaa", 1.0),
                lambda: experiment.add(1, 0.5),
            ):
                try:
                    act()
                except Exception as reason:
                    raised.append(reason)
    except Exception as reason:
        raised.append(reason)
    return raised


def test_an_event_with_a_flipped_letter(url):
    rng = random.Random(1)
    for seq in range(1, 17):
        text = text_of(url, seq)
        place = rng.randrange(len(text))
        other = chr(rng.choice([ord(text[place]) ^ 1 << rng.randrange(6), 0xE9, 0x20]))
        flipped = text[:place] + other + text[place + 1 :]
        if flipped == text or "\0" in flipped:
            continue
        change(url, "UPDATE entries SET text = ? WHERE name = 'ads' AND seq = ?", flipped, seq)
        with pytest.raises(InvalidState, match=f"event {seq} "), Experiment.open(url, "ads") as e:
            e.verify()
        for reason in look(url):
            assert type(reason) in KINDS, reason
            assert text[20:60] not in str(reason)  # nobody's log in messages
        _, other = experiments(url)
        assert other.pulls == 7
        change(url, "UPDATE entries SET text = ? WHERE name = 'ads' AND seq = ?", text, seq)
    assert look(url)[0].args[0].startswith("No ticket")


@pytest.mark.parametrize("value", [b"\xff\xfe{", 7, None, b"{}"])
def test_what_is_no_text(value, lite):
    url = lite
    if value is None:
        sheet = "UPDATE entries SET text = CAST(X'7BFF' AS TEXT) WHERE name = 'ads' AND seq = 3"
        change(url, sheet)
    else:
        change(url, "UPDATE entries SET text = ? WHERE name = 'ads' AND seq = 3", value)
    change(url, "DELETE FROM snapshots")
    (reason,) = look(url)
    assert type(reason) is InvalidState and "Restore a copy" in str(reason)
    ads, other = experiments(url)
    assert isinstance(ads, Unreadable) and "damaged" in ads.error
    assert other.pulls == 7


def test_a_byte_that_is_not_utf8_over_all_ways(lite, capsys):
    url = lite
    change(
        url,
        "UPDATE entries SET text = CAST(CAST(text AS BLOB) || X'FF' AS TEXT) "
        "WHERE name = 'ads' AND seq = 3",
    )
    change(url, "DELETE FROM snapshots")
    with TestClient(create_app(url), base_url="http://127.0.0.1") as client:
        answer = client.get("/api/experiments/ads")
        assert answer.status_code == 500 and "retry-after" not in answer.headers
        assert answer.json()["kind"] == "InvalidState" and "reward" not in answer.json()["error"]
        found = client.get("/api/experiments").json()
        assert [line["name"] for line in found["experiments"]] == ["other"]
        (damaged,) = found["unreadable"]
        assert damaged["name"] == "ads" and "Restore a copy" in damaged["error"]
        body = {"arm": 0, "reward": 1.0}
        assert client.post("/api/experiments/other/add", json=body).status_code == 200
    for arguments, code in ((["status", url, "ads"], 1), (["list", url], 0)):
        with pytest.raises(SystemExit) as end:
            main(["live", *arguments])
        assert (end.value.code or 0) == code
    said = capsys.readouterr()
    assert said.err.startswith("Error: The log is damaged")
    first, second = said.out.splitlines()
    assert first.startswith("ads\tunreadable\tThe log is damaged") and "Restore a copy" in first
    assert second == "other\t6 arms\t8 rewards\trunning"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE logs SET seq = 0 WHERE name = 'ads'",
        "UPDATE logs SET seq = -3 WHERE name = 'ads'",
        "UPDATE logs SET name = 'a\u00e9' WHERE name = 'ads'",
        "UPDATE logs SET digest = '' WHERE name = 'ads'",
        "DELETE FROM entries WHERE name = 'ads'",
        "UPDATE entries SET seq = seq + 1000 WHERE name = 'ads' AND seq = 1",
        "UPDATE refs SET seq = 900 WHERE name = 'ads'",
    ],
)
def test_others_are_listed_whatever_happened_to_one(url, statement):
    change(url, statement)
    found = experiments(url)
    assert [one.pulls for one in found if one.name == "other"] == [7]
    assert len(found) == 2
    with TestClient(create_app(url), base_url="http://127.0.0.1") as client:
        listed = client.get("/api/experiments")
        assert listed.status_code == 200
        assert "other" in [line["name"] for line in listed.json()["experiments"]]
    for reason in look(url):
        assert type(reason) in KINDS, reason


def flips(size, count):
    rng = random.Random(20)
    return [(rng.randrange(size), 1 << rng.randrange(8)) for _ in range(count)]


def test_flipped_bits_of_a_file(lite):
    """No bit makes anything but our own exceptions, and none that says to try again."""
    path = Path(lite.removeprefix("sqlite:///"))
    data = path.read_bytes()
    for place, bit in [(p, 1 << b) for p in (18, 19) for b in range(8)] + flips(len(data), 150):
        flipped = bytearray(data)
        flipped[place] ^= bit
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        path.write_bytes(flipped)
        for reason in look(lite):
            assert type(reason) in KINDS, (place, bit, reason)
        with suppress(InvalidState):  # of the whole file
            experiments(lite)


def test_flipped_bits_and_a_server(lite):
    path = Path(lite.removeprefix("sqlite:///"))
    data = path.read_bytes()
    for place, bit in flips(len(data), 40):
        flipped = bytearray(data)
        flipped[place] ^= bit
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        path.write_bytes(flipped)
        try:
            app = create_app(lite)
        except InvalidState:
            continue
        with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=True) as client:
            for what in ("", "/ads", "/ads/events", "/ads/history", "/ads/certificate", "/other"):
                answer = client.get(f"/api/experiments{what}")
                assert answer.status_code in (200, 404, 500), answer.text
                if answer.status_code == 500:
                    assert answer.json()["kind"] == "InvalidState"


def test_a_disk_that_is_full_is_still_to_be_tried_again(sqlite_url):
    with Experiment.open(sqlite_url, "ads", create=problem()) as experiment:
        experiment._store._connection.execute("PRAGMA max_page_count = 14")
        with pytest.raises(StorageFailed):
            for _ in range(1000):
                experiment.add(0, 1.0)


def test_bytes_that_are_no_text_in_postgresql(postgres_server, postgres_url):
    """A database without an encoding takes any bytes."""
    postgres_server.execute("DROP DATABASE IF EXISTS plain")
    postgres_server.execute(
        "CREATE DATABASE plain ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    url = postgres_url.replace("/postgres?", "/plain?")
    for name in ("ads", "other"):
        with Experiment.open(url, name, create=problem()) as experiment:
            experiment.add(0, 1.0)
    change(
        url,
        "UPDATE entries SET text = text || convert_from('\\xff'::bytea, 'SQL_ASCII') "
        "WHERE name = 'ads' AND seq = 2",
    )
    for reason in look(url):
        assert type(reason) is InvalidState, reason
    ads, other = experiments(url)
    assert isinstance(ads, Unreadable) and "damaged" in ads.error and other.pulls == 1


def test_sqlite_quotes_nothing(sqlite_url):
    """What SQLite says of a text that is none would quote it."""
    connection = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.OperationalError, match="secret"):
        connection.execute("SELECT CAST(X'736563726574FF' AS TEXT)").fetchone()
    connection.close()
