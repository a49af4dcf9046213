"""A connection to PostgreSQL: making it, making it again, the tables, and failures in words."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, LiteralString, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from ..errors import InvalidArgument, InvalidState, NotFound, StorageFailed
from .forks import after_fork
from .store import WAY_OUT, tables

VERSION = 1
PATIENCE = 30.0  # seconds to wait for other writers
HOLD = 60  # seconds after which the server takes the lock from a writer that is silent
GRACE = 5.0  # seconds that a server may be away, as when it is restarted, without an error
PAUSE = 0.05  # seconds between attempts to connect
HOST = re.compile(r' (at|on socket) "[^"]*"( \([^)]*\))?(, port [0-9]+)?')
QUESTION = re.compile(r" Is the server running [^?]*\?")

T = TypeVar("T")
Record: TypeAlias = tuple[Any, ...]
Arguments: TypeAlias = dict[str, Any]
Connection: TypeAlias = psycopg.Connection[Record]

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
    "42501": "Nothing was recorded. Grant the role what it needs "
    "(https://lingape.github.io/lingape/live.html#postgresql).",
    "53100": "Nothing was recorded. Make room on the server's disk and do the same again.",
    "55P03": "Another process has held the log for too long; try again.",
}

SCHEMA = [
    "CREATE TABLE lingape.format (version integer NOT NULL)",
    *tables('text COLLATE "C"', "bigint", schema="lingape."),
    # Room for the next version of a row beside it.
    "ALTER TABLE lingape.logs SET (fillfactor = 50)",
    "CREATE FUNCTION lingape.refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a log is only ever appended to'; END $$",
    "CREATE TRIGGER no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON lingape.entries "
    "EXECUTE FUNCTION lingape.refuse()",
]
_NAMESPACE: LiteralString = "SELECT 1 FROM pg_namespace WHERE nspname = 'lingape'"
_TABLES: LiteralString = "SELECT tablename FROM pg_tables WHERE schemaname = 'lingape'"


class PostgresServer:
    """A database of PostgreSQL, and the connection to it while there is one."""

    def __init__(self, url: str, *, create: bool, patience: float = PATIENCE) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:  # its message may show the password
            raise InvalidArgument(
                "PostgreSQL's URLs look like postgresql://USER@HOST:5432/DATABASE; the one given "
                "does not. Characters such as @ and / in a password are written %40 and %2F."
            ) from None
        self.url = _shown(given)
        self._conninfo = make_conninfo(**(_SETTINGS | given))
        self._create, self._patience = create, patience
        self._mutex = threading.RLock()
        self._inherited: list[Connection | None] = []
        self._connection: Connection | None = None
        self._lost: float | None = None  # since when the server is gone
        self._closed = False
        after_fork(self)
        with self._alone():
            self._connected()

    def close(self) -> None:
        """Close the connection for good."""
        with self._mutex:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _renew(self) -> None:
        """Leave the connection to the parent: both would use it."""
        self._inherited.append(self._connection)  # it must not be closed here
        self._mutex, self._connection = threading.RLock(), None

    def query(self, question: LiteralString, values: Arguments) -> list[Record]:
        """Return the rows that answer a question, as of now."""
        with self._alone():
            return self._again(lambda link: batch(link, question, values)[-1])

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
            if not was_lost(connection, reason):
                raise
            self._drop(connection)
        return act(self._connected())

    def _connected(self) -> Connection:
        if self._closed:
            raise InvalidState(f"{self.url} was closed. Open it again to use it.")
        if self._connection is not None:
            self._end(self._connection)  # what an interrupt left open
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
        """Return a new connection; if there was one before, wait for the server for a while."""
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
            if not self._checked(connection):  # no other process was faster
                if not connection.execute(_NAMESPACE).fetchall():
                    connection.execute("CREATE SCHEMA lingape")
                for statement in SCHEMA:
                    connection.execute(statement.encode())
                connection.execute("INSERT INTO lingape.format VALUES (%s)", (VERSION,))

    def _checked(self, connection: Connection) -> bool:
        """Return whether the tables are there, or raise if they are not ours."""
        tables = [name for (name,) in connection.execute(_TABLES)]  # one look
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

    def _end(self, connection: Connection) -> None:
        """Leave no transaction open, and no connection that is unusable."""
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
            return InvalidState(f"{self.url} is damaged ({said_by(reason)}). {WAY_OUT}")
        advice = _ADVICE.get(code, "Nothing was recorded." if code else "Is the server running?")
        return StorageFailed(f"{self.url} cannot be used now: {said_by(reason)}. {advice}")


def batch(
    connection: Connection, statements: LiteralString, values: Arguments
) -> list[list[Record]]:
    """Return the rows of each of some statements, sent in one message."""
    cursor = connection.execute(statements, values)
    rows = []
    while True:
        rows.append(cursor.fetchall() if cursor.description else [])
        if not cursor.nextset():
            return rows


def was_lost(connection: Connection, reason: psycopg.Error) -> bool:
    """Return whether the connection was lost, rather than the statement refused."""
    return connection.closed or (reason.sqlstate or "").startswith(_GONE)


def said_by(reason: psycopg.Error) -> str:
    """Return an error of PostgreSQL on one line, without what messages say anyway.

    These are the host, and whether the server is running.
    """
    return QUESTION.sub("", HOST.sub("", " ".join(str(reason).split()))).rstrip(".")


def _shown(settings: dict[str, Any]) -> str:
    """Return where a database is, without anything secret."""
    user = f"{settings['user']}@" if settings.get("user") else ""
    host, port = settings.get("host") or "", settings.get("port")
    place = f"{user}{'' if '/' in host else host}{f':{port}' if port else ''}"
    folder = f"?host={host}" if "/" in host else ""
    return f"postgresql://{place}/{settings.get('dbname') or ''}{folder}"
