"""An experiment in the real world: tickets out, rewards in, and everything in a log.

What comes in is checked, appended to the log, made durable, and only then acknowledged. Each
process keeps what the log amounts to (Replay) in memory and reads on before it does anything, so
that any number of them can share an experiment.
"""

import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from .. import __version__
from ..errors import (
    Conflict,
    ExplorationOver,
    InvalidArgument,
    InvalidState,
    NotFound,
    StorageFailed,
)
from ..explorers import Contest
from ..explorers.skeleton import checked_reward
from ..problem import Problem
from .events import (
    Added,
    Asked,
    Created,
    Event,
    Settled,
    Told,
    Voided,
    as_data,
    as_text,
    from_text,
    keyed,
    rounded,
)
from .model_check import ModelCheck, check_model
from .replay import LogCertificate, Replay, make_explorer
from .store import START, WAY_OUT, Head, Log, Note, Store, View, check_link, open_store
from .verification import Verification, read_export, verify

EVERY = 500  # events between snapshots
MOST = 1_000  # tickets in one ask
LONGEST = 200  # letters in a worker, a key or a reason
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
TICKET = re.compile(r"([1-9][0-9]{0,17})-([0-9]{1,4})-[a-z2-7]{8}")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


@dataclass(frozen=True)
class Ticket:
    """An arm to pull, and the name under which to tell its reward.

    id: the number of the event that asked for it, its place there, and random letters. Numbers
        alone would be given out again when a database is restored from a copy, and then a reward
        told late would count for another arm.
    """

    id: str
    arm: int
    name: str
    features: tuple[float, ...]
    deadline: float | None  # seconds since 1970; after it, others may be asked instead

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return asdict(self) | {"features": list(self.features)}


@dataclass(frozen=True)
class Status:
    """How an experiment stands."""

    name: str
    explorer: str
    arms: int
    pulls: int  # rewards, of tickets and added
    pending: int  # tickets whose reward is awaited
    expired: int  # tickets past their deadline; their rewards are welcome still
    voided: int
    settled: bool
    leader: int | None  # None until arms can be compared
    rival: int | None  # the arm that may still beat it by most
    gap_bound: float | None  # B(t), by how much at most
    epsilon: float
    delta: float
    event: int  # number of the last event
    digest: str  # hash of the log up to it
    certificate: LogCertificate
    check: ModelCheck

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.pulls} rewards for {self.arms} arms; {self.pending} awaited, "
            f"{self.expired} overdue, {self.voided} voided.",
            str(self.certificate),
        ]
        return "\n".join(lines + [f"Warning: {warning}" for warning in self.check.warnings])

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return asdict(self) | {
            "certificate": self.certificate.to_dict(),
            "check": self.check.to_dict(),
        }


@dataclass(frozen=True)
class Failure:
    """A ticket whose reward could not be had."""

    ticket: Ticket
    reason: Exception


@dataclass(frozen=True)
class Outcome:
    """What came of Experiment.run."""

    certificate: LogCertificate
    told: int
    failures: tuple[Failure, ...]


