"""What every stopping rule has."""

from typing import Any, Protocol

from ..contests.base import Contest, Contests, Unasked
from ..least_squares import LeastSquares


class StoppingRule(Protocol):
    """Decides when the question is answered. Only `judge` and `restore` change what it keeps."""

    @property
    def unasked(self) -> Unasked:
        """For some leaders, the rivals that no longer need to be compared with them."""
        ...

    def judge(
        self, contests: Contests, estimate: LeastSquares, contest: Contest
    ) -> tuple[Contest, bool]:
        """Return the closest contest, and whether it settles the question."""
        ...

    def kept(self) -> Any:
        """Return what it keeps, as JSON-able data."""
        ...

    def restore(self, kept: Any) -> None:
        """Take over what `kept` returned; ValueError, TypeError or KeyError if it is damaged."""
        ...
