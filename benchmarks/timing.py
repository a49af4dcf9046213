"""How benchmarks of speed measure, and what they report."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

REPEATS = 7  # the fastest counts: the machine may be busy with other things


@dataclass(frozen=True)
class Figure:
    """A measured number.

    what: it is of.
    value: in seconds, unless it is a share of something.
    beside: ratios to yardsticks measured in the same minute, by what to call them.
    share: whether it is a share, or a multiple.
    """

    what: str
    value: float
    beside: Mapping[str, float] = field(default_factory=dict)
    share: bool = False


def fastest(job: Callable[[], float], repeats: int = REPEATS) -> float:
    """Return the least seconds that `job` reports in several tries."""
    return min(job() for _ in range(repeats))


def seconds_of(job: Callable[[], object]) -> float:
    """Return how long `job` takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start
