"""The laws that every explorer and every bound obeys, for ours and for yours.

In your tests::

    from lingape.testing import EXPLORER_LAWS

    @pytest.mark.parametrize("law", EXPLORER_LAWS.values(), ids=EXPLORER_LAWS)
    def test_my_explorer(law):
        law(lambda problem, means: MyExplorer(problem))

A law takes a function that builds a new explorer (or bound) and raises AssertionError with a
sentence if the law is broken. The true means are there for yardsticks that are allowed to know
them; leave them alone.
"""

from .bounds import BOUND_LAWS, BuildBound
from .budget import BUDGET_LAWS, BuildBudgetExplorer
from .explorers import EXPLORER_LAWS, BuildExplorer, Tape, pulls_of
from .judging import errors_allowed

__all__ = [
    "BOUND_LAWS",
    "BUDGET_LAWS",
    "EXPLORER_LAWS",
    "BuildBound",
    "BuildBudgetExplorer",
    "BuildExplorer",
    "Tape",
    "errors_allowed",
    "pulls_of",
]
