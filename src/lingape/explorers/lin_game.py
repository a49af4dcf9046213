"""LinGame and LinGame-C: two players learn how to pull and what to rule out."""

import copy
import math
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InvalidArgument
from ..kernels.book import MOST_ROWS, PULLS, Arena, Book, Model, Stage
from ..kernels.functions import compiled
from ..kernels.parts import choose
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import PullRule
from ..pulls.alternatives import (
    Sides,
    alternatives,
    compiled_alternatives,
    compiled_first_max,
    compiled_rivals,
    compiled_shifts,
    rivals_of,
    scaled_gaps,
    sides_of,
)
from ..pulls.base import Learner
from ..scaffold.sampling import SamplingExplorer
from ..stopping import StoppingRule
from ..ties import PULL, first_max

# AdaHedge's mixability gap to begin with, in nats; what it starts from is soon forgotten.
FIRST_GAP = 0.01
# The share of pulls that LinGame's second player assumes is spread evenly over all arms.
SHARED = 1e-6
# Arms, of whose pairs LinGame-C keeps numbers.
MOST = 1_000


class LinGame(SamplingExplorer):
    """Find an ε-best arm with probability 1 - δ, in a game against the closest alternative.

    Degenne, Ménard, Shang and Valko, Gamification of pure exploration for linear bandits (ICML
    2020). One player spreads pulls over the arms (AdaHedge, de Rooij et al. 2014); the other
    answers with the θ that is hardest to tell from the estimate among those in which another arm
    is best. Pulls follow the sum of the spreads. In the long run their proportions are the best
    there are for the unknown θ, so that the number of pulls grows with log(1/δ) as slowly as any.

    LinGame spreads over arms, LinGame-C over pairs of an answer and an arm. Everything is measured
    in units of the noise: gaps are divided by R. With ε > 0 what has to be ruled out is that
    another arm is better by more than ε.

    problem: the arms, and what counts as an answer.
    bound: decides when to stop; it has to hold when past rewards choose the next arm.
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).
    start, elimination: as for LinGapE; "sample" also leaves beaten rivals out of the game.

    Where this differs from the paper:

    - Stopping is the bound's business. The paper's threshold is bound=SelfNormalized().
    - LinGame has one AdaHedge, where the paper has one for each arm that may lead. The authors'
      later papers have one as well (Réda, Tirinzoni and Degenne 2021; Tirinzoni and Degenne 2022):
      in the long run only the best arm leads, and there is no difference.
    - The second player answers a spread in which a millionth of the pulls goes to all arms alike.
      AdaHedge starves arms to exp(-100), where the hardest θ is no longer defined in double
      precision. In the long run this costs at most a millionth of all pulls.
    - Gains are capped by log t, as in the authors' code; the paper caps them by bounds on θ and
      arms.

    Here the last arm is the worst, and its pulls tell the other two apart:

    >>> from lingape import LinGame, Problem
    >>> explorer = LinGame(Problem([[1, 0], [1, 0.1], [0, 1]], noise=1.0))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[5.0, 5.1, 1.0][arm])
    >>> explorer.recommend(), int(explorer.counts.argmax())
    (1, 2)
    """

    def _rule(self, stopping: StoppingRule) -> PullRule:
        return Game(self.problem, stopping)


class LinGameC(SamplingExplorer):
    """LinGame with one game over all answers: a spread over pairs of an answer and an arm.

    From the same paper. For those answers that do not lead, the estimate itself is an alternative,
    so that only doubt speaks for pulling for them.

    problem, bound, ridge, start, elimination: as for LinGame.

    At most 1000 arms, as it keeps numbers for each pair of them.

    >>> from lingape import LinGameC, Problem
    >>> explorer = LinGameC(Problem([[1, 0], [1, 0.1], [0, 1]], noise=1.0))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[5.0, 5.1, 1.0][arm])
    >>> explorer.recommend(), int(explorer.counts.argmax())
    (1, 2)
    """

    def _rule(self, stopping: StoppingRule) -> PullRule:
        count = len(self.problem)
        if count > MOST:
            raise InvalidArgument(
                f"LinGameC keeps numbers for every pair of arms, so it takes at most {MOST} arms; "
                f"got {count}. LinGame takes any number."
            )
        return GameC(self.problem, stopping)


