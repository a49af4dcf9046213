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

Messages say what the rule is, which value broke it, and what to do instead.
"""

import json
from importlib import import_module
from typing import Any


class LingapeError(Exception):
    """Base of every exception in this package.

    >>> from lingape import LingapeError, Problem
    >>> try:
    ...     Problem([[1, 0], [0, 1]], noise=1.0, delta=2)
    ... except LingapeError as reason:
    ...     print(type(reason).__name__, isinstance(reason, ValueError))
    InvalidProblem True
    """


class InvalidProblem(LingapeError, ValueError):
    """The problem cannot be posed with these arms or settings.

    >>> from lingape import Problem
    >>> Problem([[1, 0]], noise=1.0)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.InvalidProblem: There must be at least 2 arms to choose from; got 1. If
    your arms are columns, pass the transpose.
    """


class InvalidArm(LingapeError, ValueError):
    """The arm is not one of the problem's arms.

    >>> from lingape import LinGapE, Problem
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=1.0))
    >>> explorer.tell(2, 0.5)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.InvalidArm: An arm must be a whole number from 0 to 1; got 2. It is the
    number of a row of arms. Nothing was recorded.
    """


class InvalidReward(LingapeError, ValueError):
    """The reward is not a finite number, or not one that the problem's noise allows.

    >>> from lingape import LinGapE, Problem
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise="binary"))
    >>> explorer.tell(0, 0.5)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.InvalidReward: Rewards have to be 0 or 1, for the guarantee rests on
    that; got 0.5. Nothing was recorded. If there can be such rewards, begin again with the
    range that they really have.
    """


class InvalidBound(LingapeError, ValueError):
    """The confidence bound does not fit the explorer or the problem.

    >>> from lingape import FixedDesign, LinGapE, Problem
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> LinGapE(problem, bound=FixedDesign())  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.InvalidBound: LinGapE lets past rewards choose the next arm, but
    FixedDesign() holds only for pulls fixed in advance. Pass Mixture() or SelfNormalized(),
    or fix the pulls.
    """


class InvalidEnvironment(LingapeError, ValueError):
    """The simulated world cannot exist as described.

    >>> from lingape import ZeroOne
    >>> ZeroOne([[1, 0], [0, 1]], theta=[0.5, 1.5])  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.InvalidEnvironment: Rewards of 0 or 1 have means from 0 to 1, but arm 1
    has 1.5. Change θ or the features so that xᵀθ lies there.
    """


class InvalidState(LingapeError, ValueError):
    """The saved state is damaged, or was saved by something else.

    >>> from lingape import LinGapE, Problem, Race
    >>> race = Race(Problem([[1, 0], [0, 1]], noise=1.0))
    >>> LinGapE.from_state(race.state())  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.InvalidState: A saved state must be a dict with format 'lingape explorer
    state: LinGapE'; got 'lingape explorer state: Race'. Pass what state() returned.
    """


class InvalidData(LingapeError, ValueError):
    """The data file is damaged, or in another format.

    >>> from lingape.datasets.real_data import fit
    >>> fit([], name="clicks.log")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.InvalidData: θ* must be fitted to at least one row; clicks.log has none
    that can be used.
    """


class InvalidArgument(LingapeError, ValueError):
    """An argument is out of range.

    >>> from lingape import LinGapE, Problem
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> LinGapE(problem, start="all")
    Traceback (most recent call last):
        ...
    lingape.errors.InvalidArgument: start must be "each", "spanning" or "auto"; got 'all'.
    """


class IllConditioned(LingapeError, ArithmeticError):
    """The features span too many orders of magnitude for double precision.

    >>> from lingape import LinGapE, Problem, SelfNormalized
    >>> arms = [[1e8, 1e8], [1e8, 1e8 + 1]]
    >>> explorer = LinGapE(Problem(arms, noise=1.0, norm_bound=1.0), bound=SelfNormalized())
    >>> explorer.tell_many([0, 1], [1.0, 0.0])  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.IllConditioned: The pulled features are so nearly dependent, and so large
    beside the ridge (1), that the design matrix cannot be inverted in double precision.
    Measure features in units that bring them closer to 1, drop those that nearly repeat
    others, or use Mixture(), which chooses its own units.
    """


class DesignFailed(LingapeError, RuntimeError):
    """A design problem was not solved to the tolerance asked for.

    >>> import numpy as np
    >>> from lingape.designs import g_optimal
    >>> arms = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> g_optimal(arms, tolerance=0.01, max_steps=1)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.DesignFailed: The design came within 4.9e-01 of optimal in 1 steps, not
    within the tolerance 0.01. Raise the tolerance or max_steps.
    """


class ExplorationOver(LingapeError, RuntimeError):
    """The explorer is done: it has an answer and no further question.

    >>> from lingape import LinGapE, Problem
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=0.1))
    >>> explorer.tell_many([0, 1], [1.0, 0.0])
    >>> explorer.ask()  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.ExplorationOver: There is nothing left to pull: LinGapE settled on arm 0
    (arm 0) after 2 pulls. Read certificate(); to ask for more, start again with a smaller
    epsilon or delta.
    """


class NotFound(LingapeError, LookupError):
    """There is no experiment, or no ticket, of that name.

    >>> from lingape import Experiment
    >>> Experiment.open("sqlite:///no-such-file.db", "mails")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.NotFound: There is no file at sqlite:///no-such-file.db. Begin an
    experiment in it first.
    """


class Conflict(LingapeError, RuntimeError):
    """Something else was recorded before, and what is recorded is never changed.

    >>> from tempfile import TemporaryDirectory
    >>> from lingape import Experiment, Problem
    >>> problem = Problem([[1, 0], [0, 1]], noise="binary")
    >>> with TemporaryDirectory() as folder:
    ...     with Experiment.open(f"sqlite:///{folder}/mails.db", "mails", create=problem) as mails:
    ...         (ticket,) = mails.ask()
    ...         mails.tell(ticket.id, 1)
    ...         mails.tell(ticket.id, 0)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.Conflict: Ticket ... was told 1.0; now it is 0.0. A mistake is
    for correct(), a second trial of the arm for add().
    """


class StorageFailed(LingapeError, RuntimeError):
    """The database could not be used; nothing is lost, and doing the same again is safe.

    >>> from lingape import Experiment, Problem
    >>> problem = Problem([[1, 0], [0, 1]], noise="binary")
    >>> url = "sqlite:///no-such-folder/mails.db"
    >>> Experiment.open(url, "mails", create=problem)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.StorageFailed: sqlite:///no-such-folder/mails.db cannot be used now:
    unable to open database file. The folder must exist, and be writable.
    """


class MissingData(LingapeError, RuntimeError):
    """The data are not available and could not be downloaded.

    >>> import os
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> from lingape.datasets.movielens import load_movielens
    >>> with TemporaryDirectory() as empty, patch.dict(os.environ, PIP_NO_INDEX="1"):  # offline
    ...     load_movielens(cache=empty)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.MissingData: MovieLens-100k must be downloaded once, but pip ended with
    status 1 and said: ... Connect to the network and try again, or use other data: --r6a
    PATH reads a click log of Yahoo! R6A, and --synthetic makes one up.
    """


class MissingExtra(LingapeError, ImportError):
    """An optional dependency is needed for this and is not installed.

    >>> import sys
    >>> from unittest.mock import patch
    >>> from lingape import plots
    >>> with patch.dict(sys.modules, matplotlib=None):  # as if it were not installed
    ...     plots.distribution({"race": [310, 275]})  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    lingape.errors.MissingExtra: Drawing needs matplotlib, which is not installed: pip
    install "lingape[plot]".
    """


def imported(package: str, who: str, *, extra: str) -> Any:
    """Return an optional package, or raise MissingExtra; `who` needs it."""
    try:
        return import_module(package)
    except ImportError as reason:
        raise MissingExtra(
            f'{who} {package}, which is not installed: pip install "lingape[{extra}]".'
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
