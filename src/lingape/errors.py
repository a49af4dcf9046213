"""Every exception that lingape raises.

LingapeError
├── InvalidProblem     (ValueError)    the question itself cannot be asked
├── InvalidArm         (ValueError)    no such arm
├── InvalidReward      (ValueError)    not a finite number, or outside of what was promised
├── InvalidBound       (ValueError)    the bound does not fit the explorer or the problem
├── InvalidEnvironment (ValueError)    a simulated world that cannot exist
├── InvalidState       (ValueError)    a saved state that is damaged
├── InvalidData        (ValueError)    a data file that is damaged or of another kind
├── InvalidArgument    (ValueError)    any other argument out of range
├── IllConditioned     (ArithmeticError) numbers too far apart in size to compute with
├── DesignFailed       (RuntimeError)  a design problem was not solved to its tolerance
├── ExplorationOver    (RuntimeError)  the answer is known; there is nothing left to ask
├── NotFound           (LookupError)   no experiment or ticket of that name
├── Conflict           (RuntimeError)  something else was recorded under that name already
├── StorageFailed      (RuntimeError)  a database that cannot be used now; try again
├── MissingData        (RuntimeError)  data that could not be downloaded
└── MissingExtra       (ImportError)   an optional dependency is not installed

Messages say the rule, the value that broke it, and the way out.
"""

import json
from importlib import import_module
from typing import Any


class LingapeError(Exception):
    """Base of every exception in this package."""


class InvalidProblem(LingapeError, ValueError):
    """The problem cannot be posed with these arms or settings."""


class InvalidArm(LingapeError, ValueError):
    """The arm is not one of the problem's arms."""


class InvalidReward(LingapeError, ValueError):
    """The reward is not a finite number, or not one that the problem's noise allows."""


class InvalidBound(LingapeError, ValueError):
    """The confidence bound does not fit the explorer or the problem."""


class InvalidEnvironment(LingapeError, ValueError):
    """The simulated world cannot exist as described."""


class InvalidState(LingapeError, ValueError):
    """The saved state is damaged, or was saved by something else."""


class InvalidData(LingapeError, ValueError):
    """The data file is damaged, or in another format."""


class InvalidArgument(LingapeError, ValueError):
    """An argument is out of range."""


class IllConditioned(LingapeError, ArithmeticError):
    """The features span too many orders of magnitude for double precision."""


class DesignFailed(LingapeError, RuntimeError):
    """A design problem was not solved to the tolerance asked for."""


class ExplorationOver(LingapeError, RuntimeError):
    """The explorer is done: it has an answer and no further question."""


class NotFound(LingapeError, LookupError):
    """There is no experiment, or no ticket, of that name."""


class Conflict(LingapeError, RuntimeError):
    """Something else was recorded before, and what is recorded is never changed."""


class StorageFailed(LingapeError, RuntimeError):
    """The database could not be used; nothing is lost, and doing the same again is safe."""


class MissingData(LingapeError, RuntimeError):
    """The data are not available and could not be downloaded."""


class MissingExtra(LingapeError, ImportError):
    """An optional dependency is needed for this and is not installed."""


def imported(package: str, who: str, *, extra: str) -> Any:
    """Return an optional package, or raise MissingExtra; `who` needs it."""
    try:
        return import_module(package)
    except ImportError as reason:
        raise MissingExtra(
            f"{who} {package}, which is not installed: pip install 'lingape[{extra}]'."
        ) from reason


def in_words(reason: BaseException) -> str:
    """Return the reason for an error in words, without Python's names for it.

    >>> in_words(KeyError("counts")), in_words(ValueError("3 is not a text."))
    ("'counts' is missing", '3 is not a text')
    """
    if isinstance(reason, KeyError):
        return f"{reason} is missing"
    if isinstance(reason, json.JSONDecodeError | RecursionError):
        return "it is not JSON"
    if isinstance(reason, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    if isinstance(reason, TypeError | AttributeError | IndexError):
        return "a part of it is missing or has the wrong type"
    return str(reason).rstrip(".") or "no reason is given"
