"""Experiments on a server, from Python: the same words as Experiment, over HTTP.

Requests are repeated when the connection breaks or the server has trouble. That is safe: telling
the same again changes nothing, and what is asked for or added carries a key.
"""

import http.client
import json
import os
import random
import selectors
import ssl
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import numpy as np

from .. import __version__, errors
from ..errors import (
    Conflict,
    InvalidArgument,
    InvalidState,
    LingapeError,
    NotFound,
    StorageFailed,
    in_words,
)
from ..problem import Problem
from .crew import Outcome, run_crew
from .events import Created, Event, from_data
from .history import Point, checked_points
from .model_check import ModelCheck
from .replay import LogCertificate, Progress
from .standing import Status, Summary, Unreadable
from .texts import checked_name
from .tickets import Ticket, TimeToLive, id_of
from .verification import Verification, read_export, verify, write_export

PAGE = 1_000  # events in one request
SOON = (429, 502, 503, 504)  # statuses after which the same may work in a moment
NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")  # what OpenSSL calls it
SLOWEST = 5.0  # seconds between attempts, at most
LOOK = 0.5  # seconds between looks at what moves
LONGEST_WAIT = 86_400  # seconds for an answer

T = TypeVar("T")


class Client:
    """A server of experiments.

    base_url: such as http://127.0.0.1:8000.
    token: if the server wants one; the one for reading is enough to look.
    retries: how often to try again before giving up.
    timeout: seconds to wait for an answer.

    Threads may share one; connections are kept open for whoever is next.
    """

    def __init__(
        self, base_url: str, token: str | None = None, *, retries: int = 8, timeout: float = 60.0
    ) -> None:
        try:
            parts = urlsplit(base_url)
            port, written = parts.port, _sendable(parts.hostname or "", parts.path)
        except (ValueError, AttributeError, TypeError):
            parts, port, written = urlsplit(""), None, False
        if parts.scheme not in ("http", "https") or not parts.hostname or not written:
            raise InvalidArgument(
                f"A server is given as http://HOST:PORT or https://HOST:PORT; got {base_url!r}."
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InvalidArgument(
                "A server's URL has no password, query or fragment in it. The token is given "
                "apart: token=... in Python, LINGAPE_WRITE_TOKEN in the shell."
            )
        if token is not None and not (
            isinstance(token, str) and token.isascii() and token.isprintable()
        ):
            raise InvalidArgument("A token is made of letters and digits; this one is not.")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InvalidArgument(f"retries must be a whole number from 0; got {retries!r}.")
        if not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST_WAIT:
            raise InvalidArgument(
                f"timeout must be seconds, above 0 and at most {LONGEST_WAIT}; got {timeout!r}."
            )
        self.base_url = base_url.rstrip("/")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port
        self._prefix = parts.path.rstrip("/")
        self._token, self._retries, self._timeout = token, retries, timeout
        self._lock, self._process = threading.Lock(), os.getpid()
        self._idle: list[http.client.HTTPConnection] = []
        self._closed = False

    def __repr__(self) -> str:
        return f"Client({self.base_url!r})"  # and no token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, for good: make another client to go on."""
        self._closed = True
        self.hang_up()

    def hang_up(self) -> None:
        """Close the connections that nobody uses now; the next request opens another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def health(self) -> dict[str, Any]:
        """Return what the server says about itself."""
        return self._get("/api/health", dict[str, Any])

    def experiments(self) -> list[Summary | Unreadable]:
        """Return the experiments on the server, each in a line, by name."""
        return self._get("/api/experiments", _summaries)

    def create(
        self,
        name: str,
        problem: Problem,
        *,
        rewards: str | tuple[float, float] | None = None,
        explorer: str = "lingape",
        seed: int = 0,
    ) -> "RemoteExperiment":
        """Begin an experiment; one that is there with the same settings goes on."""
        body = {
            "name": checked_name(name),
            "problem": problem.to_dict(),
            "rewards": rewards,
            "explorer": explorer,
            "seed": seed,
        }
        self._post("/api/experiments", body, Status.from_dict)
        return RemoteExperiment(self, name)

    def experiment(self, name: str) -> "RemoteExperiment":
        """Return an experiment, whether or not there is one of that name yet."""
        return RemoteExperiment(self, name)

    def _get(self, path: str, made: Callable[[Any], T]) -> T:
        return self._read(self._request("GET", path), made)

    def _post(self, path: str, body: dict[str, Any], made: Callable[[Any], T]) -> T:
        try:
            text = json.dumps(body, allow_nan=False)
        except (TypeError, ValueError) as reason:
            raise InvalidArgument(
                f"{reason}; what is sent must be finite numbers and texts."
            ) from reason
        return self._read(self._request("POST", path, text.encode()), made)

    def _read(self, answer: bytes, made: Callable[[Any], T]) -> T:
        """Return what is made of an answer in JSON."""
        try:
            return made(json.loads(answer))
        except (ValueError, KeyError, TypeError, RecursionError) as reason:
            raise StorageFailed(
                f"{self.base_url} does not answer like a server of lingape {__version__} "
                f"({in_words(reason)}). Look at its URL and its version."
            ) from reason

    def _request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the answer to a request, repeated as often as it takes and is allowed."""
        if self._closed:
            raise InvalidState(f"{self!r} was closed. Make another to go on.")
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            wait = min(SLOWEST, 0.1 * 2**attempt) * random.uniform(0.5, 1.0)
            try:
                status, headers, answer = self._exchange(method, path, body)
            except (OSError, http.client.HTTPException) as reason:
                if isinstance(reason, ssl.SSLError) and reason.reason in NO_TLS:
                    raise InvalidArgument(
                        f"{self.base_url} does not speak https. Try http:// in its place."
                    ) from reason
                if last or isinstance(reason, ssl.SSLCertVerificationError):
                    raise StorageFailed(
                        f"{self.base_url} cannot be reached "
                        f"({_why(reason)}). Do the same again later: nothing "
                        "is recorded twice."
                    ) from reason
                time.sleep(wait)
                continue
            if status < 300:
                return answer
            if status not in SOON or last:
                raise _failure(status, answer, self.base_url)
            after = headers.get("retry-after", "")
            time.sleep(max(wait, min(float(after), SLOWEST)) if _digits(after) else wait)
        raise AssertionError("the last attempt returns or raises")

    def _exchange(
        self, method: str, path: str, body: bytes | None
    ) -> tuple[int, dict[str, str], bytes]:
        connection = self._connection()
        try:
            connection.request(method, self._prefix + path, body, self._headers(body))
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return response.status, {k.lower(): v for k, v in response.getheaders()}, answer

    def _headers(self, body: bytes | None) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _connection(self) -> http.client.HTTPConnection:
        if self._process != os.getpid():  # after a fork the other side uses these
            self._lock, self._process = threading.Lock(), os.getpid()
            self._idle = []
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection = self._idle.pop()
            if not _ended(connection):
                return connection
            connection.close()
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=self._timeout)


