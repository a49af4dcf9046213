"""How a law is judged."""

from collections.abc import Callable
from typing import Any

from ..rates import at_most


def require(condition: object, message: str) -> None:
    """Raise AssertionError with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def refusal(
    errors: type[Exception] | tuple[type[Exception], ...],
    what: str,
    call: Callable[..., object],
    *arguments: Any,
) -> str:
    """Return the reason that a call gives for its refusal; raise AssertionError if it succeeds."""
    try:
        call(*arguments)
    except errors as reason:
        return str(reason)
    raise AssertionError(f"{what} was accepted")


def errors_allowed(runs: int, delta: float, doubt: float = 1e-3) -> int:
    """Return the most errors in `runs` that chance explains if the error rate is `delta`.

    More occur with probability below `doubt`.

    >>> from lingape.testing import errors_allowed
    >>> errors_allowed(100, 0.05)
    13
    """
    return next(n for n in range(runs + 1) if 1 - at_most(n, runs, delta) < doubt)
