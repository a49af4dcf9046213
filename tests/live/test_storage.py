"""What every database of logs has to do, and what SQLite's files may meet."""

import json
import os
import shutil
import sqlite3
import stat
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from crew import problem, pull
from tamper import change

import lingape.live.turns as live
from lingape import __version__
from lingape.errors import Conflict, InvalidState, NotFound, StorageFailed
from lingape.live import Experiment
from lingape.live.events import keyed
from lingape.live.replay import Progress, Replay
from lingape.live.store import START, Head, Note, Snapshot, chained, open_store
from lingape.live.turns import Request, Turn
from systems import posix


@pytest.fixture
def url(each_url):
    return each_url


@pytest.fixture
def store(url):
    """The database under test; others that serve go through the same tests."""
    database = open_store(url, create=True)
    yield database
    database.close()


def test_a_new_database_is_empty(store):
    assert store.experiments() == []
    with store.view("a") as view:
        assert view.head() == Head(0, START)
        assert list(view.read()) == []
        assert view.find("x") is None
        assert view.snapshot() is None


def test_entries_are_numbered_and_chained(store):
    with store.transaction("a") as log:
        log.append([Note("one", "first"), Note("two")])
        head = log.append([Note("three")])
        assert log.head() == head
    with store.transaction("b") as log:
        log.append([Note("one", "first")])
    assert store.experiments() == ["a", "b"]
    with store.view("a") as view:
        assert [(entry.seq, entry.text) for entry in view.read()] == [
            (1, "one"),
            (2, "two"),
            (3, "three"),
        ]
        assert [entry.seq for entry in view.read(after=1)] == [2, 3]
        assert [entry.seq for entry in view.read(after=1, limit=1)] == [2]
        assert view.find("first") == 1
        first, second, third = (entry.digest for entry in view.read())
    assert first == chained(START, "one")
    assert third == head.digest == chained(second, "three")


def test_what_fails_leaves_nothing(store):
    with pytest.raises(ZeroDivisionError), store.transaction("a") as log:
        log.append([Note("one", "x")])
        raise ZeroDivisionError
    with store.view("a") as view:
        assert view.head().seq == 0 and view.find("x") is None
    assert store.experiments() == []


def test_references_are_unique(store):
    with store.transaction("a") as log:
        log.append([Note("one", "x")])
    with pytest.raises(InvalidState, match="damaged"), store.transaction("a") as log:
        log.append([Note("two"), Note("three", "x")])
    with store.view("a") as view:
        assert view.head().seq == 1


def test_transactions_exclude_each_other(store, url):
    def count():
        other = open_store(url, create=False)
        for _ in range(20):
            with other.transaction("a") as log:
                seq = log.head().seq
                time.sleep(0.0005)
                log.append([Note(str(seq + 1))])
        other.close()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.view("a") as view:
        assert [entry.text for entry in view.read()] == [str(i + 1) for i in range(80)]


def test_views_do_not_see_what_is_not_finished(store, url):
    other = open_store(url, create=False)
    with store.transaction("a") as log:
        log.append([Note("one")])
        with other.view("a") as view:
            assert view.head().seq == 0
    with other.view("a") as view:
        assert view.head().seq == 1
        with store.transaction("a") as log:
            log.append([Note("two")])
        assert view.head().seq == 1  # one moment
    other.close()


def test_snapshots(store):
    for seq in (3, 9):
        store.save("a", Snapshot(Head(seq, "x"), "text" * seq))
    with store.view("a") as view:
        assert view.snapshot() == Snapshot(Head(9, "x"), "text" * 9)
    with store.view("b") as view:
        assert view.snapshot() is None


def test_long_references(store):
    """A name, a key and a worker may be this long; databases have limits of their own."""
    name, reference = "n" * 100, keyed("ask", "\N{DUCK}" * 200)
    with store.transaction(name) as log:
        log.append([Note("one", reference)])
        assert log.find(reference) == 1
    with pytest.raises(InvalidState, match="damaged"), store.transaction(name) as log:
        log.append([Note("two", reference)])


