"""What a log amounts to: the explorer, the open tickets and the tallies, event by event.

There is no clock, no chance and no database in here: the same events give the same state.
"""

import copy
import inspect
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from .. import __version__
from ..arrays import FloatArray, IntArray
from ..certificate import Certificate
from ..errors import InvalidArgument, InvalidState, LingapeError, in_words
from ..problem import Problem
from ..scaffold import Conversation
from ..scaffold.planned import PlannedExplorer
from ..specs import Recipe
from .events import (
    FORMAT,
    Added,
    Asked,
    Created,
    Event,
    Settled,
    Told,
    Voided,
    damaged,
    from_text,
)
from .store import START, Entry, Head, Snapshot, check_link

DELAY = (
    "Whether a ticket's reward comes, late or never, and whether it is voided, does not depend on "
    "that reward."
)


class Open(NamedTuple):
    """A ticket without an answer."""

    arm: int
    deadline: float | None
    worker: str | None

    def awaited(self, now: float) -> bool:
        """Whether its reward is still counted on."""
        return self.deadline is None or now < self.deadline


class Progress(NamedTuple):
    """What every reward moves."""

    pulls: int  # rewards, of tickets and added
    settled: bool  # the question is answered


@dataclass(frozen=True)
class LogCertificate(Certificate):
    """What is proven, and the log that proves it.

    The hash is one of everything in the log up to that event: whoever has kept it can tell
    whether a log shown later is the one that the certificate is about.

    statement: what is proven, in words.
    event: the number of the event that proves it.
    digest: the hash of the log up to it.
    """

    statement: str = ""
    experiment: str = ""
    event: int = 0
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.statement}\nLog: {self.experiment}, event {self.event}, {self.digest}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data; an infinite gap bound becomes None."""
        return super().to_dict() | {"statement": self.statement}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return what `to_dict` wrote."""
        values = {field.name: data[field.name] for field in fields(cls)}
        values["gap_bound"] = np.inf if data["gap_bound"] is None else data["gap_bound"]
        values["arms"], values["assumptions"] = tuple(data["arms"]), tuple(data["assumptions"])
        return cls(**values)


class Tally:
    """Count, mean and sum of squared deviations of each arm's rewards."""

    def __init__(self, arms: int) -> None:
        self.counts: IntArray = np.zeros(arms, dtype=np.int64)
        self.means: FloatArray = np.zeros(arms)
        self.squares: FloatArray = np.zeros(arms)

    def add(self, arm: int, reward: float) -> None:
        """Welford's update, which loses no digits to a large mean."""
        self.counts[arm] += 1
        apart = reward - self.means[arm]
        self.means[arm] += apart / self.counts[arm]
        self.squares[arm] += apart * (reward - self.means[arm])


class Closings:
    """Tickets of each arm that were closed, by a reward or void, and how soon."""

    def __init__(self, arms: int) -> None:
        self.closed: IntArray = np.zeros(arms, dtype=np.int64)
        self.voided: IntArray = np.zeros(arms, dtype=np.int64)
        # Of these, those that do not follow on a void: where machines fail, many do.
        self.counted: IntArray = np.zeros(arms, dtype=np.int64)
        self.counted_voids: IntArray = np.zeros(arms, dtype=np.int64)
        self.after_void = False  # the last one was a void
        self.waited = 0  # events between asking and closing, of all together

    @property
    def usual_wait(self) -> float:
        """How many events pass until a ticket is closed, on average."""
        return self.waited / max(1, int(self.closed.sum()))

    def add(self, arm: int, *, void: bool, waited: int, settled: bool) -> None:
        """Count a ticket; once the question is answered, what becomes of others says nothing."""
        self.closed[arm] += 1
        self.voided[arm] += void
        counts = not self.after_void and not settled
        self.counted[arm] += counts
        self.counted_voids[arm] += void and counts
        self.after_void = void
        self.waited += waited


