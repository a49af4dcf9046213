"""Threads that ask, pull and tell until the question is answered."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ..checks import checked_whole
from ..errors import ExplorationOver, LingapeError
from ..factors import Level
from ..noise import finite_reward
from ..values import Effects, Interval, Lift, Values
from .replay import LogCertificate, Progress
from .standing import Status
from .texts import shortened
from .tickets import Ticket, TimeToLive, checked_ttl
from .verification import write_export

LOOK = 0.5  # seconds between looks while waiting for a change


@dataclass(frozen=True)
class Failure:
    """A ticket whose reward is unavailable.

    ticket: which.
    reason: what was raised.

    >>> def measure(ticket):
    ...     raise OSError("the sensor does not answer")
    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     [failure] = experiment.run(measure, workers=1, max_pulls=1).failures
    >>> failure.reason
    OSError('the sensor does not answer')
    """

    ticket: Ticket
    reason: Exception


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    certificate: what is proven.
    told: how many rewards this run told.
    failures: tickets whose reward is unavailable.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=0.01)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     outcome = experiment.run(lambda ticket: [0.2, 0.8][ticket.arm], workers=1)
    >>> outcome.certificate.name, outcome.certificate.settled, outcome.failures
    ('arm 1', True, ())
    """

    certificate: LogCertificate
    told: int
    failures: tuple[Failure, ...]


class Workplace(Protocol):
    """An experiment, here or on a server, and what is done with either in the same way."""

    def ask(
        self, n: int = 1, *, worker: str | None = None, ttl: TimeToLive = "1d"
    ) -> list[Ticket]: ...

    def tell(self, ticket: str | Ticket, reward: float) -> Progress: ...

    def void(self, ticket: str | Ticket, reason: str) -> Progress: ...

    def certificate(self) -> LogCertificate: ...

    def status(self) -> Status: ...

    def values(self) -> Values: ...

    def export_lines(self) -> Iterator[str]: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def export(self, path: str | Path) -> int:
        """Write the log to a new file as JSON lines, each event with its hash; return how many.

        path: of the file.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     progress = experiment.add(arm=1, reward=0.3)
        ...     experiment.export(f"{tempfile.mkdtemp()}/ads.jsonl")
        2
        """
        return write_export(path, self.export_lines())

    def watch(self) -> Iterator[Status]:
        """Yield the status now, and whenever it has moved, until it is settled."""
        seen = -1
        while True:
            now = self.status()
            if now.event != seen:
                seen = now.event
                yield now
            if now.settled:
                return
            time.sleep(LOOK)

    def effects(self, reference: Mapping[str, Level] | None = None) -> Effects:
        """Return how much each level of each factor adds, compared with the reference level.

        All intervals hold together, at all times, with probability at least 1 - δ.
        reference: for each factor the level to compare with; the first unless given.

        >>> import tempfile
        >>> from lingape import Experiment, Factors, Problem
        >>> factors = Factors(tone=["plain", "polite"], length=["short", "long"])
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/mails.db"
        >>> with Experiment.open(url, "mails", create=Problem(factors, noise=0.05)) as experiment:
        ...     for arm, reward in enumerate([0.2, 0.3, 0.6, 0.7]):
        ...         progress = experiment.add(arm, reward)
        ...     effects = experiment.effects()
        >>> print(effects)
        | factor | level  | effect | 95 % interval      |            |
        | ------ | ------ | -----: | ------------------ | ---------- |
        | tone   | plain  |      0 | reference          |            |
        |        | polite |   +0.4 | +0.1846 to +0.6154 | best       |
        | length | short  |      0 | reference          |            |
        |        | long   |   +0.1 | -0.1154 to +0.3154 | looks best |
        """
        return self.values().effects(reference)

    def contrast(self, one: Mapping[str, Level], other: Mapping[str, Level]) -> Interval:
        """Return how much more arms with some levels pay than arms with others.

        one, other: levels by factor, such as {"tone": "dry", "length": "long"}. Factors that are
            not mentioned are averaged over the arms.

        >>> import tempfile
        >>> from lingape import Experiment, Factors, Problem
        >>> factors = Factors(tone=["plain", "polite"], length=["short", "long"])
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/mails.db"
        >>> with Experiment.open(url, "mails", create=Problem(factors, noise=0.05)) as experiment:
        ...     for arm, reward in enumerate([0.2, 0.3, 0.6, 0.7]):
        ...         progress = experiment.add(arm, reward)
        ...     contrast = experiment.contrast({"tone": "polite"}, {"tone": "plain"})
        >>> print(contrast)
        0.4 (0.1846 to 0.6154)
        """
        return self.values().contrast(one, other)

    def lifts(self, against: int | str | None = None) -> tuple[Lift, ...]:
        """Return how much more each arm pays than the control, best first.

        against: the control, by number or name; the problem's unless given.

        >>> import tempfile
        >>> from lingape import Experiment, Factors, Problem
        >>> factors = Factors(tone=["plain", "polite"], length=["short", "long"])
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/mails.db"
        >>> with Experiment.open(url, "mails", create=Problem(factors, noise=0.05)) as experiment:
        ...     for arm, reward in enumerate([0.2, 0.3, 0.6, 0.7]):
        ...         progress = experiment.add(arm, reward)
        ...     best = experiment.lifts(against=0)[0]
        >>> best.name, round(best.value, 2), best.verdict
        ('tone=polite, length=long', 0.5, 'better by at least 0.1954')
        """
        return self.values().lifts(against)

    def run(
        self,
        reward_fn: Callable[[Ticket], float],
        *,
        workers: int = 4,
        max_pulls: int | None = None,
        max_failures: int = 10,
        ttl: TimeToLive = "1d",
    ) -> Outcome:
        """Call `reward_fn` with tickets, in threads, until the question is answered.

        If it raises, the ticket is voided and the exception is among the failures returned.
        reward_fn: makes the trial of a ticket, and returns its reward.
        workers: how many threads.
        max_pulls: how many calls to make at most.
        max_failures: how many failures in a row end the run; the last one is raised.
        ttl: for how long to count on each reward, as for ask.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=0.01)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     outcome = experiment.run(lambda ticket: [0.2, 0.8][ticket.arm], workers=1)
        >>> outcome.certificate.name, outcome.certificate.settled
        ('arm 1', True)
        """
        return Crew(self, reward_fn, max_pulls, max_failures, ttl).run(workers)


