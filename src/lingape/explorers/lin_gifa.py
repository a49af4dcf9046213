"""LinGIFA: let the gap indices of all pairs say which arms lead, not the estimated means."""

from typing import ClassVar

from ..bounds import Bound, Mixture
from ..contests import ByPair
from ..problem import Problem
from ..pulls import greedy
from ..scaffold import ContestExplorer, Parts, Start, adaptive_only, checked_m, opening_for
from ..stopping import Margin


class LinGIFA(ContestExplorer):
    """Find the m best arms, led by the gap indices of all pairs.

    Réda, Kaufmann and Delahaye-Duriez, Top-m identification for linear bandits (AISTATS 2021).
    B_ij = x_iᵀθ̂ - x_jᵀθ̂ + width is how much better than arm j arm i can be. The index of j is
    the m-th largest of B_ij over i: unless it is positive, j is among the m best. J, the m arms
    with the least index, is the answer so far. Its arm b and the arm c outside that can be better
    than b by most are the closest contest, for which the greedy rule pulls (the paper's
    alternative is the less certain of the two).

    For m = 1 it stops when the index of b is at most ε, as published. For m > 1 the published rule
    asks for max_{j∈J} index_j ≤ ε, which for ε > 0 shows that each arm of J is within ε of the
    m-th best, while an arm outside J may still be better by more. A certificate says that none is,
    so that here B_cb ≤ ε is asked for: the same for m = 1, never sooner for m > 1.

    The intervals of all pairs are looked at, K times as many as LinGapE looks at.

    problem: the arms, and what counts as an answer.
    bound: gives the widths; it has to hold when past rewards choose the next arm.
    ridge: λ of the estimate, for bounds around a ridge estimate.
    start: "each" pulls every arm once first; "spanning" only as many as there are dimensions;
        "auto" as for LinGapE.
    m: how many of the best arms to find; `top()` returns them. Simulations with m > 1 are plain.

    >>> from lingape import LinGIFA, Problem
    >>> explorer = LinGIFA(Problem([[1, 0], [0, 1], [1, 1]], noise=0.1), m=2)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, -0.5, 0.5][arm])
    >>> explorer.top()
    [0, 2]
    """

    settings: ClassVar[tuple[str, ...]] = ("start", "m")

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        ridge: float | None = None,
        start: Start = "each",
        m: int = 1,
    ) -> None:
        adaptive_only(self, bound)
        super().__init__(problem, bound=bound, ridge=ridge)
        self.start, self.m = start, checked_m(m, problem)
        contests = ByPair(problem, bound, self.m)
        self.parts = Parts(opening_for(start, problem), contests, greedy, Margin(problem))