def test_what_is_sought_is_found_as_it_is_inside(store, url):
    """References named beforehand are looked up once the log is ours, and appended ones too."""
    odd, odder = keyed("ask", """'"\\{,}%s"""), keyed("ask", "")
    other = open_store(url, create=True)
    with other.transaction("a") as log:
        log.append([Note("one", odd), Note("two", "y")])
    with store.transaction("a", [odd, odder, "new"]) as log:
        assert [log.find(name) for name in (odd, "y", odder, "new")] == [1, 2, None, None]
        log.append([Note("three", "new")])
        assert [log.find(name) for name in ("new", odder, odd)] == [3, None, 1]
    other.close()


class Together:
    """Threads that have to wait for each other at one experiment, and hence share a turn."""

    def __init__(self, experiment, monkeypatch):
        self.experiment, self.turns = experiment, 0
        self._transaction = experiment._store.transaction
        monkeypatch.setattr(experiment._store, "transaction", self._counted)

    def _counted(self, *arguments):
        self.turns += 1
        return self._transaction(*arguments)

    def __call__(self, *acts):
        """Return what each returns or raises."""
        answers = [None] * len(acts)

        def work(i):
            try:
                answers[i] = acts[i]()
            except Exception as reason:
                answers[i] = reason

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(acts))]
        with self.experiment._mutex:
            for i, thread in enumerate(threads, start=1):
                thread.start()
                while len(self.experiment._waiting) < i:
                    time.sleep(0.001)
        for thread in threads:
            thread.join()
        return answers


@pytest.fixture
def ads(url):
    with Experiment.open(url, "ads", create=problem()) as experiment:
        yield experiment


def test_threads_share_a_turn(ads, monkeypatch):
    """Who is refused leaves no trace, and concerns nobody else."""
    (first,) = ads.ask()
    together = Together(ads, monkeypatch)
    asked, again, added, told, refused, other, unknown = together(
        lambda: ads.ask(2, key="k"),
        lambda: ads.ask(2, key="k"),
        lambda: ads.add(1, 0.5),
        lambda: ads.tell(first.id, 1.0),
        lambda: ads.tell(first.id, 2.0),
        lambda: ads.ask(3, key="k"),
        lambda: ads.void("9-0-abcdefgh", "why"),
    )
    assert together.turns == 1
    assert asked == again and len(asked) == 2
    assert (added.pulls, told.pulls) == (1, 2)
    assert isinstance(refused, Conflict) and "was told 1.0" in str(refused)
    assert isinstance(other, Conflict) and isinstance(unknown, NotFound)
    assert [event.kind for event in ads.events()] == ["created", "asked", "asked", "added", "told"]
    ads.verify()


def test_a_shared_turn_that_fails_is_taken_by_each_alone(ads, monkeypatch):
    """One reward breaks the explorer; the others are recorded, once, as if it had not been."""
    ticket, twice = ads.ask(2)
    apply = Replay.apply

    def fragile(replay, event, digest):
        apply(replay, event, digest)
        if getattr(event, "reward", None) == 13.0:
            raise ZeroDivisionError

    monkeypatch.setattr(Replay, "apply", fragile)
    together = Together(ads, monkeypatch)
    told, differently, broken, added = together(
        lambda: ads.tell(twice.id, 0.5),
        lambda: ads.tell(twice.id, 0.75),  # refused in the shared turn, and perhaps not alone
        lambda: ads.tell(ticket.id, 13.0),
        lambda: ads.add(1, 0.25),
    )
    assert together.turns == 5
    assert isinstance(broken, ZeroDivisionError) and added.pulls <= 2
    assert sorted([type(told), type(differently)], key=str) == [Conflict, Progress]
    first = 0.75 if isinstance(told, Conflict) else 0.5
    assert sorted(event.reward for event in ads.events()[2:]) == [0.25, first]
    assert ads.tell(ticket.id, 1.0).pulls == 3
    ads.verify()


def test_a_refusal_in_a_turn_that_came_to_nothing_is_forgotten(ads):
    reasons = [Conflict("no")]

    def act(turn):
        if reasons:
            raise reasons.pop()
        return 5

    with ads.current() as replay, ads._store.transaction("ads") as log:
        request = Request(act)
        request.run(Turn(log, replay, 0.0))
        with pytest.raises(Conflict):
            request.answer()
        request.run(Turn(log, replay, 0.0))
        assert request.answer() == 5


