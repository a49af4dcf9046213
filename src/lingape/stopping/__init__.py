"""Is the question answered? One rule per file."""

from typing import Any, Literal, TypeAlias, get_args

from ..errors import InvalidArgument
from ..problem import Problem
from .base import StoppingRule
from .elimination import Eliminating
from .margin import Margin
from .surest import Moment, Surest

# How rivals that are beaten once count (Tirinzoni and Degenne 2022): not at all, for stopping, or
# for stopping and for what to pull.
Elimination: TypeAlias = Literal["none", "stop", "sample"]


def stopping_for(elimination: Any, problem: Problem) -> Margin | Eliminating:
    """Return the stopping rule that a setting `elimination` names, or raise."""
    if elimination not in get_args(Elimination):
        raise InvalidArgument(
            f'elimination must be "none", "stop" or "sample"; got {elimination!r}.'
        )
    if elimination == "none":
        return Margin(problem)
    return Eliminating(problem, sample=elimination == "sample")


__all__ = [
    "Eliminating",
    "Elimination",
    "Margin",
    "Moment",
    "StoppingRule",
    "Surest",
    "stopping_for",
]
