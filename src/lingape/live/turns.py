"""A log that threads and processes append to in turns, and the state that follows from it.

To record something is to take a turn: all events before it are read and applied, the new event is
checked and appended, the transaction is committed, the disk confirms, and only then does the
caller get an answer.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from ..errors import Conflict, InvalidState, LingapeError, NotFound, StorageFailed
from .events import (
    Added,
    Asked,
    Event,
    Settled,
    Told,
    Voided,
    as_text,
    from_text,
    rounded_time,
)
from .forks import after_fork
from .replay import Replay, Rewritten
from .snapshots import restore, snapshot_of
from .store import WAY_OUT, Log, Note, Store, View, has_entry, read_linked

EVERY = 500  # events between snapshots
FAR = 16  # events that take about as long to replay as a snapshot does to read
OFTEN = 8  # events between snapshots where many processes share an experiment
SMALL = 4_096  # numbers in the features of arms, for which snapshots are that cheap
T = TypeVar("T")
FREQUENT = (Asked, Told, Added, Voided)  # events that are logged for debugging only
log = logging.getLogger(__name__)
CUT = (
    "Recording was interrupted. It may be recorded or not. Do the same again: what is there "
    "already is not recorded twice."
)


class Turn:
    """The right to append events, for as long as a transaction lasts."""

    def __init__(self, log: Log, replay: Replay, now: float) -> None:
        self._log, self.replay, self.now = log, replay, now
        self._begin = replay.head.seq
        self.records = 0  # how often anything was to be appended
        self.appended: list[Event] = []

    @property
    def next(self) -> dict[str, Any]:
        """The number and the time of the next event."""
        return {"seq": self.replay.head.seq + 1, "time": self.now}

    def passed(self, every: int) -> bool:
        """Whether a multiple of `every` is among the numbers of the events appended."""
        return self.replay.head.seq // every > self._begin // every

    def find(self, name: str, *kinds: type[Event]) -> Any:
        """Return the event with a reference, or None."""
        seq = self._log.find(name)
        if seq is None:
            return None
        for entry in read_linked(self._log, after=seq - 1, limit=1):
            event = from_text(entry.text, place=seq)
            if event.reference == name and isinstance(event, kinds):
                return event
        raise InvalidState(f"The log is damaged: event {seq} is not {name!r}. {WAY_OUT}")

    def event(self, seq: int) -> Event | None:
        """Return the event with a number, or None."""
        for entry in read_linked(self._log, after=seq - 1, limit=1) if seq > 0 else ():
            return from_text(entry.text, place=entry.seq)
        return None

    def record(self, event: Event) -> None:
        """Append an event, and the verdict if that follows from it."""
        self.records += 1
        self._append(event)
        if self.replay.explorer.done and self.replay.settled is None:
            proof, corrections = self.replay.proof().to_dict(), self.replay.corrected
            self._append(Settled(**self.next, certificate=proof, corrections=corrections))

    def _append(self, event: Event) -> None:
        # The explorer may refuse a reward; then the transaction fails, and nothing was recorded.
        head = self._log.append([Note(as_text(event), event.reference)])
        try:
            self.replay.apply(event, head.digest)
        except Rewritten:
            try:
                self.replay = Replay.rewritten(self._log.read)
            except InvalidState as reason:
                raise Conflict(
                    f"Later events rest on the reward as it was, so it stays ({reason.args[0]}) "
                    "Nothing was recorded. Begin another experiment, and add() all rewards as "
                    "they should be."
                ) from reason
        self.appended.append(event)


class Request(Generic[T]):
    """Something to do in a turn, perhaps together with others, and its result.

    act: checks, then records. What it raises before it records is a refusal, which affects nobody
        else; what it raises afterwards ends the turn.
    reference: the one that it will look for in the log.
    """

    def __init__(self, act: Callable[[Turn], T], reference: str | None = None) -> None:
        self._act, self.reference = act, reference
        self.called = False  # it is out of the queue; if its turn failed, it gets one of its own
        self.over = False  # there is an answer
        self._result: list[T] = []
        self._reason: Exception | None = None

    def run(self, turn: Turn) -> None:
        """Do it; the answer counts once the turn has ended well."""
        before = turn.records
        self._reason = None  # of a turn that failed
        try:
            self._result = [self._act(turn)]
        except LingapeError as reason:
            if turn.records > before:
                raise
            self._reason = reason

    def fail(self, reason: Exception) -> None:
        """Answer that it failed, or may have."""
        self._reason, self.over = reason, True

    def answer(self) -> T:
        """Return what the act returned, or raise what it raised."""
        if self._reason is not None:
            raise self._reason
        return self._result[0]


class SharedLog:
    """The log of an experiment, and in memory the state that follows from it.

    Each process reads on before it does anything, so any number of them can share a log; an object
    can be shared by threads.
    """

    def __init__(self, store: Store, name: str, *, clock: Callable[[], float]) -> None:
        self.name = name
        self._store, self._clock = store, clock
        self._mutex = threading.RLock()
        self._waiting: deque[Request[Any]] = deque()  # for a turn, in other threads
        self._memory: Replay | None = None  # the state, as far as the log was read
        self._loaded = 0  # the event from which it was read on
        self._crowded = False  # other processes append more than this one can replay
        after_fork(self)

    @contextmanager
    def current(self) -> Iterator[Replay]:
        """Give the state now, to look at; what it shows is safe on disk."""
        with self._mutex:
            yield self._follow_view()
        self._store.sync()

    def close(self) -> None:
        """Close the database for good: open the experiment again to use it."""
        self._store.close()

    def _now(self) -> float:
        return rounded_time(self._clock())

    def _renew(self) -> None:
        """Forget the threads of the parent process, which do not exist here."""
        self._mutex = threading.RLock()
        self._waiting = deque()
        self._memory = None  # a thread may have been changing it

    def _follow_view(self) -> Replay:
        with self._store.view(self.name) as view:
            return self._follow(view)

    def _in_turn(self, act: Callable[[Turn], T], reference: str | None = None) -> T:
        """Return what `act` returns, given the right to append and all events before applied.

        Threads that wait for each other share a transaction: the one that gets in does what all of
        them want. None gets an answer before it is committed and safe on disk.
        """
        request = Request(act, reference)
        self._waiting.append(request)
        try:
            with self._mutex:
                while not request.over:
                    if self._memory is None or self._memory.problem.arms.size > SMALL:
                        self._follow_view()  # may take long, so before others wait for us
                    with self._store.line():
                        self._take_turn(request)
        except BaseException:
            request.over = True  # nobody waits for it any more
            raise
        self._store.sync()
        return request.answer()

    def _take_turn(self, request: Request[Any]) -> None:
        """Answer a request, together with all that wait, in the order in which they came.

        If a shared turn fails, nothing of it is recorded and each request gets a turn of its own.
        If it fails in its commit, it may be recorded or not, and all requests fail.
        """
        self._follow_view()  # most of the work, while the process before us still writes
        shared = not request.called
        requests = self._call() if shared else [request]
        sought = [each.reference for each in requests if each.reference is not None]
        turn, complete = None, False
        try:
            with self._store.transaction(self.name, sought) as log:
                turn = Turn(log, self._follow(log), self._now())
                requests += self._call() if shared else []
                for each in requests:
                    each.run(turn)
                if self._crowded and turn.passed(OFTEN):
                    log.keep(snapshot_of(turn.replay))
                complete = True
            self._memory = turn.replay
            self._log_events(turn.appended)
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

    def _log_events(self, events: Iterable[Event]) -> None:
        """Pass what was recorded on to Python's logging."""
        for event in events:
            level = logging.DEBUG if isinstance(event, FREQUENT) else logging.INFO
            log.log(level, "%s: event %d, %s", self.name, event.seq, event.kind)

    def _call(self) -> list[Request[Any]]:
        """Take the requests that wait out of the queue, and return them."""
        requests = []
        while self._waiting:
            request = self._waiting[0]
            request.called = True  # first: an interrupt may come right after popleft
            self._waiting.popleft()
            if not request.over:
                requests.append(request)
        return requests

    def _follow(self, view: View) -> Replay:
        """Return the state at the end of the log, having read on to there."""
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
        except Rewritten:
            replay = Replay.rewritten(view.read)
        except BaseException:
            self._memory = None
            raise
        if replay.head != head:
            raise InvalidState(
                f"The log of {self.name!r} is damaged: it has {replay.head.seq} events and should "
                f"have {head.seq}. {WAY_OUT}"
            )
        self._memory = replay
        return replay

    def _catch_up(self, view: View, replay: Replay) -> None:
        """Use the snapshot of another process instead of replaying what many others appended.

        It is trusted as far as `_load` trusts it, and has to be of the same log: the entry that
        was read last must still be there.
        """
        self._crowded = replay.problem.arms.size <= SMALL
        snapshot = view.snapshot() if self._crowded else None
        if (
            snapshot is not None
            and snapshot.head.seq - replay.head.seq > FAR
            and has_entry(view, replay.head)
            and has_entry(view, snapshot.head)
        ):
            restore(replay, snapshot)

    def _load(self, view: View) -> Replay:
        """Return the state at the last snapshot, or at the first event if that cannot be used."""
        replay = None
        for entry in view.read(limit=1):
            replay = Replay.begin(entry)
        if replay is None and view.head().seq:
            raise InvalidState(f"The log of {self.name!r} is damaged: it is empty. {WAY_OUT}")
        if replay is None:
            raise NotFound(f"There is no experiment {self.name!r} in {self._store.url}.")
        snapshot = view.snapshot()
        if snapshot is not None and snapshot.head.seq > 1 and has_entry(view, snapshot.head):
            restore(replay, snapshot)
        self._loaded = replay.head.seq
        return replay

    def _save_if_far(self, replay: Replay) -> None:
        """Save a snapshot if there was no usable one and many events had to be replayed."""
        with self._mutex:
            if replay.head.seq - self._loaded >= EVERY:
                self._save(replay)

    def _save(self, replay: Replay) -> None:
        with suppress(StorageFailed):  # it is only a shortcut
            self._store.save(self.name, snapshot_of(replay))
