"""What to pull before arms can be compared."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np

from .errors import InvalidArgument
from .least_squares import LeastSquares
from .problem import Problem

# Pull each arm once, or only as many as there are dimensions.
Start: TypeAlias = Literal["each", "spanning"]


class Opening(Protocol):
    def pick(self, estimate: LeastSquares) -> int:
        """Return the arm to pull while the opening is not over."""
        ...

    def over(self, estimate: LeastSquares) -> bool:
        """Whether arms can be compared."""
        ...


@dataclass(frozen=True)
class EachArm:
    """Pull every arm once, as Algorithm 1 of the paper does."""

    problem: Problem

    def pick(self, estimate: LeastSquares) -> int:
        can_pull = self.problem.can_pull
        return int(np.where(can_pull, estimate.counts, estimate.pulls + 1).argmin())

    def over(self, estimate: LeastSquares) -> bool:
        counts = estimate.counts
        if self.problem.pullable is not None:
            counts = counts[self.problem.can_pull]
        return bool(counts.all())


@dataclass(frozen=True)
class Spanning:
    """Pull as many arms as there are dimensions, chosen to span them well: for many arms."""

    problem: Problem

    def pick(self, estimate: LeastSquares) -> int:
        for arm in self.problem.spanning:
            if estimate.counts[arm] == 0:
                return arm
        return EachArm(self.problem).pick(estimate)

    def over(self, estimate: LeastSquares) -> bool:
        return estimate.ready


@dataclass(frozen=True)
class NoOpening:
    """Compare arms from the first pull on, for estimates with a prior."""

    def pick(self, estimate: LeastSquares) -> int:
        raise AssertionError("arms can be compared from the start")

    def over(self, estimate: LeastSquares) -> bool:
        return True


def opening_for(start: Any, problem: Problem) -> Opening:
    """Return the opening that a setting `start` names, or raise."""
    if start not in get_args(Start):
        raise InvalidArgument(f'start must be "each" or "spanning"; got {start!r}.')
    return Spanning(problem) if start == "spanning" else EachArm(problem)
