"""LinGIFA: let the gap indices of all pairs say which arms lead, not the estimated means.

Réda, Kaufmann and Delahaye-Duriez (AISTATS 2021). B_ij = x_iᵀθ̂ - x_jᵀθ̂ + width is how much better
than arm j arm i can be. The index of j is the m-th largest of B_ij over i: unless it is positive,
j is among the m best. J, the m arms with the least index, is the answer so far. Its arm b
and the arm c outside that can be better than b by most are the closest contest, for which the
greedy rule pulls (the paper's alternative is the less certain of the two).

For m = 1 it stops when the index of b is at most ε, as published. For m > 1 the published rule
asks for max_{j∈J} index_j ≤ ε, which for ε > 0 shows that each arm of J is within ε of the m-th
best, while an arm outside J may still be better by more. A certificate says that none is, so
that here B_cb ≤ ε is asked for: the same for m = 1, never sooner for m > 1.

The intervals of all pairs are looked at, K times as many as LinGapE looks at.
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound, Mixture
from ..errors import InvalidBound
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import greedy
from ..ties import RIVAL, first_max
from .lanes import load_lane
from .sampler import MOST
from .skeleton import Contest, GapExplorer
from .starting import Spanning, Start, checked_m, checked_start, first_pull

if TYPE_CHECKING:
    from ..kernels.lane import Lane


class LinGIFA(GapExplorer):
    """Find the m best arms, led by the gap indices of all pairs.

    bound: gives the widths; it has to hold when past rewards choose the next arm.
    ridge: λ of the estimate, for bounds around a ridge estimate.
    start: "each" pulls every arm once first; "spanning" only as many as there are dimensions.
    m: how many of the best arms to find; `top()` returns them. Simulations with m > 1 are plain.
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
        if not getattr(bound, "adaptive", True):
            raise InvalidBound(
                f"LinGIFA lets past rewards choose the next arm, but "
                f"{type(bound).__name__}() holds only for pulls "
                "fixed in advance. Pass Mixture() or SelfNormalized()."
            )
        super().__init__(problem, bound=bound, ridge=ridge)
        self.start, self.m = checked_start(start), checked_m(m, problem)

    def _begun(self, estimate: LeastSquares) -> bool:
        return estimate.ready if self.start == "spanning" else super()._begun(estimate)

    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        if contest is None:
            return first_pull(self.problem, estimate, self.start)
        return greedy(estimate, contest.leader, contest.rival)

    def _pairs(self, estimate: LeastSquares) -> tuple[FloatArray, FloatArray]:
        """Return B_ij in row j and column i, -∞ for duplicates, and the widths in it."""
        rows = [self._margins(estimate, leader) for leader in range(len(self.problem))]
        return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    def _ranking(self, margins: FloatArray, widths: FloatArray) -> list[int]:
        """Return J, the m arms whose m-th largest B_ij over i is least, least first."""
        indices = np.partition(margins, -self.m, axis=1)[:, -self.m]
        chosen: list[int] = []
        while len(chosen) < self.m:
            least = int(indices.argmin())
            slack = RIVAL * float(widths[least, margins[least].argmax()])
            chosen.append(first_max(-indices, slack))
            indices[chosen[-1]] = np.inf
        return chosen

    def _leaders(self, estimate: LeastSquares) -> list[int]:
        """Return J, best first."""
        means = estimate.means
        return sorted(self._ranking(*self._pairs(estimate)), key=lambda k: -means[k])

    def _closest_contest(self, estimate: LeastSquares) -> Contest:
        margins, widths = self._pairs(estimate)
        chosen = self._ranking(margins, widths)
        margins[:, chosen] = -np.inf
        worst = margins[chosen].max(axis=1)
        b = chosen[first_max(worst, RIVAL * float(widths.max()))]
        closest = int(margins[b].argmax())
        margin = float(worst.max())  # B_cb, or by a hair more
        if margin == -np.inf:  # all others are the same arm as b
            return Contest(b, next(k for k in range(len(margins)) if k not in chosen), 0.0)
        return Contest(b, first_max(margins[b], RIVAL * float(widths[b, closest])), margin)

    def compiled(self) -> "Lane | None":
        """Return a compiled lane that goes on from here, if there is one for these parts."""
        lane = load_lane()
        plain = self.m == 1 and not getattr(self.bound, "refined", False)
        many = len(self.problem) > MOST
        if self.done or not plain or many or not lane.serves(self.bound, "by pair"):
            return None
        return lane(
            self.problem,
            self.bound,
            "by pair",
            self.estimate,
            opening=Spanning(self.problem) if self.start == "spanning" else None,
        )
