"""What can happen in an experiment: the lines of its log, one class per kind of event.

A class declares everything about its events: what they hold, and with the types of its fields how
that is written and checked when it is read; how the dashboard says it (`words`); the name that no
other event of a log may have (`reference`); and what follows from it (`apply`). Defining the class
registers it, so that such events can be recorded, replayed, verified, exported and shown.

Times come from the clock of the process that wrote the event. They are only there to be read: what
an experiment does follows from the order of events and from deadlines, so a clock that jumps does
no harm.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, get_args, get_type_hints

from ..checks import LARGEST, glimpse
from ..errors import InvalidState, in_words

if TYPE_CHECKING:
    from .replay import Replay

OLDEST, FORMAT = 3, 4  # that are read; the latter is written
ABOUT = ("question", "notes", "owner")  # of an experiment: words for people
KINDS: dict[str, "type[Event]"] = {}


class Form(NamedTuple):
    """How a field is checked when it is read from JSON, and how it is written."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value


def rounded_time(time: float) -> float:
    """Return a time as precisely as it is written."""
    return round(time, 3)


def _stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


def _time(value: Any) -> float:
    return rounded_time(datetime.fromisoformat(value).timestamp())


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number from 0")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= LARGEST or math.isnan(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _text(value: Any) -> str:
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
    return tuple((_text(ticket), _whole(arm)) for ticket, arm in value)


def _rewards(value: Any) -> tuple[tuple[int, float], ...]:
    if not isinstance(value, list):
        raise ValueError("it is not a list of rewards")
    return tuple((_whole(arm), _number(reward)) for arm, reward in value)


