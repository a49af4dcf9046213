"""Explorers whose choice of pulls is separate from the decision to stop.

They stop by any bound that holds under adaptive pulls; what they pull follows from a pull rule of
their own. Whatever was pulled, the certificate is as good as the bound.
"""

from typing import ClassVar

from ..bounds import Bound
from ..contests import ByGap
from ..openings import Start, opening_for
from ..problem import Problem
from ..pulls import PullRule
from ..stopping import Elimination, stopping_for
from .by_contests import ContestExplorer, Parts, refuse_hidden_twins
from .conversation import adaptive_only


class SamplingExplorer(ContestExplorer):
    """Pull by a rule, stop by the bound. A subclass gives the rule to `sample_by`."""

    settings: ClassVar[tuple[str, ...]] = ("start", "elimination")

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound,
        ridge: float | None,
        start: Start,
        elimination: Elimination,
    ) -> None:
        adaptive_only(self, bound)
        super().__init__(problem, bound=bound, ridge=ridge)
        refuse_hidden_twins(self)
        self.start, self.elimination = start, elimination
        self.stopping = stopping_for(elimination, problem)

    def sample_by(self, pull: PullRule) -> None:
        """Set the rule; for the end of a constructor."""
        opening = opening_for(self.start, self.problem)
        self.parts = Parts(opening, ByGap(self.problem, self.bound), pull, self.stopping)