class GameMemory(NamedTuple):
    """What LinGame's rule keeps."""

    learned: IntArray  # (1,) the number of pulls that it has learned from
    gap: FloatArray  # (1,) AdaHedge's mixability gap
    totals: FloatArray  # (K,) Σ w_s, from the first pulls on
    weights: FloatArray  # (K,) w_t
    gains: FloatArray  # (K,) Σ gains


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
        beaten = self.stopping.unasked.get(leader, ())
        shifts = closest_shifts(self.problem, estimate, weights, leader, beaten)
        gained = optimistic_gains(shifts, estimate)  # U_t
        gap[0] += mixability_gap(gains, weights, gained, rate)
        gains += gained
        learned[0] = estimate.pulls

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        learned, _, totals, weights, _ = self.memory
        pending = estimate.pulls - int(learned[0])
        return first_max(totals + pending * weights - estimate.counts, PULL * estimate.pulls)

    def kernel(self, stage: Stage) -> "GameKernel":
        return GameKernel(copy.deepcopy(self.memory), sides_of(stage))


class GameCMemory(NamedTuple):
    """What LinGame-C's rule keeps, by answer and arm."""

    learned: IntArray  # (1,)
    gap: FloatArray  # (1,)
    seen: FloatArray  # (K,) the pulls that it has learned from
    by_arm: FloatArray  # (K,) w_t, over all answers
    gains: FloatArray  # (K, K)
    totals: FloatArray  # (K, K) Σ w_s
    pulled: FloatArray  # (K, K)


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
        beaten = self.stopping.unasked.get(leader, ())
        shifts = closest_shifts(self.problem, estimate, hedge(gains[leader], rate), leader, beaten)
        gained = np.tile(optimistic_gains(np.zeros(len(seen)), estimate), (len(seen), 1))
        gained[leader] = optimistic_gains(shifts, estimate)  # U_t
        gap[0] += mixability_gap(gains, weights, gained, rate)
        gains += gained
        learned[0] = estimate.pulls

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        memory = self.memory
        pending = estimate.counts - memory.seen
        missed = (memory.totals - memory.pulled).max(axis=0)
        behind = missed + pending.sum() * memory.by_arm - pending
        return first_max(behind, PULL * estimate.pulls)

    def kernel(self, stage: Stage) -> "GameCKernel":
        return GameCKernel(copy.deepcopy(self.memory), sides_of(stage))


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


def closest_shifts(
    problem: Problem,
    estimate: LeastSquares,
    weights: FloatArray,
    leader: int,
    beaten: Iterable[int],
) -> FloatArray:
    """Return xᵀ(θ̂ - λ)/R for each arm, λ the closest alternative to a spread of pulls."""
    found = alternatives(
        problem.orthonormal,
        mixed(weights),
        scaled_gaps(estimate.means, problem.epsilon, problem.noise_scale, leader),
        leader,
        rivals_of(problem, leader, beaten),
    )
    return found.shifts(first_max(-found.values, PULL * float(found.values.min())))


@compiled
def mixed(weights: FloatArray) -> FloatArray:
    """Return weights of which a small share goes to all arms alike."""
    return (1.0 - SHARED) * weights + SHARED / len(weights)


def optimistic_gains(shifts: FloatArray, estimate: LeastSquares) -> FloatArray:
    """Return what a pull of each arm tells of an alternative, as much as it plausibly can.

    shifts: from closest_shifts.
    """
    most = math.log(estimate.pulls)
    reach = np.abs(shifts) + np.sqrt(2.0 * most * estimate.variances)
    return np.asarray(np.minimum(0.5 * reach * reach, most))


class GameKernel(NamedTuple):
    memory: GameMemory
    sides: Sides


class GameCKernel(NamedTuple):
    memory: GameCMemory
    sides: Sides


@choose.of(GameKernel)
def _(pull: GameKernel, model: Model, leader: int, rival: int) -> int:
    arena, book, _ = model
    pulls = book.clock[PULLS]
    if pull.memory.learned[0] != pulls:
        _learn(pull, arena, book, leader, pulls)
        pull.memory.learned[0] = pulls
    return _most_missed(pull.memory.totals, book.counts, pulls)


@choose.of(GameCKernel)
def _(pull: GameCKernel, model: Model, leader: int, rival: int) -> int:
    arena, book, _ = model
    pulls = book.clock[PULLS]
    if pull.memory.learned[0] != pulls:
        _learn_c(pull, arena, book, leader, pulls)
        pull.memory.learned[0] = pulls
    return _most_missed_c(pull.memory.totals, pull.memory.pulled, pulls)