def _arms(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("it is not a list of arms")
    for arm in value:
        if not isinstance(arm, list | dict):
            raise ValueError(f"{arm!r} is neither features nor levels")
    return tuple(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("it is not a list of texts")
    return tuple(map(_text, value))


Time = Annotated[float, Form(_time, _stamp)]
Arms = Annotated[tuple[Any, ...], Form(_arms)]  # features of each, or levels by factor
Texts = Annotated[tuple[str, ...], Form(_texts)]
Rewards = Annotated[tuple[tuple[int, float], ...], Form(_rewards)]  # arm and reward
Tickets = Annotated[tuple[tuple[str, int], ...], Form(_tickets)]  # id and arm
_FORMS: dict[Any, Form] = {
    bool: Form(_truth),
    int: Form(_whole),
    float: Form(_number),
    str: Form(_text),
    dict[str, Any]: Form(_mapping),
}


def _form(hint: Any) -> Form:
    """Return how values of a type are read and written."""
    parts = get_args(hint)
    if NoneType in parts:
        (only,) = (part for part in parts if part is not NoneType)
        read, write = _form(only)
        return Form(
            lambda value: None if value is None else read(value),
            lambda value: None if value is None else write(value),
        )
    known = [part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Form)]
    return known[0] if known else _FORMS[hint]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened, as a line of the log.

    seq: its number in the log, from 1.
    time: when, in seconds since 1970.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.add(arm=1, reward=0.3)
    ...     [(event.seq, event.kind) for event in experiment.events()]
    [(1, 'created'), (2, 'added')]
    """

    kind: ClassVar[str]
    words: ClassVar[str]  # for people: {name} stands for the field of that name
    seq: int
    time: Time

    def __init_subclass__(cls) -> None:
        if cls.kind in KINDS:
            raise TypeError(f"There are events of kind {cls.kind!r} already: {KINDS[cls.kind]}.")
        KINDS[cls.kind] = cls

    @property
    def reference(self) -> str | None:
        """The name that no other event of the log may have, if it has one."""
        return None

    def apply(self, replay: "Replay", digest: str) -> None:
        """Change the state accordingly, or raise if it cannot follow on the events before.

        replay: the state.
        digest: the hash of the log up to this event.
        """


@dataclass(frozen=True, kw_only=True)
class Created(Event):
    """The first event: the question, and who explores.

    seq, time: as for every Event.
    name: of the experiment.
    problem: the question, as Problem.to_dict returns it.
    explorer: who explores, as text (lingape.specs).
    seed: for explorers that draw at random.
    version: of lingape.
    format: of the log.
    question: what it is to find out, in words for people, if that was said.
    notes: what else people should know, if that was said.
    owner: whom to ask about it, if that was said.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     [created] = experiment.events(limit=1)
    >>> created.name, created.explorer, created.problem["delta"]
    ('ads', 'race', 0.05)
    """

    kind = "created"
    words = "Began with {problem}, explored by {explorer}."
    seq: int = 1
    name: str
    problem: dict[str, Any]
    explorer: str
    seed: int
    version: str
    format: int = FORMAT
    question: str | None = None
    notes: str | None = None
    owner: str | None = None

    def apply(self, replay: "Replay", digest: str) -> None:
        raise damaged(self.seq, "a log has one beginning")


@dataclass(frozen=True, kw_only=True)
class Asked(Event):
    """Arms were handed out, one ticket each.

    seq, time: as for every Event.
    tickets: the id and the arm of each.
    deadline: after which they are no longer counted on, in seconds since 1970; None for never.
    worker: who asked, if that was said.
    key: under which asking again gives the same tickets, if there is one.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     tickets = experiment.ask(2, worker="shop-1")
    ...     [asked] = experiment.events(after=1)
    >>> asked.worker, [arm for ticket, arm in asked.tickets]
    ('shop-1', [0, 1])
    """

    kind = "asked"
    words = "{worker} asked for {tickets}"
    tickets: Tickets
    deadline: Time | None
    worker: str | None
    key: str | None

    @property
    def reference(self) -> str | None:
        return None if self.key is None else keyed("ask", self.key)

    def apply(self, replay: "Replay", digest: str) -> None:
        for place, (ticket, arm) in enumerate(self.tickets):
            if not ticket.startswith(f"{self.seq}-{place}-"):
                raise damaged(self.seq, f"ticket {ticket!r} does not belong to this event")
            replay.hand_out(self, ticket, arm)


@dataclass(frozen=True, kw_only=True)
class Told(Event):
    """The reward of a ticket arrived.

    seq, time: as for every Event.
    ticket: its id.
    arm: what was pulled.
    reward: what it paid.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     [ticket] = experiment.ask()
    ...     progress = experiment.tell(ticket, 0.3)
    ...     told = experiment.events()[-1]
    >>> told.ticket == ticket.id, told.arm, told.reward
    (True, 0, 0.3)
    """

    kind = "told"
    words = "{arm} paid {reward} (ticket {ticket})"
    ticket: str
    arm: int
    reward: float

    @property
    def reference(self) -> str:
        return of_ticket(self.ticket)

    def apply(self, replay: "Replay", digest: str) -> None:
        if replay.ticket(self.seq, self.ticket).arm != self.arm:
            raise damaged(self.seq, f"ticket {self.ticket!r} is for another arm")
        reward = replay.as_corrected(self.seq, self.reward)
        if reward is not None:
            replay.learn(self.seq, self.arm, reward, asked=True)
            replay.times.append(self.time)
        replay.close(self, self.ticket, void=reward is None)
        replay.told += reward is not None
        replay.voided += reward is None


@dataclass(frozen=True, kw_only=True)
class Voided(Event):
    """A ticket will have no reward.

    seq, time: as for every Event.
    ticket: its id.
    reason: why.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     [ticket] = experiment.ask()
    ...     progress = experiment.void(ticket, reason="page did not load")
    ...     experiment.events()[-1].reason
    'page did not load'
    """

    kind = "voided"
    words = "Ticket {ticket} was voided: {reason}"
    ticket: str
    reason: str

    @property
    def reference(self) -> str:
        return of_ticket(self.ticket)  # told or voided, never both

    def apply(self, replay: "Replay", digest: str) -> None:
        replay.close(self, self.ticket, void=True)
        replay.voided += 1


@dataclass(frozen=True, kw_only=True)
class Added(Event):
    """A reward arrived that no ticket asked for.

    seq, time: as for every Event.
    arm: what was pulled.
    reward: what it paid.
    key: under which adding it again changes nothing, if there is one.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.add(arm=1, reward=0.3, key="trial 17 of last year")
    ...     added = experiment.events()[-1]
    >>> added.arm, added.reward, added.key
    (1, 0.3, 'trial 17 of last year')
    """

    kind = "added"
    words = "{arm} paid {reward} (added without a ticket)"
    arm: int
    reward: float
    key: str | None

    @property
    def reference(self) -> str | None:
        return None if self.key is None else keyed("add", self.key)

    def apply(self, replay: "Replay", digest: str) -> None:
        reward = replay.as_corrected(self.seq, self.reward)
        if reward is not None:
            replay.learn(self.seq, self.arm, reward, asked=False)
            replay.added += 1
            replay.times.append(self.time)


@dataclass(frozen=True, kw_only=True)
class Carried(Event):
    """The rewards of another experiment with the same arms were taken over, in their order.

    seq, time: as for every Event.
    experiment: which one.
    upto: the number of its last event that was taken over.
    digest: the hash of its log up to there.
    rewards: pairs of an arm and a reward.
    corrections: how many of them had been corrected.
    changes: how many arms had been added or retired.
    doubts: what its model check said about tickets, which a successor does not have.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.add(arm=1, reward=0.3)
    ...     with experiment.refit("ads-2", noise=2.0) as successor:
    ...         carried = successor.events()[1]
    >>> carried.experiment, carried.upto, carried.rewards
    ('ads', 2, ((1, 0.3),))
    """

    kind = "carried"
    words = "{rewards} taken over from {experiment}"
    experiment: str
    upto: int
    digest: str
    rewards: Rewards
    corrections: int
    changes: int
    doubts: Texts

    @property
    def reference(self) -> str:
        return "carried"  # once

    def apply(self, replay: "Replay", digest: str) -> None:
        for arm, reward in self.rewards:
            replay.learn(self.seq, arm, reward, asked=False)
        replay.added += len(self.rewards)
        replay.carried = replace(self, rewards=())


@dataclass(frozen=True, kw_only=True)
class Joined(Event):
    """Arms were added, which are numbered on from those that there were.

    seq, time: as for every Event.
    arms: the features of each, or its levels by factor.
    names: what they are called; none if their levels say it, or none have names.
    first: the number of the first.
    key: the caller's, which is used once; None if there is none.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     addition = experiment.add_arms([[1, 1]])
    ...     joined = experiment.events()[-1]
    >>> joined.first, joined.arms
    (2, ([1.0, 1.0],))
    """

    kind = "joined"
    words = "{arms} added"
    arms: Arms
    names: Texts
    first: int
    key: str | None

    @property
    def reference(self) -> str | None:
        return None if self.key is None else keyed("join", self.key)

    def apply(self, replay: "Replay", digest: str) -> None:
        if self.first != len(replay.problem):
            raise damaged(self.seq, f"there are {len(replay.problem)} arms before it")
        replay.change(self.seq, replay.problem.with_arms(self.arms, names=self.names))


@dataclass(frozen=True, kw_only=True)
class Retired(Event):
    """An arm is no longer pulled, and cannot be the answer.

    seq, time: as for every Event.
    arm: its number.
    reason: why, as was said.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.retire(1, reason="out of stock")
    ...     retired = experiment.events()[-1]
    >>> retired.arm, retired.reason
    (1, 'out of stock')
    """

    kind = "retired"
    words = "{arm} was retired: {reason}"
    arm: int
    reason: str

    def apply(self, replay: "Replay", digest: str) -> None:
        replay.change(self.seq, replay.problem.with_retired(self.arm))
        replay.reasons[self.arm] = self.reason


@dataclass(frozen=True, kw_only=True)
class Corrected(Event):
    """A reward was recorded wrongly: from the beginning, another one counts in its place.

    The question is then judged again, even if it was answered.

    seq, time: as for every Event.
    corrects: the number of the event that told or added the reward.
    reward: the right one; None if there was no such trial.
    reason: why, as was said.
    key: under which correcting it again changes nothing, if there is one.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.add(arm=1, reward=30)
    ...     progress = experiment.correct(2, 0.3, reason="percent, not a share")
    ...     corrected = experiment.events()[-1]
    >>> corrected.corrects, corrected.reward
    (2, 0.3)
    """

    kind = "corrected"
    words = "The reward of event {corrects} is {reward}: {reason}"
    corrects: int
    reward: float | None
    reason: str
    key: str | None

    @property
    def reference(self) -> str | None:
        return None if self.key is None else keyed("correct", self.key)

    def apply(self, replay: "Replay", digest: str) -> None:
        replay.check_correction(self)
        replay.corrected += 1
        replay.settled = None


@dataclass(frozen=True, kw_only=True)
class Archived(Event):
    """It was taken off the list of experiments, or put back; nothing else changes.

    seq, time: as for every Event.
    archived: whether it was taken off.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.archive()
    ...     experiment.events()[-1].archived
    True
    """

    kind = "archived"
    words = "{archived}"
    archived: bool

    def apply(self, replay: "Replay", digest: str) -> None:
        replay.archived = self.archived


@dataclass(frozen=True, kw_only=True)
class Settled(Event):
    """The question was answered, by the event before.

    seq, time: as for every Event.
    certificate: what is proven, as Certificate.to_dict returns it.
    corrections: how many there were before it.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=0.01)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     outcome = experiment.run(lambda ticket: [0.2, 0.8][ticket.arm], workers=1)
    ...     settled = experiment.events()[-1]
    >>> settled.certificate["arm"], settled.certificate["settled"]
    (1, True)
    """

    kind = "settled"
    words = "{certificate}"
    certificate: dict[str, Any]
    corrections: int = 0

    @property
    def reference(self) -> str:
        return f"settled {self.corrections}"  # once, unless rewards are corrected

    def apply(self, replay: "Replay", digest: str) -> None:
        if replay.settled is not None:
            raise damaged(self.seq, "the question was answered before")
        if self.corrections != replay.corrected:
            raise damaged(self.seq, f"there were {replay.corrected} corrections before it")
        replay.settled, replay.settled_digest = self, digest
        replay.settled_pulls = replay.progress.pulls


def keyed(what: str, key: str) -> str:
    """Return the reference that a key stands for, in letters that any database takes."""
    return f"{what} {json.dumps(key)}"


def of_ticket(ticket: str) -> str:
    """Return the reference of the event that closes a ticket."""
    return f"ticket {ticket}"


@cache
def _forms(kind: str) -> dict[str, Form]:
    """Return the fields of a kind of event, and how they are read and written."""
    hints = get_type_hints(KINDS[kind], include_extras=True)
    return {field.name: _form(hints[field.name]) for field in fields(KINDS[kind])}


@cache
def _omitted(kind: str) -> frozenset[str]:
    """Return the fields that are not written where they are None: older logs lack them."""
    return frozenset(field.name for field in fields(KINDS[kind]) if field.default is None)


def as_data(event: Event) -> dict[str, Any]:
    """Return an event as JSON-able data."""
    data: dict[str, Any] = {"event": event.kind}
    for name, form in _forms(event.kind).items():
        value = getattr(event, name)
        if value is not None or name not in _omitted(event.kind):
            data[name] = form.write(value)
    return data


def as_text(event: Event) -> str:
    """Return an event as it is written and hashed: always the same text for the same event."""
    return json.dumps(as_data(event), sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_text(text: str, *, place: int) -> Event:
    """Return the event that a text contains; `place` is its number, for messages."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as reason:
        raise damaged(place, in_words(reason)) from reason
    return from_data(data, place=place)


