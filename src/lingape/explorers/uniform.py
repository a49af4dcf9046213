"""Uniform: pull all arms in turn. The least that any explorer should beat."""

import numpy as np

from ..bounds import Bound, Mixture
from ..plans import Proportions
from ..problem import Problem
from ..scaffold.planned import PlannedExplorer


class Uniform(PlannedExplorer):
    """Pull all arms equally often until one is proven best.

    problem: the arms, and what counts as an answer.
    bound, ridge: as for XYStatic.

    >>> from lingape import Problem, Uniform
    >>> explorer = Uniform(Problem([[1, 0], [0, 1]], noise=0.5))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend(), explorer.counts.tolist()
    (0, [9, 9])
    """

    def __init__(
        self, problem: Problem, *, bound: Bound = Mixture(), ridge: float | None = None
    ) -> None:
        super().__init__(problem, bound=bound, ridge=ridge)
        self.follow(Proportions(np.full(len(problem), 1.0 / len(problem))))
