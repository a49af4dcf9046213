"""Connections that cannot stall a server: each has limited time, and their number is limited.

A client has some seconds for the head of a request, more for its body, and must take the answer as
it is sent; a stream may stay open for any time. When there are as many connections as the server
takes, one that waits for its client is closed to make room for the next: the one that has waited
longest for a request, or else for the rest of one, or else for an answer to be taken. So a client
that sends whole requests and reads the answers gets through, however many others do not.
"""

import asyncio
import logging
import sys
import time
from collections import Counter
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from .gate import Limits

SPARE = 192  # files that are not connections: databases, and connections about to open or close
ACCEPTS = 16  # connections accepted at once, before any of them is counted
MINUTE, FEW = 60.0, 10  # seconds, and messages of one kind in the log in that time
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n"
    b"content-type: application/json\r\ncontent-length: 68\r\n\r\n"
    b'{"error": "The server has no connection to spare. Try again later."}'
)


def most_connections(limits: Limits) -> int:
    """Return how many connections to keep: fewer than there may be open files."""
    if sys.platform == "win32":  # has no limit that can be asked for
        return limits.connections
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return limits.connections
    return min(limits.connections, max(files - SPARE, files // 4))


class TimedConnection(H11Protocol):
    """A connection that is closed when its client takes too long, or others need the room."""

    limits: ClassVar[Limits]
    most: ClassVar[int]
    # Those that wait for their clients to send something, longest first; and to read an answer.
    heads: ClassVar[dict["TimedConnection", None]]
    bodies: ClassVar[dict["TimedConnection", None]]
    stalled: ClassVar[dict["TimedConnection", None]]
    _alarm: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= self.most:
            for idle in self.heads or self.bodies or self.stalled:
                idle._drop()
                break
            else:
                transport.write(FULL)
                transport.close()
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._rest()
        self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stalled[self] = None
        self._stall = self.loop.call_later(self.limits.stall, self._drop)

    def resume_writing(self) -> None:
        self.stalled.pop(self, None)
        if self._stall is not None:
            self._stall.cancel()
        super().resume_writing()

    def _awaited(self) -> "dict[TimedConnection, None] | None":
        """Return the list of those that wait for the same from their client, or None."""
        if self.cycle is None or self.cycle.response_complete:
            return self.heads
        return self.bodies if self.cycle.more_body else None

    def _expect(self) -> None:
        """Start the time for what the client has to send next, unless it is running already."""
        awaited = self._awaited()
        if awaited is not None and self in awaited:
            return
        self._rest()
        if awaited is None or self.transport.is_closing():
            return
        awaited[self] = None
        seconds = self.limits.head if awaited is self.heads else self.limits.body
        self._alarm = self.loop.call_later(seconds, self._drop)

    def _rest(self) -> None:
        self.heads.pop(self, None)
        self.bodies.pop(self, None)
        if self._alarm is not None:
            self._alarm.cancel()

    def _drop(self) -> None:
        self._rest()
        self.stalled.pop(self, None)
        self.connections.discard(self)  # now: the next is counted before this one is closed
        self.transport.abort()


def protocol(limits: Limits) -> type[H11Protocol]:
    """Return uvicorn's HTTP protocol with these limits."""
    room = {"limits": limits, "most": most_connections(limits)}
    waiting: dict[str, dict[TimedConnection, None]] = {"heads": {}, "bodies": {}, "stalled": {}}
    return type("TimedConnection", (TimedConnection,), room | waiting)


class Sparing(logging.Filter):
    """Lets a few messages of each kind per minute through, then says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._begun, self._seen = time.monotonic(), Counter[str]()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write a record; kinds of message are told apart by how they begin."""
        kind = str(record.msg)[:40]
        if time.monotonic() > self._begun + MINUTE:
            left_out = sum(max(0, count - FEW) for count in self._seen.values())
            self._begun, self._seen = time.monotonic(), Counter()
            if left_out:
                record.msg = f"{record.msg} ({left_out} messages like earlier ones were left out.)"
        self._seen[kind] += 1
        return self._seen[kind] <= FEW


def spare_the_log() -> None:
    """Limit what clients can make the server write to its log."""
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(Sparing())