def from_data(data: Any, *, place: int) -> Event:
    """Return the event that `as_data` wrote, after checking all of it."""
    if place == 1:
        _check_format(data)  # first, for another format may have other kinds and fields
    said = data.get("event") if isinstance(data, dict) else None
    if not isinstance(said, str) or said not in KINDS:
        raise _unknown(place, f"it is none of {', '.join(KINDS)}")
    forms = _forms(said)
    if set(data) | _omitted(said) != forms.keys() | {"event"}:
        raise _unknown(place, f"an event {said} has {', '.join(sorted(forms))}")
    values = {}
    for name, form in forms.items():
        if name not in data:
            continue
        try:
            values[name] = form.read(data[name])
        except (TypeError, ValueError) as reason:
            raise damaged(place, f"its {name} is invalid ({in_words(reason)})") from reason
    if values["seq"] != place:
        raise damaged(place, f"it says that it is number {values['seq']}")
    return KINDS[said](**values)


def _check_format(data: Any) -> None:
    """Raise if the first event, as data, says that the log has a format that is not read here."""
    found = data.get("format") if isinstance(data, dict) else None
    if type(found) is int and not OLDEST <= found <= FORMAT:
        raise InvalidState(
            f"The log of {data.get('name')!r} has format {found}, and this version of lingape "
            f"reads {OLDEST} to {FORMAT}. Use version {data.get('version')}, or a newer one."
        )


