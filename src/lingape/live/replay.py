"""The state that follows from a log, event by event: the explorer, open tickets, tallies.

There is no clock, no randomness and no database in here: the same events give the same state. What
an event changes is said where it is declared (events.py), in terms of the methods below.
"""

import copy
import inspect
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from ..arrays import FloatArray, IntArray
from ..certificate import Certificate, share
from ..data import Data
from ..errors import InvalidArgument, InvalidArm, InvalidState, LingapeError, in_words
from ..printable import printable
from ..problem import Problem
from ..scaffold import Conversation
from ..specs import Recipe
from ..values import Values, outward
from .activity import Activity, Diary
from .events import (
    Added,
    Asked,
    Carried,
    Corrected,
    Created,
    Event,
    Settled,
    Told,
    damaged,
    from_text,
)
from .store import START, Entry, Head, check_link

DELAY = (
    "Whether a ticket's reward comes, late or never, and whether it is voided, does not depend on "
    "that reward."
)
CORRECTING = (
    "Corrected rewards are what the trials really paid, and mistakes are looked for in all "
    "rewards alike, whether they are high or low."
)
RECENT = 100  # rewards by which the pace is judged
CHANGING = (
    "In the experiment that rewards were taken over from, which arms were added or retired, and "
    "when, did not depend on rewards."
)
Corrections: TypeAlias = dict[
    int, tuple[int, float | None]
]  # by event: which one says so, and what


class Open(NamedTuple):
    """A ticket without an answer."""

    arm: int
    deadline: float | None
    worker: str | None

    def awaited(self, now: float) -> bool:
        """Whether its reward is still counted on."""
        return self.deadline is None or now < self.deadline


class Progress(NamedTuple):
    """What every reward changes.

    pulls: how many rewards there are, told and added.
    settled: whether the question is answered.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     [ticket] = experiment.ask()
    ...     experiment.tell(ticket, 0.3)
    Progress(pulls=1, settled=False)
    """

    pulls: int
    settled: bool


class Addition(NamedTuple):
    """What was added.

    arms: the numbers of the new arms.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     experiment.add_arms([[1, 1], [2, 1]])
    Addition(arms=(2, 3))
    """

    arms: tuple[int, ...]


@dataclass(frozen=True)
class LogCertificate(Certificate, Data):
    """What is proven, the log that proves it, and what speaks against it.

    The hash covers everything in the log up to that event: if it was kept, it shows whether
    a log is the one that the certificate is about. Everything else is as for Certificate.

    experiment: its name.
    statement: what is proven, in words.
    event: the number of the event that proves it.
    digest: the hash of the log up to it.
    value: the estimated mean of the arm, from all rewards; None until there is one.
    value_low: the mean is at least this.
    value_high: the mean is at most this.
    warnings: why the certificate may be wrong; see check.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=0.01)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     outcome = experiment.run(lambda ticket: [0.2, 0.8][ticket.arm], workers=1)
    ...     certificate = experiment.certificate()
    >>> print(certificate.name, certificate.settled, certificate.experiment)
    arm 1 True ads
    """

    statement: str = ""
    experiment: str = ""
    event: int = 0
    digest: str = ""
    value: float | None = None
    value_low: float | None = None
    value_high: float | None = None
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        log = f"Log: {self.experiment}, event {self.event}, {self.digest}"
        return "\n".join([self.statement, *self.notes(), log])

    def notes(self) -> list[str]:
        """Return how good the arm is, and why the certificate may be wrong, in sentences."""
        lines = []
        if self.value is not None and len(self.arms) == 1:
            ends = "nothing is proven about it"
            if self.value_low is not None and self.value_high is not None:
                between = outward(self.value_low, self.value_high, word="and")
                ends = f"between {between}, with probability at least {share(self.delta)}"
            lines.append(f"{printable(self.name)} averages {self.value:.4g}: {ends}.")
        return lines + [f"Warning: {warning}" for warning in self.warnings]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data; an infinite gap bound becomes None."""
        stated = {"statement": self.statement, "warnings": list(self.warnings)}
        return super().to_dict() | stated

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return what `to_dict` wrote as `data`."""
        bound = np.inf if data["gap_bound"] is None else data["gap_bound"]
        added = {"value": None, "value_low": None, "value_high": None, "warnings": ()}
        return super().from_dict(added | data | {"gap_bound": bound})


