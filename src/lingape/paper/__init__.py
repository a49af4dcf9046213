"""The paper's own settings and results. Everything here uses the paper's bound."""

from .reported import TABLE_1
from .settings import paper_lingape, synthetic_problem

__all__ = ["TABLE_1", "paper_lingape", "synthetic_problem"]
