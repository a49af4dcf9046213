"""How a law is judged."""


def require(condition: object, message: str) -> None:
    """Raise AssertionError with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def errors_allowed(runs: int, delta: float, doubt: float = 1e-3) -> int:
    """Return the most errors in `runs` that chance explains if the error rate is δ.

    More occur with probability below `doubt`.

    >>> errors_allowed(100, 0.05)
    13
    """
    term, total, errors = (1 - delta) ** runs, 0.0, 0
    while True:
        total += term
        if 1 - total < doubt:
            return errors
        term *= (runs - errors) / (errors + 1) * delta / (1 - delta)
        errors += 1
