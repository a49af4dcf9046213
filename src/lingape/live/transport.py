"""Requests to a server, over connections that are kept open, repeated while that may help.

Built on urllib3 rather than httpx, which was slower per request, used more CPU time, took longer
to import (measured on the same server in the same minute) and does not retry by status either.
urllib3 keeps connections that threads share, replaces those that a server closed, goes through
proxies, checks certificates against those of the system (or SSL_CERT_FILE), and streams. What to
repeat and how long to wait is decided here: urllib3's own retries are recursive, so a client that
keeps trying for hours would end in a RecursionError.
"""

import json
import random
import ssl
import time
from collections.abc import Iterator
from queue import Empty, LifoQueue
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, ProtocolError

from .. import errors
from ..errors import InvalidArgument, LingapeError, StorageFailed, in_words
from .addresses import proxy_for
from .forks import after_fork

SOON = (429, 502, 503, 504)  # statuses after which the same request may work in a moment
SLOWEST = 5.0  # seconds between attempts, at most
KEPT = 256  # idle connections
JSON = {"Content-Type": "application/json"}
NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")  # OpenSSL's names


class Transport:
    """A server, and the connections to it.

    Threads may share one. A child process of a fork starts with no connections: those that were
    open stay the parent's.
    """

    def __init__(
        self, server: SplitResult, token: str | None, *, retries: int, timeout: float
    ) -> None:
        self._url, self._retries = server.geturl().rstrip("/"), retries
        self._headers = {"Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        settings: dict[str, Any] = {"maxsize": KEPT, "timeout": timeout}
        if server.scheme == "https":
            settings["ssl_context"] = ssl.create_default_context()
        proxy = proxy_for(server)
        # What is sent to a proxy in plain HTTP names the whole URL; through a tunnel, the path.
        whole = proxy is not None and server.scheme == "http"
        self._root = self._url if whole else server.path.rstrip("/")
        self._proxy = None if proxy is None else urlsplit(proxy).netloc.rpartition("@")[2]
        self._pool = _manager(proxy, settings).connection_from_url(self._url)
        after_fork(self)

    def hang_up(self) -> None:
        """Close the connections that are idle."""
        while True:
            try:
                connection = self._idle.get(block=False)
            except Empty:
                return
            if connection is not None:
                connection.close()

    @property
    def _idle(self) -> "LifoQueue[urllib3.connection.HTTPConnection | None]":
        queue = self._pool.pool
        assert queue is not None  # the pool is never closed
        return queue

    def _renew(self) -> None:
        """Close the copies of the parent's connections; it may have held the queue's lock."""
        inherited = list(self._idle.queue)
        LifoQueue.__init__(self._idle, KEPT)
        for connection in inherited:
            if connection is not None:
                connection.close()

    def request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the body of the answer, or raise what the server raised, or StorageFailed."""
        return self._send(method, path, body).data

    def lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of an answer as they arrive; raise StorageFailed if it breaks off."""
        with self._send("GET", path, stream=True) as response:
            try:
                for line in response:
                    if not line.endswith(b"\n"):
                        raise ProtocolError("the answer ends within a line")
                    yield line
            except HTTPError as reason:
                raise self._unreachable(reason) from reason

    def _send(
        self, method: str, path: str, body: bytes | None = None, *, stream: bool = False
    ) -> urllib3.BaseHTTPResponse:
        """Return the answer, having repeated the request as often as is useful and allowed."""
        for attempt in range(self._retries + 1):
            wait = min(SLOWEST, 0.1 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.0)
            last = attempt == self._retries
            try:
                response = self._pool.urlopen(
                    method,
                    self._root + path,
                    body,
                    self._headers if body is None else self._headers | JSON,
                    retries=False,
                    redirect=False,
                    assert_same_host=False,  # that of a proxy is another
                    preload_content=not stream,
                )
                if response.status < 300:
                    return response
                refused = response.data  # when streaming, it is read only now
            except HTTPError as reason:
                failure = self._unreachable(reason)
                if last or isinstance(failure, InvalidArgument):
                    raise failure from reason
            else:
                if last or response.status not in SOON:
                    raise self._failure(response.status, refused)
                after = response.headers.get("retry-after", "")
                if after.isascii() and after.isdigit():
                    wait = max(wait, min(float(after), SLOWEST))
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _unreachable(self, error: HTTPError) -> LingapeError:
        """Return what to raise when there is no answer."""
        reason = _cause(error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            return InvalidArgument(
                f"The certificate of {self._url} is not trusted ({reason.verify_message}). Use "
                "the host name that it was issued for, or set SSL_CERT_FILE to the certificate "
                "of the authority that issued it."
            )
        if isinstance(reason, ssl.SSLError) and reason.reason in NO_TLS:
            return InvalidArgument(f"{self._url} does not use https. Try http:// instead.")
        why = in_words(reason)
        if isinstance(reason, ssl.SSLError) and reason.reason:
            why = reason.reason.replace("_", " ").lower()
        if self._proxy is not None:
            why = f"through the proxy {self._proxy}: {why}"
        return StorageFailed(
            f"{self._url} cannot be reached ({why}). Try again later: nothing is recorded twice."
        )

    def _failure(self, status: int, answer: bytes) -> LingapeError:
        """Return the exception that the server had, or one like it."""
        try:
            data = json.loads(answer)
            sentence, kind = str(data["error"]), data.get("kind")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            sentence, kind = f"{self._url} answered with status {status}. Check its URL.", None
        known = getattr(errors, kind, None) if isinstance(kind, str) else None
        if isinstance(known, type) and issubclass(known, LingapeError):
            return known(sentence)
        if status in (404, 409):
            return (errors.NotFound if status == 404 else errors.Conflict)(sentence)
        return InvalidArgument(sentence) if status < 500 else StorageFailed(sentence)


def _manager(proxy: str | None, settings: dict[str, Any]) -> urllib3.PoolManager:
    if proxy is None:
        return urllib3.PoolManager(**settings)
    parts, headers = urlsplit(proxy), None
    if parts.username:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = urllib3.make_headers(proxy_basic_auth=login)
    try:
        return urllib3.ProxyManager(proxy, proxy_headers=headers, **settings)
    except HTTPError as reason:
        raise InvalidArgument(
            "A proxy is given in the environment as http://HOST:PORT or https://HOST:PORT; "
            f"got {parts.scheme}://. Change it, or add the server to no_proxy."
        ) from reason


def _cause(error: BaseException) -> BaseException:
    """Return the exception behind those of urllib3."""
    inner = next((each for each in error.args if isinstance(each, Exception)), error.__cause__)
    return error if inner is None else _cause(inner)
