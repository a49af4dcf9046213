"""Ask and tell with a million arms: seconds until ready, per round, and memory."""

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.timing import Figure, seconds_of
from lingape import LinGapE, Problem

COUNT, DIMENSION, ROUNDS = 1_000_000, 20, 60


def million_figures() -> Iterator[Figure]:
    """Measure in a process of its own, whose memory is that of this alone."""
    command = [sys.executable, "-m", "benchmarks.million"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    ready, rounds, memory, passed = json.loads(done.stdout)
    what = f"K={COUNT:,}, d={DIMENSION}, Mixture"
    yield Figure(f"ask + tell, {what}, median", rounds, {"passes of X @ v": rounds / passed})
    yield Figure(f"until the first question, {what}", ready, {"passes of X @ v": ready / passed})
    yield Figure(f"memory at most, {what}, in sizes of the arms", memory, share=True)


def main() -> None:
    """Print seconds until ready and per round, peak memory by that of the arms, and a pass."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((COUNT, DIMENSION))
    theta = rng.standard_normal(DIMENSION)
    explorers = []

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
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    passed = min(seconds_of(lambda: arms @ theta) for _ in range(10))
    print(json.dumps([ready, statistics.median(taken), peak / arms.nbytes, passed]))


if __name__ == "__main__":
    main()
