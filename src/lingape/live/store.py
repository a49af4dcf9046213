"""Where logs of experiments are kept: what a database has to do, and no more.

A log is a chain: each entry carries the hash of all entries up to it, so that an entry that was
changed, lost or inserted is noticed when the log is read. That protects against accidents and
edits by hand, not against somebody who computes the hashes again, nor against a lost end: only a
hash kept elsewhere shows that.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from ..errors import InvalidArgument, InvalidState, MissingExtra

PAGE = 1_000  # entries read at once
START = hashlib.sha256(b"lingape live log, version 1").hexdigest()


class Head(NamedTuple):
    """How far a log goes."""

    seq: int  # number of the last entry; 0 for an empty log
    digest: str  # hash of everything up to it


class Entry(NamedTuple):
    """One entry of a log, as stored."""

    seq: int
    text: str
    digest: str


class Note(NamedTuple):
    """What is to be appended: a text, and a reference that no two entries of a log may share."""

    text: str
    reference: str | None = None


class Snapshot(NamedTuple):
    """The state after an entry; a shortcut that may be lost at any time."""

    head: Head
    text: str


class View(Protocol):
    """A log as it is at one moment."""

    def head(self) -> Head: ...

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Yield the entries whose number is above `after`, in order, at most `limit`."""
        ...

    def find(self, reference: str) -> int | None:
        """Return the number of the entry with this reference."""
        ...

    def snapshot(self) -> Snapshot | None: ...


class Log(View, Protocol):
    """A log that only its holder writes to."""

    def append(self, notes: Sequence[Note]) -> Head:
        """Add entries; they are there once the transaction ends without an exception."""
        ...

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of older ones."""
        ...


class Store(Protocol):
    """A database of logs, shared by processes and threads.

    An implementation gives `transaction` mutual exclusion per log across processes, raises
    StorageFailed for everything that the database cannot do now, and InvalidState for what
    repeating will not fix: damage, or another database than the one that was opened. Nothing is
    acknowledged before `sync`; if commits are durable at once, as in PostgreSQL, that does
    nothing.
    """

    url: str  # where it is, for messages: without a password

    @property
    def outdated(self) -> bool:
        """Whether there is another database at the URL now, or none: then open it again."""
        ...

    def experiments(self) -> list[str]:
        """Return the names of all logs."""
        ...

    def view(self, name: str) -> AbstractContextManager[View]: ...

    def transaction(self, name: str, sought: Sequence[str] = ()) -> AbstractContextManager[Log]:
        """Give a log to append to; `sought` are references that it will be asked to find."""
        ...

    def line(self) -> AbstractContextManager[None]:
        """Wait in line for a transaction: one that begins inside is the next, or nearly."""
        ...

    def sync(self) -> None:
        """Return once everything committed so far is safe from a power cut."""
        ...

    def save(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of older ones."""
        ...

    def close(self) -> None: ...


def tables(text: str, number: str, *, schema: str = "") -> list[str]:
    """Return the statements that make the tables, with a database's names for its types."""
    return [
        f"CREATE TABLE {schema}logs (name {text} PRIMARY KEY, seq {number} NOT NULL, "
        "digest text NOT NULL)",
        f"CREATE TABLE {schema}entries (name {text} NOT NULL, seq {number} NOT NULL, "
        "text text NOT NULL, digest text NOT NULL, PRIMARY KEY (name, seq))",
        f"CREATE TABLE {schema}refs (name {text} NOT NULL, reference {text} NOT NULL, "
        f"seq {number} NOT NULL, PRIMARY KEY (name, reference))",
        f"CREATE TABLE {schema}snapshots (name {text} PRIMARY KEY, seq {number} NOT NULL, "
        "digest text NOT NULL, text text NOT NULL, checksum text NOT NULL)",
    ]