class Tallies(NamedTuple):
    """Each arm's rewards, in short.

    counts: how many it has.
    means: their average.
    squares: the sum of their squared distances from it.
    """

    counts: tuple[int, ...]
    means: tuple[float, ...]
    squares: tuple[float, ...]


class Averages:
    """Count, mean and sum of squared deviations of each arm's rewards."""

    def __init__(self, arms: int) -> None:
        self.counts: IntArray = np.zeros(arms, dtype=np.int64)
        self.means: FloatArray = np.zeros(arms)
        self.squares: FloatArray = np.zeros(arms)

    def grow(self, arms: int) -> None:
        """Make room for more arms."""
        _grow(self, arms)

    @property
    def repeats(self) -> int:
        """How many rewards there are beyond the first of each arm."""
        return int(self.counts.sum() - np.count_nonzero(self.counts))

    @property
    def deviation(self) -> float | None:
        """The standard deviation of rewards around their arm's average, if any arm has two."""
        return math.sqrt(float(self.squares.sum()) / self.repeats) if self.repeats else None

    def add(self, arm: int, reward: float) -> None:
        """Welford's update, which loses no digits to a large mean."""
        self.counts[arm] += 1
        apart = reward - self.means[arm]
        self.means[arm] += apart / self.counts[arm]
        self.squares[arm] += apart * (reward - self.means[arm])


class Closings:
    """Tickets of each arm that were closed, by a reward or a void, and how soon."""

    def __init__(self, arms: int) -> None:
        self.closed: IntArray = np.zeros(arms, dtype=np.int64)
        self.voided: IntArray = np.zeros(arms, dtype=np.int64)
        # Of these, those that do not follow on a void: where machines fail, many do.
        self.counted: IntArray = np.zeros(arms, dtype=np.int64)
        self.counted_voids: IntArray = np.zeros(arms, dtype=np.int64)
        self.after_void = False  # the last one was a void
        self.waited = 0  # events between asking and closing, all tickets together

    def grow(self, arms: int) -> None:
        """Make room for more arms."""
        _grow(self, arms)

    @property
    def usual_wait(self) -> float:
        """How many events pass until a ticket is closed, on average."""
        return self.waited / max(1, int(self.closed.sum()))

    def add(self, arm: int, *, void: bool, waited: int, settled: bool) -> None:
        """Count a ticket; what happens to tickets after the question is answered says nothing."""
        self.closed[arm] += 1
        self.voided[arm] += void
        counts = not self.after_void and not settled
        self.counted[arm] += counts
        self.counted_voids[arm] += void and counts
        self.after_void = void
        self.waited += waited


class Rewritten(Exception):
    """A reward before the event at hand was corrected, so the log has to be replayed again."""

    def __init__(self, corrections: Corrections) -> None:
        super().__init__("the log has to be replayed again")
        self.corrections = corrections