@compiled
def _optimistic(shift: float, variance: float, most: float) -> float:
    reach = abs(shift) + math.sqrt(2.0 * most * variance)
    return min(0.5 * reach * reach, most)


@compiled
def _shifts(
    sides: Sides, weights: FloatArray, arena: Arena, means: FloatArray, leader: int
) -> FloatArray:
    """Do as closest_shifts does."""
    values, steps, arms = compiled_alternatives(
        sides.columns,
        mixed(weights),
        scaled_gaps(means, sides.epsilon, arena.noise_scale, leader),
        leader,
        compiled_rivals(sides, arena.twins, leader),
    )
    return compiled_shifts(steps, arms, compiled_first_max(-values, PULL * values.min()))


@compiled
def _hedge(gains: FloatArray, rate: float, weights: FloatArray) -> float:
    """Write AdaHedge's weights, and return the logarithm of what they were divided by."""
    top, total = gains.max(), 0.0
    for k in range(len(gains)):
        weights[k] = math.exp(rate * (gains[k] - top))
        total += weights[k]
    for k in range(len(gains)):
        weights[k] /= total
    return math.log(total)


@compiled
def _gain(
    gains: FloatArray, weights: FloatArray, gained: FloatArray, rate: float, log_total: float
) -> float:
    """Add to the gains, and return by how much AdaHedge's gap grows."""
    before, after, mean = gains.max(), -math.inf, 0.0
    for k in range(len(gains)):
        mean += weights[k] * gained[k]
        after = max(after, gains[k] - before + gained[k])
    later = 0.0
    for k in range(len(gains)):
        later += math.exp(rate * (gains[k] - before + gained[k] - after))
        gains[k] += gained[k]
    return max(0.0, after + (math.log(later) - log_total) / rate - mean)


@compiled
def _learn(pull: GameKernel, arena: Arena, book: Book, leader: int, pulls: int) -> None:
    """Do as Game.learn does."""
    memory = pull.memory
    totals, weights, gains = memory.totals, memory.weights, memory.gains
    count = len(totals)
    if not totals.any():
        for k in range(count):
            totals[k] = book.counts[k]
    rate = math.log(count) / memory.gap[0]
    log_total = _hedge(gains, rate, weights)
    totals += weights
    gained = _shifts(pull.sides, weights, arena, book.means, leader)
    most = math.log(pulls)
    for k in range(count):
        gained[k] = _optimistic(gained[k], book.variances[k], most)
    memory.gap[0] += _gain(gains, weights, gained, rate, log_total)


@compiled
def _most_missed(totals: FloatArray, counts: IntArray, pulls: int) -> int:
    return compiled_first_max(totals - counts, PULL * pulls)


@compiled
def _learn_c(pull: GameCKernel, arena: Arena, book: Book, leader: int, pulls: int) -> None:
    """Do as GameC.learn does."""
    memory, counts = pull.memory, book.counts
    seen, by_arm, totals, pulled = memory.seen, memory.by_arm, memory.totals, memory.pulled
    gains, count = memory.gains, len(memory.seen)
    if seen.any():
        for arm in range(count):
            if counts[arm] > seen[arm]:
                answer = compiled_first_max(totals[:, arm] - pulled[:, arm], PULL * pulls)
                pulled[answer, arm] += counts[arm] - seen[arm]
    for k in range(count):
        seen[k] = counts[k]
    rate = math.log(count * count) / memory.gap[0]
    weights, row = np.empty(count * count), np.empty(count)
    log_total = _hedge(gains.reshape(-1), rate, weights)
    by_arm[:] = 0.0
    for i in range(count):
        for k in range(count):
            totals[i, k] += weights[i * count + k]
            by_arm[k] += weights[i * count + k]
    _hedge(gains[leader], rate, row)
    moved = _shifts(pull.sides, row, arena, book.means, leader)
    gained, most = np.empty(count * count), math.log(pulls)
    for i in range(count):
        for k in range(count):
            shift = moved[k] if i == leader else 0.0
            gained[i * count + k] = _optimistic(shift, book.variances[k], most)
    memory.gap[0] += _gain(gains.reshape(-1), weights, gained, rate, log_total)


@compiled
def _most_missed_c(totals: FloatArray, pulled: FloatArray, pulls: int) -> int:
    count = len(totals)
    behind = np.full(count, -math.inf)
    for i in range(count):
        for k in range(count):
            behind[k] = max(behind[k], totals[i, k] - pulled[i, k])
    return compiled_first_max(behind, PULL * pulls)
