"""Explorers whose choice of pulls is separate from the decision to stop.

They stop by any bound that holds under adaptive pulls; what they pull follows from a pull rule of
their own. Whatever was pulled, the certificate is as good as the bound.
"""

from abc import abstractmethod
from typing import ClassVar

from ..bounds import Bound, Mixture
from ..contests import ByGap
from ..openings import Start, opening_for
from ..problem import Problem
from ..pulls import PullRule
from ..stopping import Elimination, StoppingRule, stopping_for
from .by_contests import ContestExplorer, Parts, refuse_hidden_twins
from .conversation import adaptive_only


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
        refuse_hidden_twins(self)
        self.start, self.elimination = start, elimination
        opening, stopping = opening_for(start, problem), stopping_for(elimination, problem)
        self.parts = Parts(opening, ByGap(problem, bound), self._rule(stopping), stopping)

    @abstractmethod
    def _rule(self, stopping: StoppingRule) -> PullRule:
        """Return the rule by which to pull."""