class Replay:
    """The state of an experiment after the events that were applied.

    corrections: rewards that are corrected later in the log.
    """

    def __init__(
        self, created: Created, digest: str, corrections: Corrections | None = None
    ) -> None:
        # The arms stay in memory as an array: lists of numbers take four times as much.
        self.created = replace(created, problem={})
        self.head = Head(1, digest)
        try:
            self.problem = Problem(**created.problem)
            self.blank = make_explorer(created.explorer, self.problem, created.seed)
        except (TypeError, ValueError, LingapeError) as reason:
            raise damaged(1, str(reason)) from reason
        self.explorer = copy.deepcopy(self.blank)
        self.averages = Averages(len(self.problem))
        self.closings = Closings(len(self.problem))
        self.open: dict[str, Open] = {}
        # Rewards, by arm, that came before their turn: some explorers' pulls have an order.
        self.early: defaultdict[int, list[float]] = defaultdict(list)
        self.asked = self.told = self.voided = self.added = 0
        self.settled: Settled | None = None
        self.settled_digest = ""
        self.settled_pulls = 0  # rewards that there were then
        self.corrections = corrections or {}
        self.corrected = 0  # events that correct rewards
        self.reasons: dict[int, str] = {}  # why arms were retired
        self.archived = False  # it is not among those listed
        # Where rewards were taken over from; they themselves count as all others do.
        self.carried: Carried | None = None
        self.times: deque[float] = deque(maxlen=RECENT)  # of the last rewards
        self.last = created.time  # of the last event
        self.diary = Diary()

    @classmethod
    def begin(cls, entry: Entry, corrections: Corrections | None = None) -> Self:
        """Return the state after the first entry of a log."""
        digest = check_link(Head(0, START), entry).digest
        created = from_text(entry.text, place=1)
        if not isinstance(created, Created):
            raise damaged(1, "a log begins with its creation")
        return cls(created, digest, corrections)

    @classmethod
    def rewritten(cls, read: Callable[[], Iterable[Entry]]) -> Self:
        """Return the state after a log in which rewards were corrected; `read` reads it."""
        corrections: Corrections = {}
        for entry in read():
            event = from_text(entry.text, place=entry.seq)
            if isinstance(event, Corrected):
                corrections[event.corrects] = event.seq, event.reward
        entries = iter(read())
        replay = cls.begin(next(entries), corrections)
        for entry in entries:
            event = replay.follow(entry)
            if event.seq in corrections and not isinstance(event, Told | Added):
                raise damaged(
                    corrections[event.seq][0],
                    f"event {event.seq}, which it corrects, recorded no reward",
                )
        return replay

    def follow(self, entry: Entry) -> Event:
        """Apply an entry of the log and return its event, or raise InvalidState."""
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
        pulls, voided = self.progress.pulls, self.voided
        event.apply(self, digest)
        self.diary.count(event.time, self.progress.pulls - pulls, self.voided - voided)
        self.head, self.last = Head(event.seq, digest), event.time

    def change(self, seq: int, problem: Problem) -> None:
        """Go on with other arms."""
        if self.settled is not None:
            raise damaged(seq, "the question was answered before, for the arms there were")
        explorer = make_explorer(self.created.explorer, problem, self.created.seed)
        self.blank = copy.deepcopy(explorer)
        explorer.continue_from(self.explorer)
        self.problem, self.explorer = problem, explorer
        self.averages.grow(len(problem))
        self.closings.grow(len(problem))

    def as_corrected(self, seq: int, reward: float) -> float | None:
        """Return the reward that counts for an event; None if it was struck out."""
        return self.corrections.get(seq, (0, reward))[1]

    def check_correction(self, corrected: Corrected) -> None:
        """Raise Rewritten unless a correction, or a later one, is in effect already."""
        if not 1 < corrected.corrects < corrected.seq:
            raise damaged(corrected.seq, "it corrects no event between the first and itself")
        if self.corrections.get(corrected.corrects, (0, None))[0] < corrected.seq:
            latest = {corrected.corrects: (corrected.seq, corrected.reward)}
            raise Rewritten(self.corrections | latest)

    def hand_out(self, asked: Asked, ticket: str, arm: int) -> None:
        """Open a ticket."""
        self._check_pull(asked.seq, arm)
        self.open[ticket] = Open(arm, asked.deadline, asked.worker)
        self.asked += 1
        self.diary.see(asked.worker, asked.time, asked=1)

    def ticket(self, seq: int, ticket: str) -> Open:
        """Return an open ticket, for event number `seq`."""
        if ticket not in self.open:
            raise damaged(seq, f"ticket {ticket!r} was never asked for, or closed before")
        return self.open[ticket]

    def close(self, event: Event, ticket: str, *, void: bool) -> None:
        """Close a ticket, with a reward or without."""
        arm, _, worker = self.ticket(event.seq, ticket)
        waited, settled = event.seq - asked_by(ticket), self.settled is not None
        self.closings.add(arm, void=void, waited=waited, settled=settled)
        self.diary.see(worker, event.time, told=not void, voided=void)
        del self.open[ticket]

    def learn(self, seq: int, arm: int, reward: float, *, asked: bool) -> None:
        """Tell the explorer a reward; one that it asked for may have to wait for its turn.

        Explorers whose pulls are fixed in advance take rewards in that order, and tickets are
        answered in any order. Such explorers refuse what they did not ask for.
        """
        self._check_pull(seq, arm)
        try:
            self.explorer.tell(arm, reward)  # first: if it refuses, nothing has changed
        except InvalidArm:
            if not asked:
                raise
            self.early[arm].append(reward)
        self._tell_early()
        self.averages.add(arm, reward)

    def _tell_early(self) -> None:
        """Tell the explorer the rewards that waited and are due now."""
        while self.early:
            arm = next(iter(self.early)) if self.explorer.done else self.explorer.ask()
            if arm not in self.early:
                return
            self.explorer.tell(arm, self.early[arm].pop(0))
            if not self.early[arm]:
                del self.early[arm]

    def _check_pull(self, seq: int, arm: int) -> None:
        try:
            self.problem.check_pull(arm)
        except LingapeError as reason:
            raise damaged(seq, str(reason)) from reason

    def pending(self, now: float) -> list[int]:
        """Return the arms of tickets whose rewards are still counted on."""
        return [ticket.arm for ticket in self.open.values() if ticket.awaited(now)]

    def activity(self, now: float) -> Activity:
        """Return what happened when, and who did it."""
        pending, overdue = Counter[str | None](), Counter[str | None]()
        for ticket in self.open.values():
            (pending if ticket.awaited(now) else overdue)[ticket.worker] += 1
        return self.diary.activity(pending, overdue)

    def ask(self, n: int, now: float) -> list[int]:
        """Return the arms to pull next."""
        early = [arm for arm, rewards in self.early.items() for _ in rewards]
        return self.explorer.ask_many(n, pending=self.pending(now) + early)

    @property
    def progress(self) -> Progress:
        """How many rewards there are, and whether they settled the question."""
        return Progress(self.told + self.added, self.settled is not None)

    def values(self) -> Values:
        """Return what rewards say about values."""
        rewards = self.averages
        return Values(
            self.problem, rewards.counts.copy(), rewards.means.copy(), rewards.squares.copy()
        )

    @property
    def pace(self) -> float | None:
        """How many rewards came in an hour, by the last ones."""
        if len(self.times) < 2 or not self.times[-1] > self.times[0]:
            return None
        return 3600.0 * (len(self.times) - 1) / (self.times[-1] - self.times[0])

    def tallies(self) -> "Tallies":
        """Return each arm's rewards in short."""
        rewards = (self.averages.counts, self.averages.means, self.averages.squares)
        return Tallies(*(tuple(values.tolist()) for values in rewards))

    def proof(self) -> Certificate:
        """Return what the explorer has proven, with what tickets add to its assumptions."""
        certificate = self.explorer.certificate()
        assumptions, remarks = [*certificate.assumptions, DELAY], []
        if later := len(self.problem) - (self.problem.began or len(self.problem)):
            arms = "an arm that was" if later == 1 else f"{later} arms that were"
            remarks.append(f"It speaks also of {arms} added while it ran.")
        if self.reasons:
            names = [
                f"{printable(self.problem.name(k))} ({why})" for k, why in self.reasons.items()
            ]
            remarks.append(f"It does not speak of retired arms: {', '.join(names)}.")
        if self.corrected:
            times = "1 correction" if self.corrected == 1 else f"{self.corrected} corrections"
            remarks.append(f"{times} of rewards: the log says which and why.")
        carried = self.carried
        if carried is not None:
            remarks.append(
                f"Rewards were taken over from {carried.experiment}. If settings were chosen by "
                "what these show, that choice is not part of the error rate."
            )
        if carried is not None and carried.changes:
            assumptions.append(CHANGING)
        if self.corrected or (carried is not None and carried.corrections):
            assumptions.append(CORRECTING)
        return replace(certificate, assumptions=tuple(assumptions), remarks=tuple(remarks))

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


def make_explorer(text: str, problem: Problem, seed: int) -> Conversation:
    """Return the explorer that a text such as "lingape(bound=mixture)" describes."""
    recipe = Recipe.read(text)
    parameters = inspect.signature(recipe.kind).parameters
    if "theta" in parameters:
        raise InvalidArgument(
            f"{text} needs to know θ, which is unknown in an experiment. Use race."
        )
    settings = dict(recipe.settings)
    if "seed" in parameters:
        settings.setdefault("seed", seed)
    kind: Any = recipe.kind
    try:
        explorer: Conversation = kind(problem, **settings)
    except LingapeError:
        raise
    except Exception as reason:  # settings that the explorer itself does not check
        raise InvalidArgument(
            f"{text!r} cannot explore this problem ({in_words(reason)}). Try 'race'."
        ) from reason
    return explorer


def _grow(tallies: Any, arms: int) -> None:
    """Append zeros to all arrays, up to so many arms."""
    for name, value in vars(tallies).items():
        if isinstance(value, np.ndarray):
            setattr(tallies, name, np.pad(value, (0, arms - len(value))))


def asked_by(ticket: str) -> int:
    """Return the number of the event that handed out a ticket."""
    return int(ticket.partition("-")[0])
