"""Logs in a file of SQLite.

A commit writes to the write-ahead log; what makes it durable, waiting for the disk (`sync`), comes
after the lock is released and before anybody hears of it. So processes that share a file wait for
the disk side by side: a wait covers everything that was committed before it began. With
`synchronous=FULL` SQLite would wait inside the lock, one process after the other.

No connection lives through a fork. SQLite keeps account of a file's locks for the whole process,
and a child that inherits the account has none of the locks: whoever closes the file next would
delete the write-ahead log under the child, with all that it writes from then on. So before a fork
every connection of this process is closed, and both sides connect again when they need to.

A file that was replaced or removed while it is open takes everything and keeps nothing. So before
anything is acknowledged a look at the paths says whether they still lead to what was written; if
not, the store is over, and whoever wants to go on opens what is there now.
"""

import os
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

from ..errors import InvalidState, NotFound, StorageFailed
from .files import WAL, Files, Journal
from .forks import Living
from .store import (
    START,
    WAY_OUT,
    Entry,
    Head,
    Note,
    Snapshot,
    chained,
    checked_row,
    checked_snapshot,
    checksum,
)

APPLICATION = 0x4C474150  # "LGAP", in the file's header
VERSION = 1
PATIENCE = 30.0  # seconds to wait for other writers
PAUSE = 0.002  # seconds between looks, at most; SQLite's own pauses grow to 0.1 s

T = TypeVar("T")
_stores: "Living[SqliteStore]" = Living()  # of this process
_connecting = threading.RLock()  # held while connecting, and from before a fork until after it

_ADVICE = {
    "SQLITE_BUSY": "Another process has held it for too long; try again.",
    "SQLITE_FULL": "Nothing was recorded. Make room on the disk and do the same again.",
    "SQLITE_READONLY": "Nothing was recorded. Make the file and its folder writable, and open "
    "it again.",
    "SQLITE_CANTOPEN": "The folder must exist, and be writable.",
    "SQLITE_IOERR": "Make room on the disk, or look after it, and do the same again: nothing is "
    "recorded twice.",
}

_DAMAGE = (  # what a file that is whole does not lead to: our statements fit our tables
    "SQLITE_ERROR",
    "SQLITE_CORRUPT",
    "SQLITE_NOTADB",
    "SQLITE_CONSTRAINT",
    "SQLITE_MISMATCH",
    "SQLITE_TOOBIG",
)

SCHEMA = """CREATE TABLE logs (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    digest TEXT NOT NULL
);

CREATE TABLE entries (
    name TEXT NOT NULL,
    seq INTEGER NOT NULL,
    text TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (name, seq)
);

CREATE TABLE refs (
    name TEXT NOT NULL,
    reference TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (name, reference)
) WITHOUT ROWID;

CREATE TABLE snapshots (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    checksum TEXT NOT NULL
);

CREATE TRIGGER no_update BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'a log is only ever appended to'); END;

CREATE TRIGGER no_delete BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'a log is only ever appended to'); END;"""


