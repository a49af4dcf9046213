"""Logs in a database of PostgreSQL, for processes on many machines.

Whoever appends holds a lock of the server on that log's name until the commit is on disk. It is
the first thing that a transaction takes and the only one it waits for, so no two can wait for each
other. Reading takes no lock and no transaction: a log is only ever appended to, so its entries up
to a number are the same at any moment.

Each message to the server and back costs time in which others wait for the lock. So statements go
in batches: the lock comes with what is new in the log and with what will be looked for in it, and
what is appended goes with the commit.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, LiteralString, NamedTuple, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from ..errors import InvalidArgument, InvalidState, NotFound, StorageFailed
from .forks import after_fork
from .store import START, WAY_OUT, Entry, Head, Note, Snapshot, chained, checked_snapshot, checksum

VERSION = 1
PATIENCE = 30.0  # seconds to wait for other writers
HOLD = 60  # seconds after which the server takes the lock from a writer that was not heard of
GRACE = 5.0  # seconds that a server may be gone, as when it is restarted, and nobody notices
PAUSE = 0.05  # seconds between attempts to connect
HOST = re.compile(r' (at|on socket) "[^"]*"( \([^)]*\))?(, port [0-9]+)?')
AHEAD = 100  # entries to send along to those who have read all others

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]
Values: TypeAlias = dict[str, Any]
Connection: TypeAlias = psycopg.Connection[Row]

_SETTINGS: dict[str, Any] = {  # those in the URL come first
    "application_name": "lingape",
    "client_encoding": "UTF8",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "tcp_user_timeout": 30_000,
}
_GONE = ("08", "25P03", "57P01", "57P02", "57P03", "57P05")  # the connection, not the statement
_DAMAGE = (  # what a database that is whole does not lead to: our statements fit our tables
    "XX00",  # so says the server
    "22021",  # a text is none
    "23",  # something is there twice that is written once
    "42703",  # a column is missing,
    "42P01",  # or a table
)
_ADVICE = {
    "25006": "Nothing was recorded. It can only be read: name the server that takes writes.",
    "42501": "Nothing was recorded. Grant the role what it needs (docs/live.md).",
    "53100": "Nothing was recorded. Make room on the server's disk and do the same again.",
    "55P03": "Another process has held the log for too long; try again.",
}

SCHEMA = """
CREATE TABLE lingape.format (version integer NOT NULL);

CREATE TABLE lingape.logs (
    name text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL,
    digest text NOT NULL
) WITH (fillfactor = 50);  -- room for the next version of a row beside it

CREATE TABLE lingape.entries (
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    text text NOT NULL,
    digest text NOT NULL,
    PRIMARY KEY (name, seq)
);

CREATE TABLE lingape.refs (
    name text COLLATE "C" NOT NULL,
    reference text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (name, reference)
);

CREATE TABLE lingape.snapshots (
    name text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL,
    digest text NOT NULL,
    text text NOT NULL,
    checksum text NOT NULL
);

CREATE FUNCTION lingape.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'a log is only ever appended to'; END $$;

CREATE TRIGGER no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON lingape.entries
    EXECUTE FUNCTION lingape.refuse();