class Experiment:
    """A question put to the world, kept in a database.

    An object may be shared by threads, and an experiment by processes, each with its own object
    (one that was open before a fork serves both sides).
    """

    def __init__(self, store: Store, name: str, *, clock: Callable[[], float]) -> None:
        """Use Experiment.open."""
        self.name = name
        self._store, self._clock = store, clock
        self._mutex, self._process = threading.RLock(), os.getpid()
        self._memory: Replay | None = None  # what the log amounts to, as far as it was read
        self._loaded = 0  # the event from which it was read on

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        *,
        create: Problem | None = None,
        explorer: str = "lingape",
        seed: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Open an experiment, or with `create` begin it.

        url: the database, as sqlite:///PATH or postgresql://USER@HOST/DATABASE.
        create: the problem. Where there is an experiment of that name already, it has to be the
            same: then a program that is started again goes on.
        explorer: as text, with settings if need be: "lingape(bound=self-normalized)".
        seed: of explorers that draw.
        clock: tells the seconds since 1970. For tests.

        >>> import tempfile
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/run.db"
        >>> with Experiment.open(url, "ads", create=Problem([[1, 0], [0, 1]])) as experiment:
        ...     ticket = experiment.ask()[0]
        ...     experiment.tell(ticket.id, 0.83)
        ...     experiment.status().pulls
        1
        """
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InvalidArgument(
                "The name of an experiment has 1 to 100 letters (a to z), digits, dots, dashes "
                f"and underscores, and begins with a letter or digit; got {name!r}."
            )
        beginning = None
        if create is not None:
            beginning = _beginning(name, create, explorer, seed, _now(clock))
        experiment = cls(open_store(url, create=create is not None), name, clock=clock)
        try:
            experiment._open(beginning)
        except BaseException:
            experiment.close()
            raise
        return experiment

    def _open(self, beginning: Created | None) -> None:
        with self._store.view(self.name) as view:
            missing = view.head().seq == 0
        if missing and beginning is None:
            known = ", ".join(self._store.experiments()) or "none"
            raise NotFound(
                f"There is no experiment {self.name!r} in {self._store.url}; there are: {known}. "
                "To begin one, pass create=Problem(...)."
            )
        if missing and beginning is not None:
            with self._store.transaction(self.name) as log:
                if log.head().seq == 0:  # nobody was faster
                    log.append([Note(as_text(beginning))])
            self._store.sync()
        with self._current() as replay:
            created = replay.created
        if beginning is not None and _setup(created) != _setup(beginning):
            raise Conflict(
                f"There is an experiment {self.name!r} in {self._store.url} already, with another "
                f"problem, explorer or seed (explorer {created.explorer!r}, seed {created.seed}). "
                "Open it without create, or begin one under another name."
            )
        with self._alone():
            if replay.head.seq - self._loaded >= EVERY:  # the snapshot was of no use
                self._save(replay)

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def problem(self) -> Problem:
        """The question."""
        with self._current() as replay:
            return replay.problem

    def ask(
        self,
        n: int = 1,
        *,
        worker: str | None = None,
        ttl: str | float | None = "1d",
        key: str | None = None,
    ) -> list[Ticket]:
        """Return `n` arms to pull, each with the ticket under which to tell its reward.

        Arms that are asked for and not told yet count when choosing, so that workers side by side
        get different arms where that helps.
        worker: who asks, for the log.
        ttl: for how long to count on the rewards, in seconds or as "90s", "30m", "6h", "2d"; None
            for ever. A reward told later is as welcome.
        key: a text of the caller's choice; asking again with the same key gives the same tickets.
        """
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST:
            raise InvalidArgument(f"ask needs a whole number from 1 to {MOST}; got {n!r}.")
        worker, key = _text("worker", worker), _text("key", key)
        seconds = checked_ttl(ttl)
        with self._turn() as turn:
            if key is not None and (before := turn.find(keyed("ask", key), Asked)) is not None:
                if (len(before.tickets), before.worker) != (n, worker):
                    raise Conflict(
                        f"Key {key!r} was used to ask for {len(before.tickets)} tickets by "
                        f"{before.worker!r}; now it is {n} by {worker!r}. Use a key only to "
                        "repeat a request."
                    )
                return self._tickets(turn.replay, before)
            if turn.replay.settled is not None:
                raise ExplorationOver(turn.replay.certificate().statement)
            pending = turn.replay.pending(turn.now)
            arms = turn.replay.explorer.ask_many(n, pending=pending)
            seq = turn.replay.head.seq + 1
            asked = Asked(
                seq=seq,
                time=turn.now,
                tickets=tuple((f"{seq}-{i}-{_letters()}", arm) for i, arm in enumerate(arms)),
                deadline=None if seconds is None else rounded(turn.now + seconds),
                worker=worker,
                key=key,
            )
            turn.record(asked)
            return self._tickets(turn.replay, asked)

    def tell(self, ticket: str, reward: float) -> None:
        """Record the reward of a ticket.

        Telling the same again changes nothing; telling another reward is a Conflict, and so is
        telling that of a voided ticket. A ticket past its deadline may be told.
        """
        value = checked_reward(reward)
        with self._turn() as turn:
            known = turn.replay.open.get(ticket) if isinstance(ticket, str) else None
            if known is None:
                before = self._closing(turn, ticket)
                if isinstance(before, Told) and before.reward == value:
                    return
                if isinstance(before, Told):
                    raise Conflict(
                        f"Ticket {ticket} was told {before.reward!r}; now it is {value!r}. What "
                        "is recorded stays; a second trial of the arm is for add()."
                    )
                raise Conflict(
                    f"Ticket {ticket} was voided ({before.reason}), so its reward does not count. "
                    "If the trial did take place after all, record it with add()."
                )
            turn.record(
                Told(seq=turn.next, time=turn.now, ticket=ticket, arm=known.arm, reward=value)
            )

    def void(self, ticket: str, reason: str) -> None:
        """Record that a ticket will have no reward; voiding again changes nothing.

        That must not depend on the reward: where a trial can go wrong because of the arm, tell its
        worst value instead.
        """
        why = _text("reason", reason)
        if not why:
            raise InvalidArgument("void needs a reason, such as 'node lost'; got none.")
        with self._turn() as turn:
            if not isinstance(ticket, str) or ticket not in turn.replay.open:
                before = self._closing(turn, ticket)
                if isinstance(before, Told):
                    raise Conflict(
                        f"Ticket {ticket} was told {before.reward!r} and cannot be voided: what "
                        "is recorded stays."
                    )
                return
            turn.record(Voided(seq=turn.next, time=turn.now, ticket=ticket, reason=why))

    def add(self, arm: int, reward: float, *, key: str | None = None) -> None:
        """Record a reward that no ticket asked for: history, or a trial somebody made unasked.

        key: a text of the caller's choice; adding again with the same key changes nothing.
        """
        value, key = checked_reward(reward), _text("key", key)
        with self._turn() as turn:
            index = turn.replay.problem.check_pull(arm)
            if key is not None and (before := turn.find(keyed("add", key), Added)) is not None:
                if (before.arm, before.reward) != (index, value):
                    raise Conflict(
                        f"Key {key!r} was used to add {before.reward!r} for arm {before.arm}; now "
                        f"it is {value!r} for arm {index}. Use a key only to repeat a request."
                    )
                return
            turn.record(Added(seq=turn.next, time=turn.now, arm=index, reward=value, key=key))

    def status(self) -> Status:
        """Return how the experiment stands, with the bound that also decides when to stop."""
        now = _now(self._clock)
        with self._current() as replay:
            pending = len(replay.pending(now))
            certificate = replay.certificate()
            contest: Contest | None = getattr(replay.explorer, "contest", None)
            return Status(
                name=self.name,
                explorer=replay.created.explorer,
                arms=len(replay.problem),
                pulls=replay.told + replay.added,
                pending=pending,
                expired=len(replay.open) - pending,
                voided=replay.voided,
                settled=replay.settled is not None,
                leader=None if contest is None else contest.leader,
                rival=None if contest is None else contest.rival,
                gap_bound=None if contest is None else contest.margin,
                epsilon=replay.problem.epsilon,
                delta=replay.problem.delta,
                event=replay.head.seq,
                digest=replay.head.digest,
                certificate=certificate,
                check=check_model(replay.problem, replay.tally),
            )

    def certificate(self) -> LogCertificate:
        """Return what is proven now; once settled, always the same."""
        with self._current() as replay:
            return replay.certificate()

    def check(self) -> ModelCheck:
        """Return whether rewards look as supposed: linear in the features, no noisier than R."""
        with self._current() as replay:
            return check_model(replay.problem, replay.tally)

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """Return the events whose number is above `after`, oldest first."""
        with self._store.view(self.name) as view:
            entries = list(view.read(after, limit))
        self._store.sync()
        return [from_text(entry.text, place=entry.seq) for entry in entries]

    def export(self, path: str | Path) -> int:
        """Write the log as JSON lines, each event with its hash; return how many."""
        with self._store.view(self.name) as view:
            entries = list(view.read())
        with open(path, "x", encoding="ascii") as file:
            for entry in entries:
                data = as_data(from_text(entry.text, place=entry.seq))
                file.write(json.dumps(data | {"hash": entry.digest}) + "\n")
        return len(entries)

    @classmethod
    def from_export(cls, path: str | Path, url: str) -> Self:
        """Return the experiment in an export, copied event by event into another database."""
        entries = list(read_export(path))
        verify(entries)
        created = from_text(entries[0].text, place=1)
        assert isinstance(created, Created)
        store = open_store(url, create=True)
        try:
            with store.transaction(created.name) as log:
                if log.head().seq:
                    raise Conflict(
                        f"There is an experiment {created.name!r} in {store.url} already. "
                        "Import into another database."
                    )
                log.append(
                    [
                        Note(entry.text, reference(from_text(entry.text, place=entry.seq)))
                        for entry in entries
                    ]
                )
            store.sync()
        finally:
            store.close()
        return cls.open(url, created.name)

    def verify(self) -> Verification:
        """Replay the whole log from its first event and check everything in it."""
        with self._store.view(self.name) as view:
            entries, head = list(view.read()), view.head()
        return verify(entries, head=head)

    def run(
        self,
        reward_fn: Callable[[Ticket], float],
        *,
        workers: int = 4,
        max_pulls: int | None = None,
        max_failures: int = 10,
    ) -> Outcome:
        """Call `reward_fn` with tickets, in threads, until the question is answered.

        If it raises, the ticket is voided and the exception is among the failures returned.
        max_pulls: calls to make at most.
        max_failures: how many failures in a row end it; the last is raised.
        """
        for name, value in (("workers", workers), ("max_failures", max_failures)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidArgument(f"{name} must be a whole number from 1; got {value!r}.")
        crew = _Crew(self, reward_fn, max_pulls, max_failures)
        threads = [
            threading.Thread(target=crew.work, args=(f"run-{os.getpid()}-{i}",))
            for i in range(workers)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        finally:  # also on Ctrl-C: finish the calls under way
            crew.over = True
            for thread in threads:
                thread.join()
        if crew.trouble is not None:
            raise crew.trouble
        return Outcome(self.certificate(), crew.told, tuple(crew.failures))

    def _tickets(self, replay: Replay, asked: Asked) -> list[Ticket]:
        problem = replay.problem
        return [
            Ticket(
                id=ticket,
                arm=arm,
                name=problem.name(arm),
                features=tuple(problem.arms[arm].tolist()),
                deadline=asked.deadline,
            )
            for ticket, arm in asked.tickets
        ]

    def _closing(self, turn: "_Turn", ticket: Any) -> Told | Voided:
        """Return the event that closed a ticket, or raise if there is no such ticket."""
        if isinstance(ticket, str) and TICKET.fullmatch(ticket):
            found = turn.find(f"ticket {ticket}", Told, Voided)
            if found is not None:
                return found  # type: ignore[no-any-return]
        shown = repr(ticket)[:60]
        raise NotFound(
            f"No ticket of {self.name!r} is called {shown}. Tell by the id that ask() gave "
            "out; a trial without a ticket is for add(). Nothing was recorded."
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads of this process out; after a fork they are gone, and so is theirs."""
        if self._process != os.getpid():
            self._mutex, self._process = threading.RLock(), os.getpid()
            self._memory = None  # a thread may have been at it
        with self._mutex:
            yield

    @contextmanager
    def _current(self) -> Iterator[Replay]:
        """Give what the log amounts to now; it is safe on disk before the caller hears of it."""
        with self._alone():
            yield self._follow_view()
        self._store.sync()

    def _follow_view(self) -> Replay:
        with self._store.view(self.name) as view:
            return self._follow(view)

    @contextmanager
    def _turn(self) -> Iterator["_Turn"]:
        """Give the right to append, with all events before applied."""
        with self._alone():
            self._follow_view()  # most of the work, while others may still write
            turn = None
            try:
                with self._store.transaction(self.name) as log:
                    turn = _Turn(log, self._follow(log), _now(self._clock))
                    yield turn
            except BaseException:
                if turn is not None and turn.recorded:
                    self._memory = None  # it may be ahead of the log: read that again
                raise
            if turn.recorded and turn.replay.head.seq // EVERY > turn.begin // EVERY:
                self._save(turn.replay)
        self._store.sync()

    def _follow(self, view: View) -> Replay:
        """Return what the log amounts to, having read on to its end."""
        head = view.head()
        replay = self._memory
        if replay is not None and (
            head.seq < replay.head.seq
            or (head.seq == replay.head.seq and head.digest != replay.head.digest)
        ):
            raise InvalidState(
                f"The log of {self.name!r} is not the one that it was: it had {replay.head.seq} "
                f"events and has {head.seq}. If a copy was restored, open the experiment again; "
                "rewards told since that copy are not in it."
            )
        try:
            if replay is None:
                replay = self._load(view)
            for entry in view.read(after=replay.head.seq):
                check_link(replay.head, entry)
                replay.apply(from_text(entry.text, place=entry.seq), entry.digest)
        except BaseException:
            self._memory = None
            raise
        if replay.head != head:
            raise InvalidState(
                f"The log of {self.name!r} is damaged: it has {replay.head.seq} events and ought "
                f"to have {head.seq}. {WAY_OUT}"
            )
        self._memory = replay
        return replay

    def _load(self, view: View) -> Replay:
        """Return the state at the last snapshot, or at the first event if that is of no use."""
        replay = None
        for entry in view.read(limit=1):
            first = from_text(entry.text, place=1)
            if not isinstance(first, Created):
                raise InvalidState(f"The log of {self.name!r} does not begin with its creation.")
            replay = Replay(first, check_link(Head(0, START), entry).digest)
        if replay is None:
            raise NotFound(f"There is no experiment {self.name!r} in {self._store.url}.")
        snapshot = view.snapshot()
        if snapshot is not None and snapshot.head.seq > 1:
            entries = list(view.read(after=snapshot.head.seq - 1, limit=1))
            if entries and (entries[0].seq, entries[0].digest) == snapshot.head:
                replay.restore(snapshot)
        self._loaded = replay.head.seq
        return replay

    def _save(self, replay: Replay) -> None:
        with suppress(StorageFailed):  # it is only a shortcut
            self._store.save(self.name, replay.snapshot())


