"""How B(t) fell in the past of an experiment, from a replay of its own."""

import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .replay import Corrections, Replay, Rewritten
from .store import Entry
from .summary import contest_in, gap_bound_of, ruled_out_in

KEPT = 2_048  # points, while reading


class Point(NamedTuple):
    """Which arm led after so many rewards, and what was proven.

    pulls: how many rewards.
    leader: the arm that looked best.
    rival: the arm that might have beaten it by most.
    gap_bound: B(t); None while nothing was proven.
    time: when the last of these rewards came, in seconds since 1970.
    p_value: the largest p-value of being best, of arms other than the leader; None if the explorer
        has none.
    left: how many arms were not ruled out as best; None likewise.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     for arm, reward in [(0, 0.2), (1, 0.9), (0, 0.1), (1, 0.8)]:
    ...         progress = experiment.add(arm, reward)
    ...     last = experiment.history()[-1]
    >>> last.pulls, last.leader, last.rival
    (4, 1, 0)
    """

    pulls: int
    leader: int
    rival: int
    gap_bound: float | None
    time: float
    p_value: float | None
    left: int | None


class History:
    """B(t) over time, as far as the log was read; it can be read on as the log grows."""

    def __init__(self, corrections: Corrections | None = None) -> None:
        self._corrections = corrections
        self.event = 0  # the last one read
        self.complete = True  # nothing is known to come after it
        self._replay: Replay | None = None
        self._points: list[Point] = []
        self._time = 0.0  # of the last reward
        self._every = 1  # rewards between points kept

    def follow(self, pages: Iterable[Iterable[Entry]], *, patience: float = np.inf) -> None:
        """Read on, for `patience` seconds at most: a long log with many arms takes minutes.

        Where rewards turn out to have been corrected, it has to be read from the beginning.
        """
        end = time.monotonic() + patience
        self.complete = False
        for page in pages:
            for entry in page:
                if time.monotonic() > end:
                    return
                try:
                    self._apply(entry)
                except Rewritten as anew:
                    self.__init__(anew.corrections)  # type: ignore[misc]
                    self.complete = False
                    return
                self.event = entry.seq
        self.complete = True

    def _apply(self, entry: Entry) -> None:
        if self._replay is None:
            self._replay = Replay.begin(entry, self._corrections)
            return
        before = self._replay.progress.pulls
        event, pulls = self._replay.follow(entry), self._replay.progress.pulls
        if pulls == before:
            return
        self._time = event.time
        if pulls % self._every == 0 or not self._points:
            self._points += self._now()
        if len(self._points) > KEPT:
            self._every *= 2
            first, rest = self._points[0], self._points[1:]
            self._points = [first, *(point for point in rest if point.pulls % self._every == 0)]

    def _now(self) -> list[Point]:
        """Return how it stands as far as the log was read, if arms can be compared."""
        replay = self._replay
        contest = None if replay is None else contest_in(replay)
        if replay is None or contest is None:
            return []
        others, p_values = replay.problem.can_answer.copy(), replay.explorer.p_values
        out, others[contest.leader] = ruled_out_in(replay), False
        return [
            Point(
                replay.progress.pulls,
                contest.leader,
                contest.rival,
                gap_bound_of(contest),
                self._time,
                None if p_values is None else float(p_values[others].max(initial=0.0)),
                None if out is None else int(np.count_nonzero(replay.problem.can_answer)) - out,
            )
        ]

    def points(self, most: int) -> list[Point]:
        """Return at most `most` points, the first and the last among them."""
        points = list(self._points)
        if self._replay is not None and points:
            last = self._replay.progress.pulls
            points += self._now() if points[-1].pulls != last else []
        if len(points) > most:
            chosen = np.unique(np.linspace(0, len(points) - 1, most).round().astype(int))
            points = [points[i] for i in chosen]
        return points
