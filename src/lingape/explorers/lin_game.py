"""LinGame and LinGame-C: two players learn how to pull and what to rule out.

Degenne, Ménard, Shang and Valko (ICML 2020). One player spreads pulls over the arms (AdaHedge, de
Rooij et al. 2014); the other answers with the θ that is hardest to tell from the estimate among
those in which another arm is best. Pulls follow the sum of the spreads. In the long run their
proportions are the best there are for the unknown θ, so that the number of pulls grows with
log(1/δ) as slowly as any.

LinGame spreads over arms, LinGame-C over pairs of an answer and an arm. Everything is measured in
units of the noise: gaps are divided by R. With ε > 0 what has to be ruled out is that another arm
is better by more than ε.

Where this differs from the paper:

- Stopping is the bound's business. The paper's threshold is bound=SelfNormalized().
- LinGame has one AdaHedge, where the paper has one for each arm that may lead. The authors' later
  papers have one as well (Réda, Tirinzoni and Degenne 2021; Tirinzoni and Degenne 2022): in the
  long run only the best arm leads, and there is no difference.
- The second player answers a spread that a millionth of the pulls goes to all arms alike
  (`SHARED`). AdaHedge starves arms to exp(-100), where the hardest θ is no longer defined in
  double precision. In the long run this costs at most a millionth of all pulls.
- Gains are capped by log t, as in the authors' code; the paper caps them by bounds on θ and arms.
"""

import math
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..bounds import Bound, Mixture
from ..errors import InvalidArgument
from ..kernels.memory import LIN_GAME, LIN_GAME_C, SHARED, new_memory
from ..least_squares import LeastSquares
from ..problem import Problem
from ..ties import PULL, first_max
from .sampler import SamplerExplorer
from .skeleton import Contest, Elimination
from .starting import Start

# AdaHedge's mixability gap to begin with, in nats; what it starts from is soon forgotten.
FIRST_GAP = 0.01
# Arms, of whose pairs LinGame-C keeps numbers.
MOST = 1_000