"""

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


class PostgresStore:
    """A database of PostgreSQL, for any number of processes and threads on any machines."""

    def __init__(self, url: str, *, create: bool, patience: float = PATIENCE) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:  # its message may show the password
            raise InvalidArgument(
                "PostgreSQL's URLs look like postgresql://USER@HOST:5432/DATABASE; the one given "
                "is not one. Letters such as @ and / in a password are written %40 and %2F."
            ) from None
        self.url = _shown(given)
        self._conninfo = make_conninfo(**(_SETTINGS | given))
        self._create, self._patience = create, patience
        self._mutex = threading.RLock()
        self._inherited: list[Connection | None] = []
        self._connection: Connection | None = None
        self._lost: float | None = None  # since when the server is gone
        self._seen: dict[str, int] = {}  # how far logs were read, to guess what is wanted next
        self._closed = False
        after_fork(self)
        with self._alone():
            self._connected()

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
                if not _gone(connection, reason):
                    raise
                raise StorageFailed(
                    f"The connection to {self.url} was lost ({_words(reason)}). Nothing was "
                    "recorded; do the same again."
                ) from reason
            finally:
                self._end(connection)

    def line(self) -> AbstractContextManager[None]:
        """Do nothing: those who wait for the server's lock stand in line."""
        return nullcontext()

    def sync(self) -> None:
        """Do nothing: a commit is on disk when it returns, and nobody sees it before."""

    def save(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of older ones."""
        with self._alone():
            self._again(lambda connection: _keep(connection, name, snapshot))

    def close(self) -> None:
        """Close the connection for good."""
        with self._mutex:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    @property
    def outdated(self) -> bool:
        """Never: a connection is to the server that the URL names, or broken."""
        return False

    def _renew(self) -> None:
        """Leave the connection to the parent: both would speak on it."""
        self._inherited.append(self._connection)  # nobody may close it here
        self._mutex, self._connection = threading.RLock(), None

    def query(self, question: LiteralString, values: Values) -> list[Row]:
        """Return the rows that answer a question, as of now."""
        with self._alone():
            return self._again(lambda link: _batch(link, question, values)[-1])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads off the connection; failures become sentences."""
        with self._mutex:
            try:
                yield
            except psycopg.Error as reason:
                raise self._failure(reason) from reason
            except UnicodeDecodeError as reason:
                raise InvalidState(f"{self.url} is damaged: a text is none. {WAY_OUT}") from reason

    def _again(self, act: Callable[[Connection], T]) -> T:
        """Return what `act` returns; if the connection is lost, try once more on a new one."""
        connection = self._connected()
        try:
            return act(connection)
        except psycopg.Error as reason:
            if not _gone(connection, reason):
                raise
            self._drop(connection)
        return act(self._connected())

    def _connected(self) -> Connection:
        if self._closed:
            raise InvalidState(f"{self.url} was closed. Open it again to use it.")
        if self._connection is not None:
            self._end(self._connection)  # of what an interrupt left
        if self._connection is None:
            self._connection = self._connect()
            self._lost = None
        return self._connection

    def _connect(self) -> Connection:
        connection = self._reach()
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('lock_timeout', %s, false), "
                    "set_config('idle_in_transaction_session_timeout', %s, false), "
                    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
                    "WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' "
                    "ELSE current_setting('synchronous_commit') END, false)",
                    (f"{1e3 * self._patience:.0f}ms", f"{HOLD}s"),
                )
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _reach(self) -> Connection:
        """Return a new connection; where there was one before, the server may take its time."""
        end = 0.0 if self._lost is None else self._lost + GRACE
        while True:
            try:
                return psycopg.connect(
                    self._conninfo, autocommit=True, cursor_factory=psycopg.ClientCursor
                )
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
            time.sleep(PAUSE)

    def _prepare(self, connection: Connection) -> None:
        """Check that the tables are there, or make them."""
        if self._checked(connection):
            return
        if not self._create:
            raise NotFound(f"There are no experiments in {self.url}. Begin one in it first.")
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('lingape'))")
            if not self._checked(connection):  # nobody was faster
                if not connection.execute(_NAMESPACE).fetchall():
                    connection.execute("CREATE SCHEMA lingape")
                connection.execute(SCHEMA)
                connection.execute("INSERT INTO lingape.format VALUES (%s)", (VERSION,))

    def _checked(self, connection: Connection) -> bool:
        """Return whether the tables are there, or raise if they are not ours."""
        tables = [name for (name,) in connection.execute(_TABLES)]  # one look: others may be at it
        if not tables:
            return False
        if "format" not in tables:
            raise InvalidState(
                f"The schema lingape in {self.url} has tables of something else. Keep "
                "experiments in another database."
            )
        versions = [version for (version,) in connection.execute("TABLE lingape.format")]
        if versions != [VERSION]:
            raise InvalidState(
                f"{self.url} has experiments in format {', '.join(map(str, versions))}, and this "
                f"version of lingape reads format {VERSION}. Use the version that wrote it, or a "
                "newer one."
            )
        return True

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
        heads, entries, *found = _batch(connection, questions, values)[2 if first else 0 :]
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
            if not _gone(connection, reason):
                raise
            raise StorageFailed(
                f"The connection to {self.url} was lost while it was recording "
                f"({_words(reason)}). It may be recorded or not. Do the same again: what is "
                "there already is not recorded twice."
            ) from reason

    def _end(self, connection: Connection) -> None:
        """Leave no transaction open, and no connection that is of no use."""
        with suppress(psycopg.Error):
            if connection.info.transaction_status != TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        if connection.info.transaction_status != TransactionStatus.IDLE:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        connection.close()
        if self._connection is connection:
            self._connection = None
        if self._lost is None:
            self._lost = time.monotonic()

    def _failure(self, reason: psycopg.Error) -> Exception:
        """Return what to raise instead of PostgreSQL's error."""
        code = reason.sqlstate or ""
        if code.startswith(_DAMAGE):
            return InvalidState(f"{self.url} is damaged ({_words(reason)}). {WAY_OUT}")
        advice = _ADVICE.get(code, "Nothing was recorded." if code else "Is the server running?")
        return StorageFailed(f"{self.url} cannot be used now: {_words(reason)}. {advice}")