class RemoteExperiment:
    """An experiment on a server, with the methods of Experiment."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, checked_name(name)
        self._closed = False
        self._path = f"/api/experiments/{name}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End its use, for good; the client and its other experiments may go on."""
        self._closed = True
        self.client.hang_up()

    @property
    def problem(self) -> Problem:
        """The question."""
        (created,) = self.events(limit=1)
        assert isinstance(created, Created)
        return Problem(**created.problem)

    def ask(
        self,
        n: int = 1,
        *,
        worker: str | None = None,
        ttl: TimeToLive = "1d",
        key: str | None = None,
    ) -> list[Ticket]:
        """Return `n` arms to pull; see Experiment.ask. Without a key it makes one."""
        seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
        body = {"n": n, "worker": worker, "ttl": seconds, "key": key or _key()}
        return self._post("ask", body, _tickets)

    def tell(self, ticket: str | Ticket, reward: float) -> Progress:
        """Record the reward of a ticket; telling the same again changes nothing."""
        return self._post("tell", {"ticket": id_of(ticket), "reward": _plain(reward)}, _progress)

    def void(self, ticket: str | Ticket, reason: str) -> Progress:
        """Record that a ticket will have no reward, for a reason other than the reward."""
        return self._post("void", {"ticket": id_of(ticket), "reason": reason}, _progress)

    def add(self, arm: int, reward: float, *, key: str | None = None) -> Progress:
        """Record a reward that no ticket asked for. Without a key it makes one."""
        body = {"arm": _plain(arm), "reward": _plain(reward), "key": key or _key()}
        return self._post("add", body, _progress)

    def status(self) -> Status:
        """Return how the experiment stands, with the bound that also decides when to stop."""
        return self._get("", Status.from_dict)

    def certificate(self) -> LogCertificate:
        """Return what is proven now; once settled, always the same."""
        return self._get("/certificate", LogCertificate.from_dict)

    def check(self) -> ModelCheck:
        """Return whether rewards look as supposed: linear in the features, no noisier than R."""
        return self.status().check

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """Return the events whose number is above `after`, oldest first."""
        found: list[Event] = []
        while limit is None or len(found) < limit:
            count = PAGE if limit is None else min(PAGE, limit - len(found))
            page = self._get(f"/events?after={after}&limit={count}", _page)
            found += [from_data(data, place=after + i) for i, data in enumerate(page, start=1)]
            after += len(page)
            if len(page) < count:
                break
        return found

    def history(self, points: int = 300) -> list[Point]:
        """Return how B(t) fell, in at most so many points; the server replays the whole log."""
        path = f"/history?points={checked_points(points)}"
        while True:
            found, complete = self._get(path, _history)
            if complete:
                return found
            time.sleep(LOOK)

    def export(self, path: str | Path) -> int:
        """Write the log to a new file as JSON lines, each event with its hash; return how many."""
        return write_export(path, self.export_lines())

    def export_lines(self) -> Iterator[str]:
        """Yield the lines of an export."""
        yield from self._fetch("/export").decode("ascii").splitlines(keepends=True)

    def verify(self) -> Verification:
        """Fetch the whole log, replay it here, and check everything in it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.jsonl"
            self.export(path)
            return verify(read_export(path))

    def run(
        self,
        reward_fn: Callable[[Ticket], float],
        *,
        workers: int = 4,
        max_pulls: int | None = None,
        max_failures: int = 10,
        ttl: TimeToLive = "1d",
    ) -> Outcome:
        """Call `reward_fn` with tickets, in threads, until it is settled; see Experiment.run."""
        return run_crew(
            self,
            reward_fn,
            workers=workers,
            max_pulls=max_pulls,
            max_failures=max_failures,
            ttl=ttl,
        )

    def watch(self) -> Iterator[Status]:
        """Yield the status now, and whenever it has moved, until it is settled."""
        seen = -1
        while True:
            now = self.status()
            if now.event != seen:
                seen = now.event
                yield now
            if now.settled:
                return
            time.sleep(LOOK)

    def _get(self, what: str, made: Callable[[Any], T]) -> T:
        return self.client._get(self._at(what), made)

    def _post(self, what: str, body: dict[str, Any], made: Callable[[Any], T]) -> T:
        return self.client._post(self._at(f"/{what}"), body, made)

    def _fetch(self, what: str) -> bytes:
        return self.client._request("GET", self._at(what))

    def _at(self, what: str) -> str:
        """Return where something of the experiment is, or raise if it was closed."""
        if self._closed:
            raise InvalidState(
                f"The experiment {self.name!r} was closed. Client.experiment opens it again."
            )
        return self._path + what


def _summaries(data: Any) -> list[Summary | Unreadable]:
    lines = [Summary.from_dict(line) for line in data["experiments"]]
    damaged = [Unreadable(log["name"], log["error"]) for log in data["unreadable"]]
    return sorted([*lines, *damaged], key=lambda one: one.name)


def _tickets(data: Any) -> list[Ticket]:
    return [
        Ticket(**ticket | {"features": tuple(ticket["features"])}) for ticket in data["tickets"]
    ]


def _progress(data: Any) -> Progress:
    return Progress(data["pulls"], data["settled"])


def _page(data: Any) -> list[Any]:
    return list(data["events"])


def _history(data: Any) -> tuple[list[Point], bool]:
    return [Point(**point) for point in data["points"]], data["complete"]


def _why(reason: Exception) -> str:
    """Return why a server cannot be reached, without what OpenSSL says about itself."""
    if isinstance(reason, ssl.SSLCertVerificationError):
        return reason.verify_message
    if isinstance(reason, ssl.SSLError) and reason.reason:
        return reason.reason.replace("_", " ").lower()
    return in_words(reason)


def _ended(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has hung up on a connection that was kept open for the next request."""
    if connection.sock is None:
        return False  # it opens another by itself
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))  # nothing was asked, so all there can be is its end


def _sendable(host: str, path: str) -> bool:
    """Whether a request can be written that goes there; raise UnicodeError if not."""
    host.encode("idna")
    return path.isascii() and not any(sign <= " " or sign == "\x7f" for sign in host + path)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _key() -> str:
    return uuid.uuid4().hex


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _failure(status: int, answer: bytes, url: str) -> LingapeError:
    """Return the exception that the server had, or one like it."""
    try:
        data = json.loads(answer)
        sentence, kind = str(data["error"]), data.get("kind")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sentence, kind = f"{url} answered with status {status}. Look at its URL.", None
    known = getattr(errors, kind, None) if isinstance(kind, str) else None
    if isinstance(known, type) and issubclass(known, LingapeError):
        return known(sentence)
    if status == 404:
        return NotFound(sentence)
    if status == 409:
        return Conflict(sentence)
    return InvalidArgument(sentence) if status < 500 else StorageFailed(sentence)