class _Turn:
    """The right to append events, for as long as a transaction lasts."""

    def __init__(self, log: Log, replay: Replay, now: float) -> None:
        self._log, self.replay, self.now = log, replay, now
        self.begin = replay.head.seq
        self.recorded = False

    @property
    def next(self) -> int:
        """The number of the next event."""
        return self.replay.head.seq + 1

    def find(self, name: str, *kinds: type[Event]) -> Any:
        """Return the event with a reference, or None."""
        seq = self._log.find(name)
        if seq is None:
            return None
        for entry in self._log.read(after=seq - 1, limit=1):
            event = from_text(entry.text, place=seq)
            if reference(event) == name and isinstance(event, kinds):
                return event
        raise InvalidState(f"The log is damaged: event {seq} is not {name!r}. {WAY_OUT}")

    def record(self, event: Event) -> None:
        """Append an event, and the verdict if that follows from it."""
        self.recorded = True
        self._append(event)
        if self.replay.explorer.done and self.replay.settled is None:
            proof = self.replay.proof().to_dict()
            self._append(Settled(seq=self.next, time=self.now, certificate=proof))

    def _append(self, event: Event) -> None:
        # The explorer may refuse a reward; then the transaction fails, and nothing was recorded.
        head = self._log.append([Note(as_text(event), reference(event))])
        self.replay.apply(event, head.digest)


