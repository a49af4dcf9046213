"""The experiments that a server has open, shared by its threads.

An Experiment may be used by several threads; it lets them in one by one. Added here is that each
is opened once, that few are open at a time, and that one whose log turned out to be damaged or
replaced is opened again for the next request.
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
from ..history import History, Point
from ..store import Entry, Head, Store, open_store, read_pages
from ..summary import Summary, summary_of, valid_until

PATIENCE = 1.0  # seconds of replaying for one request of a history


class HistoryPage(NamedTuple):
    """How B(t) fell, as far as the log was read.

    points: some of the course, oldest first.
    event: the number of the last event read.
    complete: whether that is all; if not, the log is long: request again to read on.
    """

    points: list[Point]
    event: int
    complete: bool


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

    most: how many are kept open, unless more are in use.
    most_experiments: how many the database may have before `create` refuses.
    """

    def __init__(self, url: str, *, most: int = 16, most_experiments: int = 1_000) -> None:
        self.url, self._most, self._most_experiments = url, most, most_experiments
        self._opened_store = open_store(url, create=True)
        self.where = self._opened_store.url  # for messages
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()  # used longest ago first
        # Summaries, and until when only events can change them.
        self._known: dict[str, tuple[Summary, float]] = {}

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
        """The database; if its file was replaced, the new one."""
        with self._lock:
            if self._opened_store.outdated:
                with suppress(NotFound):  # the old one says itself that it was removed
                    self._opened_store = open_store(self.url, create=False)
            return self._opened_store

    @contextmanager
    def use(self, name: str) -> Iterator[Experiment]:
        """Lend an experiment, opening it if necessary."""
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

    def create(self, name: str, problem: Problem, **settings: Any) -> None:
        """Begin an experiment, unless it exists with the same settings.

        settings: the others of Experiment.open.
        """
        names = self._store.experiments()
        if name not in names and len(names) >= self._most_experiments:
            raise Conflict(
                f"This server keeps at most {self._most_experiments} experiments, and has "
                f"{len(names)}. Start another with another --db."
            )
        Experiment.open(self.url, name, create=problem, **settings).close()

    def names(self) -> list[str]:
        """Return the names of all experiments."""
        return self._store.experiments()

    def summary(self, name: str) -> Summary:
        """Return a line about an experiment; if it has not changed, that costs little."""
        head, now = self.head(name), time.time()
        found, until = self._known.get(name, (None, 0.0))
        if found is None or now >= until or head != (found.event, found.digest):
            with self.use(name) as experiment, experiment.current() as replay:
                found = summary_of(replay, now)
                self._known[name] = found, valid_until(replay, now)
        return found

    def head(self, name: str) -> Head:
        """Return the end of a log, or raise NotFound."""
        with self._store.view(name) as view:
            head = view.head()
        if head.seq == 0:
            raise NotFound(
                f"There is no experiment {name!r}. GET /api/experiments lists those that exist; "
                "POST there to begin one."
            )
        return head

    def history(self, name: str, points: int) -> HistoryPage:
        """Return how B(t) fell, as far as there is time to read."""
        with self._slot(name) as slot:
            experiment = self._opened(name, slot)
            with slot.remembering:
                if slot.history is None:
                    with experiment.current() as replay:
                        slot.history = History(replay.corrections)
                history = slot.history
                pages = read_pages(self._store, name, history.event)
                history.follow(pages, patience=PATIENCE)
                return HistoryPage(history.points(points), history.event, history.complete)

    def events(self, name: str, after: int, limit: int) -> list[dict[str, Any]]:
        """Return events as data, oldest first."""
        self.head(name)
        return [
            as_data(from_text(entry.text, place=entry.seq))
            for page in read_pages(self._store, name, after, after + limit)
            for entry in page
        ]

    def export(self, name: str, after: int) -> Iterator[list[Entry]]:
        """Return the pages of a log after an event, up to its present end."""
        return read_pages(self._store, name, after, self.head(name).seq)