class SqliteStore:
    """A file of SQLite, for any number of processes and threads on one machine."""

    def __init__(self, url: str, *, create: bool, patience: float = PATIENCE) -> None:
        self.url = url
        self._files = Files(url.removeprefix("sqlite:///"))
        self.path = self._files.path
        if not create and not self.path.exists():
            raise NotFound(f"There is no file at {url}. Begin an experiment in it first.")
        self._patience = patience
        self._mutex = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._journal: Journal | None = None
        self._doubtful = False  # the disk did not confirm something
        self._over = ""  # why it cannot be used any longer
        self._still: tuple[int, ...] | None = None  # of a file that nobody writes to
        with _connecting:
            _stores.add(self)
        with self._using():
            pass

    def experiments(self) -> list[str]:
        """Return the names of all logs."""
        with self._using() as connection, self._within(connection, "BEGIN"):
            return [row[0] for row in connection.execute("SELECT name FROM logs ORDER BY name")]

    @contextmanager
    def view(self, name: str) -> Iterator["SqliteLog"]:
        """Give the log as it is now."""
        with self._using() as connection, self._within(connection, "BEGIN"):
            yield SqliteLog(connection, name)

    @contextmanager
    def transaction(self, name: str, sought: Sequence[str] = ()) -> Iterator["SqliteLog"]:
        """Give the log, alone."""
        with self._using() as connection, self._within(connection, "BEGIN IMMEDIATE"):
            if self._journal is not None:
                self._journal.leave()  # the next one comes up to date meanwhile
            yield SqliteLog(connection, name)
            self._check_files()

    @contextmanager
    def line(self) -> Iterator[None]:
        """Wait in line until this process is one of the next few to write.

        Processes that just try again and again hinder each other, and some wait for long.
        """
        try:
            journal = self._open_journal()
        except OSError:  # of a file that can only be read
            yield
            return
        try:
            journal.enter()
            yield
        finally:
            journal.leave()

    def sync(self) -> None:
        """Return once everything committed so far is safe from a power cut.

        Threads wait side by side too: for this no lock is held.
        """
        if self._doubtful:
            self._write_again()
        try:
            with suppress(FileNotFoundError):  # of a file that is only read, or was closed
                self._open_journal().sync()
            if self._files.changed():  # or another thread has just closed the file
                with self._mutex:
                    self._check_files()
        except OSError as reason:
            self._doubtful = True
            raise StorageFailed(
                f"The disk did not confirm that {self.url} is written ({reason.strerror}). "
                "Do the same again: what is there already is not recorded twice."
            ) from reason

    def _write_again(self) -> None:
        """Copy everything into the main file, and wait for the disk there.

        A system that failed to write may forget about it, and confirm the next time.
        """

        def checkpoint() -> None:
            if connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()[0]:
                busy = sqlite3.OperationalError("others read or write")
                busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
                busy.sqlite_errorname = "SQLITE_BUSY"
                raise busy

        with self._using() as connection:
            self._retry(checkpoint)
        self._doubtful = False

    def _open_journal(self) -> "Journal":
        """Return the write-ahead log, which SQLite writes and does not wait for."""
        journal = self._journal
        if journal is not None:
            return journal
        with self._mutex:
            if self._journal is None:
                self._journal = Journal(self._files.beside(WAL))
                self._check_files()  # it is the log that SQLite writes to, if nothing changed
            return self._journal

    def save(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of older ones."""
        with self.line(), self.transaction(name) as log:
            log.keep(snapshot)

    def close(self) -> None:
        """Close the file for good."""
        with self._mutex:
            self._over = self._over or f"{self.url} was closed. Open it again to use it."
            self._disconnect()

    @property
    def outdated(self) -> bool:
        """Whether the file was replaced or removed, so that only opening it anew helps."""
        return self._files.changed() is not None

    def _disconnect(self) -> None:
        connection, self._connection, self._journal = self._connection, None, None
        others = self._files.wal_of_others()
        self._files.closed()
        self._still = None
        if connection is None:
            return
        if others and sys.version_info >= (3, 12):  # closing would remove what others wrote
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE)
        connection.close()

    def _check_files(self) -> None:
        """Raise if the database is not the one that was opened; with the mutex held."""
        what = "" if self._over else self._files.changed()
        if what:
            self._over = (
                f"{self.url} is not the database that was opened: {what} while it was in use. "
                "What was not acknowledged may be recorded or not. If it was moved, move it back; "
                "if it was removed, put back a copy. Then open it again (restart what uses it), "
                "check it with `lingape live verify`, and do the same again: nothing is recorded "
                "twice."
            )
            with suppress(sqlite3.Error):
                self._disconnect()
        if self._over:
            raise InvalidState(self._over)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, to one thread at a time; failures become sentences."""
        try:
            while True:
                with self._mutex:
                    self._check_files()
                    if self._connection is not None:
                        try:
                            yield self._connection
                        finally:
                            self._check_stillness()
                        return
                with _connecting, self._mutex:  # in the order in which a fork takes them
                    if self._connection is None and not self._over:
                        self._expire_others()
                        self._connection = self._connect()
                        self._journal = None  # that of another connection may be deleted
        except sqlite3.Error as reason:
            raise self._failure(reason) from reason

    def _expire_others(self) -> None:
        """Close what this process has open of files that are not there any longer.

        SQLite shares what it knows of a file in memory among all connections of a process: a new
        one beside an old one would use locks that no other process sees.
        """
        for other in _stores:
            if other is not self and other.path == self.path and other.outdated:
                if not other._mutex.acquire(blocking=False):
                    raise StorageFailed(
                        f"{self.url} cannot be opened now: another thread is using files that "
                        "were replaced or removed. Do the same again."
                    )
                try:
                    with suppress(InvalidState):
                        other._check_files()
                finally:
                    other._mutex.release()

    def before_fork(self) -> None:
        """Wait for other threads to be done, keep them out, and close the file."""
        self._mutex.acquire()
        with suppress(sqlite3.Error):
            self._disconnect()

    def after_fork(self) -> None:
        """Let other threads in, or in the child those to come."""
        self._mutex.release()

    def _connect(self) -> sqlite3.Connection:
        self._files.opening()
        try:
            connection = self._open(f"file:{quote(os.fsencode(self.path))}", self._prepare)
        except sqlite3.OperationalError:
            if self._writable() or not self.path.exists():
                raise
            connection = self._connect_immutable()
        self._files.opened()
        return connection

    def _connect_immutable(self) -> sqlite3.Connection:
        """Open a file in a folder that cannot be written, where SQLite has no room for its own.

        That is sound while nobody writes to it: before anybody hears of what was read, a look at
        the file says whether somebody did.
        """
        if self._files.unmerged():
            raise StorageFailed(
                f"{self.url} cannot be read where it is: {self.path.name}-wal holds what is not "
                "in the file yet, and the folder cannot be written. Copy both into one that can "
                "be, and read them there."
            )
        still = self._files.still()
        connection = self._open(f"file:{quote(os.fsencode(self.path))}?immutable=1", self._ours)
        self._still = still
        return connection

    def _open(self, uri: str, check: Callable[[sqlite3.Connection], Any]) -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri, uri=True, timeout=0.0, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = _text
        try:
            check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_stillness(self) -> None:
        """Raise if somebody wrote to a file that was read as if nobody could."""
        if self._still is not None and self._files.still() != self._still:
            self._disconnect()
            raise StorageFailed(f"{self.url} was written to while it was read. Do the same again.")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Check that the file is ours, or make it so."""
        if not self._ours(connection):
            self._in_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            with self._within(connection, "BEGIN IMMEDIATE"):
                if not self._checked(connection):  # nobody was faster
                    for statement in SCHEMA.split("\n\n"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {VERSION}")
        self._in_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # `sync` does the rest

    def _in_wal(self, connection: sqlite3.Connection) -> None:
        row = self._retry(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
        if row[0] != "wal":
            raise StorageFailed(
                f"{self.url} cannot have a write-ahead log there. Use a local disk."
            )

    def _ours(self, connection: sqlite3.Connection) -> bool:
        with self._within(connection, "BEGIN"):  # one look, while others may be making it
            return self._checked(connection)

    def _checked(self, connection: sqlite3.Connection) -> bool:
        """Return whether the file is ours or else empty, or raise."""
        application, version, tables = (
            connection.execute(question).fetchone()[0]
            for question in (
                "PRAGMA application_id",
                "PRAGMA user_version",
                "SELECT count(*) FROM sqlite_master",
            )
        )
        if application != APPLICATION and tables:
            raise InvalidState(
                f"{self.url} is a database of something else. Keep experiments in a file of "
                "their own."
            )
        if application == APPLICATION and version != VERSION:
            raise InvalidState(
                f"{self.url} has experiments in format {version}, and this version of lingape "
                f"reads format {VERSION}. Use the version that wrote it, or a newer one."
            )
        return bool(application == APPLICATION)

    @contextmanager
    def _within(self, connection: sqlite3.Connection, begin: str) -> Iterator[None]:
        """Run a transaction: all of it, or nothing."""

        def attempt() -> None:
            connection.execute(begin)
            try:  # only a look makes a transaction begin that is not immediate
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.Error:
                connection.execute("ROLLBACK")
                raise

        _roll_back(connection)  # what an interrupt may have left, if it came at the worst moment
        try:
            self._retry(attempt)
            yield
            self._retry(lambda: connection.execute("COMMIT"))
        finally:
            _roll_back(connection)

    def _retry(self, attempt: Callable[[], T]) -> T:
        """Return what `attempt` returns, once no other process is in the way."""
        end = time.monotonic() + self._patience
        while True:
            try:
                return attempt()
            except sqlite3.OperationalError as reason:
                busy = (reason.sqlite_errorcode or 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > end:
                    raise
            time.sleep(PAUSE * random.random())

    def _writable(self) -> bool:
        return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)

    def _failure(self, reason: sqlite3.Error) -> Exception:
        """Return what to raise instead of SQLite's error."""
        name = getattr(reason, "sqlite_errorname", "") or ""
        if name.startswith(_DAMAGE) or (name == "SQLITE_READONLY" and self._writable()):
            return InvalidState(f"{self.url} is damaged, or no database ({reason}). {WAY_OUT}")
        for code, advice in _ADVICE.items():
            if name.startswith(code):
                return StorageFailed(f"{self.url} cannot be used now: {reason}. {advice}")
        return StorageFailed(f"{self.url} cannot be used now: {reason} ({name}).")


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


_held: list[SqliteStore] = []  # during a fork


def _before_fork() -> None:
    _connecting.acquire()
    for store in list(_stores):
        store.before_fork()
        _held.append(store)


def _after_fork() -> None:
    while _held:
        _held.pop().after_fork()
    _connecting.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


def _text(data: bytes) -> str:
    """Return a text of the database; what is not one becomes letters that none of ours has."""
    return data.decode(errors="surrogateescape")


class SqliteLog:
    """One log, inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection, self._name = connection, name

    def head(self) -> Head:
        row = self._connection.execute(
            "SELECT seq, digest FROM logs WHERE name = ?", (self._name,)
        ).fetchone()
        return Head(0, START) if row is None else Head._make(checked_row(row, int, str))

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        rows = self._connection.execute(
            "SELECT seq, text, digest FROM entries WHERE name = ? AND seq > ? ORDER BY seq "
            "LIMIT ?",
            (self._name, after, -1 if limit is None else limit),
        )
        return (Entry._make(checked_row(row, int, str, str)) for row in rows)

    def find(self, reference: str) -> int | None:
        row = self._connection.execute(
            "SELECT seq FROM refs WHERE name = ? AND reference = ?", (self._name, reference)
        ).fetchone()
        return None if row is None else int(checked_row(row, int)[0])

    def snapshot(self) -> Snapshot | None:
        row = self._connection.execute(
            "SELECT seq, digest, text, checksum FROM snapshots WHERE name = ?", (self._name,)
        ).fetchone()
        return None if row is None else checked_snapshot(row)

    def keep(self, snapshot: Snapshot) -> None:
        (seq, digest), text = snapshot
        self._connection.execute(
            "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "seq = excluded.seq, digest = excluded.digest, text = excluded.text, "
            "checksum = excluded.checksum",
            (self._name, seq, digest, text, checksum(text)),
        )

    def append(self, notes: Sequence[Note]) -> Head:
        seq, digest = self.head()
        for text, reference in notes:
            seq, digest = seq + 1, chained(digest, text)
            self._connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?)", (self._name, seq, text, digest)
            )
            if reference is not None:
                self._connection.execute(
                    "INSERT INTO refs VALUES (?, ?, ?)", (self._name, reference, seq)
                )
        self._connection.execute(
            "INSERT INTO logs VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "seq = excluded.seq, digest = excluded.digest",
            (self._name, seq, digest),
        )
        return Head(seq, digest)
