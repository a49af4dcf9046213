"""Error rates from counts of errors."""

import math
from collections.abc import Callable

from .checks import checked_whole
from .errors import InvalidArgument


def clopper_pearson(errors: int, runs: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval that holds the error rate with at least this confidence, exactly.

    errors: how many there were.
    runs: out of how many.
    confidence: how often such intervals hold the error rate, at least.

    >>> from lingape.rates import clopper_pearson
    >>> low, high = clopper_pearson(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    runs = checked_whole("runs", runs, least=1)
    errors = checked_whole("errors", errors, most=runs)
    if not 0 < confidence < 1:
        raise InvalidArgument(f"confidence must lie strictly between 0 and 1; got {confidence!r}.")
    tail = (1 - confidence) / 2
    low = 0.0 if errors == 0 else _root(lambda p: 1 - at_most(errors - 1, runs, p), tail)
    high = 1.0 if errors == runs else _root(lambda p: -at_most(errors, runs, p), -tail)
    return low, high


def at_most(errors: int, runs: int, p: float) -> float:
    """Return the probability of at most this many errors.

    errors: how many at most.
    runs: out of how many.
    p: the probability of each, between 0 and 1.

    >>> from lingape.rates import at_most
    >>> round(at_most(1, 10, 0.05), 4)
    0.9139
    """
    a, b = math.log(p), math.log1p(-p)
    whole = math.lgamma(runs + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(runs - k + 1) + k * a + (runs - k) * b)
        for k in range(errors + 1)
    )


def _root(rising: Callable[[float], float], level: float) -> float:
    """Return where a rising function reaches a level."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2
