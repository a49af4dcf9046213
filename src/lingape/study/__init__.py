"""Many runs: explorers × instances × seeds, in parallel, as rows."""

from .clock import Pace
from .duels import Duel, mean_ratio, tail_ratio
from .files import read_instance, read_study
from .results import Cell, Results, Row
from .study import Builder, Study

__all__ = [
    "Builder",
    "Cell",
    "Duel",
    "Pace",
    "Results",
    "Row",
    "Study",
    "mean_ratio",
    "read_instance",
    "read_study",
    "tail_ratio",
]
