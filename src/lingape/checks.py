"""Checks of arguments that are used throughout the package."""

import math
from operator import index
from typing import Any

from .errors import InvalidArgument, LingapeError

# Squares of features are summed, so features outside this range would over- or underflow.
LARGEST, SMALLEST = 1e100, 1e-100  # also of rewards and settings


def as_float(value: Any) -> float:
    """Return value as a float, or NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def checked_whole(
    name: str,
    value: Any,
    *,
    least: int = 0,
    most: int | None = None,
    advice: str = "",
    error: type[LingapeError] = InvalidArgument,
) -> int:
    """Return `value` as an int if it is a whole number in range, or raise `error`.

    name: what to call it in the message. advice: a sentence to add there.

    >>> checked_whole("seed", 3)
    3
    """
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        limits = f"from {least}" if most is None else f"from {least} to {most:,}"
        rule = f"{name} must be a whole number {limits}; got {glimpse(value)}."
        raise error(f"{rule} {advice}".rstrip())
    return number


def glimpse(value: Any) -> str:
    """Return the beginning of a value's repr, for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
