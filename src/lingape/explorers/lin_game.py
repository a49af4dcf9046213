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

import copy
import math
from typing import Any, ClassVar

import numpy as np

from ..arrays import FloatArray
from ..errors import InvalidArgument
from ..kernels.memories import GameCMemory, GameMemory
from ..kernels.stage import Stage
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import PullRule
from ..pulls.alternatives import alternatives, rivals_of, scaled_gaps, sides_of
from ..pulls.base import MOST_ROWS, Learner
from ..scaffold.sampling import SamplingExplorer
from ..stopping import StoppingRule
from ..ties import PULL, first_max

# AdaHedge's mixability gap to begin with, in nats; what it starts from is soon forgotten.
FIRST_GAP = 0.01
# The share of pulls that LinGame's second player takes to go to all arms alike.
SHARED = 1e-6
# Arms, of whose pairs LinGame-C keeps numbers.
MOST = 1_000


class LinGame(SamplingExplorer):
    """Find an ε-best arm with probability 1 - δ, in a game against the closest alternative.

    bound: decides when to stop; it has to hold when past rewards choose the next arm.
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).
    start, elimination: as for LinGapE; "sample" also leaves beaten rivals out of the game.
    """

    def _rule(self, stopping: StoppingRule) -> PullRule:
        return Game(self.problem, stopping)


class LinGameC(SamplingExplorer):
    """LinGame with one game over all answers: a spread over pairs of an answer and an arm.

    For those answers that do not lead, the estimate itself is an alternative, so that only doubt
    speaks for pulling for them.

    bound, ridge, start, elimination: as for LinGame.
    """

    def _rule(self, stopping: StoppingRule) -> PullRule:
        count = len(self.problem)
        if count > MOST:
            raise InvalidArgument(
                f"LinGameC keeps numbers for every pair of arms, so it takes at most {MOST} arms; "
                f"got {count}. LinGame takes any number."
            )
        return GameC(self.problem, stopping)


class Game(Learner):
    """Pull the arms that AdaHedge, against the closest alternative, has missed most."""

    all_rows: ClassVar[bool] = True
    most_arms: ClassVar[int] = MOST_ROWS

    def __init__(self, problem: Problem, stopping: StoppingRule) -> None:
        self.problem, self.stopping, count = problem, stopping, len(problem)
        self.memory = GameMemory(
            learned=np.zeros(1, dtype=np.int64),
            gap=np.full(1, FIRST_GAP),
            totals=np.zeros(count),
            weights=np.zeros(count),
            gains=np.zeros(count),
        )

    def learn(self, estimate: LeastSquares, leader: int) -> None:
        learned, gap, totals, weights, gains = self.memory
        if not totals.any():
            totals[:] = estimate.counts
        rate = math.log(len(weights)) / gap[0]
        weights[:] = hedge(gains, rate)  # w_t
        totals += weights
        found = alternatives(
            self.problem.orthonormal,
            mixed(weights),
            scaled_gaps(self.problem, estimate, leader),
            leader,
            rivals_of(self.problem, leader, self.stopping.unasked.get(leader, ())),
        )
        rival = first_max(-found.values, PULL * float(found.values.min()))
        gained = optimistic_gains(found.shifts(rival), estimate)  # U_t
        gap[0] += mixability_gap(gains, weights, gained, rate)
        gains += gained
        learned[0] = estimate.pulls

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        learned, _, totals, weights, _ = self.memory
        pending = estimate.pulls - int(learned[0])
        return first_max(totals + pending * weights - estimate.counts, PULL * estimate.pulls)

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.pulls.lin_game import GameKernel

        return GameKernel(copy.deepcopy(self.memory), sides_of(stage), SHARED)


class GameC(Learner):
    """Pull the arms that some answer has missed most, by one AdaHedge over answers and arms."""

    all_rows: ClassVar[bool] = True
    most_arms: ClassVar[int] = MOST_ROWS

    def __init__(self, problem: Problem, stopping: StoppingRule) -> None:
        self.problem, self.stopping, count = problem, stopping, len(problem)
        self.memory = GameCMemory(
            learned=np.zeros(1, dtype=np.int64),
            gap=np.full(1, FIRST_GAP),
            seen=np.zeros(count),
            by_arm=np.zeros(count),
            gains=np.zeros((count, count)),
            totals=np.zeros((count, count)),
            pulled=np.zeros((count, count)),
        )

    def learn(self, estimate: LeastSquares, leader: int) -> None:
        learned, gap, seen, by_arm, gains, totals, pulled = self.memory
        if seen.any():
            for arm in np.flatnonzero(estimate.counts > seen):
                # A pull of this arm counts for the answer that missed it most.
                answer = first_max((totals - pulled)[:, arm], PULL * estimate.pulls)
                pulled[answer, arm] += estimate.counts[arm] - seen[arm]
        seen[:] = estimate.counts
        rate = math.log(gains.size) / gap[0]
        weights = hedge(gains, rate)  # w_t
        totals += weights
        by_arm[:] = weights.sum(axis=0)
        found = alternatives(
            self.problem.orthonormal,
            mixed(hedge(gains[leader], rate)),
            scaled_gaps(self.problem, estimate, leader),
            leader,
            rivals_of(self.problem, leader, self.stopping.unasked.get(leader, ())),
        )
        rival = first_max(-found.values, PULL * float(found.values.min()))
        gained = np.tile(optimistic_gains(np.zeros(len(seen)), estimate), (len(seen), 1))
        gained[leader] = optimistic_gains(found.shifts(rival), estimate)  # U_t
        gap[0] += mixability_gap(gains, weights, gained, rate)
        gains += gained
        learned[0] = estimate.pulls

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        memory = self.memory
        pending = estimate.counts - memory.seen
        missed = (memory.totals - memory.pulled).max(axis=0)
        behind = missed + pending.sum() * memory.by_arm - pending
        return first_max(behind, PULL * estimate.pulls)

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.pulls.lin_game import GameCKernel

        return GameCKernel(copy.deepcopy(self.memory), sides_of(stage), SHARED)


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
