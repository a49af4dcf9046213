"""Ask, run the command, log, tell: until the explorer is done."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ..errors import InvalidArgument
from .command import SLICE, Failure, Pull, Stop
from .log import TrialLog


class Ending(Enum):
    """How a search ended."""

    SETTLED = "settled"
    LIMIT = "stopped at the pull limit"
    FAILED = "the command failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Outcome:
    """How a search ended, and why if a command failed."""

    ending: Ending
    arm: int | None = None  # that failed
    attempts: int = 0
    failure: Failure | None = None


# Called with the arm whose pull begins.
Progress: TypeAlias = Callable[[int], None]
# Called with an arm, why an attempt failed, and the seconds until the next.
OnFailure: TypeAlias = Callable[[int, Failure, float], None]


@dataclass(frozen=True)
class Patience:
    """How often a failed attempt is made again, and after how long; the wait doubles."""

    retries: int = 2
    wait: float = 1.0

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise InvalidArgument(f"retries must be at least 0; got {self.retries}.")
        if not 0 <= self.wait < float("inf"):
            raise InvalidArgument(
                "The seconds to wait before another attempt (--retry-wait) must be a finite "
                f"number, at least 0; got {self.wait:g}."
            )


def search(
    log: TrialLog,
    *,
    max_pulls: int | None = None,
    patience: Patience = Patience(),
    stop: Stop | None = None,
    progress: Progress = lambda arm: None,
    on_failure: OnFailure = lambda arm, failure, wait: None,
) -> Outcome:
    """Pull until the explorer is done, `max_pulls` rewards are in the log, or it has to stop."""
    explorer, stop = log.setup.explorer, stop or Stop()
    while not explorer.done:
        if max_pulls is not None and log.pulls >= max_pulls:
            return Outcome(Ending.LIMIT)
        if stop.soon:
            return Outcome(Ending.INTERRUPTED)
        arm = explorer.ask()
        progress(arm)
        outcome = _pull(log, arm, patience, stop, on_failure)
        if outcome is not None:
            return outcome
    return Outcome(Ending.SETTLED)


def _pull(
    log: TrialLog, arm: int, patience: Patience, stop: Stop, on_failure: OnFailure
) -> Outcome | None:
    """Pull one arm, with retries; return how the search ends if it does."""
    setup, wait, attempt = log.setup, patience.wait, 1
    problem = setup.explorer.problem
    pull = Pull(arm, problem.name(arm), tuple(problem.arms[arm].tolist()), log.pulls + 1)
    while True:
        log.pull(arm)
        result = setup.command.run(pull, stop)
        if isinstance(result, float):
            if setup.rewards.allow(result):
                log.reward(arm, result)
                return None
            what = f"printed {result!r}, but rewards have to be {setup.rewards}"
            result = Failure(what, outside=result)
        log.failure(arm, result)
        # A reward outside is not drawn again: to draw until it pleases breaks the guarantee.
        again = result.outside is None and attempt <= patience.retries
        if again and not stop.soon:
            on_failure(arm, result, wait)
            _pause(wait, stop)
        if stop.soon and result.outside is None:
            return Outcome(Ending.INTERRUPTED, arm, attempt, result)
        if not again:
            return Outcome(Ending.FAILED, arm, attempt, result)
        wait, attempt = 2 * wait, attempt + 1


def _pause(seconds: float, stop: Stop) -> None:
    end = time.monotonic() + seconds
    while not stop.soon and (rest := end - time.monotonic()) > 0:
        time.sleep(min(SLICE, rest))