def test_a_commit_that_fails_fails_for_all(ads, monkeypatch):
    """It may be recorded or not, so nobody does it again unasked."""
    together = Together(ads, monkeypatch)
    transaction = ads._store.transaction

    @contextmanager
    def lost(*arguments):
        with transaction(*arguments) as log:
            yield log
        raise StorageFailed("It may be recorded or not.")

    with monkeypatch.context() as patch:
        patch.setattr(ads._store, "transaction", lost)
        answers = together(lambda: ads.add(0, 0.5), lambda: ads.add(1, 0.25))
    assert [type(answer) for answer in answers] == [StorageFailed] * 2
    assert together.turns == 1
    assert ads.add(2, 1.0).pulls == 3  # in this case it was
    ads.verify()


def test_who_was_interrupted_while_waiting_records_nothing(ads, monkeypatch):
    class Mutex:
        def __enter__(self):
            raise KeyboardInterrupt

        def __exit__(self, *exception):
            raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(ads, "_mutex", Mutex())
        with pytest.raises(KeyboardInterrupt):
            ads.add(0, 0.5)
    assert ads.add(1, 0.25).pulls == 1


@pytest.fixture
def told(url, monkeypatch):
    """An experiment with a snapshot and some rewards after it."""
    return tell(url, monkeypatch)


def tell(url, monkeypatch):
    monkeypatch.setattr(live, "EVERY", 20)
    with Experiment.open(url, "ads", create=problem()) as experiment:
        for _ in range(15):
            (ticket,) = experiment.ask()
            experiment.tell(ticket.id, pull(ticket.arm))


def state(url):
    with Experiment.open(url, "ads") as experiment, experiment.current() as replay:
        return replay.explorer.state()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM snapshots",
        "UPDATE snapshots SET text = 'x'",
        "UPDATE snapshots SET seq = 1000",
        "UPDATE snapshots SET seq = seq - 1",
        "UPDATE snapshots SET digest = 'x'",
    ],
)
def test_snapshots_are_only_a_shortcut(url, told, statement):
    before = state(url)
    change(url, statement)
    assert state(url) == before


@pytest.mark.parametrize(
    "wrong",
    ["null", "{}", '{"version": "0.0.1"}', "not JSON", "[[[[", '{"version": "0.1.0"}'],
)
def test_foreign_snapshots_are_ignored(url, told, wrong):
    before = state(url)
    store = open_store(url, create=False)
    with store.view("ads") as view:
        head = view.snapshot().head
    store.save("ads", Snapshot(head, wrong))
    store.close()
    assert state(url) == before


@pytest.mark.parametrize("version, used", [(__version__, True), ("0.0.1", False)])
def test_snapshots_of_other_versions_are_ignored(url, told, version, used):
    store = open_store(url, create=False)
    with store.view("ads") as view:
        found = view.snapshot()
    data = json.loads(found.text) | {"version": version, "archived": True}
    store.save("ads", Snapshot(found.head, json.dumps(data)))
    store.close()
    with Experiment.open(url, "ads") as experiment:
        assert experiment.status().archived is used


def test_snapshots_are_used(url, told, monkeypatch):
    applied = []
    apply = live.Replay.apply
    monkeypatch.setattr(
        live.Replay, "apply", lambda self, *event: (applied.append(event), apply(self, *event))
    )
    state(url)
    assert len(applied) < 12


def test_a_snapshot_of_no_use_is_replaced(url, told, monkeypatch):
    change(url, "DELETE FROM snapshots")
    state(url)
    test_snapshots_are_used(url, told, monkeypatch)