class LinGame(SamplerExplorer):
    """Find an ε-best arm with probability 1 - δ, in a game against the closest alternative.

    bound: decides when to stop; it has to hold when past rewards choose the next arm.
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).
    start, elimination: as for LinGapE; "sample" also leaves beaten rivals out of the game.
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
        # Σ w_s (from the first pulls on), w_t and Σ gains; the arms in orthonormal coordinates.
        rows = 3 + problem.rank
        self.memory = new_memory(LIN_GAME, numbers=1, vectors=(rows, len(problem)))
        self.memory.numbers[0] = FIRST_GAP
        self.memory.vectors[3:] = problem.orthonormal.T

    def _learn(self) -> None:
        assert self._contest is not None
        memory, estimate, leader = self.memory, self.estimate, self._contest.leader
        totals, weights, gains = memory.vectors[:3]
        if not totals.any():
            totals[:] = estimate.counts
        rate = math.log(len(weights)) / memory.numbers[0]
        weights[:] = hedge(gains, rate)  # w_t
        totals += weights
        beaten = self._dropped.get(leader, ()) if self.elimination == "sample" else ()
        found = alternatives(
            memory.vectors[3:].T,
            mixed(weights),
            scaled_gaps(self.problem, estimate, leader),
            leader,
            rivals_of(self.problem, leader, beaten),
        )
        rival = first_max(-found.values, PULL * float(found.values.min()))
        gained = optimistic_gains(found.shifts(rival), estimate)  # U_t
        memory.numbers[0] += mixability_gap(gains, weights, gained, rate)
        gains += gained

    def _choose(self, estimate: LeastSquares, contest: Contest) -> int:
        totals, weights, _ = self.memory.vectors[:3]
        pending = estimate.pulls - self.estimate.pulls
        return first_max(totals + pending * weights - estimate.counts, PULL * estimate.pulls)


class LinGameC(SamplerExplorer):
    """LinGame with one game over all answers: a spread over pairs of an answer and an arm.

    For those answers that do not lead, the estimate itself is an alternative, so that only doubt
    speaks for pulling for them.

    bound, ridge, start, elimination: as for LinGame.
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
        count = len(problem)
        if count > MOST:
            raise InvalidArgument(
                f"LinGameC keeps numbers for every pair of arms, so it takes at most {MOST} arms; "
                f"got {count}. LinGame takes any number."
            )
        # The pulls that were learned from, w_t by arm, and by answer and arm: Σ gains, Σ w_s and
        # pulls; the arms in orthonormal coordinates.
        rows = 2 + 3 * count + problem.rank
        self.memory = new_memory(LIN_GAME_C, numbers=1, vectors=(rows, count))
        self.memory.numbers[0] = FIRST_GAP
        self.memory.vectors[2 + 3 * count :] = problem.orthonormal.T

    def _tables(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Σ gains, Σ w_s and pulls, by answer and arm."""
        count = len(self.problem)
        gains, totals, pulled = self.memory.vectors[2 : 2 + 3 * count].reshape(3, count, count)
        return gains, totals, pulled

    def _learn(self) -> None:
        assert self._contest is not None
        memory, estimate, leader = self.memory, self.estimate, self._contest.leader
        seen, by_arm = memory.vectors[:2]
        gains, totals, pulled = self._tables()
        if seen.any():
            for arm in np.flatnonzero(estimate.counts > seen):
                # Whoever told of this arm, it was for the answer that missed it most.
                answer = first_max((totals - pulled)[:, arm], PULL * estimate.pulls)
                pulled[answer, arm] += estimate.counts[arm] - seen[arm]
        seen[:] = estimate.counts
        rate = math.log(gains.size) / memory.numbers[0]
        weights = hedge(gains, rate)  # w_t
        totals += weights
        by_arm[:] = weights.sum(axis=0)
        beaten = self._dropped.get(leader, ()) if self.elimination == "sample" else ()
        found = alternatives(
            memory.vectors[2 + 3 * len(seen) :].T,
            mixed(hedge(gains[leader], rate)),
            scaled_gaps(self.problem, estimate, leader),
            leader,
            rivals_of(self.problem, leader, beaten),
        )
        rival = first_max(-found.values, PULL * float(found.values.min()))
        gained = np.tile(optimistic_gains(np.zeros(len(seen)), estimate), (len(seen), 1))
        gained[leader] = optimistic_gains(found.shifts(rival), estimate)  # U_t
        memory.numbers[0] += mixability_gap(gains, weights, gained, rate)
        gains += gained

    def _choose(self, estimate: LeastSquares, contest: Contest) -> int:
        _, totals, pulled = self._tables()
        pending = estimate.counts - self.estimate.counts
        behind = (totals - pulled).max(axis=0) + pending.sum() * self.memory.vectors[1] - pending
        return first_max(behind, PULL * estimate.pulls)


def hedge(gains: FloatArray, rate: float) -> FloatArray:
    """Return AdaHedge's weights, exponential in the gains so far."""
    weights: FloatArray = np.exp(rate * (gains - gains.max()))
    weights /= weights.sum()
    return weights


def mixability_gap(
    gains: FloatArray, weights: FloatArray, gained: FloatArray, rate: float
) -> float:
    """Return by how much AdaHedge's gap grows: the mix's gain minus the mean's, not negative."""
    powers = rate * (gains - gains.max())
    later = powers + rate * gained
    top = float(later.max())
    total = math.log(float(np.exp(later - top).sum())) - math.log(float(np.exp(powers).sum()))
    return max(0.0, (top + total) / rate - float((weights * gained).sum()))


def mixed(weights: FloatArray) -> FloatArray:
    """Return weights of which a small share goes to all arms alike."""
    return (1.0 - SHARED) * weights + SHARED / len(weights)


def optimistic_gains(shifts: FloatArray, estimate: LeastSquares) -> FloatArray:
    """Return what a pull of each arm tells of an alternative, as much as it plausibly can.

    shifts: xᵀ(θ̂ - λ)/R for each arm.
    """
    most = math.log(estimate.pulls)
    reach = np.abs(shifts) + np.sqrt(2.0 * most * estimate.variances)
    return np.asarray(np.minimum(0.5 * reach * reach, most))


def scaled_gaps(problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
    """Return what each arm lacks to being better than the leader by ε, in units of the noise."""
    gaps: FloatArray = estimate.means[leader] - estimate.means + problem.epsilon
    gaps /= problem.noise_scale
    return gaps


def rivals_of(problem: Problem, leader: int, beaten: Iterable[int]) -> BoolArray:
    """Return which arms may be better than the leader: not its duplicates, not those beaten."""
    rivals: BoolArray = problem.twins != problem.twins[leader]
    rivals[list(beaten)] = False
    return rivals


class Alternatives(NamedTuple):
    """The closest alternatives to the estimate: for each rival j of the leader i the λ with

        λ = θ̂ - V_w⁻¹y (yᵀθ̂ + ε)/‖y‖²,  y = x_i - x_j,  norms those of V_w⁻¹,

    in which j is better by ε, and which pulls in proportions w tell from θ̂ least.
    """

    values: FloatArray  # (K,) ½‖θ̂ - λ_j‖² in the norm of V_w; infinite for those who are no rivals
    steps: FloatArray  # (K, d) θ̂ - λ_j in coordinates where V_w = I
    arms: FloatArray  # (K, d) the arms in these

    def shifts(self, rival: int) -> FloatArray:
        """Return xᵀ(θ̂ - λ) for each arm: by how much the alternative changes its mean."""
        return np.asarray(self.arms @ self.steps[rival])


def alternatives(
    basis: FloatArray, weights: FloatArray, gaps: FloatArray, leader: int, rivals: BoolArray
) -> Alternatives:
    """Return the closest alternatives under `weights`, from arms in orthonormal coordinates.

    There V_w is as well conditioned as the weights are even, whatever the features are.
    """
    root = np.linalg.inv(np.linalg.cholesky((basis.T * weights) @ basis)).T
    y = (basis[leader] - basis) @ root
    lengths = np.where(rivals, np.einsum("kd,kd->k", y, y), 1.0)
    values = np.where(rivals, 0.5 * gaps * gaps / lengths, np.inf)
    return Alternatives(values, y * (gaps / lengths)[:, None], basis @ root)
