"""Logs in a database of PostgreSQL, for processes on many machines.

A process that appends holds a lock of the server on that log's name until the commit is on disk.
It is the first thing that a transaction takes and the only one it waits for, so there are no
deadlocks. Reading takes no lock and no transaction: a log is only ever appended to, so its entries
up to a number never change.

Each message to the server and back costs time in which others wait for the lock. So statements go
in batches: the lock comes with what is new in the log and with what will be looked for in it, and
what is appended goes with the commit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import LiteralString, NamedTuple

import psycopg

from ..errors import StorageFailed
from .postgres_server import (
    PATIENCE,
    Arguments,
    Connection,
    PostgresServer,
    Record,
    batch,
    said_by,
    was_lost,
)
from .store import START, Entry, Head, Note, Snapshot, chained, checked_snapshot, checksum

AHEAD = 100  # entries to read together with the lock, if all others were read

APPEND = """
WITH added AS (
    INSERT INTO lingape.entries
    SELECT %(name)s, * FROM unnest(%(seqs)s::bigint[], %(texts)s::text[], %(digests)s::text[])
), named AS (
    INSERT INTO lingape.refs
    SELECT %(name)s, * FROM unnest(%(references)s::text[], %(named)s::bigint[])
)
INSERT INTO lingape.logs VALUES (%(name)s, %(seq)s, %(digest)s)
ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, digest = excluded.digest;
"""


class PostgresStore(PostgresServer):
    """A database of PostgreSQL, for any number of processes and threads on any machines."""

    def __init__(self, url: str, *, create: bool, patience: float = PATIENCE) -> None:
        self._seen: dict[str, int] = {}  # how far logs were read, to guess what is wanted next
        super().__init__(url, create=create, patience=patience)

    def experiments(self) -> list[str]:
        """Return the names of all logs."""
        names = self.query("SELECT name FROM lingape.logs ORDER BY name", {})
        return [name for (name,) in names]

    @contextmanager
    def view(self, name: str) -> Iterator["PostgresView"]:
        """Give the log as it is now."""
        with self._alone():
            news = self._again(lambda connection: self._look(connection, name))
        yield PostgresView(self.query, name, news, self._seen)

    @contextmanager
    def transaction(self, name: str, sought: Sequence[str] = ()) -> Iterator["PostgresLog"]:
        """Give the log, alone."""
        with self._alone():
            connection, news = self._again(lambda link: (link, self._lock(link, name, sought)))
            log = PostgresLog(connection, name, news, self._seen)
            try:
                yield log
                self._commit(connection, log)
            except psycopg.Error as reason:
                if not was_lost(connection, reason):
                    raise
                raise StorageFailed(
                    f"The connection to {self.url} was lost ({said_by(reason)}). Nothing was "
                    "recorded; do the same again."
                ) from reason
            finally:
                self._end(connection)

    def line(self) -> AbstractContextManager[None]:
        """Do nothing: the server serves those that wait for its lock in order."""
        return nullcontext()

    def sync(self) -> None:
        """Do nothing: a commit is on disk when it returns, and is not visible before."""

    def save(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of older ones."""
        with self._alone():
            self._again(lambda connection: _keep(connection, name, snapshot))

    @property
    def outdated(self) -> bool:
        """Never: a connection is to the server that the URL names, or broken."""
        return False

    def _lock(self, connection: Connection, name: str, sought: Sequence[str]) -> "_News":
        """Begin a transaction with a log that nobody else appends to until it ends."""
        try:
            return self._look(connection, name, _LOCK, sought)
        except BaseException:
            self._end(connection)
            raise

    def _look(
        self,
        connection: Connection,
        name: str,
        first: LiteralString = "",
        sought: Sequence[str] = (),
    ) -> "_News":
        """Return how far a log goes, and what is new since this process read it."""
        after = self._seen.get(name)
        values = {
            "name": name,
            "lock": f"lingape {name}",
            "after": after,
            "limit": AHEAD,
            "sought": list(sought),
        }
        questions = first + _HEAD + "; " + _READ + ("; " + _FIND if sought else "")
        heads, entries, *found = batch(connection, questions, values)[2 if first else 0 :]
        return _News(
            head=Head(*heads[0]) if heads else Head(0, START),
            after=after,
            entries=[Entry._make(row) for row in entries],
            found=dict(found[0]) if found else {},
        )

    def _commit(self, connection: Connection, log: "PostgresLog") -> None:
        try:
            log.flush("COMMIT")
        except psycopg.Error as reason:
            if not was_lost(connection, reason):
                raise
            raise StorageFailed(
                f"The connection to {self.url} was lost while it was recording "
                f"({said_by(reason)}). It may be recorded or not. Do the same again: what is "
                "there already is not recorded twice."
            ) from reason


