"""What every pull rule has, and what some have beside.

`kernel(stage)` returns the compiled form of a rule, for those that have one, for up to
`most_arms` arms. A kernel that needs something solved for in Python now and then asks
`help(kernel, features, means, leader, rival)` of its rule, which returns the kernel to go on with.
"""

from typing import Any, Protocol

from ..least_squares import LeastSquares

MOST_ROWS = 500  # arms, of which some kernels keep a matrix: their part's `most_arms`


class PullRule(Protocol):
    """Decides which arm to pull for a contest between two."""

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
