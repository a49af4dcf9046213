"""How far a study has come."""

import time
from collections import Counter
from typing import NamedTuple

from .rows import Row


class Tally(NamedTuple):
    """How far a study has come."""

    done: int
    total: int
    pulls: int  # in the runs of this session
    elapsed: float  # seconds
    left: float  # seconds, estimated

    def __str__(self) -> str:
        speed = self.pulls / max(self.elapsed, 1e-9)
        return (
            f"{self.done}/{self.total} runs, {speed:,.0f} rounds a second, "
            f"about {_duration(self.left)} left"
        )


class Clock:
    """Guesses how long the rest takes: as long as the like runs that are done."""

    def __init__(self, total: int, earlier: list[Row], tasks: list[tuple[str, str, int]]) -> None:
        self._total, self._earlier = total, len(earlier)
        self._start = time.perf_counter()
        self._taken: dict[tuple[str, str], list[float]] = {}
        for row in earlier:
            self._taken.setdefault(row.key[:2], []).append(row.seconds)
        self._waiting = Counter((explorer, instance) for explorer, instance, _ in tasks)
        self._pulls, self._done, self._busy = 0, 0, 0.0

    def tick(self, row: Row) -> Tally:
        """Count a run that has ended."""
        cell = row.key[:2]
        self._taken.setdefault(cell, []).append(row.seconds)
        self._waiting[cell] -= 1
        self._pulls, self._done = self._pulls + row.pulls, self._done + 1
        self._busy += row.seconds
        elapsed = time.perf_counter() - self._start
        means = {cell: sum(taken) / len(taken) for cell, taken in self._taken.items()}
        usual = sum(means.values()) / len(means)
        work = sum(n * means.get(cell, usual) for cell, n in self._waiting.items())
        left = work * elapsed / max(self._busy, 1e-9)
        return Tally(self._earlier + self._done, self._total, self._pulls, elapsed, left)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
