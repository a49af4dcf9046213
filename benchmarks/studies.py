"""What does a study of short runs cost, and what do two workers?"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from benchmarks.rounds import noise_alone
from benchmarks.timing import Figure, fastest, seconds_of
from lingape import Study

INSTANCE = "canonical(3, 1.0)"
RUNS = 10_000


def study_figures() -> Iterator[Figure]:
    """Time runs of about a hundred pulls, and the processors' time for them in two workers."""
    Study(["lingape"], [INSTANCE], seeds=400).run(jobs=2)  # compile, and start the workers
    short = Study(["lingape"], [INSTANCE], seeds=1_000)
    pulls = sum(row.pulls for row in short.run(jobs=1).rows) / len(short)
    one = fastest(lambda: seconds_of(lambda: short.run(jobs=1))) / len(short)
    yield Figure(
        f"a run of a study, about {pulls:.0f} pulls on {INSTANCE}",
        one,
        {"times the noise alone": one / (pulls * noise_alone())},
    )
    long = Study(["lingape"], [INSTANCE], seeds=RUNS)
    best = max((efficiency(long) for _ in range(3)), key=lambda found: found[0])
    yield Figure(
        f"two workers, {RUNS:,} such runs: the share of CPU time that one would need",
        best[0],
        {"times faster than one": best[1]},
        share=True,
    )


def efficiency(study: Study) -> tuple[float, float]:
    """Return how CPU time in one process compares with two, and time on the clock."""
    seconds, spent = [], []
    for jobs in (1, 2):
        before = _cpu_seconds()
        seconds.append(seconds_of(lambda jobs=jobs: study.run(jobs=jobs)))  # type: ignore[misc]
        spent.append(_cpu_seconds() - before)
    return spent[0] / spent[1], seconds[0] / seconds[1]


def _cpu_seconds() -> float:
    """Return the time that this process and its children, which go on running, have used."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):  # Linux
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == os.getpid():
            ticks += int(fields[11]) + int(fields[12])
    return own.ru_utime + own.ru_stime + ticks / os.sysconf("SC_CLK_TCK")
