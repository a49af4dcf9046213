"""Sums over the events of a log, arm by arm."""

import numpy as np

from ..arrays import FloatArray, IntArray


class Averages:
    """Count, mean and sum of squared deviations of each arm's rewards."""

    def __init__(self, arms: int) -> None:
        self.counts: IntArray = np.zeros(arms, dtype=np.int64)
        self.means: FloatArray = np.zeros(arms)
        self.squares: FloatArray = np.zeros(arms)

    def add(self, arm: int, reward: float) -> None:
        """Welford's update, which loses no digits to a large mean."""
        self.counts[arm] += 1
        apart = reward - self.means[arm]
        self.means[arm] += apart / self.counts[arm]
        self.squares[arm] += apart * (reward - self.means[arm])


class Closings:
    """Tickets of each arm that were closed, by a reward or a void, and how soon."""

    def __init__(self, arms: int) -> None:
        self.closed: IntArray = np.zeros(arms, dtype=np.int64)
        self.voided: IntArray = np.zeros(arms, dtype=np.int64)
        # Of these, those that do not follow on a void: where machines fail, many do.
        self.counted: IntArray = np.zeros(arms, dtype=np.int64)
        self.counted_voids: IntArray = np.zeros(arms, dtype=np.int64)
        self.after_void = False  # the last one was a void
        self.waited = 0  # events between asking and closing, all tickets together

    @property
    def usual_wait(self) -> float:
        """How many events pass until a ticket is closed, on average."""
        return self.waited / max(1, int(self.closed.sum()))

    def add(self, arm: int, *, void: bool, waited: int, settled: bool) -> None:
        """Count a ticket; what happens to tickets after the question is answered says nothing."""
        self.closed[arm] += 1
        self.voided[arm] += void
        counts = not self.after_void and not settled
        self.counted[arm] += counts
        self.counted_voids[arm] += void and counts
        self.after_void = void
        self.waited += waited
