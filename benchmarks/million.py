"""Ask and tell with a million arms: seconds until ready, per round, and memory."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import Figure, seconds_of
from lingape import LinGapE, Problem

COUNT, DIMENSION, ROUNDS = 1_000_000, 20, 1_500


def million_figures() -> Iterator[Figure]:
    """Measure in a process of its own, whose memory is that of this alone."""
    command = [sys.executable, "-m", "benchmarks.million"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    ready, median, mean, memory, passed = json.loads(done.stdout)
    what = f"K={COUNT:,}, d={DIMENSION}, Mixture"
    for name, seconds in (
        (f"ask + tell, {what}, median of {ROUNDS:,}", median),
        (f"ask + tell, {what}, mean of {ROUNDS:,}", mean),
        (f"until the first question, {what}", ready),
    ):
        yield Figure(name, seconds, {"passes of X @ v": seconds / passed})
    yield Figure(f"memory beside the caller's arms, {what}, in sizes of these", memory, share=True)


def main() -> None:
    """Print seconds until ready and per round, memory by that of the arms, and a pass."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((COUNT, DIMENSION))
    theta = rng.standard_normal(DIMENSION) / 10
    explorers, before = [], _memory()

    def begin() -> None:
        explorers.append(LinGapE(Problem(arms, noise=1.0), start="auto"))
        explorers[0].ask()

    ready = seconds_of(begin)
    explorer, taken = explorers[0], []

    def talk() -> None:
        arm = explorer.ask()
        explorer.tell(arm, float(arms[arm] @ theta + rng.standard_normal()))

    while explorer.contest is None:
        talk()
    for _ in range(ROUNDS):
        taken.append(seconds_of(talk))
    added = _memory() - before
    passed = min(seconds_of(lambda: arms @ theta) for _ in range(10))
    usual = statistics.median(taken), statistics.mean(taken)
    print(json.dumps([ready, *usual, added / arms.nbytes, passed]))


def _memory() -> int:
    """Return the most bytes that this process has had so far (Linux)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


if __name__ == "__main__":
    main()
