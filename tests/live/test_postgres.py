"""What a server of PostgreSQL may do to experiments: restart, vanish, refuse."""

from pathlib import Path

import crew
import psycopg
import pytest
from audit import audit, wait_for_work
from click.testing import CliRunner
from crew import problem
from outpost import Outpost
from tamper import change

import lingape.live.postgres as live
import lingape.live.postgres_server as server
from lingape import Client
from lingape.cli import main
from lingape.errors import InvalidArgument, InvalidState, NotFound, StorageFailed
from lingape.live import Experiment, Told
from lingape.live.postgres import PostgresStore
from lingape.live.store import Head, Note, Snapshot, open_store


@pytest.fixture
def url(postgres_url):
    return postgres_url


@pytest.fixture
def ads(url):
    with Experiment.open(url, "ads", create=problem()) as experiment:
        yield experiment


def test_databases_without_experiments(url):
    with pytest.raises(NotFound, match="no experiments"):
        Experiment.open(url, "ads")
    with Experiment.open(url, "ads", create=problem()):
        pass
    with pytest.raises(NotFound, match="there are: ads"):
        Experiment.open(url.replace("postgresql:", "postgres:"), "adverts")


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://me:secret@host:port/x",
        "postgresql://me:secret@[::1/x",
        "postgresql://me:secret@host/x?nonsense=1",
        "postgresql://me:sec%ret@host/x",
    ],
)
def test_urls_that_are_none(place):
    with pytest.raises((InvalidArgument, StorageFailed)) as caught:
        open_store(place, create=True)
    assert "secret" not in str(caught.value)


def test_passwords_are_not_shown(postgres_server, url):
    with Experiment.open(url, "ads", create=problem()):
        pass
    place = f"postgresql://tests:secret@/postgres?host={postgres_server.folder}"
    with pytest.raises(NotFound, match="postgresql://tests@/postgres") as caught:
        Experiment.open(place, "adverts")
    assert "secret" not in str(caught.value)
    store = open_store(f"{url}&password=secret", create=False)
    assert store.url == url
    store.close()


