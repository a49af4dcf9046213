"""The first pulls, before arms can be compared, and checks of settings that several take."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ..errors import InvalidArgument
from ..least_squares import LeastSquares
from ..problem import Problem
from .skeleton import Elimination

# Pull each arm once, or only as many as there are dimensions.
Start: TypeAlias = Literal["each", "spanning"]


def first_pull(problem: Problem, estimate: LeastSquares, start: Start) -> int:
    """Return the arm to pull while arms cannot be compared yet."""
    if start == "spanning":
        for arm in problem.spanning:
            if estimate.counts[arm] == 0:
                return arm
    return int(np.where(problem.can_pull, estimate.counts, estimate.pulls + 1).argmin())


@dataclass(frozen=True)
class Spanning:
    """The opening that pulls as many arms as there are dimensions (kernels.lane.Opening)."""

    problem: Problem

    def pick(self, estimate: LeastSquares) -> int:
        return first_pull(self.problem, estimate, "spanning")

    def started(self, estimate: LeastSquares) -> bool:
        return estimate.ready


def checked_start(start: Any) -> Start:
    """Return it, or raise."""
    if start not in get_args(Start):
        raise InvalidArgument(f'start must be "each" or "spanning"; got {start!r}.')
    return start  # type: ignore[no-any-return]


def checked_elimination(elimination: Any) -> Elimination:
    """Return it, or raise."""
    if elimination not in get_args(Elimination):
        raise InvalidArgument(
            f'elimination must be "none", "stop" or "sample"; got {elimination!r}.'
        )
    return elimination  # type: ignore[no-any-return]


def checked_m(m: Any, problem: Problem) -> int:
    """Return the number of arms to find, or raise."""
    most = int(problem.can_answer.sum()) - 1
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or not 1 <= m <= most:
        raise InvalidArgument(
            f"m must be a whole number from 1 to {most}, one less than there are answers; got "
            f"{m!r}."
        )
    return int(m)
