"""The right to append to a log, for as long as a transaction lasts."""

from typing import Any

from ..errors import InvalidState
from .events import Event, Settled, as_text, from_text, reference
from .replay import Replay
from .store import WAY_OUT, Log, Note


class Turn:
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