def test_a_snapshot_that_cannot_be_saved_is_done_without(url, monkeypatch):
    monkeypatch.setattr(live, "EVERY", 5)

    def full(*arguments):
        raise StorageFailed("full")

    with Experiment.open(url, "ads", create=problem()) as experiment:
        monkeypatch.setattr(experiment._store, "save", full)
        for arm in range(6):
            experiment.add(arm, 1.0)
        assert experiment.status().pulls == 6


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE entries SET text = replace(text, 'reward\":', 'reward\":1') WHERE seq = 3", "3"),
        ("DELETE FROM entries WHERE seq = 3", "after event 2 comes event 4"),
        ("DELETE FROM entries WHERE seq > 25", "lost its end|should have 31"),
        ("UPDATE entries SET digest = 'x' WHERE seq = 28", "event 28"),
        ("UPDATE logs SET seq = 40", "should have 40"),
    ],
)
def test_logs_that_were_changed_do_not_verify(url, told, statement, words):
    with Experiment.open(url, "ads") as experiment:
        change(url, statement)
        with pytest.raises(InvalidState, match=words):
            experiment.verify()


def test_logs_are_checked_while_they_are_read(url, told):
    change(url, "UPDATE entries SET digest = 'x' WHERE seq = 28")
    with pytest.raises(InvalidState, match="event 28"):
        Experiment.open(url, "ads")


def test_a_log_that_goes_back_is_noticed(url, told):
    experiment = Experiment.open(url, "ads")
    head = experiment.status().event, experiment.status().digest
    experiment.add(0, 1.0)
    change(url, "DELETE FROM entries WHERE seq > 31")  # as if a copy were restored
    change(url, "UPDATE logs SET seq = ?, digest = ?", *head)
    with pytest.raises(InvalidState, match="not the one that it was"):
        experiment.ask()
    experiment.close()
    with Experiment.open(url, "ads") as again:
        assert again.status().pulls == 15


# SQLite


@pytest.fixture
def path(sqlite_url, monkeypatch):
    """The file of an experiment with a snapshot and some rewards after it."""
    tell(sqlite_url, monkeypatch)
    return Path(sqlite_url.removeprefix("sqlite:///"))


def test_entries_cannot_be_changed_by_mistake(path):
    connection = sqlite3.connect(path)
    for statement in ("DELETE FROM entries", "UPDATE entries SET text = ''"):
        with pytest.raises(sqlite3.IntegrityError, match="only ever appended"):
            connection.execute(statement)
    connection.close()


