"""Sequential halving, which knows nothing of features."""

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import Bound, Unstructured
from ..problem import Problem
from ..scaffold.budget_phases import PhasedBudgetExplorer


class SequentialHalving(PhasedBudgetExplorer):
    """Spend `budget` pulls in phases, each of which discards half of the arms.

    Karnin, Koren and Somekh, Almost optimal exploration in multi-armed bandits (ICML 2013). ⌈log₂
    K⌉ phases, each of which pulls all arms in play equally often and keeps the better half. An arm
    gets the paper's ⌊n/(m⌈log₂ K⌉)⌋ pulls in a phase with m arms in play, and what is lost to
    rounding there goes to the first arms, one pull each.

    problem: the arms, and what counts as an answer.
    budget: n, how many pulls.
    bound: says what is proven at the end; Unstructured() does not trust features either.
    ridge: λ of the bound's estimate, for bounds around a ridge estimate.

    The paper's bound on the probability of error, 3 log₂ K exp(-n/(8 log₂ K max_i i/Δ_(i)²)) for
    rewards between 0 and 1, needs the gaps.

    >>> from lingape import Problem, SequentialHalving
    >>> arms = [[1, 0], [0, 1], [1, 1], [1, -1]]
    >>> explorer = SequentialHalving(Problem(arms, noise=0.1), budget=32)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[0.5, -0.2, 0.3, 0.7][arm])
    >>> explorer.history, explorer.counts.tolist()
    ([[0, 1, 2, 3], [3, 0], [3]], [12, 4, 4, 12])
    """

    def __init__(
        self,
        problem: Problem,
        *,
        budget: int,
        bound: Bound = Unstructured(),
        ridge: float | None = None,
    ) -> None:
        super().__init__(problem, budget=budget, bound=bound, ridge=ridge)

    def _survivors(self) -> tuple[int, ...]:
        left = [len(self.problem)]
        while left[-1] > 1:
            left.append((left[-1] + 1) // 2)
        return tuple(left[1:])

    def _needs(self, in_play: int) -> int:
        return in_play

    def _plan(self, active: IntArray, pulls: int) -> IntArray:
        each, more = divmod(pulls, len(active))
        return each + (np.arange(len(active)) < more).astype(np.int64)

    def _judge(self, active: IntArray, counts: IntArray, sums: FloatArray) -> FloatArray:
        return np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
