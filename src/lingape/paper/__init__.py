"""The paper's own settings and results. Everything here uses the paper's bound."""

from collections.abc import Callable

from .figure_1 import reproduce_figure_1
from .figure_2 import reproduce_figure_2
from .figure_3 import reproduce_figure_3
from .pages import Claim, Page, PageOptions
from .reported import TABLE_1
from .settings import lingape as paper_lingape
from .settings import synthetic_problem
from .table_1 import reproduce_table_1

#: What `lingape reproduce` knows: by name, what reproduces a table or figure of the paper.
EXPERIMENTS: dict[str, Callable[[PageOptions], Page]] = {
    "table1": reproduce_table_1,
    "figure1": reproduce_figure_1,
    "figure2": reproduce_figure_2,
    "figure3": reproduce_figure_3,
}

__all__ = [
    "EXPERIMENTS",
    "TABLE_1",
    "Claim",
    "PageOptions",
    "Page",
    "paper_lingape",
    "synthetic_problem",
]
