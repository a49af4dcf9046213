"""A connection to an SQLite file: opening it, checking that it is ours, and failures."""

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

from ..errors import InvalidState, StorageFailed
from .files import Files, Journal
from .store import WAY_OUT, from_bytes, tables

APPLICATION = 0x4C474150  # "LGAP", in the file's header
VERSION = 1
PATIENCE = 30.0  # seconds to wait for other writers
PAUSE = 0.002  # seconds between looks, at most; SQLite's own pauses grow to 0.1 s

T = TypeVar("T")

ADVICE = {
    "SQLITE_BUSY": "Another process has held it for too long; try again.",
    "SQLITE_FULL": "Nothing was recorded. Make room on the disk and do the same again.",
    "SQLITE_READONLY": "Nothing was recorded. Make the file and its folder writable, and open "
    "it again.",
    "SQLITE_CANTOPEN": "The folder must exist, and be writable.",
    "SQLITE_IOERR": "Make room on the disk, or check it, and do the same again: nothing is "
    "recorded twice.",
}

DAMAGE = (  # errors that a whole file never causes: our statements fit our tables
    "SQLITE_ERROR",
    "SQLITE_CORRUPT",
    "SQLITE_NOTADB",
    "SQLITE_CONSTRAINT",
    "SQLITE_MISMATCH",
    "SQLITE_TOOBIG",
)

SCHEMA = [
    *tables("TEXT", "INTEGER"),
    "CREATE TRIGGER no_update BEFORE UPDATE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a log is only ever appended to'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a log is only ever appended to'); END",
]


class SqliteFile:
    """A file, and the connection to it while there is one."""

    def __init__(self, url: str, *, patience: float) -> None:
        self.url = url
        self._files = Files(url.removeprefix("sqlite:///"))
        self.path = self._files.path
        self._patience = patience
        self._connection: sqlite3.Connection | None = None
        self._journal: Journal | None = None
        self._over = ""  # why it cannot be used any more
        self._still: tuple[int, ...] | None = None  # of a file that nobody writes to

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
        """Open a file in a folder that cannot be written, where SQLite cannot make its own files.

        That is safe while nobody writes to it: before anything that was read is used, a look at
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
        connection.text_factory = from_bytes
        try:
            check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Check that the file is ours, or make it so."""
        if not self._ours(connection):
            self._in_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            with self._within(connection, "BEGIN IMMEDIATE"):
                if not self._checked(connection):  # no other process was faster
                    for statement in SCHEMA:
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {VERSION}")
        self._in_wal(connection)
        connection.execute("PRAGMA checkpoint_fullfsync = ON")  # on macOS; see `to_disk`
        connection.execute("PRAGMA synchronous = NORMAL")  # `sync` does the rest

    def _in_wal(self, connection: sqlite3.Connection) -> None:
        row = self._retry(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
        if row[0] != "wal":
            raise StorageFailed(
                f"{self.url} cannot have a write-ahead log there. Use a local disk."
            )

    def _ours(self, connection: sqlite3.Connection) -> bool:
        with self._within(connection, "BEGIN"):  # one look: others may be making it
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

    def _writable(self) -> bool:
        return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)

    def _failure(self, reason: sqlite3.Error) -> Exception:
        """Return what to raise instead of SQLite's error."""
        name = getattr(reason, "sqlite_errorname", "") or ""
        if name.startswith(DAMAGE) or (name == "SQLITE_READONLY" and self._writable()):
            return InvalidState(f"{self.url} is damaged, or not a database ({reason}). {WAY_OUT}")
        for code, advice in ADVICE.items():
            if name.startswith(code):
                return StorageFailed(f"{self.url} cannot be used now: {reason}. {advice}")
        return StorageFailed(f"{self.url} cannot be used now: {reason} ({name}).")

    @contextmanager
    def _within(self, connection: sqlite3.Connection, begin: str) -> Iterator[None]:
        """Run a transaction: all of it, or nothing."""

        def attempt() -> None:
            connection.execute(begin)
            try:  # a transaction that is not immediate begins with a query
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.Error:
                connection.execute("ROLLBACK")
                raise

        _roll_back(connection)  # what an interrupt at the worst moment may have left
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


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
