"""Checks of a request before its body is read: host, token, kind and size."""

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from fastapi import HTTPException

from ...errors import InvalidArgument
from ..experiment import MOST

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

SMALL = 64 * 1024  # bytes of a request that does not bring arms
TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{8,1000}")
OPEN = ("/", "/api/health", "/openapi.json")  # and /static/: the page that asks for a token

# The page loads nothing from other sites, runs no inline script, has no frames and is in none. One
# inline style is allowed, by its hash: the one that the chart library puts into each picture.
# Images from memory (blob:) are how a chart becomes a PNG.
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        b"frame-src 'none'; object-src 'none'; img-src 'self' blob:; "
        b"style-src 'self' 'sha256-zrfVyvY1E/5V+DXZunsRZW8XTqTsuIZzp8dBDThhSn8='",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True)
class Limits:
    """How much a server accepts; anything beyond that is refused with an explanation.

    request: bytes in a request.
    numbers: in a request.
    arms: of an experiment.
    features: of each arm.
    tickets: in one ask.
    experiments: in a database.
    streams: open at once.
    connections: open at once; fewer where fewer files may be open.
    head: seconds for the head of a request to arrive, or for the next request.
    body: seconds for its body.
    stall: seconds for which a client may take nothing of its answer.

    >>> from lingape.live.server import Limits
    >>> Limits(arms=100, tickets=10).tickets
    10
    """

    request: int = 16 * 1024 * 1024
    numbers: int = 1_000_000
    arms: int = 20_000
    features: int = 1_000
    tickets: int = MOST
    experiments: int = 1_000
    streams: int = 200
    connections: int = 1_000
    head: float = 10.0
    body: float = 120.0
    stall: float = 60.0


def check_tokens(read_token: str | None, write_token: str | None) -> None:
    """Raise InvalidArgument for tokens that protect nothing."""
    for token in (read_token, write_token):
        if token is not None and not TOKEN.fullmatch(token):
            raise InvalidArgument(
                "A token must have at least 8 characters, all of them letters (a to z), digits or "
                "-._~+/=; this one does not. `openssl rand -hex 32` makes one."
            )
    if read_token is not None and write_token is None:
        raise InvalidArgument(
            "With a token for reading alone, everybody could write. Set one for writing too."
        )
    if read_token is not None and read_token == write_token:
        raise InvalidArgument("The tokens for reading and for writing must differ.")


