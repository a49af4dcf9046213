"""RAGE: halve the accuracy asked for from phase to phase, each designed for the items in play."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import Bound
from ..bounds.base import no_ridge
from ..certificate import TELLING_ASSUMPTION
from ..designs import MinMax, differences, even_xy, g_optimal, rounded, trimmed
from ..errors import InvalidProblem
from ..least_squares import LeastSquares
from ..printable import stated
from ..problem import Problem
from ..scaffold.phases import QuotaExplorer, only_its_own

FAINT = 0.01  # what an estimate in all directions may cost those of interest, as a share
LOOSE = 0.05  # the tolerance of the design that this is measured by
NONE = 1e-9  # a singular value this small, beside the largest, is 0
ROUNDING = 0.1  # by how much rounding to whole pulls may lengthen a squared difference, as a share


@dataclass(frozen=True)
class PhaseEnd:
    """Widths `R‖y‖√(2 log((|Z|-1)/δ))` for gaps to the best item, at one time fixed in advance.

    For pulls fixed in advance the estimated gap is sub-Gaussian with scale R‖y‖.

    >>> from lingape import RAGE, Problem
    >>> RAGE(Problem([[1, 0], [0, 1]], noise=1.0)).bound
    PhaseEnd()
    """

    adaptive: ClassVar[bool] = False

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        no_ridge(ridge, "RAGE")
        # Plain least squares is the same in any basis.
        return LeastSquares(problem.orthonormal, twins=problem.twins)

    def nats(self, problem: Problem) -> float:
        """Return the logarithm in the width."""
        items = int(problem.can_answer.sum())
        return math.log((items - 1) / problem.delta)

    def widths(self, problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
        squares = estimate.contrasts(leader).variance
        return problem.noise_scale * np.sqrt(2.0 * self.nats(problem) * squares)

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (
            problem.noise.assumption(),
            stated(
                "The pulls of each phase were planned before its first reward came in.",
                "how often each arm is pulled in a phase was fixed before that phase's first "
                "reward was seen.",
            ),
            TELLING_ASSUMPTION,
        )

    def caveat(self, problem: Problem, ridge: float) -> str:
        return ""


class RAGE(QuotaExplorer):
    """Find an ε-best item with probability 1 - δ, in phases of doubling accuracy.

    Fiez, Jain, Jamieson and Ratliff, Sequential experimental design for transductive linear
    bandits (NeurIPS 2019). Phase t tells apart the items that may still be best, by pulls of any
    arms that can be pulled: those that the min-max design over the differences of these items asks
    for, as many as make every difference known to within 2⁻ᵗ. An item that another one beats by
    more than the width of the interval on their gap is out. Items and arms need not be the same
    (Problem.transductive).

    problem: the arms, and which of them can be pulled and be the answer.
    bound: None; it has its own.
    ridge: None; its estimate has none.

    Where this departs from the publication:

    - Accuracies are in units of R, the noise scale; the paper has R = 1. So no change of units
      changes a pull.
    - Phase t gets δ/(t(t+1)), which sums to δ; the published δ/t² sums to 1.64 δ.
    - δ is shared among `|Z| - 1` comparisons, one side of the gap between the best item and each
      other one: if these hold, the best item is never out, and nothing else is claimed
      (docs/bounds.md). The paper pays for `|Z|²` comparisons, the authors' code for `2|Z|²`.
    - Differences that do not span the space are joined by others too faint to matter, so that
      there is always an estimate; the authors take a pseudo-inverse.
    - With ε > 0 it also stops when no item left can be more than ε better than the best-looking
      one.

    >>> from lingape import RAGE, Problem
    >>> problem = Problem.transductive([[1, 0], [0, 1]], items=[[1, 1], [1, -1]], noise=0.1)
    >>> explorer = RAGE(problem)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.5][arm])
    >>> explorer.certificate().name, explorer.lengths
    ('item 0', [131])
    """

    transductive: ClassVar[bool] = True

    def __init__(
        self, problem: Problem, *, bound: Bound | None = None, ridge: float | None = None
    ) -> None:
        only_its_own(bound, "RAGE")
        if problem.reach < problem.rank:
            raise InvalidProblem(
                "RAGE designs pulls that tell of all features, and the arms that can be pulled do "
                "not: an arm was retired that alone did. Begin without it: problem.anew()."
            )
        self._designed: tuple[IntArray, MinMax] | None = None  # for which items, and their design
        super().__init__(problem, bound=PhaseEnd(), ridge=ridge)

    def end_phase(self) -> None:
        """Discard the items that another one beats, and stop or start the next phase."""
        self.estimate.rebuild()  # before the final decision
        super().end_phase()

    def _phase_problem(self) -> Problem:
        t = self.phase
        return self.problem.replace(delta=self.problem.delta / (t * (t + 1)))  # δ_t

    def _quotas(self, active: IntArray) -> IntArray:
        """Return the design of the phase in whole pulls."""
        x, can_pull = self.problem.orthonormal, np.flatnonzero(self.problem.can_pull)
        quotas: IntArray = np.zeros(len(x), dtype=np.int64)
        if len(np.unique(self.problem.twins[active])) == 1:  # all items are the same item
            quotas[list(self.problem.spanning)] = 1
            return quotas
        if self._designed is None or not np.array_equal(self._designed[0], active):
            directions = spanning(x[can_pull], differences(x[active]))
            self._designed = active, even_xy(x[can_pull], directions)
        design = self._designed[1]
        shares = trimmed(design.proportions)
        quotas[can_pull] = rounded(shares, self._length(design.value, int((shares > 0).sum())))
        return quotas

    def _length(self, value: float, support: int) -> int:
        """Return n_t: so many pulls that no width is above 2⁻ᵗR, rounding included.

        value: ρ_t, the longest squared difference after one pull spread by the design.
        support: the number s of arms in it. Rounding leaves 1 - s/n of the information.
        """
        rho = float(f"{value:.5e}")  # digits that every machine agrees on
        nats = PhaseEnd().nats(self._phase_problem())
        pulls = 2.0 * 4.0**self.phase * (1.0 + ROUNDING) * rho * nats
        return max(math.ceil(pulls), math.ceil((1.0 + 1.0 / ROUNDING) * support))


def spanning(arms: FloatArray, directions: FloatArray) -> FloatArray:
    """Return the directions, with fainter ones added if they do not span the space.

    An optimal design for few directions may leave others out, and then there is no estimate. The
    ones added lengthen the longest direction by a share FAINT at most: with A the matrix of the
    G-optimal design, a direction has ‖y‖² ≤ dρ in the norm of A⁻¹, where ρ is the best that any
    design achieves (Σ|w|‖x‖ with ‖x‖² ≤ d), and a share FAINT of pulls spent on A is enough to
    make a direction no longer than ρ that has ‖y‖² ≤ FAINT·ρ there.
    """
    p = g_optimal(arms, tolerance=LOOSE).proportions
    root = np.linalg.cholesky((arms.T * p) @ arms)
    x, y = np.linalg.solve(root, arms.T).T, np.linalg.solve(root, directions.T).T  # A = I here
    _, values, right = np.linalg.svd(y, full_matrices=False)
    span = right[values > NONE * values[0]]
    if len(span) == arms.shape[1]:
        return directions
    rest = x - x @ span.T @ span
    longest = float((y**2).sum(axis=1).max()) / ((1.0 + LOOSE) * arms.shape[1])  # at most ρ
    rest *= math.sqrt(FAINT * longest / float((rest**2).sum(axis=1).max()))
    return np.vstack([directions, rest @ root.T])
