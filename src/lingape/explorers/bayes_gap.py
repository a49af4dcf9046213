"""BayesGap: UGapEb with the posterior of a Gaussian prior."""

from typing import ClassVar

import numpy as np

from ..bounds import Bound, Mixture
from ..bounds.exploring import BayesRadius
from ..checks import LARGEST, as_float
from ..contests import ByArm
from ..errors import InvalidArgument
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import Wider
from ..scaffold import NoOpening, Parts
from ..scaffold.budget import SurestArmExplorer
from ..stopping import Surest


class BayesGap(SurestArmExplorer):
    """Spend `budget` pulls on the arms whose posterior intervals overlap most.

    Hoffman, Shahriari and de Freitas, On correlation and budget constraints in model-based bandit
    optimization with application to automatic machine learning (AISTATS 2014). With the prior
    θ ~ N(0, η²I) and noise N(0, R²) an arm's mean has a posterior mean and deviation s_k, those of
    the ridge estimate with λ = R²/η², and an interval of ±β s_k with

        β² = ((n - K)/R² + κ/η²) / (4H_ε),   κ = Σ_k ‖x_k‖⁻²,   H_ε = Σ_k max((Δ_k + ε)/2, ε)⁻².

    The unknown gaps Δ_k are taken as large as three deviations allow, again after every pull. It
    never pulls an arm that is neither leader nor rival, even where that would tell these two
    apart: the introduction of Xu et al. (2018) has an example, here `outsider()`.

    problem: the arms, and what counts as an answer.
    budget: n, how many pulls.
    bound: says what is proven at the end; it has no part in choosing pulls.
    prior_scale: η, the prior deviation of each weight in θ; the problem's norm_bound (S) unless
        given. In simulations S/√d, which expects θ to be as long as S, errs more often.
    ridge: λ of the bound's estimate, for bounds around a ridge estimate.

    If θ is drawn from the prior and H_ε known, the paper bounds the probability of an answer that
    is worse by more than ε by Kn exp(-β²/2).

    Two liberties. A gap is an absolute value, so that what three deviations allow is looked for on
    either side. And where n is less than K, which the paper does not consider, n - K counts as 0.

    >>> from lingape import BayesGap, Problem
    >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=0.5)
    >>> explorer = BayesGap(problem, budget=30, prior_scale=1.0)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, -1.0, 0.0][arm])
    >>> print(explorer.certificate().claim)
    The budget of 30 pulls is spent. No arm is better than arm 0, with probability at least 95 %.
    """

    settings: ClassVar[tuple[str, ...]] = ("budget", "prior_scale")

    def __init__(
        self,
        problem: Problem,
        *,
        budget: int,
        bound: Bound = Mixture(),
        prior_scale: float | None = None,
        ridge: float | None = None,
    ) -> None:
        super().__init__(problem, budget=budget, bound=bound, ridge=ridge)
        if prior_scale is None:
            if problem.norm_bound is None:
                raise InvalidArgument(
                    "BayesGap needs a prior: pass prior_scale (η), or norm_bound (S) to Problem. "
                    "LinGapEBudget needs neither."
                )
            prior_scale = problem.norm_bound
        self.prior_scale = as_float(prior_scale)
        if not 0 < self.prior_scale <= LARGEST:
            raise InvalidArgument(
                f"prior_scale (η) must be a number above 0; got {prior_scale!r}."
            )
        self._check_budget()
        x, r = problem.coordinates, problem.noise_scale
        ridge = (r / self.prior_scale) ** 2
        self.estimate = LeastSquares(x, ridge=ridge, twins=problem.twins)
        self.estimate.rebuild()  # the prior alone
        squares = np.einsum("kd,kd->k", x, x)
        kappa = float((1.0 / squares[squares > 0]).sum())  # an arm of length 0 needs no pull
        extra = max(0, self.budget - len(problem))
        strength = 0.25 * (extra + kappa * self.estimate.ridge)  # R²β² H_ε
        contests = ByArm(problem, BayesRadius(strength))
        self.parts = Parts(NoOpening(), contests, Wider(), Surest(problem))
        self._contest = contests.closest(self.estimate, {})

    def _least(self) -> tuple[int, str]:
        return 1, "to learn anything"
