"""Threads that ask, pull and tell until the question is answered."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ..checks import checked_whole
from ..errors import ExplorationOver, LingapeError
from ..scaffold import checked_reward
from .replay import LogCertificate, Progress
from .texts import shortened
from .tickets import Ticket, TimeToLive, checked_ttl
from .verification import write_export


@dataclass(frozen=True)
class Failure:
    """A ticket whose reward is unavailable, and why."""

    ticket: Ticket
    reason: Exception


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

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

    def export_lines(self) -> Iterator[str]: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def export(self, path: str | Path) -> int:
        """Write the log to a new file as JSON lines, each event with its hash; return how many."""
        return write_export(path, self.export_lines())

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
        max_pulls: how many calls to make at most.
        max_failures: how many failures in a row end the run; the last one is raised.
        ttl: for how long to count on each reward, as for ask.
        """
        return run_crew(
            self,
            reward_fn,
            workers=workers,
            max_pulls=max_pulls,
            max_failures=max_failures,
            ttl=ttl,
        )


def run_crew(
    experiment: Workplace,
    reward_fn: Callable[[Ticket], float],
    *,
    workers: int,
    max_pulls: int | None,
    max_failures: int,
    ttl: TimeToLive,
    name: str = "run",
    check: Callable[[], None] = lambda: None,
    show: Callable[[Progress], None] = lambda progress: None,
) -> Outcome:
    """Call `reward_fn` with tickets, in threads, until the question is answered.

    name: of the crew, for the log.
    check: called before each ask; what it raises ends the run.
    show: called after each tell.
    """
    checked_whole("workers", workers, least=1)
    checked_whole("max_failures", max_failures, least=1)
    if max_pulls is not None:
        checked_whole("max_pulls", max_pulls, advice="None is for no limit.")
    checked_ttl(ttl)
    crew = _Crew(experiment, reward_fn, max_pulls, max_failures, ttl, check, show)
    threads = [
        threading.Thread(target=crew.work, args=(f"{name}-{os.getpid()}-{i}",))
        for i in range(workers)
    ]
    for thread in threads:
        thread.start()
    try:
        _wait_for(threads)
    finally:  # also on Ctrl-C: finish the calls under way
        crew.over = True
        _wait_for(threads)
    if crew.trouble is not None:
        raise crew.trouble
    return Outcome(experiment.certificate(), crew.told, tuple(crew.failures))


def _wait_for(threads: list[threading.Thread]) -> None:
    """Wait for threads, half a second at a time.

    A signal that arrives just before a wait begins is handled only when that wait ends.
    """
    for thread in threads:
        while thread.is_alive():
            thread.join(0.5)


class _Crew:
    """Threads that pull arms."""

    def __init__(
        self,
        experiment: Workplace,
        reward_fn: Callable[[Ticket], float],
        max_pulls: int | None,
        max_failures: int,
        ttl: TimeToLive,
        check: Callable[[], None],
        show: Callable[[Progress], None],
    ) -> None:
        self._check, self._show = check, show
        self._experiment, self._reward_fn, self._ttl = experiment, reward_fn, ttl
        self._left, self._max_failures = max_pulls, max_failures
        self._lock = threading.Lock()
        self._in_a_row = 0
        self.told = 0
        self.failures: list[Failure] = []
        self.trouble: BaseException | None = None
        self.over = False

    def work(self, worker: str) -> None:
        try:
            while self._another():
                self._check()
                self._pull(self._experiment.ask(worker=worker, ttl=self._ttl)[0])
        except ExplorationOver:
            self.over = True
        except BaseException as reason:
            self._stop(reason)

    def _another(self) -> bool:
        with self._lock:
            if self.over or self._left == 0:
                return False
            self._left = None if self._left is None else self._left - 1
            return True

    def _pull(self, ticket: Ticket) -> None:
        try:
            reward = checked_reward(self._reward_fn(ticket))
        except Exception as reason:
            ours = isinstance(reason, LingapeError)
            why = str(reason) if ours else f"{type(reason).__name__}: {reason}"
            self._experiment.void(ticket.id, shortened(why))
            with self._lock:
                self.failures.append(Failure(ticket, reason))
                self._in_a_row += 1
                if self._in_a_row >= self._max_failures:
                    reason.add_note(f"{self._in_a_row} calls in a row failed; this was the last.")
                    self._stop(reason)
            return
        self._show(self._experiment.tell(ticket.id, reward))
        with self._lock:
            self.told += 1
            self._in_a_row = 0

    def _stop(self, reason: BaseException) -> None:
        self.trouble = self.trouble or reason
        self.over = True