@dataclass(frozen=True)
class Gate:
    """Check host, token, kind and size of each request before its body is read.

    A page on another site cannot reach a server on this machine through a user's browser: not by
    a name of its own that resolves to 127.0.0.1, because hosts are checked where there is no
    token, and not by a form, because what is posted must be application/json, for which browsers
    ask permission first.

    posts: the paths to which JSON is posted.
    large: the path to which arms are posted, in requests larger than others may be.
    """

    app: App
    read_token: str | None
    write_token: str | None
    hosts: Collection[str] | None
    limits: Limits
    posts: Collection[re.Pattern[str]]
    large: str

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        limit = self.limits.request if scope["path"] == self.large else SMALL
        refused = (
            self._wrong_host(headers)
            or self._wrong_token(scope, headers)
            or self._wrong_kind(scope, headers)
            or _too_large(headers.get(b"content-length", "0"), limit)
        )
        if refused is not None:
            await _refuse(*refused, limit, receive, send)
            return
        if scope["method"] == "HEAD":
            await self._head(scope, receive, _marked(send))
            return
        await self.app(scope, _counted(receive, limit, self.limits.numbers), _marked(send))

    async def _head(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer as to GET, but with the headers only: a stream would never end."""
        endless = asyncio.Event()

        async def only_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})
                # What is no stream ends soon; cancelled, it might leave its file open.
                if not any(name.lower() == b"content-length" for name, _ in message["headers"]):
                    endless.set()

        work = asyncio.ensure_future(self.app({**scope, "method": "GET"}, receive, only_headers))
        answered = asyncio.ensure_future(endless.wait())
        try:
            await asyncio.wait((work, answered), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
        finally:
            work.cancel()
            answered.cancel()
            await asyncio.wait((work, answered))

    def _wrong_host(self, headers: dict[bytes, str]) -> tuple[int, str] | None:
        if self.hosts is None:
            return None
        given = headers.get(b"host", "")
        host = given[: given.find("]") + 1] if given.startswith("[") else given.split(":")[0]
        if host.lower() in self.hosts:
            return None
        return 400, (
            f"This server answers to {', '.join(sorted(self.hosts))}; got the host "
            f"{given[:100]!r}. Use one of these in the URL."
        )

    def _wrong_token(self, scope: Message, headers: dict[bytes, str]) -> tuple[int, str] | None:
        path = scope["path"]
        if self.write_token is None or path in OPEN or path.startswith("/static/"):
            return None
        scheme, _, token = headers.get(b"authorization", "").partition(" ")
        given = token.strip().encode("latin-1", "replace") if scheme.lower() == "bearer" else b""
        writes = hmac.compare_digest(given, self.write_token.encode())
        own = self.read_token
        reads = own is not None and hmac.compare_digest(given, own.encode())
        if writes or (reads and scope["method"] in ("GET", "HEAD")):
            return None
        if reads:
            return 403, "This is the token for reading. Send the one for writing."
        return 401, (
            "This server requires a token, and got none or a wrong one. Send the header "
            "'Authorization: Bearer TOKEN': with Client(url, token) in Python, or set "
            "LINGAPE_WRITE_TOKEN or LINGAPE_READ_TOKEN in the shell."
        )

    def _wrong_kind(self, scope: Message, headers: dict[bytes, str]) -> tuple[int, str] | None:
        kind, path = headers.get(b"content-type", ""), scope["path"]
        if scope["method"] != "POST" or kind.split(";")[0].strip().lower() == "application/json":
            return None
        if not any(post.match(path) for post in self.posts):
            return None
        return 415, (
            "What is posted must be JSON, with 'Content-Type: application/json'; got "
            f"{kind[:100]!r}."
        )


def _too_large(length: str, limit: int) -> tuple[int, str] | None:
    if length.isascii() and length.isdigit() and len(length) < 19 and int(length) <= limit:
        return None
    return 413, f"The body must have at most {limit} bytes; got {length[:20]}. Send less at once."


def _counted(receive: Receive, limit: int, most_numbers: int) -> Receive:
    """Limit the bytes received, also of a body whose length was not announced.

    And the numbers: once parsed, each takes up to 32 bytes where it was sent in two.
    """
    seen = commas = 0

    async def counted() -> Message:
        nonlocal seen, commas
        message = await receive()
        piece = message.get("body", b"")
        seen, commas = seen + len(piece), commas + piece.count(b",")
        if commas > most_numbers:
            await _dropped(receive, message, limit - seen)
            raise HTTPException(
                413,
                f"The body must have at most {most_numbers} numbers; this one has more. Leave out "
                "arms or features, or use a database of your own.",
            )
        if seen > limit:
            refused = _too_large(str(seen), limit)
            assert refused is not None
            raise HTTPException(*refused)
        return message

    return counted


def _marked(send: Send) -> Send:
    """Add the headers that make browsers careful."""

    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message.get("headers", [])}
            extra = [pair for pair in HEADERS if pair[0] not in given]
            message["headers"] = [*message.get("headers", []), *extra]
        await send(message)

    return marked


async def _dropped(receive: Receive, message: Message, limit: int) -> None:
    """Read on up to `limit` bytes: a client reads the answer only when it has sent everything."""
    while message["type"] == "http.request" and message.get("more_body", False) and limit > 0:
        message = await receive()
        limit -= len(message.get("body", b""))


async def _refuse(status: int, sentence: str, limit: int, receive: Receive, send: Send) -> None:
    await _dropped(receive, {"type": "http.request", "more_body": True}, limit)
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    marked = _marked(send)
    await marked({"type": "http.response.start", "status": status, "headers": headers})
    await marked({"type": "http.response.body", "body": body})
