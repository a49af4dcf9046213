"""What every explorer can do."""

from collections.abc import Iterable
from typing import Any, Protocol, Self

from ..arrays import IntArray
from ..certificate import Certificate
from ..problem import Problem


class Explorer(Protocol):
    """Is asked which arm to pull and told what it paid, until it is done.

    `ask` changes nothing; the state is a fold of `tell` over (arm, reward). Arms that were not
    asked for may be told as well.

    Those that follow a plan, such as XYStatic, refuse arms that are not due.

    >>> from lingape import Explorer, LinGapE, Problem
    >>> explorer: Explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=0.1))
    >>> explorer.tell(explorer.ask(), 1.0)
    >>> later = LinGapE.from_state(explorer.state())
    >>> later.ask(), later.done, later.counts.tolist()
    (1, False, [1, 0])
    """

    problem: Problem

    @property
    def done(self) -> bool:
        """Whether the question is answered; once true, always true."""
        ...

    @property
    def counts(self) -> IntArray:
        """How often each arm has been told."""
        ...

    def ask(self) -> int:
        """Return the arm to pull next."""
        ...

    def ask_many(self, n: int, *, pending: Iterable[int] = ()) -> list[int]:
        """Return `n` arms to pull side by side, `pending` ones being under way already."""
        ...

    def tell(self, arm: int, reward: float) -> None:
        """Learn that pulling `arm` paid `reward`."""
        ...

    def recommend(self) -> int:
        """Return the best answer so far."""
        ...

    def certificate(self) -> Certificate:
        """Return what is proven now."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on later, as JSON-able data."""
        ...

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the explorer that `state` was taken from."""
        ...
