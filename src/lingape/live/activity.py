"""What happened when, and who did it: rewards by the hour, and tickets by worker."""

from collections.abc import Mapping
from typing import Any, NamedTuple

HOUR = 3600  # seconds
SHOWN = 100  # workers in an answer
KEPT = 1_000  # workers in memory: some programs have a new name for each run


class Hour(NamedTuple):
    """What came in an hour.

    start: when it began, in seconds since 1970.
    rewards: how many were told, added or taken over.
    voided: how many tickets were voided.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.add(arm=0, reward=0.3)
    ...     [hour] = experiment.activity().hours
    >>> hour.rewards, hour.voided
    (1, 0)
    """

    start: int
    rewards: int
    voided: int


class Worker(NamedTuple):
    """What became of the tickets of a worker.

    name: as it was said when asking; None for all who did not say.
    asked: how many tickets it got.
    told: how many of them have a reward.
    voided: how many will have none.
    pending: how many are awaited.
    overdue: how many are past their deadline; their rewards still count.
    last_seen: when one of them was last asked for, told or voided, in seconds since 1970.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     tickets = experiment.ask(2, worker="shop-1")
    ...     progress = experiment.tell(tickets[0], 0.3)
    ...     [worker] = experiment.activity().workers
    >>> worker.name, worker.asked, worker.told, worker.pending
    ('shop-1', 2, 1, 1)
    """

    name: str | None
    asked: int
    told: int
    voided: int
    pending: int
    overdue: int
    last_seen: float


class Activity(NamedTuple):
    """What happened when, and who did it.

    hours: those in which there were rewards or voids, oldest first.
    workers: who was seen last comes first; at most 100.
    other_workers: how many more there are.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     [ticket] = experiment.ask(worker="shop-1")
    ...     progress = experiment.void(ticket, reason="page did not load")
    ...     activity = experiment.activity()
    >>> [hour.voided for hour in activity.hours], [worker.name for worker in activity.workers]
    ([1], ['shop-1'])
    """

    hours: tuple[Hour, ...]
    workers: tuple[Worker, ...]
    other_workers: int


class Diary:
    """Counts of what happened, by the times of events."""

    def __init__(self) -> None:
        self.hours: dict[int, list[int]] = {}  # whole hours since 1970: rewards, voids
        # Tickets asked for, told and voided, and when that was last; seen longest ago first.
        self.workers: dict[str | None, tuple[tuple[int, int, int], float]] = {}
        self.forgotten = 0  # workers seen longest ago

    def count(self, time: float, rewards: int, voided: int) -> None:
        """Count what an event brought."""
        if rewards or voided:
            hour = self.hours.setdefault(int(time // HOUR), [0, 0])
            hour[0] += rewards
            hour[1] += voided

    def see(
        self, worker: str | None, time: float, *, asked: int = 0, told: int = 0, voided: int = 0
    ) -> None:
        """Count what was done with a ticket of a worker."""
        before, _ = self.workers.pop(worker, ((0, 0, 0), time))
        self.workers[worker] = (before[0] + asked, before[1] + told, before[2] + voided), time
        if len(self.workers) > KEPT:
            del self.workers[next(iter(self.workers))]
            self.forgotten += 1

    def since(self, time: float) -> int:
        """Return how many rewards there were in the hours that began then or later."""
        return sum(rewards for hour, (rewards, _) in self.hours.items() if hour * HOUR >= time)

    def activity(
        self, pending: Mapping[str | None, int], overdue: Mapping[str | None, int]
    ) -> Activity:
        """Return all that for people to read.

        pending, overdue: how many tickets of each worker are awaited, and late.
        """
        latest = list(self.workers.items())[: -SHOWN - 1 : -1]
        return Activity(
            tuple(Hour(hour * HOUR, *counts) for hour, counts in sorted(self.hours.items())),
            tuple(
                Worker(name, *counts, pending.get(name, 0), overdue.get(name, 0), seen)
                for name, (counts, seen) in latest
            ),
            len(self.workers) - len(latest) + self.forgotten,
        )

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "hours": list(self.hours.items()),
            "workers": list(self.workers.items()),
            "forgotten": self.forgotten,
        }

    @classmethod
    def from_data(cls, data: Any) -> "Diary":
        """Return what `to_data` wrote."""
        diary = cls()
        diary.hours = {int(hour): list(map(int, counts)) for hour, counts in data["hours"]}
        for name, ((asked, told, voided), seen) in data["workers"]:
            diary.workers[name] = (asked, told, voided), seen
        diary.forgotten = int(data["forgotten"])
        return diary