class Replay:
    """The state of an experiment after the events that were applied."""

    def __init__(self, created: Created, digest: str) -> None:
        # The arms stay in memory as an array: lists of numbers take four times as much.
        self.created = replace(created, problem={})
        self.head = Head(1, digest)
        if created.format != FORMAT:
            raise InvalidState(
                f"The log of {created.name!r} has format {created.format}, and this version of "
                f"lingape reads {FORMAT}. Use version {created.version}, or a newer one."
            )
        try:
            self.problem = Problem(**created.problem)
            self._blank = make_explorer(created.explorer, self.problem, created.seed)
        except (TypeError, ValueError, LingapeError) as reason:
            raise damaged(1, str(reason)) from reason
        self.explorer = copy.deepcopy(self._blank)
        self.tally = Tally(len(self.problem))
        self.closings = Closings(len(self.problem))
        self.open: dict[str, Open] = {}
        self.asked = self.told = self.voided = self.added = 0
        self.settled: Settled | None = None
        self.settled_digest = ""

    @classmethod
    def begin(cls, entry: Entry) -> Self:
        """Return the state after the first entry of a log."""
        digest = check_link(Head(0, START), entry).digest
        created = from_text(entry.text, place=1)
        if not isinstance(created, Created):
            raise damaged(1, "a log begins with its creation")
        return cls(created, digest)

    def follow(self, entry: Entry) -> Event:
        """Move on by an entry of the log and return its event, or raise InvalidState."""
        digest = check_link(self.head, entry).digest
        event = from_text(entry.text, place=entry.seq)
        try:
            self.apply(event, digest)
        except InvalidState:
            raise
        except LingapeError as reason:
            raise damaged(entry.seq, f"the explorer refuses it ({reason})") from reason
        return event

    def apply(self, event: Event, digest: str) -> None:
        """Move on by one event, or raise if it cannot follow on those before."""
        match event:
            case Asked():
                for place, (ticket, arm) in enumerate(event.tickets):
                    if not ticket.startswith(f"{event.seq}-{place}-"):
                        raise damaged(event.seq, f"ticket {ticket!r} is not of this event")
                    self._pullable(event.seq, arm)
                    self.open[ticket] = Open(arm, event.deadline, event.worker)
                self.asked += len(event.tickets)
            case Told():
                if self._ticket(event.seq, event.ticket).arm != event.arm:
                    raise damaged(event.seq, f"ticket {event.ticket!r} is for another arm")
                self._learn(event.seq, event.arm, event.reward)
                self._close(event, void=False)
                self.told += 1
            case Added():
                self._learn(event.seq, event.arm, event.reward)
                self.added += 1
            case Voided():
                self._ticket(event.seq, event.ticket)
                self._close(event, void=True)
                self.voided += 1
            case Settled():
                if self.settled is not None:
                    raise damaged(event.seq, "the question was answered before")
                self.settled, self.settled_digest = event, digest
            case Created():
                raise damaged(event.seq, "a log has one beginning")
        self.head = Head(event.seq, digest)

    def _ticket(self, seq: int, ticket: str) -> Open:
        if ticket not in self.open:
            raise damaged(seq, f"ticket {ticket!r} was never asked for, or closed before")
        return self.open[ticket]

    def _close(self, event: Told | Voided, *, void: bool) -> None:
        waited = event.seq - asked_by(event.ticket)
        settled = self.settled is not None
        arm = self.open.pop(event.ticket).arm
        self.closings.add(arm, void=void, waited=waited, settled=settled)

    def _learn(self, seq: int, arm: int, reward: float) -> None:
        # Explorers that refuse a reward are as they were before, so this comes first.
        self.explorer.tell(self._pullable(seq, arm), reward)
        self.tally.add(arm, reward)

    def _pullable(self, seq: int, arm: int) -> int:
        try:
            return self.problem.check_pull(arm)
        except LingapeError as reason:
            raise damaged(seq, str(reason)) from reason

    def pending(self, now: float) -> list[int]:
        """Return the arms whose rewards are still counted on."""
        return [ticket.arm for ticket in self.open.values() if ticket.awaited(now)]

    @property
    def progress(self) -> Progress:
        """How many rewards there are, and whether they settled the question."""
        return Progress(self.told + self.added, self.settled is not None)

    def proof(self) -> Certificate:
        """Return what the explorer has proven, with what tickets add to its assumptions."""
        certificate = self.explorer.certificate()
        return replace(certificate, assumptions=(*certificate.assumptions, DELAY))

    def certificate(self) -> LogCertificate:
        """Return what is proven now; once settled, always the same."""
        if self.settled is not None:
            data = self.settled.certificate
            head = Head(self.settled.seq, self.settled_digest)
        else:
            data, head = self.proof().to_dict(), self.head
        log = {"experiment": self.created.name, "event": head.seq, "digest": head.digest}
        try:
            return LogCertificate.from_dict(data | log)
        except (KeyError, TypeError) as reason:
            raise damaged(head.seq, f"its certificate lacks {reason}") from reason

    def snapshot(self) -> Snapshot:
        """Return everything but the first event, to go on from later to the last bit."""
        data = {
            "version": __version__,
            "explorer": _packed(self.explorer.progress()),  # the problem is in the first event
            "tally": _packed([*vars(self.tally).values()]),
            "closings": _packed([*vars(self.closings).values()]),
            "open": [[ticket, *what] for ticket, what in self.open.items()],
            "numbers": [self.asked, self.told, self.voided, self.added],
            "settled": None
            if self.settled is None
            else [self.settled.seq, self.settled.time, self.settled.certificate],
            "settled_digest": self.settled_digest,
        }
        return Snapshot(self.head, json.dumps(data))

    def restore(self, snapshot: Snapshot) -> bool:
        """Take over a snapshot, or return False if it is damaged or of another version."""
        try:
            data = json.loads(snapshot.text)
            if data["version"] != __version__:
                return False
            explorer = self._blank.resumed(_unpacked(data["explorer"]))
            tally = Tally(len(self.problem))
            for name, values in zip(vars(tally), _unpacked(data["tally"]), strict=True):
                getattr(tally, name)[:] = values
            closings = Closings(len(self.problem))
            *counts, closings.after_void, closings.waited = _unpacked(data["closings"])
            for name, values in zip([*vars(closings)][:4], counts, strict=True):
                getattr(closings, name)[:] = values
            tickets = {ticket: Open(*what) for ticket, *what in data["open"]}
            asked, told, voided, added = data["numbers"]
            settled = data["settled"]
            if settled is not None:
                settled = Settled(seq=settled[0], time=settled[1], certificate=settled[2])
        except (KeyError, TypeError, ValueError, LingapeError):
            return False
        if explorer.counts.sum() != told + added or asked != told + voided + len(tickets):
            return False
        if (closings.closed.sum(), closings.voided.sum()) != (told + voided, voided):
            return False
        self.explorer, self.tally, self.open = explorer, tally, tickets
        self.closings = closings
        self.asked, self.told, self.voided, self.added = asked, told, voided, added
        self.settled, self.settled_digest = settled, data["settled_digest"]
        self.head = snapshot.head
        return True


