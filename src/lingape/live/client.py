"""Experiments on a server, from Python: the methods of Experiment, over HTTP.

Requests are repeated when the connection breaks or the server has trouble. That is safe: telling
the same again changes nothing, and asking and adding carry a key.
"""

import json
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlencode

import numpy as np

from .. import __version__
from ..checks import checked_whole
from ..data import restored
from ..errors import InvalidArgument, InvalidState, MissingExtra, StorageFailed, in_words
from ..factors import Level
from ..noise import NoiseLike, checked_noise
from ..problem import Problem
from ..values import Values
from .activity import Activity
from .addresses import checked_url
from .crew import LOOK, Workplace
from .events import Event, from_data
from .history import Point
from .model_check import ModelCheck
from .replay import Addition, LogCertificate, Progress, Tallies
from .standing import ArmsPage, Order, Status
from .summary import Summary, Unreadable
from .texts import checked_name, checked_text
from .tickets import Ticket, TimeToLive, id_of
from .verification import Verification, read_export, verify

if TYPE_CHECKING:
    from .transport import Transport

PAGE = 1_000  # events in one request
LONGEST_WAIT = 86_400  # seconds for an answer

T = TypeVar("T")


class Client:
    """A server of experiments.

    base_url: such as http://127.0.0.1:8000. Proxies are taken from the environment (http_proxy,
        https_proxy, no_proxy), and trusted certificates from the system, or SSL_CERT_FILE.
    token: if the server requires one; the one for reading is enough to look.
    retries: how many times to try again before giving up.
    timeout: seconds to wait for an answer.

    Threads may share one, and connections are kept open for the next request. After a fork both
    processes can use it.

    With a server running (`lingape serve --db sqlite:///ads.db`), programs on any machine take
    part::

        with Client("http://127.0.0.1:8000") as client:
            experiment = client.create("ads", Problem([[1, 0], [0, 1]], noise="binary"))
            [ticket] = experiment.ask(worker="shop-1")
            experiment.tell(ticket, show(ticket.arm))

    Making one opens no connection yet:

    >>> from lingape import Client
    >>> Client("http://127.0.0.1:8000", token="a-token-for-reading")
    Client('http://127.0.0.1:8000')
    """

    def __init__(
        self, base_url: str, token: str | None = None, *, retries: int = 8, timeout: float = 60.0
    ) -> None:
        server = checked_url(base_url)
        if token is not None and not (
            isinstance(token, str) and token.isascii() and token.isprintable()
        ):
            raise InvalidArgument(
                "A token consists of ASCII letters and digits; this one does not."
            )
        checked_whole("retries", retries)
        if not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST_WAIT:
            raise InvalidArgument(
                f"timeout must be seconds, above 0 and at most {LONGEST_WAIT}; got {timeout!r}."
            )
        try:
            from .transport import Transport
        except ImportError as reason:
            raise MissingExtra(
                f"Client needs {reason.name}, which is not installed: "
                'pip install "lingape[client]".'
            ) from reason
        self.base_url = base_url.rstrip("/")
        self._transport = Transport(server, token, retries=retries, timeout=timeout)
        self._closed = False

    def __repr__(self) -> str:
        return f"Client({self.base_url!r})"  # without the token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections for good: make another client to go on."""
        self._closed = True
        self.hang_up()

    def hang_up(self) -> None:
        """Close the connections that are idle; the next request opens another."""
        self._transport.hang_up()

    def health(self) -> dict[str, Any]:
        """Return what the server says about itself."""
        return self._get("/api/health", dict[str, Any])

    def experiments(self) -> list[Summary | Unreadable]:
        """Return a line about each experiment on the server, by name."""
        return self._get("/api/experiments", _summaries)

    def create(
        self,
        name: str,
        problem: Problem,
        *,
        explorer: str = "race",
        seed: int = 0,
        question: str | None = None,
        notes: str | None = None,
        owner: str | None = None,
    ) -> "RemoteExperiment":
        """Begin an experiment; if it exists with the same settings, go on with it.

        name: 1 to 100 letters, digits, dots, dashes and underscores.
        problem: the question; rewards that its noise rules out are refused.
        explorer: which algorithm chooses arms, with settings if needed, such as
            "lingape(bound=self_normalized)".
        seed: of explorers that draw random numbers.
        question: what is to be found out, in a sentence for people. If the experiment is there
            already, what is not given here is as it was.
        notes: what else people should know.
        owner: whom to ask about it.
        """
        body = {
            "name": checked_name(name),
            "problem": problem.to_dict(),
            "explorer": explorer,
            "seed": seed,
            "question": question,
            "notes": notes,
            "owner": owner,
        }
        self._post("/api/experiments", body, Status.from_dict)
        return RemoteExperiment(self, name)

    def experiment(self, name: str) -> "RemoteExperiment":
        """Return the experiment of that name, whether or not it exists yet."""
        return RemoteExperiment(self, name)

    def _get(self, path: str, made: Callable[[Any], T]) -> T:
        return self._read(self._open.request("GET", path), made)

    def _post(self, path: str, body: dict[str, Any], made: Callable[[Any], T]) -> T:
        try:
            text = json.dumps(body, allow_nan=False, default=_plain)
        except (TypeError, ValueError) as reason:
            raise InvalidArgument(f"{reason}; pass finite numbers and texts.") from reason
        return self._read(self._open.request("POST", path, text.encode()), made)

    @property
    def _open(self) -> "Transport":
        if self._closed:
            raise InvalidState(f"{self!r} was closed. Make another to go on.")
        return self._transport

    def _read(self, answer: bytes, made: Callable[[Any], T]) -> T:
        """Return what is made of an answer in JSON."""
        try:
            return made(json.loads(answer))
        except (ValueError, KeyError, TypeError, RecursionError) as reason:
            raise StorageFailed(
                f"{self.base_url} does not answer like a server of lingape {__version__} "
                f"({in_words(reason)}). Check its URL and its version."
            ) from reason


