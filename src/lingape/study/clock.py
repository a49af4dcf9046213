"""How far a study has come."""

import time
from collections import Counter
from typing import NamedTuple

from .results import Row


class Pace(NamedTuple):
    """How far a study has come, and how fast it goes: what `Study.run` tells its `progress`.

    done, total: runs that have ended, and all runs.
    pulls: in the runs of this session.
    speed: rounds per second, of all processes together.
    elapsed: seconds since the start.
    left: seconds to the end, estimated.

    >>> from lingape.study import Pace
    >>> print(Pace(done=30, total=40, pulls=60_000, speed=1.5e6, elapsed=70.0, left=20.0))
    30/40 runs, 1,500,000 rounds per second, about 20 s left
    """

    done: int
    total: int
    pulls: int
    speed: float
    elapsed: float
    left: float

    def __str__(self) -> str:
        return (
            f"{self.done}/{self.total} runs, {self.speed:,.0f} rounds per second, "
            f"about {_duration(self.left)} left"
        )


class Clock:
    """Estimates the time left from finished runs of the same kind.

    Rows say how long runs took without compiling. The time since the start is not used: the first
    runs wait for processes to start and for the compiler, later ones do not.

    workers: parallel processes.
    """

    def __init__(
        self, total: int, earlier: list[Row], tasks: list[tuple[str, str, int]], workers: int
    ) -> None:
        self._total, self._earlier, self._workers = total, len(earlier), workers
        self._start = time.perf_counter()
        self._taken: dict[tuple[str, ...], tuple[float, int]] = {}  # seconds, and runs
        for row in earlier:
            self._note(row)
        self._waiting = Counter((explorer, instance) for explorer, instance, _ in tasks)
        self._pulls, self._done, self._busy = 0, 0, 0.0

    def tick(self, row: Row) -> Pace:
        """Count a run that has ended."""
        self._note(row)
        self._waiting[row.key[:2]] -= 1
        self._pulls, self._done = self._pulls + row.pulls, self._done + 1
        self._busy += row.seconds
        work = sum(n * self._usual(*cell) for cell, n in self._waiting.items())
        return Pace(
            done=self._earlier + self._done,
            total=self._total,
            pulls=self._pulls,
            speed=self._workers * self._pulls / max(self._busy, 1e-9),
            elapsed=time.perf_counter() - self._start,
            left=work / self._workers,
        )

    def _note(self, row: Row) -> None:
        for like in (row.key[:2], row.key[:1], ()):
            seconds, runs = self._taken.get(like, (0.0, 0))
            self._taken[like] = seconds + row.seconds, runs + 1

    def _usual(self, explorer: str, instance: str) -> float:
        """Return the mean time of a run: of that pair, else of that explorer, else of any."""
        likes: list[tuple[str, ...]] = [(explorer, instance), (explorer,), ()]
        seconds, runs = next(self._taken[like] for like in likes if like in self._taken)
        return seconds / runs


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