def chained(digest: str, text: str) -> str:
    """Return the hash of a log that has hash `digest` after an entry is added."""
    return hashlib.sha256(as_bytes(digest) + as_bytes(text)).hexdigest()


def as_bytes(text: str) -> bytes:
    """Return a text as it is stored, even if damage made it invalid."""
    return text.encode(errors="surrogatepass")


def from_bytes(data: bytes) -> str:
    """Return a stored text; invalid bytes become characters that ours never contain."""
    return data.decode(errors="surrogateescape")


def checksum(text: str) -> str:
    """Return the hash of a text alone."""
    return hashlib.sha256(as_bytes(text)).hexdigest()


def checked_row(row: tuple[Any, ...], *kinds: type) -> tuple[Any, ...]:
    """Return a row of a database whose values have the types that were written."""
    if any(type(value) is not kind for value, kind in zip(row, kinds, strict=True)):
        raise InvalidState(f"The log is damaged: a value in it has another type. {WAY_OUT}")
    return row


def checked_snapshot(row: tuple[Any, ...]) -> "Snapshot | None":
    """Return a snapshot from its row, or None if it is damaged: it is only a shortcut."""
    seq, digest, text, check = row
    if type(text) is not str or type(seq) is not int or checksum(text) != check:
        return None
    return Snapshot(Head(seq, digest), text)


def check_link(before: Head, entry: Entry) -> Head:
    """Return the head after an entry, or raise if it does not follow on the one before."""
    if entry.seq != before.seq + 1:
        raise InvalidState(
            f"The log is damaged: after event {before.seq} comes event {entry.seq}. {WAY_OUT}"
        )
    if chained(before.digest, entry.text) != entry.digest:
        raise InvalidState(
            f"The log is damaged: event {entry.seq} is not what was written, or not all before it "
            f"is (its hash differs). {WAY_OUT}"
        )
    return Head(entry.seq, entry.digest)


def has_entry(view: View, head: Head) -> bool:
    """Whether a log went that far at some time."""
    return any((seq, digest) == head for seq, _, digest in view.read(head.seq - 1, 1))


def read_linked(view: View, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
    """Yield entries as `view.read` does, having checked that each follows on the one before."""
    before = Head(0, START)
    if after > 0:
        for seq, _, digest in view.read(after - 1, 1):
            before = Head(seq, digest)
        if before.seq != after:
            return  # the log ends before
    for entry in view.read(after, limit):
        before = check_link(before, entry)
        yield entry


def read_pages(
    store: Store, name: str, after: int = 0, end: int | None = None
) -> Iterator[list[Entry]]:
    """Yield the entries of a log from number `after` + 1 to `end`, some at a time.

    Between pages nothing is kept open: whoever reads slowly hinders nobody.
    """
    while end is None or after < end:
        limit = PAGE if end is None else min(PAGE, end - after)
        with store.view(name) as view:
            page = list(read_linked(view, after, limit))
        store.sync()  # a power cut cannot take back what others are shown
        if page:
            yield page
        if len(page) < limit:
            return
        after += limit


WAY_OUT = "Restore a copy; `lingape live verify` says whether it is whole."


def open_store(url: str, *, create: bool) -> Store:
    """Return the database at a URL; if there is none, begin one or raise NotFound."""
    if isinstance(url, str) and url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        from .sqlite import SqliteStore

        return SqliteStore(url, create=create)
    if isinstance(url, str) and url.startswith(("postgresql://", "postgres://")):
        try:
            from .postgres import PostgresStore
        except ImportError as reason:
            raise MissingExtra(
                'Experiments in PostgreSQL need psycopg: pip install "lingape[postgres]".'
            ) from reason
        return PostgresStore(url, create=create)
    raise InvalidArgument(
        "Experiments are kept in a database given as sqlite:///PATH or as "
        f"postgresql://USER@HOST/DATABASE; got {url!r}. For example sqlite:///run.db in this "
        "folder, or sqlite:////tmp/run.db with a full path."
    )
