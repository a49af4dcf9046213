"""What can happen in an experiment, as data: the lines of its log.

Times are the clock of whoever wrote the event. They are there to be read: what an experiment does
follows from the order of events and from deadlines, so that a clock that jumps breaks nothing.
"""

import json
import math
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeAlias

from ..errors import InvalidState, in_words
from ..problem import LARGEST

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Created:
    """The first event: the question, and who explores."""

    kind: ClassVar[str] = "created"
    seq: int = 1
    time: float
    name: str
    problem: dict[str, Any]  # Problem.to_dict()
    explorer: str  # as text, see lingape.specs
    seed: int
    version: str  # of lingape
    format: int = FORMAT


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Arms were handed out, one ticket each."""

    kind: ClassVar[str] = "asked"
    seq: int
    time: float
    tickets: tuple[tuple[str, int], ...]  # id and arm
    deadline: float | None  # after which they are no longer counted on
    worker: str | None
    key: str | None

    @property
    def reference(self) -> str | None:
        return None if self.key is None else keyed("ask", self.key)


@dataclass(frozen=True, kw_only=True)
class Told:
    """A ticket's reward came."""

    kind: ClassVar[str] = "told"
    seq: int
    time: float
    ticket: str
    arm: int
    reward: float

    @property
    def reference(self) -> str:
        return f"ticket {self.ticket}"


@dataclass(frozen=True, kw_only=True)
class Voided:
    """A ticket will have no reward."""

    kind: ClassVar[str] = "voided"
    seq: int
    time: float
    ticket: str
    reason: str

    @property
    def reference(self) -> str:
        return f"ticket {self.ticket}"  # told or voided, never both


@dataclass(frozen=True, kw_only=True)
class Added:
    """A reward came that no ticket asked for."""

    kind: ClassVar[str] = "added"
    seq: int
    time: float
    arm: int
    reward: float
    key: str | None

    @property
    def reference(self) -> str | None:
        return None if self.key is None else keyed("add", self.key)


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The question was answered, by the event before."""

    kind: ClassVar[str] = "settled"
    reference: ClassVar[str] = "settled"  # once
    seq: int
    time: float
    certificate: dict[str, Any]  # Certificate.to_dict()


Event: TypeAlias = Created | Asked | Told | Voided | Added | Settled
KINDS: dict[str, type[Event]] = {
    kind.kind: kind for kind in (Created, Asked, Told, Voided, Added, Settled)
}


def keyed(what: str, key: str) -> str:
    """Return the reference that a key stands for, in letters that any database takes."""
    return f"{what} {json.dumps(key)}"


def reference(event: Event) -> str | None:
    """Return the name that no other event of the log may have."""
    return None if isinstance(event, Created) else event.reference


def as_data(event: Event) -> dict[str, Any]:
    """Return an event as JSON-able data."""
    data: dict[str, Any] = {"event": event.kind}
    for field in fields(event):
        value = getattr(event, field.name)
        data[field.name] = _stamp(value) if field.name in ("time", "deadline") else value
    return data


def as_text(event: Event) -> str:
    """Return an event as it is written and hashed: always the same text for the same event."""
    return json.dumps(as_data(event), sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_text(text: str, *, place: int) -> Event:
    """Return the event that a text says; `place` is its number, for messages."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as reason:
        raise damaged(place, in_words(reason)) from reason
    return from_data(data, place=place)


def from_data(data: Any, *, place: int) -> Event:
    """Return the event that `as_data` wrote, after checking all of it."""
    said = data.get("event") if isinstance(data, dict) else None
    if not isinstance(said, str) or said not in KINDS:
        raise damaged(place, f"it is none of {', '.join(KINDS)}")
    kind = KINDS[said]
    names = {field.name for field in fields(kind)}
    if set(data) != names | {"event"}:
        raise damaged(place, f"an event {kind.kind} has {', '.join(sorted(names))}")
    values = {}
    for name in names:
        try:
            values[name] = _READ[name](data[name])
        except (TypeError, ValueError) as reason:
            raise damaged(place, f"its {name} is unfit ({reason})") from reason
    if values["seq"] != place:
        raise damaged(place, f"it says that it is number {values['seq']}")
    return kind(**values)


def damaged(place: int, why: str) -> InvalidState:
    """Return what to raise for an event that cannot be."""
    return InvalidState(
        f"Event {place} of the log is damaged: {why}. Restore a copy, or use the version of "
        "lingape that wrote it."
    )


def differences(there: Created, now: Created) -> list[str]:
    """Return the settings in which the beginnings of two experiments differ, and how."""
    found = []
    settings = [(there.problem, now.problem), (vars(there), vars(now))]
    names = [[*there.problem], ["explorer", "seed", "format"]]
    for (old, new), group in zip(settings, names, strict=True):
        found += [
            f"{name} {_contrast(old.get(name), new.get(name))}"
            for name in group
            if old.get(name) != new.get(name)
        ]
    return found


def _contrast(there: Any, now: Any) -> str:
    """Return how two settings differ; of long lists, where and how first."""
    if isinstance(there, list) and isinstance(now, list):
        if len(there) != len(now):
            return f"({len(there)} there, {len(now)} now)"
        place = next(i for i, (a, b) in enumerate(zip(there, now, strict=True)) if a != b)
        return f"(number {place} is {_short(there[place])} there, {_short(now[place])} now)"
    return f"({_short(there)} there, {_short(now)} now)"


def _short(value: Any) -> str:
    text = "none" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def rounded(time: float) -> float:
    """Return a time as precisely as it is written."""
    return round(time, 3)


def _stamp(time: float | None) -> str | None:
    if time is None:
        return None
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


def _time(value: Any) -> float:
    return rounded(datetime.fromisoformat(value).timestamp())


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number from 0")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= LARGEST or math.isnan(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _words(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value


def _tickets(value: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("it is not a list of tickets")
    return tuple((_words(ticket), _whole(arm)) for ticket, arm in value)


_READ: dict[str, Any] = {
    "seq": _whole,
    "time": _time,
    "name": _words,
    "problem": _mapping,
    "explorer": _words,
    "seed": _whole,
    "version": _words,
    "format": _whole,
    "tickets": _tickets,
    "deadline": lambda value: None if value is None else _time(value),
    "worker": lambda value: None if value is None else _words(value),
    "key": lambda value: None if value is None else _words(value),
    "ticket": _words,
    "arm": _whole,
    "reward": _number,
    "reason": _words,
    "certificate": _mapping,
}