class _Crew:
    """Threads that pull arms for Experiment.run."""

    def __init__(
        self,
        experiment: Experiment,
        reward_fn: Callable[[Ticket], float],
        max_pulls: int | None,
        max_failures: int,
    ) -> None:
        self._experiment, self._reward_fn = experiment, reward_fn
        self._left, self._max_failures = max_pulls, max_failures
        self._lock = threading.Lock()
        self._in_a_row = 0
        self.told = 0
        self.failures: list[Failure] = []
        self.trouble: BaseException | None = None
        self.over = False

    def work(self, worker: str) -> None:
        try:
            while self._another():
                self._pull(self._experiment.ask(worker=worker)[0])
        except ExplorationOver:
            self.over = True
        except BaseException as reason:
            self._stop(reason)

    def _another(self) -> bool:
        with self._lock:
            if self.over or self._left == 0:
                return False
            self._left = None if self._left is None else self._left - 1
            return True

    def _pull(self, ticket: Ticket) -> None:
        try:
            reward = checked_reward(self._reward_fn(ticket))
        except Exception as reason:
            self._experiment.void(ticket.id, _short(f"{type(reason).__name__}: {reason}"))
            with self._lock:
                self.failures.append(Failure(ticket, reason))
                self._in_a_row += 1
                if self._in_a_row >= self._max_failures:
                    reason.add_note(f"{self._in_a_row} calls in a row failed; this was the last.")
                    self._stop(reason)
            return
        self._experiment.tell(ticket.id, reward)
        with self._lock:
            self.told += 1
            self._in_a_row = 0

    def _stop(self, reason: BaseException) -> None:
        self.trouble = self.trouble or reason
        self.over = True