def make_explorer(text: str, problem: Problem, seed: int) -> Conversation:
    """Return the explorer that a text such as "lingape(bound=mixture)" describes."""
    recipe = Recipe.read(text)
    parameters = inspect.signature(recipe.kind).parameters
    if "theta" in parameters:
        raise InvalidArgument(
            f"{text} needs to know θ, which nobody does in an experiment. Use lingape."
        )
    settings = dict(recipe.settings)
    if "seed" in parameters:
        settings.setdefault("seed", seed)
    if issubclass(recipe.kind, PlannedExplorer):
        raise InvalidArgument(
            f"{text} has its pulls fixed in advance and takes rewards in that order only, but in "
            "an experiment they come late, or never. Use lingape, or another adaptive explorer."
        )
    kind: Any = recipe.kind
    try:
        explorer: Conversation = kind(problem, **settings)
    except LingapeError:
        raise
    except Exception as reason:  # settings that no explorer has words of its own about
        raise InvalidArgument(
            f"{text!r} cannot explore this problem ({in_words(reason)}). Try 'lingape'."
        ) from reason
    return explorer


def asked_by(ticket: str) -> int:
    """Return the number of the event that handed out a ticket."""
    return int(ticket.partition("-")[0])


def _packed(value: Any) -> Any:
    """Return data with long rows of numbers as bytes in base64: exact, and fast to read."""
    if isinstance(value, dict):
        return {name: _packed(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) or (isinstance(value, list) and len(value) > 8):
        try:
            array = np.asarray(value)
        except ValueError:  # rows of different lengths
            array = np.empty(0, dtype=object)
        if array.dtype in (np.int64, np.float64):
            text = b64encode(array.tobytes()).decode()
            return {"packed": text, "type": array.dtype.name, "shape": array.shape}
    return [_packed(part) for part in value] if isinstance(value, list) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict) and "packed" in value:
        data = np.frombuffer(b64decode(value["packed"]), dtype=value["type"])
        return data.reshape(value["shape"]).tolist()
    if isinstance(value, dict):
        return {name: _unpacked(part) for name, part in value.items()}
    return [_unpacked(part) for part in value] if isinstance(value, list) else value
