"""Lazy Track-and-Stop: pull in proportions that would be best if the estimate were the truth."""

import copy
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import Bound, Mixture
from ..designs import g_optimal, trimmed
from ..kernels.book import MOST_ROWS, PULLS, Book, Model, Stage
from ..kernels.functions import compiled
from ..kernels.parts import NEEDS_HELP, choose
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import PullRule
from ..pulls.base import Learner
from ..scaffold import Elimination, Start
from ..scaffold.sampling import SamplingExplorer
from ..stopping import StoppingRule
from ..ties import LEADER, PULL, first_max

# Of the largest gap: one that is smaller decides the design alone, and scales it out of range.
SMALLEST_GAP = 1e-4
# A share below this is solver noise, which must not make its arm one of those that are tracked.
NEGLIGIBLE = 1e-6
# How much longer than in the best design the longest direction may be.
TOLERANCE = 0.02
# Shares have six digits, so that after n pulls their sums are known to about this much of n.
DIGITS = 1e-7
STEPS = 1_000  # of the design's solver; 10 to 250 are usual


class LazyTrackAndStop(SamplingExplorer):
    """Track the best proportions for the estimate, solved again at each power of 2.

    Jedra and Proutiere, Optimal best-arm identification in linear bandits (NeurIPS 2020). If θ
    were known, the best proportions of pulls would solve the design problem behind the lower
    bound, min_w max_k ‖x_i - x_k‖²/Δ_k² over rivals k of the best arm i. Here they are solved for
    θ̂, lazily: only when the number of pulls is a power of 2, log2(t) times in a run of t pulls.
    Arms follow the sum of all proportions so far, so that their shares tend to the average. Now
    and then some direction has been neglected, and arms of a spanning set are pulled until it has
    not.

    problem: the arms, and what counts as an answer.
    bound: decides when to stop; JedraProutiere() is the paper's.
    ridge: λ of the estimate, for bounds around a ridge estimate.
    start: "spanning" pulls a spanning set first, as the paper does; "each" every arm; "auto" as
        for LinGapE.
    elimination: as for LinGapE; proportions ignore it, so that "sample" is the same as
        "stop".

    Where this departs from the paper:

    - "Neglected" compares the smallest eigenvalue of V with c√t, which depends on the units of the
      features. Here coordinates are those in which Σxxᵀ over the spanning set is I, as in the
      bound JedraProutiere, so that c = 1/√d and no linear map of the features changes a pull.
    - Of the spanning set the arm pulled least is next, not the next one in turn, so that nothing
      but counts need be remembered. V ⪰ nI once each has been pulled n times, either way.
    - Where the estimate has two leaders, and before there is one, there are no best proportions:
      the G-optimal design is used.
    - For ε > 0 gaps are Δ_k + ε, what a rival would have to make up.
    - It stops by any bound; bound=JedraProutiere() is the paper's.

    >>> from lingape import JedraProutiere, LazyTrackAndStop, Problem
    >>> problem = Problem([[1, 0], [1, 0.1], [0, 1]], noise=1.0)
    >>> explorer = LazyTrackAndStop(problem, bound=JedraProutiere())
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[5.0, 5.1, 1.0][arm])
    >>> explorer.recommend(), int(explorer.counts.argmax())
    (1, 2)
    """

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        ridge: float | None = None,
        start: Start = "spanning",
        elimination: Elimination = "none",
    ) -> None:
        super().__init__(problem, bound=bound, ridge=ridge, start=start, elimination=elimination)

    def _rule(self, stopping: StoppingRule) -> PullRule:
        return LazyTracking(self.problem)


class LazyMemory(NamedTuple):
    """What the rule keeps."""

    learned: IntArray  # (1,) the number of pulls that it has learned from
    wanted: IntArray  # (1,) whether there must be new shares before the next pull
    shares: FloatArray  # (K,) the proportions now
    totals: FloatArray  # (K,) their sum over all pulls


class LazyTracking(Learner):
    """Track the best proportions for the estimate, solved again at each power of 2."""

    all_rows: ClassVar[bool] = True
    most_arms: ClassVar[int] = MOST_ROWS

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._even = _tidy(g_optimal(problem.orthonormal, tolerance=TOLERANCE).proportions)
        self.memory = LazyMemory(
            learned=np.zeros(1, dtype=np.int64),
            wanted=np.zeros(1, dtype=np.int64),
            shares=self._even.copy(),
            totals=np.zeros(len(problem)),
        )

    def learn(self, estimate: LeastSquares, leader: int) -> None:
        learned, _, shares, totals = self.memory
        totals += shares
        pulls = estimate.pulls
        if pulls & (pulls - 1) == 0:
            shares[:] = self.shares(estimate.means)
        learned[0] = pulls

    def shares(self, means: FloatArray) -> FloatArray:
        """Return w*(θ̂), the best proportions of pulls for estimated means."""
        problem = self.problem
        slack = LEADER * (problem.noise_scale + float(np.abs(means).max()))
        leader = first_max(means, slack)
        rivals = np.flatnonzero(problem.twins != problem.twins[leader])
        gaps = means[leader] - means[rivals] + problem.epsilon
        if not len(rivals) or gaps.min() <= slack:
            return self._even
        x = problem.orthonormal
        gaps = np.maximum(gaps, SMALLEST_GAP * gaps.max())
        return _tidy(best_shares(x, (x[leader] - x[rivals]) / gaps[:, None]))

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        counts, total = estimate.counts, self.memory.totals
        spanning = list(self.problem.spanning)
        if self._neglected(estimate, spanning):
            return int(spanning[counts[spanning].argmin()])
        behind = np.where(total > 0, total - counts, -np.inf)
        return first_max(behind, DIGITS * estimate.pulls)

    def _neglected(self, estimate: LeastSquares, spanning: list[int]) -> bool:
        """Whether the smallest eigenvalue of V is below √(t/d), in units of the spanning set.

        There the inverse of V has the entries x_aᵀV⁻¹x_b, for a and b in the set.
        """
        x = estimate.features[spanning]
        largest = float(np.linalg.eigvalsh(x @ estimate.inverse @ x.T)[-1])
        return largest > math.sqrt(len(spanning) / estimate.pulls) * (1.0 + PULL)

    def kernel(self, stage: Stage) -> "LazyTrackingKernel":
        spanning = np.array(stage.problem.spanning, dtype=np.int64)
        return LazyTrackingKernel(copy.deepcopy(self.memory), spanning)

    def help(
        self,
        kernel: Any,
        features: FloatArray,
        means: FloatArray,
        leader: int,
        rival: int,
    ) -> Any:
        """Solve for the shares that the kernel wants."""
        kernel.memory.shares[:] = self.shares(means)
        kernel.memory.wanted[0] = 0
        return kernel