def test_a_truncated_file(sqlite_url, path):
    data = path.read_bytes()
    for size in (len(data) // 2, 100, 5000):
        path.write_bytes(data[:size])
        with pytest.raises(InvalidState, match=r"damaged.*Restore a copy"):
            Experiment.open(sqlite_url, "ads")
    path.write_bytes(data)
    assert state(sqlite_url)


def test_a_damaged_file(sqlite_url, path):
    data = bytearray(path.read_bytes())
    for place in range(8192, len(data), 512):
        data[place : place + 8] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises((InvalidState, NotFound), match="Restore a copy|no experiment"):
        Experiment.open(sqlite_url, "ads")


def test_files_of_others(sqlite_url, tmp_path):
    path = tmp_path / "run.db"
    path.write_text("dear diary, " * 100)
    with pytest.raises(InvalidState, match="not a database"):
        Experiment.open(sqlite_url, "ads", create=problem())
    assert path.read_text() == "dear diary, " * 100
    path.unlink()
    change(sqlite_url, "CREATE TABLE diary (day)")
    with pytest.raises(InvalidState, match="something else"):
        Experiment.open(sqlite_url, "ads", create=problem())


def test_an_empty_file_is_taken_as_new(sqlite_url, tmp_path):
    (tmp_path / "run.db").touch()
    with Experiment.open(sqlite_url, "ads", create=problem()) as experiment:
        experiment.ask()


def test_newer_formats_are_refused(sqlite_url, path):
    change(sqlite_url, "PRAGMA user_version = 2")
    with pytest.raises(InvalidState, match=r"format 2.*reads format 1"):
        Experiment.open(sqlite_url, "ads")


def test_folders_that_are_not_there(tmp_path):
    with pytest.raises(StorageFailed, match="folder must exist"):
        Experiment.open(f"sqlite:///{tmp_path}/no/run.db", "ads", create=problem())


def test_a_full_disk(sqlite_url):
    with Experiment.open(sqlite_url, "ads", create=problem()) as experiment:
        connection = experiment._store._connection
        acknowledged = 0
        connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(StorageFailed, match=r"full.*Make room"):
            for _ in range(1000):
                experiment.add(0, 1.0)
                acknowledged += 1
        assert experiment.status().pulls == acknowledged
        connection.execute("PRAGMA max_page_count = 100000")
        experiment.add(0, 1.0)
        assert experiment.verify().pulls == acknowledged + 1


def test_a_disk_that_does_not_confirm(sqlite_url, monkeypatch):
    with Experiment.open(sqlite_url, "ads", create=problem()) as experiment:
        (ticket,) = experiment.ask()

        def broken(file):
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as patch:
            patch.setattr("lingape.live.files.to_disk", broken)
            with pytest.raises(StorageFailed, match="did not confirm"):
                experiment.tell(ticket.id, 1.0)
        experiment.tell(ticket.id, 1.0)
        assert experiment.status().pulls == 1
        # What the disk failed to write to the log was written elsewhere.
        alone = sqlite_url.replace("run.db", "alone.db")
        shutil.copyfile(experiment._store.path, alone.removeprefix("sqlite:///"))
        with Experiment.open(alone, "ads") as copy:
            assert copy.status().pulls == 1


@pytest.mark.parametrize(
    "way",
    [
        "directly",
        pytest.param("by a link", marks=posix("links that everybody may make")),
        "from its folder",
    ],
)
def test_waiting_for_the_disk(tmp_path, way, monkeypatch):
    """It is the write-ahead log that is waited for, by whatever name the file was opened."""
    synced = []
    monkeypatch.setattr("lingape.live.files.to_disk", lambda file: synced.append(os.fstat(file)))
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "run.db"
    if way == "by a link":
        path = tmp_path / "link.db"
        path.symlink_to(tmp_path / "data" / "run.db")
    elif way == "from its folder":
        monkeypatch.chdir(path.parent)
        path = Path("run.db")
    with Experiment.open(f"sqlite:///{path}", "ads", create=problem()) as experiment:
        monkeypatch.chdir(tmp_path)
        experiment._store._disconnect()  # as before a fork; it connects again by itself
        del synced[:]
        experiment.add(0, 1.0)
        log = os.stat(tmp_path / "data" / "run.db-wal")
        files = [file for file in synced if stat.S_ISREG(file.st_mode)]  # not its folder
        assert files and all(os.path.samestat(file, log) for file in files)


def test_a_file_that_cannot_be_written(sqlite_url, path, monkeypatch):
    connect = sqlite3.connect

    def read_only(place, **settings):
        return connect(f"{place}?mode=ro", **settings)

    monkeypatch.setattr(sqlite3, "connect", read_only)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with Experiment.open(sqlite_url, "ads") as experiment:
        assert experiment.status().pulls == 15
        with pytest.raises(StorageFailed, match=r"readonly.*writable"):
            experiment.add(0, 1.0)
        assert experiment.verify().pulls == 15


@pytest.mark.parametrize("begin", ["BEGIN", "BEGIN IMMEDIATE"])
def test_an_interrupt_while_a_transaction_begins(sqlite_url, monkeypatch, begin):
    with Experiment.open(sqlite_url, "ads", create=problem()) as experiment:
        store, retry = experiment._store, experiment._store._retry
        begun = ["BEGIN", "COMMIT", "BEGIN IMMEDIATE"]  # first a look, then the turn

        def interrupted(attempt):
            result = retry(attempt)
            if begun and begun.pop(0) == begin:
                begun.clear()
                raise KeyboardInterrupt
            return result

        with monkeypatch.context() as patch:
            patch.setattr(store, "_retry", interrupted)
            with pytest.raises(KeyboardInterrupt):
                experiment.add(0, 1.0)
        with Experiment.open(sqlite_url, "ads") as other:  # nobody is locked out
            other._store._patience = 0.05
            other.add(1, 2.0)
        experiment.add(0, 1.0)
        assert experiment.verify().pulls == 2


def test_a_file_that_others_hold_for_too_long(sqlite_url):
    with Experiment.open(sqlite_url, "ads", create=problem()) as experiment:
        experiment._store._patience = 0.05
        other = sqlite3.connect(experiment._store.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageFailed, match="too long"):
            experiment.ask()
        assert experiment.status().pulls == 0  # reading goes on
        other.execute("ROLLBACK")
        other.close()
        experiment.ask()
