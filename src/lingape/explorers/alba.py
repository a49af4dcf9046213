"""ALBA: halve the arms in play from round to round, by estimates from randomly drawn pulls."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..bounds import Bound
from ..bounds.base import no_ridge, norm_bound_of
from ..certificate import TELLING_ASSUMPTION, norm_assumption
from ..checks import checked_whole
from ..designs import g_optimal, trimmed
from ..draws import uniform
from ..least_squares import LeastSquares
from ..printable import stated
from ..problem import Problem
from ..scaffold.phases import QuotaExplorer, only_its_own

GROWTH = 1.1  # of the accuracy, from phase to phase
INSIDE = 1e-9  # an arm this close to a span, as a share of its length, is in it
DESIGN_TOLERANCE = 0.01  # of the G-optimal design; only lengths depend on it
SOME = 2**20  # draws at a time


@dataclass(frozen=True)
class RandomDesign:
    """Widths around (nM)⁻¹Σxr for the gaps of all arms in play, at the end of a phase.

    With g_k = yᵀM⁻¹x_k for y = x_i - x_j, and N_k draws of arm k out of n, the error of the gap is

        yᵀ(θ̂ - θ) = 1/n Σ g ε  +  (Σ_k (N_k/n - p_k) g_k x_k)ᵀθ.

    Given the draws the first term is sub-Gaussian with scale R√(Σ N_k g_k²)/n, and the second is
    at most S times the length of what is in parentheses. The published log(5m²/(2δ)) pays for
    more intervals than the m(m-1) there are.

    >>> from lingape import ALBA, Problem
    >>> ALBA(Problem([[1, 0], [0, 1]], noise=1.0, norm_bound=1)).bound
    RandomDesign()
    """

    shares: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    # x_iᵀM⁻¹x_k, and 0 for arms outside the span
    products: FloatArray = field(
        default_factory=lambda: np.zeros((0, 0)), repr=False, compare=False
    )
    starters: int = field(default=2, repr=False)  # how many arms began the round: m
    adaptive: ClassVar[bool] = False

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        norm_bound_of(problem, "ALBA")
        no_ridge(ridge, "ALBA")
        return LeastSquares(problem.orthonormal, twins=problem.twins)

    def means(self, estimate: LeastSquares) -> FloatArray:
        """Return xᵀθ̂ for each arm in the span."""
        return self.products @ estimate.sums / estimate.pulls

    def nats(self, problem: Problem) -> float:
        """Return the logarithm in the width."""
        return math.log(5 * self.starters**2 / (2 * problem.delta))

    def widths(self, problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
        g, counts, n = self.products - self.products[leader], estimate.counts, estimate.pulls
        noise = problem.noise_scale * np.sqrt(2.0 * self.nats(problem) * (g**2 @ counts)) / n
        drift = (g * (counts / n - self.shares)) @ problem.coordinates
        s = norm_bound_of(problem, "ALBA")
        return np.asarray(noise + s * np.linalg.norm(drift, axis=1))

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (
            problem.noise.assumption(),
            norm_assumption(problem),
            stated(
                "The pulls of each phase were drawn before its first reward came in.",
                "how often each arm is pulled in a phase was drawn before that phase's first "
                "reward was seen.",
            ),
            TELLING_ASSUMPTION,
        )

    def caveat(self, problem: Problem, ridge: float) -> str:
        return ""


class ALBA(QuotaExplorer):
    """Find an ε-best arm with probability 1 - δ, in rounds that halve the arms in play.

    Tao, Blanco and Zhou, Best arm identification in linear bandits with linear dimension
    dependency (ICML 2018), with elimination by differences (their Y version). Round r = 0, 1, …
    lets at most ⌊d/2ʳ⌋ arms through. It is made of phases s = 1, 2, …, each more accurate than the
    last: draw n arms independently from the G-optimal design p for the arms in play, with the help
    of all arms in their span, and estimate θ by

        θ̂ = (n M)⁻¹ Σ x_i r_i,   M = Σ p_k x_k x_kᵀ,

    with the matrix of the design where least squares has that of the draws. Phase s is to know
    every gap to within e_s = 4/1.1ˢ, and takes

        n = 4 c₀ (2 + (6 + e_s) d) / e_s² · log(5m²/(2δ_s)),   c₀ = max(4L², 3)

    pulls, where m arms began the round, d is the dimension of those in play, `|xᵀθ| ≤ L`, and δ_s
    is 6/(π²s²) of the 6/(π²(r+1)²) of δ that the round has.

    problem: the arms, and what counts as an answer. It has to say norm_bound.
    bound: None; it has its own.
    ridge: None; its estimate has none.
    seed: of the draws; the same seed and rewards give the same pulls.

    Where this departs from the publication:

    - The accuracies e_s are in units of √c₀ R, the paper's R being 1, so that c₀ drops out of n.
      So no change of units changes a pull, and little noise does not make the first phase long.
    - The error yᵀ(θ̂ - θ) is noise, plus what the draws differ from the design. The paper bounds
      both before the draw, the second by Bernstein's inequality; code in circulation puts
      estimates in place of true rewards there, which is not proven. Here both are bounded given
      the draw, which is known (`RandomDesign`): shorter, and safe. The lengths of phases are as
      published.
    - Any arm in play may beat another one, not just the best-looking.

    >>> from lingape import ALBA, Problem
    >>> explorer = ALBA(Problem([[1, 0], [0, 1]], noise=0.1, norm_bound=1))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend(), explorer.lengths  # of its phases
    (0, [50])
    """

    settings: ClassVar[tuple[str, ...]] = ("seed",)

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound | None = None,
        ridge: float | None = None,
        seed: int = 0,
    ) -> None:
        only_its_own(bound, "ALBA")
        self.seed = checked_whole("seed", seed)
        self._inside: BoolArray | None = None  # the arms in the span that the design is for
        super().__init__(problem, bound=RandomDesign(), ridge=ridge)

    def _means(self) -> FloatArray:
        return self._design.means(self.estimate)

    @property
    def _design(self) -> RandomDesign:
        return cast(RandomDesign, self.bound)

    @property
    def round(self) -> tuple[int, int]:
        """The round r, from 0, and the phase s in it, from 1."""
        return self._place()[:2]

    def _place(self) -> tuple[int, int, int]:
        """Return r, s and m, which follow from how many arms were in play in each phase."""
        r, s, m = 0, 0, 0
        for active in self.history:
            left = len(np.unique(self.problem.twins[active]))
            s += 1
            if m == 0 or left <= self.problem.rank >> r:
                while 1 < left <= self.problem.rank >> r:
                    r += 1
                s, m = 1, left
        return r, s, m

    def _phase_problem(self) -> Problem:
        r, s, _ = self._place()
        share = 6.0 / (math.pi**2 * (r + 1) ** 2) * 6.0 / (math.pi**2 * s**2)
        return self.problem.replace(delta=share * self.problem.delta)  # δ_s

    def _quotas(self, active: IntArray) -> IntArray:
        """Draw the pulls of the phase."""
        x, (_, s, m) = self.problem.orthonormal, self._place()
        basis = _basis(x[active])
        outside = np.linalg.norm(x - x @ basis.T @ basis, axis=1)
        inside = outside <= INSIDE * np.linalg.norm(x, axis=1)
        if self._inside is None or not np.array_equal(inside, self._inside):
            self._inside, self.bound = inside, _randomised(x @ basis.T, inside)
        self.bound = replace(self._design, starters=m)
        e = 4.0 / GROWTH**s
        nats = self._design.nats(self._phase_problem())
        pulls = math.ceil(4.0 * (2.0 + (6.0 + e) * len(basis)) / e**2 * nats)
        return drawn(self.seed, sum(self.lengths), pulls, self._design.shares)


def drawn(seed: int, first: int, pulls: int, shares: FloatArray) -> IntArray:
    """Return how often each arm comes up in `pulls` draws, the numbers `first` and following."""
    used = np.flatnonzero(shares)
    edges = np.cumsum(shares[used])[:-1]
    counts: IntArray = np.zeros(len(shares), dtype=np.int64)
    for start in range(first, first + pulls, SOME):
        times = np.arange(start, min(start + SOME, first + pulls), dtype=np.uint64)
        numbers = uniform(seed, cast(Any, times), 0)  # plain arithmetic, so that arrays work too
        places = np.searchsorted(edges, numbers, side="right")
        counts[used] += np.bincount(places, minlength=len(used))
    return counts


def _basis(arms: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of the arms, one vector a row."""
    _, values, right = np.linalg.svd(arms, full_matrices=False)
    rank = int((values > values[0] * INSIDE).sum())
    return np.asarray(right[:rank])


def _randomised(x: FloatArray, inside: BoolArray) -> RandomDesign:
    """Return the design on the arms in a span, in whose coordinates they are given."""
    shares = np.zeros(len(x))
    shares[inside] = trimmed(g_optimal(x[inside], tolerance=DESIGN_TOLERANCE).proportions)
    shares /= shares.sum()
    x = np.where(inside[:, None], x, 0.0)
    return RandomDesign(shares, x @ np.linalg.inv((x.T * shares) @ x) @ x.T)
