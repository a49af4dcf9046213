"""LinGapE for a fixed budget: pull whichever arm best settles the closest contest, n times.

The rules are those of Xu, Honda and Sugiyama (AISTATS 2018), with intervals √a‖y‖ that do not
depend on δ. The step from confidence to budget is the one that Gabillon et al. (2012) take for
UGapE. Let E be the event that all intervals hold at all times. On E, an arm k that is pulled for
a contest with B(t) > ε has T_k < a·max p*_k ρ/max(ε, (ε + Δ)/3)² (the proof of Theorem 2), so that
n pulls with B(t) > ε throughout would mean n < a·H_ε + K. With a = (n - K)/H_ε there is thus a
time with B(t) ≤ ε, at which the leader is ε-best; and E fails with a probability that falls
exponentially in a (`error_bound`).

H_ε is rarely known. The default a = 2R² log n needs nothing and does well in simulations.
"""

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound, Mixture
from ..bounds.base import norm_bound_of, ridge_of
from ..errors import InvalidArgument
from ..least_squares import LeastSquares
from ..problem import Problem, as_float
from ..pulls import PULLS, PullRule, greedy
from ..registry import describe, revive
from .budget_contests import ContestBudgetExplorer, checked_exploration
from .skeleton import Contest
from .starting import Start, checked_start, first_pull

if TYPE_CHECKING:
    from ..kernels.budget import ContestLane


class LinGapEBudget(ContestBudgetExplorer):
    """Spend `budget` pulls on the closest contests, and answer with the leader.

    budget: n, how many pulls.
    bound: says what is proven at the end, and brings the estimate.
    pull: picks the arm that settles a contest, `greedy` (9) or `Tracking()` (12).
    exploration: a/R², the square of how many standard deviations of a gap's estimate its interval
        is long; 2 log n unless given.
    ridge: λ of the estimate, for bounds around a ridge estimate.
    start: "each" pulls every arm once first, "spanning" only as many as there are dimensions.

    The answer is the leader at the end; but if B(t) ever was ε or less, the leader when it was
    least, for which there is a proof (`error_bound`).

    >>> problem = Problem([[1, 0], [0, 1]], noise_scale=0.1)
    >>> explorer = LinGapEBudget(problem, budget=10)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend()
    0
    """

    settings: ClassVar[tuple[str, ...]] = ("budget", "pull", "exploration", "start")

    def __init__(
        self,
        problem: Problem,
        *,
        budget: int,
        bound: Bound = Mixture(),
        pull: PullRule = greedy,
        exploration: float | None = None,
        ridge: float | None = None,
        start: Start = "each",
    ) -> None:
        if isinstance(pull, type) or not callable(pull):
            raise InvalidArgument(
                f"pull must be a pull rule, greedy or Tracking(); got {pull!r}. "
                "Mind the parentheses."
            )
        super().__init__(problem, budget=budget, bound=bound, ridge=ridge)
        self.pull, self.start = pull, checked_start(start)
        self.exploration = checked_exploration(exploration, self.budget)
        self._check_budget()

    def _least(self) -> tuple[int, str]:
        least, why = super()._least()
        return least, f'{why} (start="spanning" takes fewer)' if self.start == "each" else why

    def _radius(self, estimate: LeastSquares) -> float:
        return self.problem.noise_scale * math.sqrt(self.exploration)

    def _margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        """Return by how much each rival may be better than the leader, and the widths in it."""
        widths = np.sqrt(estimate.contrasts(leader).variance) * self._radius(estimate)  # √a‖y‖
        margins = estimate.means + widths
        margins -= estimate.means[leader]
        margins[estimate.twins == estimate.twins[leader]] = -np.inf
        return margins, widths

    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        if contest is None:
            return first_pull(self.problem, estimate, self.start)
        twins = estimate.twins
        if twins[contest.leader] == twins[contest.rival]:  # all arms are the same arm
            return contest.leader
        return self.pull(estimate, contest.leader, contest.rival)

    def _favourite(self) -> int:
        if self.moment is not None and self.moment.margin <= self.problem.epsilon:
            return self.moment.arm
        return super()._favourite()

    def _finish_if_spent(self) -> None:
        begun = self._contest is not None
        if not self.left and begun and not self.estimate.fresh:  # an answer deserves a fresh solve
            self.estimate.rebuild()
            self._contest = self._closest_contest(self.estimate)
        super()._finish_if_spent()

    @staticmethod
    def error_bound(problem: Problem, h: float, budget: int, ridge: float = 1.0) -> float:
        """Return how probable an answer worse than the best by more than ε is at most.

        h: H_ε (13), `complexity(problem, theta).lingape`; it needs θ.

        P ≤ (1 + nL²/(λd))^(d/2) exp(-(√a - √λ S)²/(2R²)),   a = (n - K)/H_ε,

        by the ellipsoid of Abbasi-Yadkori et al. (2011), for bound=SelfNormalized(),
        pull=Tracking(), start="each", ridge=λ and exploration=a/R².
        """
        lam, s = ridge_of(ridge, 1.0, "error_bound"), norm_bound_of(problem, "error_bound")
        if not as_float(h) > 0:
            raise InvalidArgument(f"h (H_ε) must be a number above 0; got {h!r}.")
        excess = math.sqrt(max(0.0, budget - len(problem)) / h) - math.sqrt(lam) * s
        if excess <= 0:
            return 1.0
        x = problem.coordinates
        longest, d = float(np.einsum("kd,kd->k", x, x).max()), problem.rank  # L²
        log_volume = 0.5 * d * math.log1p(budget * longest / (lam * d))
        return math.exp(min(0.0, log_volume - excess**2 / (2 * problem.noise_scale**2)))

    def _describe(self, name: str) -> Any:
        return describe(self.pull, PULLS) if name == "pull" else getattr(self, name)

    @classmethod
    def _revive(cls, name: str, data: Any) -> Any:
        return revive(data, PULLS, argument="pull") if name == "pull" else data

    def compiled(self) -> "ContestLane | None":
        """Return a compiled lane that goes on from here, if there is one for these parts."""
        return self._compiled(self.pull, radius=self._radius(self.estimate))
