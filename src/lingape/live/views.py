"""What a server shows of an experiment, as data."""

import math
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from ..explorers import Contest
from ..explorers.skeleton import GapExplorer
from ..problem import Problem
from .events import Added, Created, Told, damaged, from_text
from .experiment import Experiment
from .replay import Replay
from .store import Entry, Head

Data: TypeAlias = dict[str, Any]

MOST_ARMS = 500  # shown of an experiment
PATIENCE = 1.0  # seconds of replaying for one look at a history
KEPT = 2_048  # points of a history


def status(experiment: Experiment) -> Data:
    """Return how an experiment stands, with each arm's interval."""
    with experiment.current() as replay:
        now = experiment.status()  # reads on into the same replay
        contest = _contest(replay)
        problem = replay.problem
        return {
            "name": now.name,
            "explorer": now.explorer,
            "pulls": now.pulls,
            "settled": now.settled,
            "leader": None if contest is None else _called(problem, contest.leader),
            "rival": None if contest is None else _called(problem, contest.rival),
            "margin": None if contest is None else _finite(contest.margin),
            "epsilon": now.epsilon,
            "delta": now.delta,
            "statement": now.certificate.statement,
            "open_tickets": now.pending + now.expired,
            "overdue": now.expired,
            "voided": now.voided,
            "warnings": list(now.check.warnings),
            "arms": _arms(replay, contest),
            "arms_total": now.arms,
            "sequence": now.event,
            "hash": now.digest,
        }


def summary(experiment: Experiment) -> tuple[Head, Data]:
    """Return an experiment in a line, and up to where its log was read."""
    with experiment.current() as replay:
        contest = _contest(replay)
        return replay.head, {
            "name": experiment.name,
            "arms": len(replay.problem),
            "pulls": replay.told + replay.added,
            "open_tickets": len(replay.open),
            "settled": replay.settled is not None,
            "leader": None if contest is None else replay.problem.name(contest.leader),
        }


def progress(experiment: Experiment) -> Data:
    """Return what moves with every reward."""
    with experiment.current() as replay:
        contest = _contest(replay)
        return {
            "sequence": replay.head.seq,
            "pulls": replay.told + replay.added,
            "margin": None if contest is None else _finite(contest.margin),
            "settled": replay.settled is not None,
        }


def certificate(experiment: Experiment) -> Data:
    """Return what is proven, with the event and the hash of the log that proves it."""
    found = experiment.certificate()
    return found.to_dict() | {"sequence": found.event, "hash": found.digest}


def _contest(replay: Replay) -> Contest | None:
    return getattr(replay.explorer, "contest", None)


def _called(problem: Problem, arm: int) -> Data:
    return {"arm": arm, "name": problem.name(arm)}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _arms(replay: Replay, contest: Contest | None) -> list[Data]:
    """Return arms with their gap to the leader, those that may still be best first."""
    problem, counts = replay.problem, replay.explorer.counts
    waiting = Counter(ticket.arm for ticket in replay.open.values())
    gaps = widths = np.full(len(problem), np.nan)
    explorer = replay.explorer
    if contest is not None and isinstance(explorer, GapExplorer):
        means = explorer.estimate.means
        gaps = means - means[contest.leader]
        widths = explorer.bound.widths(problem, explorer.estimate, contest.leader)
        # The same arm twice: that gap is known.
        widths = np.where(problem.twins == problem.twins[contest.leader], 0.0, widths)
    chosen = np.argsort(-(gaps + widths), kind="stable")[:MOST_ARMS]
    if contest is not None and contest.leader not in chosen:
        chosen[-1] = contest.leader
    return [
        {
            "arm": int(arm),
            "name": problem.name(int(arm)),
            "pulls": int(counts[arm]),
            "open": waiting[int(arm)],
            "mean": _finite(gaps[arm]),
            "low": _finite(gaps[arm] - widths[arm]),
            "high": _finite(gaps[arm] + widths[arm]),
        }
        for arm in chosen
    ]


class History:
    """B(t) over time, from a replay of its own that reads on as the log grows.

    A long log with many arms takes minutes to replay, so each look reads on for a while only.
    """

    def __init__(self) -> None:
        self.seq = 0
        self._complete = True
        self._replay: Replay | None = None
        self._points: list[Data] = []
        self._last: Data | None = None
        self._every = 1  # rewards between points kept

    def follow(self, pages: Iterable[list[Entry]]) -> None:
        """Read on, as far as there is time."""
        end = time.monotonic() + PATIENCE
        self._complete = False
        for page in pages:
            for entry in page:
                if time.monotonic() > end:
                    return
                self._apply(entry)
                self.seq = entry.seq
        self._complete = True

    def _apply(self, entry: Entry) -> None:
        event = from_text(entry.text, place=entry.seq)
        if self._replay is None:
            if not isinstance(event, Created):
                raise damaged(1, "a log begins with its creation")
            self._replay = Replay(event, entry.digest)
            return
        self._replay.apply(event, entry.digest)
        contest = _contest(self._replay)
        if contest is None or not isinstance(event, Told | Added):
            return
        pulls = self._replay.told + self._replay.added
        self._last = {
            "pulls": pulls,
            "margin": _finite(contest.margin),
            "leader": contest.leader,
            "rival": contest.rival,
        }
        if pulls % self._every == 0 or not self._points:
            self._points.append(self._last)
        if len(self._points) > KEPT:
            self._every *= 2
            first, rest = self._points[0], self._points[1:]
            self._points = [first, *(p for p in rest if p["pulls"] % self._every == 0)]

    def to_dict(self, most: int) -> Data:
        """Return at most so many points, the first and the last among them."""
        points = list(self._points)
        if self._last is not None and points[-1] is not self._last:
            points.append(self._last)
        if len(points) > most:
            chosen = np.unique(np.linspace(0, len(points) - 1, most).round().astype(int))
            points = [points[i] for i in chosen]
        return {"points": points, "sequence": self.seq, "complete": self._complete}