def words_by_kind() -> dict[str, str]:
    """Return the words for each kind of event."""
    return {name: kind.words for name, kind in KINDS.items()}


def damaged(place: int, why: str) -> InvalidState:
    """Return what to raise for an event that cannot be."""
    return InvalidState(
        f"Event {place} of the log is damaged: {why}. Restore a copy, or use the version of "
        "lingape that wrote it."
    )


def _unknown(place: int, why: str) -> InvalidState:
    """Return what to raise for an event that this version does not know.

    A newer version may record new kinds of events, also in logs of a format that is read here.
    """
    return InvalidState(
        f"Event {place} of the log is damaged, or a newer version of lingape wrote it: {why}. "
        "Restore a copy, or use the version of lingape that wrote it."
    )


def changed_settings(there: Created, now: Created) -> list[str]:
    """Return the settings in which the beginnings of two experiments differ, and how."""
    old, new = (created.problem | vars(created) for created in (there, now))
    names = [*there.problem, "explorer", "seed", *ABOUT]
    return [
        f"{name} {_contrast(old[name], new[name])}" for name in names if old[name] != new[name]
    ]


def _contrast(there: Any, now: Any) -> str:
    """Return how two settings differ; of long lists, where and how first."""
    if isinstance(there, list) and isinstance(now, list):
        if len(there) != len(now):
            return f"({len(there)} there, {len(now)} now)"
        place = next(i for i, (a, b) in enumerate(zip(there, now, strict=True)) if a != b)
        return f"(number {place} is {_short(there[place])} there, {_short(now[place])} now)"
    return f"({_short(there)} there, {_short(now)} now)"


def _short(value: Any) -> str:
    return "none" if value is None else glimpse(value)
