"""The right to append to a log, for as long as a transaction lasts, and those who want it."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..errors import InvalidState, LingapeError
from .events import Event, Settled, as_text, from_text, reference
from .replay import Replay
from .store import WAY_OUT, Log, Note, read_linked

T = TypeVar("T")


class Turn:
    """The right to append events, for as long as a transaction lasts."""

    def __init__(self, log: Log, replay: Replay, now: float) -> None:
        self._log, self.replay, self.now = log, replay, now
        self._begin = replay.head.seq
        self.records = 0  # how often anything was to be appended

    @property
    def next(self) -> int:
        """The number of the next event."""
        return self.replay.head.seq + 1

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
            if reference(event) == name and isinstance(event, kinds):
                return event
        raise InvalidState(f"The log is damaged: event {seq} is not {name!r}. {WAY_OUT}")

    def record(self, event: Event) -> None:
        """Append an event, and the verdict if that follows from it."""
        self.records += 1
        self._append(event)
        if self.replay.explorer.done and self.replay.settled is None:
            proof = self.replay.proof().to_dict()
            self._append(Settled(seq=self.next, time=self.now, certificate=proof))

    def _append(self, event: Event) -> None:
        # The explorer may refuse a reward; then the transaction fails, and nothing was recorded.
        head = self._log.append([Note(as_text(event), reference(event))])
        self.replay.apply(event, head.digest)


class Request(Generic[T]):
    """Something to do in a turn, perhaps beside others, and what came of it.

    act: checks, then records. What it raises before it records is a refusal, and concerns nobody
        else; what it raises afterwards ends the turn.
    reference: for which it will look in the log.
    """

    def __init__(self, act: Callable[[Turn], T], reference: str | None = None) -> None:
        self._act, self.reference = act, reference
        self.called = False  # it is out of the queue; if nothing came of it, it goes alone
        self.over = False  # there is an answer
        self._result: list[T] = []
        self._reason: Exception | None = None

    def run(self, turn: Turn) -> None:
        """Do it; the answer is one once the turn has ended well."""
        before = turn.records
        self._reason = None  # of a turn that came to nothing
        try:
            self._result = [self._act(turn)]
        except LingapeError as reason:
            if turn.records > before:
                raise
            self._reason = reason

    def fail(self, reason: Exception) -> None:
        """Answer that it came to nothing, or may have."""
        self._reason, self.over = reason, True

    def answer(self) -> T:
        """Return what the act returned, or raise what it raised."""
        if self._reason is not None:
            raise self._reason
        return self._result[0]
