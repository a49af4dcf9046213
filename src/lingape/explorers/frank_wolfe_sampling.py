"""Frank-Wolfe sampling: one step towards the best proportions with every pull.

Wang, Tzeng and Proutiere (NeurIPS 2021), for linear bandits. If θ were the estimate, pulls in
proportions x would tell the leader i from rival j at the rate, with a_k the features of arm k,

    f_j(x) = gap_j²/(2R²‖a_i - a_j‖²),  in the norm of V_x⁻¹,  V_x = Σ_k x_k a_k a_kᵀ,

and the best proportions maximise the least of these. Each pull moves x by 1/t towards the z that
does best, to first order, for all rivals whose rates are within r_t of the least: a small matrix
game. The arm pulled is then the one furthest behind x. Now and then z is even, so that no arm is
forgotten. In the long run the proportions are the best there are for the unknown θ.

With ε > 0 the gap is what the rival lacks to being better by ε.

Where this differs from the paper:

- Stopping is the bound's business; the paper's experiments stop by a threshold without a proof.
- With start="spanning" the even steps are about the arms of the start alone: to pull all others
  first would undo it.
"""

import math
from typing import ClassVar

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound, Mixture
from ..kernels.memory import FRANK_WOLFE, new_memory
from ..least_squares import LeastSquares
from ..problem import Problem
from ..ties import LEADER, PULL, first_max
from .lin_game import alternatives, rivals_of, scaled_gaps
from .sampler import SamplerExplorer
from .skeleton import Contest, Elimination
from .starting import Start


class FrankWolfeSampling(SamplerExplorer):
    """Find an ε-best arm with probability 1 - δ, climbing towards the best proportions of pulls.

    bound: decides when to stop; it has to hold when past rewards choose the next arm.
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).
    start, elimination: as for LinGapE; "sample" also forgets the rates of beaten rivals.
    """

    settings: ClassVar[tuple[str, ...]] = ("start", "elimination")

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        ridge: float | None = None,
        start: Start = "each",
        elimination: Elimination = "none",
    ) -> None:
        super().__init__(problem, bound=bound, ridge=ridge, start=start, elimination=elimination)
        # t·x(t), the even z, and the arms in orthonormal coordinates.
        self.memory = new_memory(FRANK_WOLFE, vectors=(2 + problem.rank, len(problem)))
        first = list(problem.spanning) if start == "spanning" else slice(None)
        self.memory.vectors[1, first] = 1.0
        self.memory.vectors[1] /= self.memory.vectors[1].sum()
        self.memory.vectors[2:] = problem.orthonormal.T

    def _learn(self) -> None:
        estimate = self.estimate
        totals, even = self.memory.vectors[:2]
        if not totals.any():
            totals[:] = estimate.pulls * even
        totals += self._step(totals / estimate.pulls, even)  # t x(t) = (t - 1) x(t - 1) + z(t)

    def _step(self, x: FloatArray, even: FloatArray) -> FloatArray:
        """Return z(t), given x(t - 1)."""
        assert self._contest is not None
        problem, estimate, leader = self.problem, self.estimate, self._contest.leader
        t = estimate.pulls + 1
        beaten = self._dropped.get(leader, ()) if self.elimination == "sample" else ()
        rivals = rivals_of(problem, leader, beaten)
        gaps = scaled_gaps(problem, estimate, leader)
        slack = LEADER * (1.0 + abs(estimate.means[leader]) / problem.noise_scale)
        if is_square(t // int((even > 0).sum())) or gaps[rivals].min() <= slack:
            return even
        found = alternatives(self.memory.vectors[2:].T, x, gaps, leader, rivals)
        near = found.values.min() + t**-0.9 / len(x)  # r_t
        pieces = np.flatnonzero(found.values < near)
        slopes = 0.5 * (found.steps[pieces] @ found.arms.T) ** 2  # ∇f_j
        return maximin(slopes, found.values[pieces])

    def _choose(self, estimate: LeastSquares, contest: Contest) -> int:
        """Return the arm furthest behind x."""
        totals = self.memory.vectors[0]
        ratios = np.where(totals > 0, totals / np.maximum(estimate.counts, 1e-300), 0.0)
        return first_max(ratios, PULL * float(ratios.max()))


def is_square(n: int) -> bool:
    """Whether n is 0, 1, 4, 9, …"""
    return math.isqrt(n) ** 2 == n


def maximin(slopes: FloatArray, values: FloatArray) -> FloatArray:
    """Return the z in the simplex that maximises min_j (<z, slopes_j> - values_j).

    A matrix game, shifted so that all payoffs, and so its value, are positive. The linear program
    of the other player, max Σq with Σ_j payoffs_jk q_j ≤ 1 for all k and q ≥ 0, starts from q = 0;
    z is proportional to its multipliers. Simplex method in a condensed tableau, whose last row is
    the objective and whose last column the right-hand side. Ties go to the variable with the
    lowest number (all q before all slacks), in kernels/frank_wolfe.py as well, so that both lanes
    pivot alike.
    """
    m, count = slopes.shape
    table = np.ones((count + 1, m + 1))
    table[:count, :m] += (slopes.T - values) / slopes.max()
    table[count, :m], table[count, m] = -1.0, 0.0
    across = np.arange(m)  # the variable that is 0 in each column, slack k being m + k,
    down = np.arange(m, m + count)  # and the one that is not in each row
    for pivots in range(50 * (m + count)):
        costs, most = table[count, :m], table[count, :m].min()
        if most >= -PULL:
            break
        # The steepest column, until that takes so long that it might go round in circles (Bland).
        steep = costs < -PULL if pivots > m + count else costs <= most + PULL
        column = int(np.where(steep, across, m + count).argmin())
        positive = table[:count, column] > PULL
        if not positive.any():  # only rounding can make it so
            break
        ratios = np.full(count, np.inf)
        np.divide(table[:count, m], table[:count, column], out=ratios, where=positive)
        tight = ratios <= ratios.min() * (1.0 + PULL) + PULL
        row = int(np.where(tight, down, m + count).argmin())
        _pivot(table, row, column)
        across[column], down[row] = down[row], across[column]
    z = np.zeros(count)
    slacks = across >= m
    z[across[slacks] - m] = np.maximum(table[count, :m][slacks], 0.0)
    z /= z.sum()
    return z


def _pivot(table: FloatArray, row: int, column: int) -> None:
    """Exchange the variables of a row and a column."""
    inverse = 1.0 / table[row, column]
    factors = table[:, column] * inverse
    factors[row] = 0.0
    table -= np.multiply.outer(factors, table[row])
    table[row] *= inverse
    table[:, column] = -factors
    table[row, column] = inverse
