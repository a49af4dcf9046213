"""Logs in an SQLite file.

A commit writes to the write-ahead log; what makes it durable, waiting for the disk (`sync`), comes
after the lock is released and before anything is acknowledged. So processes that share a file wait
for the disk side by side: a wait covers everything that was committed before it began. With
`synchronous=FULL` SQLite would wait inside the lock, one process after the other.

No connection survives a fork. SQLite records a file's locks for the whole process, and a child
that inherits the record has none of the locks: the next process to close the file would delete the
write-ahead log under the child, with everything that it writes from then on. So before a fork
every connection of this process is closed, and both sides connect again when they need to.

A file that was replaced or removed while it is open accepts everything and keeps nothing. So
before anything is acknowledged the paths are checked: do they still lead to what was written? If
not, this store can no longer be used, and what is there now has to be opened instead.
"""

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from ..errors import InvalidState, NotFound, StorageFailed
from .files import WAL, Journal
from .forks import Living
from .sqlite_file import PATIENCE, SqliteFile
from .store import (
    START,
    Entry,
    Head,
    Note,
    Snapshot,
    chained,
    checked_row,
    checked_snapshot,
    checksum,
)

_stores: "Living[SqliteStore]" = Living()  # of this process
_connecting = threading.RLock()  # held while connecting, and from before a fork until after it


class SqliteStore(SqliteFile):
    """An SQLite file, for any number of processes and threads on one machine."""

    def __init__(self, url: str, *, create: bool, patience: float = PATIENCE) -> None:
        super().__init__(url, patience=patience)
        if not create and not self.path.exists():
            raise NotFound(f"There is no file at {url}. Begin an experiment in it first.")
        self._mutex = threading.RLock()
        self._doubtful = False  # the disk did not confirm something
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
                self._journal.leave()  # the next process reads on meanwhile
            yield SqliteLog(connection, name)
            self._check_files()

    @contextmanager
    def line(self) -> Iterator[None]:
        """Wait in line until this process is one of the next few to write.

        Processes that only retry hinder each other, and some wait for long.
        """
        try:
            journal = self._open_journal()
        except OSError:  # the file can only be read
            yield
            return
        try:
            journal.enter()
            yield
        finally:
            journal.leave()

    def sync(self) -> None:
        """Return once everything committed so far is safe from a power cut.

        No lock is held, so threads wait side by side too.
        """
        if self._doubtful:
            self._write_again()
        try:
            with suppress(FileNotFoundError):  # the file is only read, or was closed
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

        A system that failed to write may forget the failure, and confirm the next time.
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
        """Whether the file was replaced or removed, and has to be opened again."""
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

    def _check_stillness(self) -> None:
        """Raise if somebody wrote to a file that was opened as one that does not change."""
        if self._still is not None and self._files.still() != self._still:
            self._disconnect()
            raise StorageFailed(f"{self.url} was written to while it was read. Do the same again.")

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
        """Close this process's connections to files that are no longer there.

        SQLite shares what it knows about a file among all connections of a process: a new one
        beside an old one would use locks that no other process sees.
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


_held: list[SqliteStore] = []  # during a fork


def _before_fork() -> None:
    """Wait until other threads are done, keep them out, and close all files."""
    _connecting.acquire()
    for store in _stores:
        store._mutex.acquire()
        _held.append(store)
        with suppress(sqlite3.Error):
            store._disconnect()


def _after_fork() -> None:
    """Let other threads in, or in the child those to come."""
    while _held:
        _held.pop()._mutex.release()
    _connecting.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


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