def command_lines(process):
    """Return the command line of a process, and of all that it started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    own = Path(f"/proc/{process}/cmdline").read_text()
    return [own, *(line for child in children for line in command_lines(child))]


def test_a_server_takes_the_password_from_a_file(postgres_server, tmp_path, url):
    """And whoever lists processes does not see it."""
    secret = "50% of/it? & 'ÄÖ'=@#+\\"
    file = tmp_path / "password"
    file.write_text(f"{secret}\n", "utf-8")
    options = ("--db-password-file", file)
    with postgres_server.guarded(secret) as guarded:
        with Outpost(f"{guarded}&", *options, "--workers", 2) as outpost:
            with Client(outpost.url) as client:
                client.create("ads", problem())
            listed = command_lines(outpost.process.pid)
            assert str(file) in listed[0] and len(listed) > 2
            assert not any(secret in line for line in listed)
            assert outpost.end() == 0
        file.write_text("a wrong one")
        command = ["serve", "--db", guarded, *map(str, options)]
        refused = CliRunner().invoke(main, command)
        assert refused.exit_code == 5 and "authentication failed" in refused.output
        assert "wrong" not in refused.output


@pytest.mark.parametrize(
    ("content", "db", "said"),
    [
        (
            b"secret",
            "sqlite:///run.db",
            "--db begins with sqlite",
        ),
        (b"", "postgresql://x", "password does not"),
        (b"secret\nsecret", "postgresql://x", "one line"),
        (b"secret\xff", "postgresql://x", "UTF-8"),
    ],
)
def test_password_files_that_do_not_fit(content, db, said, tmp_path):
    (tmp_path / "password").write_bytes(content)
    options = ["serve", "--db", db, "--db-password-file", str(tmp_path / "password")]
    refused = CliRunner().invoke(main, options)
    assert refused.exit_code == 2
    assert said in refused.output and "secret" not in refused.output


def test_servers_that_are_not_there(postgres_server, tmp_path, url):
    with pytest.raises(StorageFailed, match="Is the server running"):
        open_store(f"postgresql:///x?host={tmp_path}", create=True)
    with pytest.raises(StorageFailed, match="does not exist"):
        open_store(url.replace("/postgres?", "/nobody?"), create=True)


def test_newer_formats_are_refused(ads, url):
    change(url, "UPDATE format SET version = 2")
    with pytest.raises(InvalidState, match=r"format 2.*reads format 1"):
        Experiment.open(url, "ads")


def test_schemas_of_others(postgres_server, url):
    postgres_server.execute("CREATE SCHEMA lingape")
    postgres_server.execute("CREATE TABLE lingape.diary (day text)")
    with pytest.raises(InvalidState, match="something else"):
        Experiment.open(url, "ads", create=problem())


def test_a_schema_that_was_made_for_us(postgres_server, url):
    """A role that may not make schemas can be given one."""
    postgres_server.execute("CREATE ROLE worker LOGIN")
    try:
        postgres_server.execute("CREATE SCHEMA lingape AUTHORIZATION worker")
        place = url.replace("tests@", "worker@")
        with Experiment.open(place, "ads", create=problem()) as experiment:
            experiment.add(0, 1.0)
        postgres_server.empty()
        with pytest.raises(StorageFailed, match=r"permission denied.*Grant"):
            Experiment.open(place, "ads", create=problem())
    finally:
        postgres_server.execute("DROP ROLE worker")


def test_entries_cannot_be_changed_by_mistake(ads, postgres_server):
    for statement in (
        "DELETE FROM lingape.entries",
        "UPDATE lingape.entries SET text = ''",
        "TRUNCATE lingape.entries",
    ):
        with pytest.raises(psycopg.errors.RaiseException, match="only ever appended"):
            postgres_server.execute(statement)


def test_commits_are_durable_whatever_the_default(postgres_server, url):
    postgres_server.execute("ALTER ROLE tests SET synchronous_commit = off")
    try:
        store = PostgresStore(url, create=True)
        assert store.query("SHOW synchronous_commit", {}) == [("on",)]
        store.close()
        postgres_server.execute("ALTER ROLE tests SET synchronous_commit = remote_apply")
        store = PostgresStore(url, create=True)
        assert store.query("SHOW synchronous_commit", {}) == [("remote_apply",)]
        store.close()
    finally:
        postgres_server.execute("ALTER ROLE tests RESET synchronous_commit")


def test_a_connection_lost_between_calls_is_made_again(ads, postgres_server):
    for act in (
        lambda: ads.ask(),
        lambda: ads.add(0, 1.0),
        lambda: ads.status(),
        lambda: ads.events(),
        lambda: ads.verify(),
        lambda: ads._store.save("ads", Snapshot(Head(1, "x"), "text")),
    ):
        postgres_server.hang_up()
        act()
    assert ads.verify().pulls == 1


def test_a_connection_lost_while_reading_is_made_again(ads, postgres_server):
    ads.add(0, 1.0)
    with ads._store.view("ads") as view:
        postgres_server.hang_up()
        assert len(list(view.read())) == 2


def test_a_connection_lost_in_a_transaction(ads, postgres_server):
    store = ads._store
    for lose_first in (True, False):
        with (
            pytest.raises(StorageFailed, match=r"was lost.*recorded.*[Dd]o the same again"),
            store.transaction("ads") as log,
        ):
            if lose_first:
                postgres_server.hang_up()
            log.append([Note("one", "x")])
            postgres_server.hang_up()
    assert ads.status().event == 1
    ads.add(0, 1.0)
    assert ads.verify().pulls == 1


@pytest.mark.parametrize("arrived", [True, False])
def test_a_connection_lost_at_the_commit(ads, postgres_server, monkeypatch, arrived):
    """The caller cannot know, and need not: doing the same again is right either way."""
    (ticket,) = ads.ask()

    def commit(connection, log):
        if arrived:
            PostgresStore._commit(ads._store, connection, log)
        postgres_server.hang_up()
        PostgresStore._commit(ads._store, connection, log)

    with monkeypatch.context() as patch:
        patch.setattr(ads._store, "_commit", commit)
        with pytest.raises(StorageFailed, match="not recorded twice"):
            ads.tell(ticket.id, 0.5)
    told = sum(isinstance(event, Told) for event in ads.events())
    assert told == arrived
    ads.tell(ticket.id, 0.5)
    assert ads.verify().pulls == 1


def test_a_server_that_is_away(ads, postgres_server, monkeypatch):
    monkeypatch.setattr(server, "GRACE", 0.2)
    (ticket,) = ads.ask()
    postgres_server.stop()
    try:
        for _ in range(2):
            with pytest.raises(StorageFailed, match="cannot be used now"):
                ads.tell(ticket.id, 0.5)
        naps = []
        with monkeypatch.context() as patch:
            patch.setattr(server.time, "sleep", naps.append)
            with pytest.raises(StorageFailed, match="Is the server running"):
                ads.status()
        assert not naps  # it was waited for already
    finally:
        postgres_server.start()
    ads.tell(ticket.id, 0.5)
    assert ads.verify().pulls == 1


def test_a_server_that_restarts_is_waited_for(ads, postgres_server):
    (ticket,) = ads.ask()
    postgres_server.restart()
    ads.tell(ticket.id, 0.5)
    assert ads.verify().pulls == 1


def test_a_full_disk(ads, postgres_server):
    with postgres_server.full():
        with pytest.raises(StorageFailed, match=r"could not extend.*Make room"):
            ads.add(0, 1.0)
        assert ads.status().pulls == 0
    ads.add(0, 1.0)
    assert ads.verify().pulls == 1


def test_a_server_that_only_reads(ads, url):
    ads.add(0, 1.0)
    place = f"{url}&options=-c%20default_transaction_read_only%3Don"
    with Experiment.open(place, "ads") as experiment:
        assert experiment.verify().pulls == experiment.status().pulls == 1
        with pytest.raises(StorageFailed, match=r"read-only.*takes writes"):
            experiment.add(0, 1.0)


def test_a_role_that_may_only_read(ads, postgres_server, url):
    ads.add(0, 1.0)
    postgres_server.execute("CREATE ROLE reader LOGIN")
    try:
        postgres_server.execute("GRANT USAGE ON SCHEMA lingape TO reader")
        postgres_server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA lingape TO reader")
        with Experiment.open(url.replace("tests@", "reader@"), "ads") as experiment:
            assert experiment.verify().pulls == experiment.status().pulls == 1
            with pytest.raises(StorageFailed, match=r"permission denied.*Grant"):
                experiment.add(0, 1.0)
    finally:
        postgres_server.execute("DROP OWNED BY reader")
        postgres_server.execute("DROP ROLE reader")


def test_a_log_that_others_hold_for_too_long(ads, url):
    hasty = PostgresStore(url, create=False, patience=0.05)
    with ads._store.transaction("ads"):
        with pytest.raises(StorageFailed, match="too long"), hasty.transaction("ads"):
            pass
        with hasty.view("ads") as view:  # reading goes on
            assert view.head().seq == 1
        with hasty.transaction("another") as log:  # and so do others
            assert log.head().seq == 0
    with hasty.transaction("ads") as log:
        assert log.head().seq == 1
    hasty.close()


def test_a_holder_that_is_not_heard_of(url, monkeypatch):
    """As when its machine lost power: the server takes the lock back."""
    other = PostgresStore(url, create=True)
    monkeypatch.setattr(server, "HOLD", 1)
    lost = PostgresStore(url, create=True)
    with pytest.raises(StorageFailed, match="was lost"), lost.transaction("ads") as log:
        log.append([Note("one")])
        with other.transaction("ads") as theirs:
            theirs.append([Note("two")])
        log.append([Note("three")])
    with lost.view("ads") as view:
        assert [entry.text for entry in view.read()] == ["two"]
    lost.close()
    other.close()


def restart_often(context, server, url, folder, restarts, workers=4):
    """Let a server crash under load, and check that nothing acknowledged is lost."""
    with Experiment.open(url, "ads", create=problem()):
        pass
    files = [folder / f"acknowledged-{i}" for i in range(workers)]
    over = context.Event()
    crowd = [context.Process(target=crew.work_patiently, args=(url, file, over)) for file in files]
    try:
        for process in crowd:
            process.start()
        for _ in range(restarts):
            wait_for_work(files)
            server.restart()
        wait_for_work(files)
    finally:
        over.set()
        for process in crowd:
            process.join(timeout=120)
    assert [process.exitcode for process in crowd] == [0] * workers
    audit(url, files, unheard=0)


def test_a_server_that_restarts_under_load(context, postgres_server, url, tmp_path):
    restart_often(context, postgres_server, url, tmp_path, restarts=3)


@pytest.mark.slow
def test_a_server_that_restarts_50_times_under_load(context, postgres_server, url, tmp_path):
    restart_often(context, postgres_server, url, tmp_path, restarts=50)


@pytest.mark.parametrize("look", [1, 2])
def test_an_interrupt_while_the_server_answers(postgres_url, monkeypatch, look):
    """Half of an answer is still under way: that connection is of no use any more."""
    with Experiment.open(postgres_url, "ads", create=problem()) as experiment:
        batch, calls = live.batch, iter(range(1, 100))

        def interrupted(connection, statements, values):
            if next(calls) == look:
                connection.pgconn.send_query(b"SELECT pg_sleep(0.01)")
                raise KeyboardInterrupt
            return batch(connection, statements, values)

        with monkeypatch.context() as patch:
            patch.setattr(live, "batch", interrupted)
            with pytest.raises(KeyboardInterrupt):
                experiment.add(0, 1.0)
        experiment.add(0, 1.0)
        assert experiment.verify().pulls == 1
