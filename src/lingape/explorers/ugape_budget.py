"""UGapEb: UGapE for a fixed budget, here with linear estimates."""

import math
from typing import ClassVar

from ..bounds import Bound, Mixture
from ..bounds.exploring import FixedRadius
from ..contests import ByArm
from ..problem import Problem
from ..pulls import Wider
from ..scaffold import EachArm, Parts
from ..scaffold.budget import SurestArmExplorer, checked_exploration
from ..stopping import Surest


class UGapEBudget(SurestArmExplorer):
    """Spend `budget` pulls on the arms whose intervals overlap most.

    Gabillon, Ghavamzadeh and Lazaric, Best arm identification: a unified approach to fixed budget
    and fixed confidence (NIPS 2012). Intervals are √a‖x_k‖ long, in the norm of A⁻¹; for a plain
    bandit, or with bound=Unstructured(), that is √(a/T_k) as in the paper.

    problem: the arms, and what counts as an answer.
    budget: n, how many pulls.
    bound: says what is proven at the end, and brings the estimate.
    exploration: a/R², the square of how many standard deviations of an arm's estimate its interval
        is long. The paper's is (n - K)/(4HR²) with H = Σ_k max((Δ_k + ε)/2, ε)⁻², with which a
        plain bandit errs with probability at most 2Kn exp(-a/(2R²)) (its b is 2R); 2 log n, which
        needs no gaps, unless given.
    ridge: λ of the estimate, for bounds around a ridge estimate.

    >>> from lingape import Problem, UGapEBudget
    >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=0.5)
    >>> explorer = UGapEBudget(problem, budget=30)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, -1.0, 0.0][arm])
    >>> explorer.recommend(), explorer.left
    (0, 0)
    """

    settings: ClassVar[tuple[str, ...]] = ("budget", "exploration")

    def __init__(
        self,
        problem: Problem,
        *,
        budget: int,
        bound: Bound = Mixture(),
        exploration: float | None = None,
        ridge: float | None = None,
    ) -> None:
        super().__init__(problem, budget=budget, bound=bound, ridge=ridge)
        self.exploration = checked_exploration(exploration, self.budget)
        radius = FixedRadius(problem.noise_scale * math.sqrt(self.exploration))  # √a
        contests = ByArm(problem, radius)
        self.parts = Parts(EachArm(problem), contests, Wider(), Surest(problem))
        self._check_budget()
