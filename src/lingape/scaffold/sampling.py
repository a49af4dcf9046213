"""Explorers whose choice of pulls is separate from the decision to stop.

They stop by any bound that holds under adaptive pulls; what they pull follows from a pull rule of
their own. Whatever was pulled, the certificate is as good as the bound.
"""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from ..bounds import Bound, Mixture
from ..contests import ByGap
from ..errors import InvalidBound
from ..problem import Problem
from ..pulls import PullRule
from ..stopping import StoppingRule
from .conversation import (
    ContestExplorer,
    Conversation,
    Elimination,
    Parts,
    Start,
    adaptive_only,
    opening_for,
    stopping_for,
)


class SamplingExplorer(ContestExplorer):
    """Pull by a rule (`_rule`), stop by the bound.

    bound: decides when to stop; it has to hold when past rewards choose the next arm.
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).
    start, elimination: as for LinGapE.
    """

    settings: ClassVar[tuple[str, ...]] = ("start", "elimination")

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        ridge: float | None = None,
        start: Start = "each",
        elimination: Elimination = "none",
    ) -> None:
        adaptive_only(self, bound)
        super().__init__(problem, bound=bound, ridge=ridge)
        _refuse_hidden_twins(self)
        self.start, self.elimination = start, elimination
        opening, stopping = opening_for(start, problem), stopping_for(elimination, problem)
        self.parts = Parts(opening, ByGap(problem, bound), self._rule(stopping), stopping)

    @abstractmethod
    def _rule(self, stopping: StoppingRule) -> PullRule:
        """Return the rule by which to pull."""


def _refuse_hidden_twins(explorer: Conversation) -> None:
    """Raise if the bound tells arms apart that have the same features, by which pulls go."""
    problem = explorer.problem
    if (apart := np.flatnonzero(explorer.estimate.twins != problem.twins)).size:
        arm, twin = int(apart[0]), int(problem.twins[apart[0]])
        raise InvalidBound(
            f"{type(explorer).__name__} pulls by features, and {problem.name(twin)} and "
            f"{problem.name(arm)} have the same, while {explorer.bound} takes them for different "
            "arms that it would never tell apart. Pass Mixture(), or use UGapE."
        )
