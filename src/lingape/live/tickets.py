"""Tickets: arms to pull, and the names under which to tell their rewards."""

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from ..data import Data
from ..errors import InvalidArgument
from ..problem import Problem
from .events import Asked

TICKET = re.compile(r"([1-9][0-9]{0,17})-([0-9]{1,4})-[a-z2-7]{8}")
#: For how long to count on a reward: seconds, a timedelta, a text such as "6h", or None.
TimeToLive: TypeAlias = str | float | timedelta | None
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


@dataclass(frozen=True)
class Ticket(Data):
    """An arm to pull, and the name under which to tell its reward.

    id: the number of the event that asked for it, its place there, and random letters. Numbers
        alone would be given out again when a database is restored from a copy, and then a reward
        told late would count for another arm.
    arm: its number.
    name: what it is called.
    features: of the arm.
    levels: of each factor, if arms are made of factors.
    deadline: in seconds since 1970; after it, others may be asked instead.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     [ticket] = experiment.ask(ttl=None)
    >>> ticket.arm, ticket.name, ticket.features, ticket.deadline
    (0, 'arm 0', (1.0, 0.0), None)
    """

    id: str
    arm: int
    name: str
    features: tuple[float, ...]
    levels: dict[str, Any]
    deadline: float | None


def tickets_of(asked: Asked, problem: Problem) -> list[Ticket]:
    """Return the tickets that an event handed out."""
    return [
        Ticket(
            id=ticket,
            arm=arm,
            name=problem.name(arm),
            features=tuple(problem.arms[arm].tolist()),
            levels={} if problem.factors is None else problem.factors.levels(arm),
            deadline=asked.deadline,
        )
        for ticket, arm in asked.tickets
    ]


def ticket_id(seq: int, place: int) -> str:
    """Return the id of a ticket that event `seq` hands out."""
    return f"{seq}-{place}-" + "".join(secrets.choice(LETTERS) for _ in range(8))


def id_of(ticket: Any) -> Any:
    """Return the id of a ticket, or what was given in place of one."""
    return ticket.id if isinstance(ticket, Ticket) else ticket


def checked_ttl(ttl: TimeToLive) -> float | None:
    """Return a time to live in seconds, or None for no deadline.

    >>> checked_ttl("6h")
    21600.0
    """
    if ttl is None:
        return None
    text = str(ttl.total_seconds() if isinstance(ttl, timedelta) else ttl).strip()
    unit = SECONDS.get(text[-1:])
    try:
        seconds = float(text if unit is None else text[:-1]) * (unit or 1)
    except ValueError:
        seconds = -1.0
    if isinstance(ttl, bool) or not 0 < seconds <= 366 * SECONDS["d"]:
        raise InvalidArgument(
            "ttl must be a time such as 90s, 30m, 6h or 2d (or seconds, or a timedelta), above 0 "
            f"and at most 366 days; None for no deadline. Got {ttl!r}."
        )
    return seconds