def reference(event: Event) -> str | None:
    """Return the name that no other event of the log may have."""
    return None if isinstance(event, Created) else event.reference


def checked_ttl(ttl: str | float | None) -> float | None:
    """Return a time to live in seconds, or None for ever.

    >>> checked_ttl("6h")
    21600.0
    """
    if ttl is None:
        return None
    text = str(ttl).strip()
    unit = SECONDS.get(text[-1:])
    try:
        seconds = float(text if unit is None else text[:-1]) * (unit or 1)
    except ValueError:
        seconds = -1.0
    if isinstance(ttl, bool) or not 0 < seconds <= 366 * SECONDS["d"]:
        raise InvalidArgument(
            'ttl must be seconds, or a text such as "90s", "30m", "6h" or "2d", above 0 and at '
            f"most 366 days, or None for ever; got {ttl!r}."
        )
    return seconds


def _beginning(name: str, problem: Problem, explorer: str, seed: int, now: float) -> Created:
    """Return the first event of an experiment, having checked that it can be explored."""
    if not isinstance(problem, Problem):
        raise InvalidArgument(
            f"create must be a Problem; got {type(problem).__name__}. Wrap the arms: "
            "create=Problem(arms)."
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidArgument(f"seed must be a whole number from 0; got {seed!r}.")
    make_explorer(explorer, problem, seed)
    return Created(
        time=now,
        name=name,
        problem=problem.to_dict(),
        explorer=explorer,
        seed=seed,
        version=__version__,
    )


def _setup(created: Created) -> Created:
    """Return what has to be the same when an experiment is opened with create again."""
    return replace(created, time=0.0, version="")


def _now(clock: Callable[[], float]) -> float:
    return rounded(clock())


def _letters() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(8))


def _text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > LONGEST:
        raise InvalidArgument(
            f"{name} must be a text of at most {LONGEST} letters; got {_short(repr(value))}."
        )
    return value


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
