"""What every pull rule has, and the base of those that keep data of their own.

A kernel that needs a result computed in Python returns NEEDS_HELP; the lane then calls
`help(kernel, features, means, leader, rival)` of the rule, which returns the kernel to continue
with.
"""

from typing import Any, Protocol

from ..least_squares import LeastSquares


class PullRule(Protocol):
    """Decides which arm to pull for a contest between two.

    >>> from lingape import LinGapE, Problem
    >>> def less_pulled(estimate, leader, rival):
    ...     return leader if estimate.counts[leader] < estimate.counts[rival] else rival
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=1.0), pull=less_pulled)
    >>> explorer.tell_many([0, 1, 0], [1.0, 0.0, 1.0])
    >>> explorer.ask()
    1
    """

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        """Return the arm to pull so as to learn the gap between `leader` and `rival`."""
        ...


class Learner:
    """A pull rule that keeps data of its own, which move with every reward.

    memory: a NamedTuple of arrays that both lanes move; `learned` is the number of pulls so far.
    """

    memory: Any

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        """Return the arm to pull next."""
        raise NotImplementedError

    def learn(self, estimate: LeastSquares, leader: int) -> None:
        """Move the memory after a reward."""
        raise NotImplementedError