_NAMESPACE: LiteralString = "SELECT 1 FROM pg_namespace WHERE nspname = 'lingape'"
_TABLES: LiteralString = "SELECT tablename FROM pg_tables WHERE schemaname = 'lingape'"
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
    """How far a log goes, and what somebody is about to ask for."""

    head: Head
    after: int | None  # entries are those above it, all or AHEAD; None for no guess
    entries: list[Entry]
    found: dict[str, int | None]  # references, and the numbers of their entries


class PostgresView:
    """One log, as it was when it had so many entries."""

    def __init__(
        self,
        query: Callable[[LiteralString, Values], list[Row]],
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
        _batch(self._connection, (APPEND if waiting else "") + then, values)

    def _ask(self, question: LiteralString, values: Values) -> list[Row]:
        self.flush()
        return _batch(self._connection, question, values)[-1]


def _keep(connection: Connection, name: str, snapshot: Snapshot) -> None:
    (seq, digest), text = snapshot
    connection.execute(
        "INSERT INTO lingape.snapshots VALUES (%s, %s, %s, %s, %s) "
        "ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, "
        "digest = excluded.digest, text = excluded.text, checksum = excluded.checksum",
        (name, seq, digest, text, checksum(text)),
    )


def _batch(connection: Connection, statements: LiteralString, values: Values) -> list[list[Row]]:
    """Return the rows of each of some statements, sent in one message."""
    cursor = connection.execute(statements, values)
    rows = []
    while True:
        rows.append(cursor.fetchall() if cursor.description else [])
        if not cursor.nextset():
            return rows


def _gone(connection: Connection, reason: psycopg.Error) -> bool:
    """Return whether the connection was lost, rather than the statement refused."""
    return connection.closed or (reason.sqlstate or "").startswith(_GONE)


def _words(reason: psycopg.Error) -> str:
    """Return an error of PostgreSQL on one line, without the host, which messages name anyway."""
    return HOST.sub("", " ".join(str(reason).split())).rstrip(".")


def _shown(settings: dict[str, Any]) -> str:
    """Return where a database is, without anything secret."""
    user = f"{settings['user']}@" if settings.get("user") else ""
    host, port = settings.get("host") or "", settings.get("port")
    place = f"{user}{'' if '/' in host else host}{f':{port}' if port else ''}"
    folder = f"?host={host}" if "/" in host else ""
    return f"postgresql://{place}/{settings.get('dbname') or ''}{folder}"
