"""GSE: generalised successive elimination, with the optimal design for the arms left."""

from typing import ClassVar

from ..bounds import Bound, Mixture
from ..checks import checked_whole
from ..problem import Problem
from ..scaffold.budget_phases import DesignedBudgetExplorer


class GSE(DesignedBudgetExplorer):
    """Spend `budget` pulls in phases, each of which keeps one arm in `factor`.

    Azizi, Kveton and Ghavamzadeh, Fixed-budget best-arm identification in structured bandits
    (IJCAI 2022), for linear rewards. ⌈log_η K⌉ phases, of which phase r keeps ⌈K/η^r⌉ arms. Unlike
    OD-LinBAI it takes as many phases as there are arms to discard, however few dimensions they
    have.

    problem: the arms, and what counts as an answer.
    budget: n, how many pulls.
    factor: η, a whole number from 2.
    bound: says what is proven at the end; it has no part in choosing pulls.
    ridge: λ of the bound's estimate, for bounds around a ridge estimate.

    The paper's bound on the probability of error falls with n Δ_min²/(d log K) in the exponent and
    needs the gaps.

    >>> from lingape import GSE, Problem
    >>> arms = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    >>> explorer = GSE(Problem(arms, noise=0.1), budget=32, factor=2)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[0.9, 0.6, 0.3, 0.0][arm])
    >>> explorer.recommend(), explorer.counts.tolist()
    (0, [12, 12, 4, 4])
    """

    settings: ClassVar[tuple[str, ...]] = ("budget", "factor")

    def __init__(
        self,
        problem: Problem,
        *,
        budget: int,
        bound: Bound = Mixture(),
        factor: int = 2,
        ridge: float | None = None,
    ) -> None:
        self.factor = checked_whole("factor (η)", factor, least=2)
        super().__init__(problem, budget=budget, bound=bound, ridge=ridge)

    def _survivors(self) -> tuple[int, ...]:
        left = [len(self.problem)]
        while left[-1] > 1:
            left.append(-(-left[-1] // self.factor))  # ⌈K/η^r⌉
        return tuple(left[1:])