class RemoteExperiment(Workplace):
    """An experiment on a server, with the methods of Experiment; Client.experiment opens one.

    client: of the server.
    name: of the experiment.

    On a server that runs, it is used as an Experiment is::

        ads = Client("http://127.0.0.1:8000").experiment("ads")
        outcome = ads.run(measure, workers=8)
        print(ads.status())

    Naming one sends no request yet:

    >>> from lingape import Client
    >>> ads = Client("http://127.0.0.1:8000").experiment("ads")
    >>> ads.name
    'ads'
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, checked_name(name)
        self._closed = False
        self._path = f"/api/experiments/{name}"

    def close(self) -> None:
        """Stop using it for good; the client and its other experiments may go on."""
        self._closed = True
        self.client.hang_up()

    @property
    def problem(self) -> Problem:
        """The question."""
        return self._get("/problem", lambda data: Problem(**data))

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
        return self._post("tell", {"ticket": id_of(ticket), "reward": reward}, _progress)

    def void(self, ticket: str | Ticket, reason: str) -> Progress:
        """Record that a ticket will have no reward, for a reason other than the reward."""
        return self._post("void", {"ticket": id_of(ticket), "reason": reason}, _progress)

    def add(self, arm: int, reward: float, *, key: str | None = None) -> Progress:
        """Record a reward that no ticket asked for; see Experiment.add.

        Without a key it makes one.
        """
        return self._post("add", {"arm": arm, "reward": reward, "key": key or _key()}, _progress)

    def add_arms(
        self,
        arms: Sequence[Sequence[float]] | Sequence[Mapping[str, Level]],
        *,
        names: Sequence[str] = (),
        key: str | None = None,
    ) -> Addition:
        """Add arms while it runs; see Experiment.add_arms. Without a key it makes one."""
        body = {"arms": list(arms), "names": list(names), "key": key or _key()}
        return self._post("add_arms", body, lambda data: restored(Addition, data))

    def retire(self, arm: int, reason: str) -> Progress:
        """Take an arm out, for a reason other than its rewards; see Experiment.retire."""
        return self._post("retire", {"arm": arm, "reason": reason}, _progress)

    def correct(
        self,
        what: str | int | Ticket,
        reward: float | None,
        reason: str,
        *,
        key: str | None = None,
    ) -> Progress:
        """Put another reward in the place of a wrong one; see Experiment.correct.

        Without a key it makes one.
        """
        body = {
            "what": what if isinstance(what, int) else id_of(what),
            "reward": reward,
            "reason": reason,
            "key": key or _key(),
        }
        return self._post("correct", body, _progress)

    def archive(self, archived: bool = True) -> Progress:
        """Take the experiment off the list, or put it back; see Experiment.archive."""
        return self._post("archive", {"archived": archived}, _progress)

    def refit(
        self,
        name: str,
        *,
        interactions: str | Iterable[Sequence[str]] | None = None,
        per_arm: bool = False,
        noise: NoiseLike | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        norm_bound: float | None = None,
        explorer: str | None = None,
    ) -> Self:
        """Begin a successor with all rewards so far; see Experiment.refit."""
        body = {
            "name": checked_name(name),
            "interactions": interactions
            if isinstance(interactions, str) or not isinstance(interactions, Iterable)
            else [list(one) for one in interactions],
            "per_arm": per_arm,
            "noise": None if noise is None else checked_noise(noise).to_data(),
            "epsilon": epsilon,
            "delta": delta,
            "norm_bound": norm_bound,
            "explorer": explorer,
        }
        self._post("refit", body, Status.from_dict)
        return type(self)(self.client, name)

    def status(self) -> Status:
        """Return how the experiment stands, with the bound that also decides when to stop."""
        return self._get("", Status.from_dict)

    def arms(
        self, search: str = "", sort: Order = "best", start: int = 0, limit: int = 50
    ) -> ArmsPage:
        """Return how arms stand, a page at a time; see Experiment.arms."""
        wanted = {"search": checked_text("search", search) or "", "sort": sort}
        query = urlencode(wanted | {"start": start, "limit": limit})
        return self._get(f"/arms?{query}", lambda data: restored(ArmsPage, data))

    def certificate(self) -> LogCertificate:
        """Return what is proven now; once settled, always the same."""
        return self._get("/certificate", LogCertificate.from_dict)

    def check(self) -> ModelCheck:
        """Return whether rewards look as assumed: linear in the features, as noisy as stated."""
        return self.status().check

    def values(self) -> Values:
        """Return what rewards say about the values of arms, and of anything made of them."""
        rewards = self._get("/rewards", lambda data: restored(Tallies, data))
        return Values(
            self.problem,
            np.array(rewards.counts, dtype=np.int64),
            np.array(rewards.means),
            np.array(rewards.squares),
        )

    def activity(self) -> Activity:
        """Return when rewards came, hour by hour, and what became of each worker's tickets."""
        return self._get("/activity", lambda data: restored(Activity, data))

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """Return the events whose number is above `after`, at most `limit`, oldest first."""
        found: list[Event] = []
        while limit is None or len(found) < limit:
            count = PAGE if limit is None else min(PAGE, limit - len(found))
            query = f"after={after}&limit={count}"
            page = self._get(f"/events?{query}", lambda data: list(data["events"]))
            found += [from_data(data, place=after + i) for i, data in enumerate(page, start=1)]
            after += len(page)
            if len(page) < count:
                break
        return found

    def history(self, points: int = 300) -> list[Point]:
        """Return how B(t) fell, in at most `points` points; the server replays the whole log."""
        path = f"/history?points={checked_whole('points', points, least=2)}"
        while True:
            found, complete = self._get(path, _history)
            if complete:
                return found
            time.sleep(LOOK)

    def export_lines(self) -> Iterator[str]:
        """Yield the lines of an export as they arrive.

        If the connection breaks, it goes on after the last whole line.
        """
        seen, last = 0, b""
        while True:
            before = seen
            try:
                lines = self.client._open.lines(self._at(f"/export?after={max(0, seen - 1)}"))
                if seen and next(lines, b"") != last:
                    raise InvalidState(
                        f"The log of {self.name!r} was replaced during the export. Export again."
                    )
                for last in lines:
                    seen += 1
                    yield last.decode("ascii")
                return
            except StorageFailed:
                if seen == before:
                    raise

    def verify(self) -> Verification:
        """Fetch the whole log, replay it here, and check everything in it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.jsonl"
            self.export(path)
            return verify(read_export(path))

    def _get(self, what: str, made: Callable[[Any], T]) -> T:
        return self.client._get(self._at(what), made)

    def _post(self, what: str, body: dict[str, Any], made: Callable[[Any], T]) -> T:
        return self.client._post(self._at(f"/{what}"), body, made)

    def _at(self, what: str) -> str:
        """Return the path of a part of the experiment, or raise if it was closed."""
        if self._closed:
            raise InvalidState(
                f"The experiment {self.name!r} was closed. Client.experiment opens it again."
            )
        return self._path + what


def _summaries(data: Any) -> list[Summary | Unreadable]:
    lines = restored(list[Summary], data["experiments"])
    damaged = restored(list[Unreadable], data["unreadable"])
    return sorted([*lines, *damaged], key=lambda one: one.name)


def _tickets(data: Any) -> list[Ticket]:
    return restored(list[Ticket], data["tickets"])


def _progress(data: Any) -> Progress:
    return restored(Progress, data)


def _history(data: Any) -> tuple[list[Point], bool]:
    return restored(list[Point], data["points"]), data["complete"]


def _key() -> str:
    return uuid.uuid4().hex


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")