_LOCK: LiteralString = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0));
"""
_HEAD: LiteralString = "SELECT seq, digest FROM lingape.logs WHERE name = %(name)s"
_READ: LiteralString = """
SELECT seq, text, digest FROM lingape.entries
WHERE name = %(name)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s
"""
# One look each: for "= ANY" the planner may choose to read all references of a log.
_FIND: LiteralString = """
SELECT sought, (SELECT seq FROM lingape.refs WHERE name = %(name)s AND reference = sought)
FROM unnest(%(sought)s::text[]) AS sought
"""


class _News(NamedTuple):
    """How far a log goes, and what is about to be asked for."""

    head: Head
    after: int | None  # entries are those above it, all or AHEAD; None for no guess
    entries: list[Entry]
    found: dict[str, int | None]  # references, and the numbers of their entries


class PostgresView:
    """One log, as it was at one moment."""

    def __init__(
        self,
        query: Callable[[LiteralString, Arguments], list[Record]],
        name: str,
        news: _News,
        seen: dict[str, int],
    ) -> None:
        self._query, self._name, self._news, self._seen = query, name, news, seen

    def head(self) -> Head:
        return self._news.head

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        head, start, entries, _ = self._news
        if limit is None:
            self._seen[self._name] = head.seq
        if after >= head.seq:
            return iter(())
        if start is None or after < start or len(entries) == AHEAD:
            values = {"name": self._name, "after": after, "limit": limit}
            entries = [Entry._make(row) for row in self._query(_READ, values)]
        return iter([entry for entry in entries if after < entry.seq <= head.seq][:limit])

    def find(self, reference: str) -> int | None:
        if reference not in self._news.found:
            rows = self._query(_FIND, {"name": self._name, "sought": [reference]})
            self._news.found.update(rows)
        seq = self._news.found[reference]
        return None if seq is None or seq > self.head().seq else seq

    def snapshot(self) -> Snapshot | None:
        rows = self._query(
            "SELECT seq, digest, text, checksum FROM lingape.snapshots WHERE name = %(name)s",
            {"name": self._name},
        )
        return checked_snapshot(rows[0]) if rows else None


class PostgresLog(PostgresView):
    """One log, inside a transaction."""

    def __init__(
        self, connection: Connection, name: str, news: _News, seen: dict[str, int]
    ) -> None:
        super().__init__(self._ask, name, news, seen)
        self._connection = connection
        self._waiting: list[tuple[Entry, str | None]] = []  # to be sent

    def append(self, notes: Sequence[Note]) -> Head:
        seq, digest = self.head()
        found = self._news.found
        for text, reference in notes:
            seq, digest = seq + 1, chained(digest, text)
            self._waiting.append((Entry(seq, text, digest), reference))
            if reference in found:
                found[reference] = seq
        self._news = _News(Head(seq, digest), None, [], found)
        self._seen[self._name] = seq
        return self._news.head

    def keep(self, snapshot: Snapshot) -> None:
        self.flush()
        _keep(self._connection, self._name, snapshot)

    def flush(self, then: LiteralString = "") -> None:
        """Send what was appended, and a statement."""
        waiting, self._waiting = self._waiting, []
        named = [(name, entry.seq) for entry, name in waiting if name is not None]
        values = {
            "name": self._name,
            "seqs": [entry.seq for entry, _ in waiting],
            "texts": [entry.text for entry, _ in waiting],
            "digests": [entry.digest for entry, _ in waiting],
            "references": [name for name, _ in named],
            "named": [seq for _, seq in named],
            "seq": self.head().seq,
            "digest": self.head().digest,
        }
        batch(self._connection, (APPEND if waiting else "") + then, values)

    def _ask(self, question: LiteralString, values: Arguments) -> list[Record]:
        self.flush()
        return batch(self._connection, question, values)[-1]


def _keep(connection: Connection, name: str, snapshot: Snapshot) -> None:
    (seq, digest), text = snapshot
    connection.execute(
        "INSERT INTO lingape.snapshots VALUES (%s, %s, %s, %s, %s) "
        "ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, "
        "digest = excluded.digest, text = excluded.text, checksum = excluded.checksum",
        (name, seq, digest, text, checksum(text)),
    )
