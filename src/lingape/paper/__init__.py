"""The paper's own settings and results. Everything here uses the paper's bound."""

from collections.abc import Callable

from . import figure_1, figure_2, figure_3, table_1
from .pages import Claim, Options, Page
from .reported import TABLE_1
from .settings import paper_lingape, synthetic_problem

# What `lingape reproduce` knows.
EXPERIMENTS: dict[str, Callable[[Options], Page]] = {
    "table1": table_1.reproduce,
    "figure1": figure_1.reproduce,
    "figure2": figure_2.reproduce,
    "figure3": figure_3.reproduce,
}

__all__ = [
    "EXPERIMENTS",
    "TABLE_1",
    "Claim",
    "Options",
    "Page",
    "paper_lingape",
    "synthetic_problem",
]
