"""An experiment in the real world: tickets out, rewards in, and everything in a log.

What comes in is checked, appended to the log, made durable, and only then acknowledged. Each
process keeps what the log amounts to (Replay) in memory and reads on before it does anything, so
that any number of them can share an experiment.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from .. import __version__
from ..errors import (
    Conflict,
    ExplorationOver,
    InvalidArgument,
    InvalidState,
    NotFound,
    StorageFailed,
)
from ..problem import Problem
from ..scaffold import checked_reward
from .crew import Outcome, run_crew
from .events import (
    Added,
    Asked,
    Created,
    Event,
    Told,
    Voided,
    as_text,
    differences,
    from_text,
    keyed,
    reference,
    rounded,
)
from .forks import after_fork
from .history import History, Point, checked_points
from .model_check import ModelCheck, check
from .replay import LogCertificate, Progress, Replay, make_explorer
from .standing import Status, status_of
from .store import WAY_OUT, Note, Store, View, has_entry, open_store, read_linked, read_pages
from .texts import checked_name, checked_text
from .tickets import TICKET, Ticket, TimeToLive, checked_ttl, id_of, ticket_id, tickets_of
from .turn import Request, Turn
from .verification import Verification, export_line, read_export, verify, write_export

EVERY = 500  # events between snapshots
FAR = 16  # events that take about as long to replay as a snapshot does to read
OFTEN = 8  # events between snapshots where many processes share an experiment
SMALL = 4_096  # numbers in the features of arms, for which snapshots are that cheap
MOST = 1_000  # tickets in one ask
VERBS = ("ask", "tell", "void", "add")  # methods that record something, also over HTTP
T = TypeVar("T")
CUT = (
    "Recording was interrupted. It may be recorded or not. Do the same again: what is there "
    "already is not recorded twice."
)


class Experiment:
    """A question put to the world, kept in a database.

    An object may be shared by threads, and an experiment by processes, each with its own object
    (one that was open before a fork serves both sides).
    """

    def __init__(self, store: Store, name: str, *, clock: Callable[[], float]) -> None:
        """Use Experiment.open."""
        self.name = name
        self._store, self._clock = store, clock
        self._mutex = threading.RLock()
        self._waiting: deque[Request[Any]] = deque()  # for a turn, in other threads
        self._memory: Replay | None = None  # what the log amounts to, as far as it was read
        self._loaded = 0  # the event from which it was read on
        self._crowded = False  # other processes append more than this one can replay
        after_fork(self)

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
        explorer: as text, with settings if need be: "lingape(bound=self_normalized)".
        seed: of explorers that draw.
        clock: tells the seconds since 1970. For tests.

        >>> import tempfile
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/run.db"
        >>> with Experiment.open(url, "ads", create=Problem([[1, 0], [0, 1]])) as experiment:
        ...     ticket = experiment.ask()[0]
        ...     experiment.tell(ticket.id, 0.83)
        Progress(pulls=1, settled=False)
        """
        checked_name(name)
        beginning = None
        if create is not None:
            beginning = _beginning(name, create, explorer, seed, _now(clock))
        experiment = cls(open_store(url, create=create is not None), name, clock=clock)
        try:
            experiment._open(beginning, create)
        except BaseException:
            experiment.close()
            raise
        return experiment

    def _open(self, beginning: Created | None, problem: Problem | None) -> None:
        with self._store.view(self.name) as view:
            missing = view.head().seq == 0
        if missing and problem is None:
            known = ", ".join(self._store.experiments()) or "none"
            raise NotFound(
                f"There is no experiment {self.name!r} in {self._store.url}; there are: {known}. "
                "To begin one, pass its problem as create."
            )
        if missing and beginning is not None and problem is not None:
            text = as_text(replace(beginning, problem=problem.to_dict()))
            with self._store.transaction(self.name) as log:
                if log.head().seq == 0:  # nobody was faster
                    log.append([Note(text)])
            self._store.sync()
        with self.current() as replay:
            created = replay.created
        if beginning is not None and (replay.problem, created.explorer, created.seed) != (
            problem,
            beginning.explorer,
            beginning.seed,
        ):
            assert problem is not None
            others = differences(
                replace(created, problem=replay.problem.to_dict()),
                replace(beginning, problem=problem.to_dict()),
            )
            raise Conflict(
                f"There is an experiment {self.name!r} in {self._store.url} already, with other "
                f"settings: {'; '.join(others)}. Use it as it is, or begin one under "
                "another name."
            )
        with self._mutex:
            if replay.head.seq - self._loaded >= EVERY:  # the snapshot was of no use
                self._save(replay)

    def close(self) -> None:
        """Close the database for good: open the experiment again to use it."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def problem(self) -> Problem:
        """The question."""
        with self.current() as replay:
            return replay.problem

    def ask(
        self,
        n: int = 1,
        *,
        worker: str | None = None,
        ttl: TimeToLive = "1d",
        key: str | None = None,
    ) -> list[Ticket]:
        """Return `n` arms to pull, each with the ticket under which to tell its reward.

        Once the question is answered, this is an ExplorationOver (409 over HTTP).
        Arms that are asked for and not told yet count when choosing, so that workers side by side
        get different arms where that helps.
        n: how many arms.
        worker: who asks, for the log.
        ttl: for how long to count on the rewards, in seconds, as a timedelta or as "90s", "30m",
            "6h", "2d"; None for no deadline. A reward told later is as welcome.
        key: a text of the caller's choice; asking again with the same key gives the same tickets.
        """
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST:
            raise InvalidArgument(f"ask needs a whole number from 1 to {MOST}; got {n!r}.")
        worker, key = checked_text("worker", worker), checked_text("key", key)
        seconds = checked_ttl(ttl)

        def act(turn: Turn) -> list[Ticket]:
            if key is not None and (before := turn.find(keyed("ask", key), Asked)) is not None:
                if (len(before.tickets), before.worker) != (n, worker):
                    raise Conflict(
                        f"Key {key!r} was used to ask for {len(before.tickets)} tickets by "
                        f"{before.worker!r}; now it is {n} by {worker!r}. Use a key only to "
                        "repeat a request."
                    )
                return tickets_of(before, turn.replay.problem)
            if turn.replay.settled is not None:
                raise ExplorationOver(turn.replay.certificate().statement)
            pending = turn.replay.pending(turn.now)
            arms = turn.replay.explorer.ask_many(n, pending=pending)
            seq = turn.replay.head.seq + 1
            asked = Asked(
                seq=seq,
                time=turn.now,
                tickets=tuple((ticket_id(seq, i), arm) for i, arm in enumerate(arms)),
                deadline=None if seconds is None else rounded(turn.now + seconds),
                worker=worker,
                key=key,
            )
            turn.record(asked)
            return tickets_of(asked, turn.replay.problem)

        return self._in_turn(act, None if key is None else keyed("ask", key))

    def tell(self, ticket: str | Ticket, reward: float) -> Progress:
        """Record the reward of a ticket; return how many there are, and whether that settles it.

        Telling the same again changes nothing; telling another reward is a Conflict, and so is
        telling that of a voided ticket. A ticket past its deadline may be told.
        ticket: what ask() returned, or its id.
        """
        id, value = id_of(ticket), checked_reward(reward)

        def act(turn: Turn) -> Progress:
            known = turn.replay.open.get(id) if isinstance(id, str) else None
            if known is None:
                before = self._closing(turn, id)
                if isinstance(before, Told) and before.reward == value:
                    return turn.replay.progress
                if isinstance(before, Told):
                    raise Conflict(
                        f"Ticket {id} was told {before.reward!r}; now it is {value!r}. What "
                        "is recorded stays; a second trial of the arm is for add()."
                    )
                raise Conflict(
                    f"Ticket {id} was voided ({before.reason}), so its reward does not count. "
                    "If the trial did take place after all, record it with add()."
                )
            turn.record(Told(seq=turn.next, time=turn.now, ticket=id, arm=known.arm, reward=value))
            return turn.replay.progress

        return self._in_turn(act)

    def void(self, ticket: str | Ticket, reason: str) -> Progress:
        """Record that a ticket will have no reward; voiding again changes nothing.

        That must not depend on the reward: where a trial can go wrong because of the arm, tell its
        worst value instead.
        ticket: what ask() returned, or its id.
        reason: why, such as "node lost"; it must not depend on the reward.
        """
        id, why = id_of(ticket), checked_text("reason", reason)
        if not why:
            raise InvalidArgument("void needs a reason, such as 'node lost'; got none.")

        def act(turn: Turn) -> Progress:
            if not isinstance(id, str) or id not in turn.replay.open:
                before = self._closing(turn, id)
                if isinstance(before, Told):
                    raise Conflict(
                        f"Ticket {id} was told {before.reward!r} and cannot be voided: what "
                        "is recorded stays."
                    )
                return turn.replay.progress
            turn.record(Voided(seq=turn.next, time=turn.now, ticket=id, reason=why))
            return turn.replay.progress

        return self._in_turn(act)

    def add(self, arm: int, reward: float, *, key: str | None = None) -> Progress:
        """Record a reward that no ticket asked for: history, or a trial somebody made unasked.

        arm: the arm's number.
        key: a text of the caller's choice; adding again with the same key changes nothing.
        """
        value, key = checked_reward(reward), checked_text("key", key)

        def act(turn: Turn) -> Progress:
            index = turn.replay.problem.check_pull(arm)
            if key is not None and (before := turn.find(keyed("add", key), Added)) is not None:
                if (before.arm, before.reward) != (index, value):
                    raise Conflict(
                        f"Key {key!r} was used to add {before.reward!r} for arm {before.arm}; now "
                        f"it is {value!r} for arm {index}. Use a key only to repeat a request."
                    )
                return turn.replay.progress
            turn.record(Added(seq=turn.next, time=turn.now, arm=index, reward=value, key=key))
            return turn.replay.progress

        return self._in_turn(act, None if key is None else keyed("add", key))

    @contextmanager
    def current(self) -> Iterator[Replay]:
        """Give what the log amounts to now, to look at.

        It is safe on disk before the caller hears of it.
        """
        with self._mutex:
            yield self._follow_view()
        self._store.sync()

    def status(self) -> Status:
        """Return how the experiment stands, with the bound that also decides when to stop."""
        now = _now(self._clock)
        with self.current() as replay:
            return status_of(replay, now)

    def certificate(self) -> LogCertificate:
        """Return what is proven now; once settled, always the same."""
        with self.current() as replay:
            return replay.certificate()

    def check(self) -> ModelCheck:
        """Return whether rewards look as supposed: linear in the features, no noisier than R.

        And whether arms lose tickets as often as each other.
        """
        with self.current() as replay:
            return check(replay, _now(self._clock))

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """Return the events whose number is above `after`, oldest first."""
        with self._store.view(self.name) as view:
            entries = list(read_linked(view, after, limit))
        self._store.sync()
        return [from_text(entry.text, place=entry.seq) for entry in entries]

    def history(self, points: int = 300) -> list[Point]:
        """Return how B(t) fell, in at most so many points; it replays the whole log."""
        checked_points(points)
        history = History()
        history.follow(read_pages(self._store, self.name))
        return history.points(points)

    def export(self, path: str | Path) -> int:
        """Write the log to a new file as JSON lines, each event with its hash; return how many."""
        return write_export(path, self.export_lines())

    def export_lines(self) -> Iterator[str]:
        """Yield the lines of an export, reading the log page by page."""
        for page in read_pages(self._store, self.name):
            yield from map(export_line, page)

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
        self._store.sync()
        return verify(entries, head=head)

    def run(
        self,
        reward_fn: Callable[[Ticket], float],
        *,
        workers: int = 4,
        max_pulls: int | None = None,
        max_failures: int = 10,
        ttl: TimeToLive = "1d",
    ) -> Outcome:
        """Call `reward_fn` with tickets, in threads, until the question is answered.

        If it raises, the ticket is voided and the exception is among the failures returned.
        max_pulls: calls to make at most.
        max_failures: how many failures in a row end it; the last is raised.
        ttl: for how long to count on each reward, as for ask.
        """
        return run_crew(
            self,
            reward_fn,
            workers=workers,
            max_pulls=max_pulls,
            max_failures=max_failures,
            ttl=ttl,
        )

    def _closing(self, turn: Turn, ticket: Any) -> Told | Voided:
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

    def _renew(self) -> None:
        """Forget the other threads, which are gone: what they were at is the parent's."""
        self._mutex = threading.RLock()
        self._waiting = deque()
        self._memory = None  # a thread may have been at it

    def _follow_view(self) -> Replay:
        with self._store.view(self.name) as view:
            return self._follow(view)

    def _in_turn(self, act: Callable[[Turn], T], reference: str | None = None) -> T:
        """Return what `act` returns, given the right to append and all events before applied.

        Threads that wait for each other share a transaction: whoever gets in does what all of them
        want. None hears of it before it is committed and safe on disk.
        """
        request = Request(act, reference)
        self._waiting.append(request)
        try:
            with self._mutex:
                while not request.over:
                    if self._memory is None or self._memory.problem.arms.size > SMALL:
                        self._follow_view()  # what may take long, before others stand behind us
                    with self._store.line():
                        self._take_turn(request)
        except BaseException:
            request.over = True  # nobody waits for it any longer
            raise
        self._store.sync()
        return request.answer()

    def _take_turn(self, request: Request[Any]) -> None:
        """Answer a request, together with all that wait, in the order in which they came.

        A shared turn that fails is as if it had not been, and each takes one alone; but for one
        that fails in its commit, of which nobody knows whether it is recorded.
        """
        self._follow_view()  # most of the work, while the one before still writes
        shared = not request.called
        requests = self._call() if shared else [request]
        sought = [each.reference for each in requests if each.reference is not None]
        turn, complete = None, False
        try:
            with self._store.transaction(self.name, sought) as log:
                turn = Turn(log, self._follow(log), _now(self._clock))
                requests += self._call() if shared else []
                for each in requests:
                    each.run(turn)
                if self._crowded and turn.passed(OFTEN):
                    log.keep(turn.replay.snapshot())
                complete = True
            for each in requests:
                each.over = True
        except BaseException as reason:
            if turn is not None and turn.records:
                self._memory = None  # it may be ahead of the log: read that again
            if complete or len(requests) == 1:
                for each in requests:
                    each.fail(reason if isinstance(reason, Exception) else StorageFailed(CUT))
            if not isinstance(reason, Exception):
                raise
            return
        if turn.passed(EVERY):
            self._save(turn.replay)

    def _call(self) -> list[Request[Any]]:
        """Return those that wait, out of the queue."""
        requests = []
        while self._waiting:
            request = self._waiting[0]
            request.called = True  # first: one that is out of the queue must know in any case
            self._waiting.popleft()
            if not request.over:
                requests.append(request)
        return requests

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
            elif head.seq - replay.head.seq > FAR:
                self._catch_up(view, replay)
            for entry in view.read(after=replay.head.seq):
                replay.follow(entry)
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

    def _catch_up(self, view: View, replay: Replay) -> None:
        """Take over what another process made of the log: of many, each would replay it all.

        It goes by whoever saved it as far as `_load` does, and by the same log: the entry that was
        read last has to be there still.
        """
        self._crowded = replay.problem.arms.size <= SMALL
        snapshot = view.snapshot() if self._crowded else None
        if (
            snapshot is not None
            and snapshot.head.seq - replay.head.seq > FAR
            and has_entry(view, replay.head)
            and has_entry(view, snapshot.head)
        ):
            replay.restore(snapshot)

    def _load(self, view: View) -> Replay:
        """Return the state at the last snapshot, or at the first event if that is of no use."""
        replay = None
        for entry in view.read(limit=1):
            replay = Replay.begin(entry)
        if replay is None and view.head().seq:
            raise InvalidState(f"The log of {self.name!r} is damaged: it is empty. {WAY_OUT}")
        if replay is None:
            raise NotFound(f"There is no experiment {self.name!r} in {self._store.url}.")
        snapshot = view.snapshot()
        if snapshot is not None and snapshot.head.seq > 1 and has_entry(view, snapshot.head):
            replay.restore(snapshot)
        self._loaded = replay.head.seq
        return replay

    def _save(self, replay: Replay) -> None:
        with suppress(StorageFailed):  # it is only a shortcut
            self._store.save(self.name, replay.snapshot())


def _beginning(name: str, problem: Problem, explorer: str, seed: int, now: float) -> Created:
    """Return the first event of an experiment, without the problem, which it has checked.

    As a dictionary a large problem takes much memory, so it becomes one when it is written.
    """
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
        problem={},
        explorer=explorer,
        seed=seed,
        version=__version__,
    )


def _now(clock: Callable[[], float]) -> float:
    return rounded(clock())