@dataclass(eq=False)
class Crew:
    """Threads that pull arms.

    name: of the crew, for the log.
    check: called before each ask; what it raises ends the run.
    show: called after each tell.
    """

    experiment: Workplace
    reward_fn: Callable[[Ticket], float]
    max_pulls: int | None
    max_failures: int
    ttl: TimeToLive
    name: str = "run"
    check: Callable[[], None] = lambda: None
    show: Callable[[Progress], None] = lambda progress: None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = self._in_a_row = self._told = 0
        self._failures: list[Failure] = []
        self._trouble: BaseException | None = None
        self._over = False

    def run(self, workers: int) -> Outcome:
        """Pull until the question is answered, or until a limit."""
        checked_whole("workers", workers, least=1)
        checked_whole("max_failures", self.max_failures, least=1)
        if self.max_pulls is not None:
            checked_whole("max_pulls", self.max_pulls, advice="None is for no limit.")
        checked_ttl(self.ttl)
        names = (f"{self.name}-{os.getpid()}-{i}" for i in range(workers))
        threads = [threading.Thread(target=self._work, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        try:
            _wait_for(threads)
        finally:  # also on Ctrl-C: finish the calls under way
            self._over = True
            _wait_for(threads)
        if self._trouble is not None:
            raise self._trouble
        return Outcome(self.experiment.certificate(), self._told, tuple(self._failures))

    def _work(self, worker: str) -> None:
        try:
            while self._another():
                self.check()
                self._pull(self.experiment.ask(worker=worker, ttl=self.ttl)[0])
        except ExplorationOver:
            self._over = True
        except BaseException as reason:
            self._stop(reason)

    def _another(self) -> bool:
        with self._lock:
            if self._over or self._asked == self.max_pulls:
                return False
            self._asked += 1
            return True

    def _pull(self, ticket: Ticket) -> None:
        try:
            reward = finite_reward(self.reward_fn(ticket))
        except Exception as reason:
            ours = isinstance(reason, LingapeError)
            why = str(reason) if ours else f"{type(reason).__name__}: {reason}"
            self.experiment.void(ticket.id, shortened(why))
            with self._lock:
                self._failures.append(Failure(ticket, reason))
                self._in_a_row += 1
                if self._in_a_row >= self.max_failures:
                    reason.add_note(f"{self._in_a_row} calls in a row failed; this was the last.")
                    self._stop(reason)
            return
        self.show(self.experiment.tell(ticket.id, reward))
        with self._lock:
            self._told += 1
            self._in_a_row = 0

    def _stop(self, reason: BaseException) -> None:
        self._trouble = self._trouble or reason
        self._over = True


def _wait_for(threads: list[threading.Thread]) -> None:
    """Wait for threads, half a second at a time.

    A signal that arrives just before a wait begins is handled only when that wait ends.
    """
    for thread in threads:
        while thread.is_alive():
            thread.join(0.5)
