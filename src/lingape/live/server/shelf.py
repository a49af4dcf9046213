"""Experiments that a server has open: shared by its threads, put back when others need the room.

An Experiment may be used by several threads; it lets them in one by one. What is added here is
that each is opened once, that no more than so many are open, and that one whose log turned out to
be damaged, or to be another one, is opened anew by whoever comes next.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from ...errors import Conflict, InvalidState, NotFound
from ...problem import Problem
from ..events import as_data, from_text
from ..experiment import Experiment
from ..history import History
from ..standing import Summary, summary_of, valid_until
from ..store import Entry, Head, Store, open_store, read_linked

PAGE = 1_000  # events read at once
PATIENCE = 1.0  # seconds of replaying for one look at a history


class _Known(NamedTuple):
    """A summary, and until when only events can change it."""

    summary: Summary
    until: float


class _Slot:
    """A place on the shelf."""

    def __init__(self) -> None:
        self.opening = threading.Lock()
        self.experiment: Experiment | None = None
        self.users = 0
        self.history: History | None = None
        self.remembering = threading.Lock()


class Shelf:
    """The experiments of one database.

    most: how many are kept open; more only while more are in use.
    most_experiments: how many the database may have before `create` refuses.
    """

    def __init__(self, url: str, *, most: int = 16, most_experiments: int = 1_000) -> None:
        self.url, self._most, self._most_experiments = url, most, most_experiments
        self._opened_store = open_store(url, create=True)
        self.where = self._opened_store.url  # for messages
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()  # used longest ago first
        self._known: dict[str, _Known] = {}

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            slots, self._slots = list(self._slots.values()), OrderedDict()
        for slot in slots:
            if slot.experiment is not None:
                slot.experiment.close()
        self._opened_store.close()

    @property
    def _store(self) -> Store:
        """The database; where the file is another one by now, that one."""
        with self._lock:
            if self._opened_store.outdated:
                with suppress(NotFound):  # it says itself that it was removed
                    self._opened_store = open_store(self.url, create=False)
            return self._opened_store

    @contextmanager
    def use(self, name: str) -> Iterator[Experiment]:
        """Give an experiment, opening it if need be."""
        with self._slot(name) as slot:
            yield self._opened(name, slot)

    @contextmanager
    def _slot(self, name: str) -> Iterator[_Slot]:
        with self._lock:
            slot = self._slots.setdefault(name, _Slot())
            self._slots.move_to_end(name)
            slot.users += 1
        try:
            yield slot
        except InvalidState:
            with self._lock:
                if self._slots.get(name) is slot:
                    del self._slots[name]
            raise
        finally:
            self._put_back(name, slot)

    def _opened(self, name: str, slot: _Slot) -> Experiment:
        with slot.opening:
            if slot.experiment is None:
                self.head(name)
                slot.experiment = Experiment.open(self.url, name)
            return slot.experiment

    def _put_back(self, name: str, slot: _Slot) -> None:
        unused = []
        with self._lock:
            slot.users -= 1
            kept = self._slots.get(name) is slot
            if slot.users == 0 and (slot.experiment is None or not kept):
                if kept:
                    del self._slots[name]  # it could not be opened
                unused.append(slot)
            free = [key for key, other in self._slots.items() if other.users == 0]
            for key in free[: max(0, len(self._slots) - self._most)]:
                unused.append(self._slots.pop(key))
        for idle in unused:
            if idle.experiment is not None:
                idle.experiment.close()

    def create(
        self, name: str, problem: Problem, explorer: str, seed: int, rewards: Any = None
    ) -> None:
        """Begin an experiment, or find it begun with the same settings."""
        names = self._store.experiments()
        if name not in names and len(names) >= self._most_experiments:
            raise Conflict(
                f"This server keeps at most {self._most_experiments} experiments, and has "
                f"{len(names)}. Start one with another --db."
            )
        Experiment.open(
            self.url, name, create=problem, rewards=rewards, explorer=explorer, seed=seed
        ).close()

    def names(self) -> list[str]:
        """Return the names of all experiments."""
        return self._store.experiments()

    def summary(self, name: str) -> Summary:
        """Return an experiment in a line; of one that has not moved, that costs little."""
        head, now = self.head(name), time.time()
        known = self._known.get(name)
        if (
            known is None
            or now >= known.until
            or head != (known.summary.event, known.summary.digest)
        ):
            with self.use(name) as experiment, experiment.current() as replay:
                known = _Known(summary_of(replay, now), valid_until(replay, now))
            self._known[name] = known
        return known.summary

    def head(self, name: str) -> Head:
        """Return how far a log goes, or raise NotFound."""
        with self._store.view(name) as view:
            head = view.head()
        if head.seq == 0:
            raise NotFound(
                f"There is no experiment {name!r}. GET /api/experiments lists those that there "
                "are; POST there to begin one."
            )
        return head

    def history(self, name: str, points: int) -> dict[str, Any]:
        """Return how B(t) went, as far as there is time to read."""
        with self._slot(name) as slot:
            self._opened(name, slot)
            with slot.remembering:
                history = slot.history or History()
                history.follow(self._pages(name, history.event), patience=PATIENCE)
                slot.history = history
                return {
                    "points": [point._asdict() for point in history.points(points)],
                    "event": history.event,
                    "complete": history.complete,
                }

    def events(self, name: str, after: int, limit: int) -> list[dict[str, Any]]:
        """Return events as data, oldest first."""
        self.head(name)
        return [
            as_data(from_text(entry.text, place=entry.seq))
            for entry in self._read(name, after, limit)
        ]

    def export(self, name: str) -> Iterator[list[Entry]]:
        """Yield the log in pages; it is as long as it is when that begins."""
        end = self.head(name).seq
        return self._pages(name, 0, end)

    def _pages(self, name: str, after: int, end: int | None = None) -> Iterator[list[Entry]]:
        while page := self._read(name, after, PAGE if end is None else min(PAGE, end - after)):
            yield page
            after = page[-1].seq

    def _read(self, name: str, after: int, limit: int) -> list[Entry]:
        store = self._store
        with store.view(name) as view:
            entries = list(read_linked(view, after, limit)) if limit > 0 else []
        store.sync()  # nobody hears of what a power cut could take back
        return entries
