"""Watch a run: how the closest contest changes from the first pulls to the last."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .checks import checked_whole
from .environments import Environment
from .explorers import Contest, Explorer
from .problem import Problem
from .runs import MAX_PULLS, Lane, Result, Seed, check_run, run


class TracePoint(NamedTuple):
    """The closest contest after a number of pulls.

    pulls: how many.
    leader: the arm that looked best.
    rival: the arm that might have beaten it by most.
    margin: B(t): how much better than the leader the rival may be, at most.

    >>> from lingape.trace import TracePoint
    >>> TracePoint(pulls=120, leader=0, rival=2, margin=0.31).margin
    0.31
    """

    pulls: int
    leader: int
    rival: int
    margin: float


@dataclass(frozen=True, eq=False)
class Trace:
    """The course of a run.

    There are no points before arms can be compared, and none at all for explorers without a
    contest between arms, such as XYAdaptive and RAGE, which compare arms at the end of a phase.

    problem: what was explored.
    points: the closest contests, in order.
    result: that of the run.

    >>> from lingape import LinGapE, canonical
    >>> from lingape.trace import trace
    >>> instance = canonical(3, gap=1.0)
    >>> seen = trace(LinGapE(instance.problem()), instance.gaussian(), points=5, lane="plain")
    >>> seen.points[0].leader, seen.points[-1].margin <= 0, seen.result.arm
    (0, True, 0)
    """

    problem: Problem
    points: tuple[TracePoint, ...]
    result: Result


def trace(
    explorer: Explorer,
    environment: Environment,
    *,
    seed: Seed = 0,
    max_pulls: int = MAX_PULLS,
    points: int = 200,
    lane: Lane = "auto",
) -> Trace:
    """Play a run and note the closest contest now and then, and at the end.

    points: at how many pull counts to look, at most. They are spread evenly in the logarithm from
        the first pulls to `max_pulls`, so that a run which ends early has fewer: set `max_pulls`
        to somewhat more than you expect.
    explorer, environment, seed, max_pulls, lane: as for `run`; looking changes no pull.

    >>> from lingape import LinGapE, canonical
    >>> from lingape.trace import trace
    >>> instance = canonical(3, gap=1.0)
    >>> seen = trace(LinGapE(instance.problem()), instance.gaussian(), seed=1, lane="plain")
    >>> seen.points[-1].pulls == seen.result.pulls
    True
    """
    points = checked_whole("points", points, least=1)
    check_run(explorer, environment, max_pulls)
    noted: list[TracePoint] = []

    def look(watched: Explorer, pulls: int) -> None:
        contest: Contest | None = getattr(watched, "contest", None)
        if contest is not None and (not noted or noted[-1].pulls < pulls):
            noted.append(TracePoint(pulls, *contest))

    before = int(explorer.counts.sum())
    result = run(
        explorer,
        environment,
        seed=seed,
        max_pulls=max_pulls,
        lane=lane,
        progress=look,
        moments=[before + stop for stop in _stops(len(explorer.problem), max_pulls, points)],
    )
    return Trace(explorer.problem, tuple(noted), result)


def _stops(first: int, last: int, points: int) -> list[int]:
    """Return up to `points` numbers of pulls, evenly spread in the logarithm, with `last`."""
    spread = np.geomspace(min(first, last), last, points).round().astype(np.int64)
    spread[-1] = last
    return [int(stop) for stop in np.unique(spread)]
