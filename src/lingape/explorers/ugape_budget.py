"""UGapEb: UGapE for a fixed budget, here with linear estimates.

Gabillon, Ghavamzadeh and Lazaric, Best arm identification: a unified approach to fixed budget and
fixed confidence (NIPS 2012). Intervals are √a‖x_k‖ long, in the norm of A⁻¹; for a plain bandit,
or with bound=Unstructured(), that is √(a/T_k) as in the paper.
"""

import math
from typing import TYPE_CHECKING, ClassVar

from ..bounds import Bound, Mixture
from ..least_squares import LeastSquares
from ..problem import Problem
from .budget_contests import ByArmBudgetExplorer, checked_exploration

if TYPE_CHECKING:
    from ..kernels.budget import ContestLane


class UGapEBudget(ByArmBudgetExplorer):
    """Spend `budget` pulls on the arms whose intervals overlap most.

    budget: n, how many pulls.
    bound: says what is proven at the end, and brings the estimate.
    exploration: a/R², the square of how many standard deviations of an arm's estimate its interval
        is long. The paper's is (n - K)/(4HR²) with H = Σ_k max((Δ_k + ε)/2, ε)⁻², with which a
        plain bandit errs with probability at most 2Kn exp(-a/(2R²)) (its b is 2R); 2 log n, which
        needs no gaps, unless given.
    ridge: λ of the estimate, for bounds around a ridge estimate.
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
        self._check_budget()

    def _radius(self, estimate: LeastSquares) -> float:
        return self.problem.noise_scale * math.sqrt(self.exploration)

    def compiled(self) -> "ContestLane | None":
        """Return a compiled lane that goes on from here."""
        return self._compiled("by arm", radius=self._radius(self.estimate))
