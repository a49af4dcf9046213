"""LinGapE for a fixed budget: pull whichever arm best settles the closest contest, n times."""

import math
from typing import ClassVar

import numpy as np

from ..bounds import Bound, Mixture
from ..bounds.base import norm_bound_of, ridge_of
from ..bounds.exploring import FixedRadius
from ..checks import as_float
from ..contests import ByGap
from ..errors import InvalidArgument
from ..problem import Problem
from ..pulls import PullRule, greedy
from ..scaffold import EachArm, Parts, Start, checked_pull, opening_for
from ..scaffold.budget import BudgetContestExplorer, checked_exploration
from ..stopping import Surest


class LinGapEBudget(BudgetContestExplorer):
    """Spend `budget` pulls on the closest contests, and answer with the leader.

    The rules are those of Xu, Honda and Sugiyama, A fully adaptive algorithm for pure exploration
    in linear bandits (AISTATS 2018), with intervals √a‖y‖ that do not depend on δ. The step from
    confidence to budget is the one that Gabillon et al. (2012) take for UGapE. Let E be the event
    that all intervals hold at all times. On E, an arm k that is pulled for a contest with B(t) > ε
    has T_k < a·max p*_k ρ/max(ε, (ε + Δ)/3)² (the proof of Theorem 2), so that n pulls with
    B(t) > ε throughout would mean n < a·H_ε + K. With a = (n - K)/H_ε there is thus a time with
    B(t) ≤ ε, at which the leader is ε-best; and E fails with a probability that falls
    exponentially in a (`error_bound`).

    H_ε is rarely known. The default a = 2R² log n needs nothing and does well in simulations.

    problem: the arms, and what counts as an answer.
    budget: n, how many pulls.
    bound: says what is proven at the end, and brings the estimate.
    pull: picks the arm that settles a contest, `greedy` (9) or `Tracking()` (12).
    exploration: a/R², the square of how many standard deviations of a gap's estimate its interval
        is long; 2 log n unless given.
    ridge: λ of the estimate, for bounds around a ridge estimate.
    start: "each" pulls every arm once first, "spanning" only as many as there are dimensions,
        "auto" as for LinGapE.

    The answer is the leader at the end; but if B(t) ever was ε or less, the leader when it was
    least, for which there is a proof (`error_bound`).

    >>> from lingape import LinGapEBudget, Problem
    >>> problem = Problem([[1, 0], [0, 1]], noise=0.1)
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
        super().__init__(problem, budget=budget, bound=bound, ridge=ridge)
        self.pull, self.start = checked_pull(pull), start
        self.exploration = checked_exploration(exploration, self.budget)
        radius = FixedRadius(problem.noise_scale * math.sqrt(self.exploration))  # √a
        self.parts = Parts(
            opening_for(start, problem), ByGap(problem, radius), self.pull, Surest(problem)
        )
        self._check_budget()

    def _least(self) -> tuple[int, str]:
        least, why = super()._least()
        each = isinstance(self.parts.opening, EachArm)
        return least, f'{why} (start="spanning" takes fewer)' if each else why

    def _looks_best(self) -> list[int]:
        if self.moment is not None and self.moment.margin <= self.problem.epsilon:
            return [self.moment.arm]
        return super()._looks_best()

    @staticmethod
    def error_bound(problem: Problem, h: float, budget: int, ridge: float = 1.0) -> float:
        """Return how probable an answer worse than the best by more than ε is at most.

        problem: the arms, and what counts as an answer. It has to say norm_bound.
        h: H_ε (13), `complexity(problem, theta).lingape`; it needs θ.
        budget: n, how many pulls.
        ridge: λ.

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