def best_shares(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return shares of arms x that come within TOLERANCE of min_p max_y ‖y‖² in A(p)⁻¹.

    By multiplicative updates of p against weights q on the directions, and of q. Unlike
    designs.xy, which looks at few arms and directions at a time, this moves smoothly with the
    estimate, so that rounding changes no pull. The lower bound that it stops by is explained in
    designs/min_max.py.
    """
    p, q = np.full(len(x), 1.0 / len(x)), np.full(len(y), 1.0 / len(y))
    for _ in range(STEPS):
        moments = (y.T * q) @ y
        for _ in range(5):
            p = p * np.sqrt(_scores(x, moments, p)[1])
            p = np.maximum(p / p.sum(), 1e-3 * NEGLIGIBLE)  # and A(p) stays invertible
        inverse, scores = _scores(x, moments, p)
        lengths = np.einsum("md,md->m", y @ inverse, y)
        average = float(q @ lengths)
        if lengths.max() * scores.max() <= (1.0 + TOLERANCE) * average**2:
            break
        q = q * lengths / average
    return p


def _scores(x: FloatArray, moments: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A(p)⁻¹, and how much a larger share of each arm would shorten directions."""
    inverse = np.asarray(np.linalg.inv((x.T * p) @ x), dtype=np.float64)
    z = x @ inverse
    return inverse, np.einsum("kd,kd->k", z @ moments, z)


def _tidy(shares: FloatArray) -> FloatArray:
    return trimmed(np.where(shares > NEGLIGIBLE, shares, 0.0))


class LazyTrackingKernel(NamedTuple):
    """All rows of the book are kept, in order."""

    memory: LazyMemory
    spanning: IntArray  # (d,)


@choose.of(LazyTrackingKernel)
def _(pull: LazyTrackingKernel, model: Model, leader: int, rival: int) -> int:
    memory, pulls = pull.memory, model.book.clock[PULLS]
    if memory.learned[0] != pulls:
        for k in range(len(memory.totals)):
            memory.totals[k] += memory.shares[k]
        if pulls & (pulls - 1) == 0:
            memory.wanted[0] = 1
        memory.learned[0] = pulls
    if memory.wanted[0]:
        return NEEDS_HELP
    return _most_missed(pull, model.book, pulls)


@compiled
def _most_missed(pull: LazyTrackingKernel, book: Book, pulls: int) -> int:
    counts, totals, spanning = book.counts, pull.memory.totals, pull.spanning
    if _neglected(book.cross, book.variances, spanning, pulls, book.factor):
        arm = spanning[0]
        for k in spanning:
            if counts[k] < counts[arm]:
                arm = k
        return int(arm)
    most = -math.inf
    for k in range(len(counts)):
        if totals[k] > 0.0:
            most = max(most, totals[k] - counts[k])
    arm = 0
    while totals[arm] == 0.0 or totals[arm] - counts[arm] < most - DIGITS * pulls:
        arm += 1
    return int(arm)


@compiled
def _neglected(
    cross: FloatArray, variances: FloatArray, spanning: IntArray, pulls: int, factor: FloatArray
) -> bool:
    """Whether the matrix x_aᵀV⁻¹x_b over the spanning set has an eigenvalue above the limit.

    Its trace and its diagonal mostly tell; else, whether limit·I minus it has a Cholesky factor.
    """
    d = len(spanning)
    limit = math.sqrt(d / pulls) * (1.0 + PULL)
    trace = 0.0
    for a in spanning:
        trace += variances[a]
        if variances[a] > limit:
            return True
    if trace <= limit:
        return False
    for p in range(d):
        for q in range(p + 1):
            value = -cross[spanning[p], spanning[q]]
            for m in range(q):
                value -= factor[p, m] * factor[q, m]
            if p > q:
                factor[p, q] = value / factor[q, q]
            elif value + limit > 0.0:
                factor[p, p] = math.sqrt(value + limit)
            else:
                return True
    return False
