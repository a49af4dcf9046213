"""Frank-Wolfe sampling: one step towards the best proportions with every pull."""

import copy
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..designs.matrix_game import maximin
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
    rivals_of,
    scaled_gaps,
    sides_of,
)
from ..pulls.base import Learner
from ..scaffold import Spanning, opening_for
from ..scaffold.sampling import SamplingExplorer
from ..stopping import StoppingRule
from ..ties import LEADER, PULL, first_max


class FrankWolfeSampling(SamplingExplorer):
    """Find an ε-best arm with probability 1 - δ, climbing towards the best proportions of pulls.

    Wang, Tzeng and Proutiere, Fast pure exploration via Frank-Wolfe (NeurIPS 2021), for linear
    bandits. If θ were the estimate, pulls in proportions x would tell the leader i from rival j at
    the rate, with a_k the features of arm k,

        f_j(x) = gap_j²/(2R²‖a_i - a_j‖²),  in the norm of V_x⁻¹,  V_x = Σ_k x_k a_k a_kᵀ,

    and the best proportions maximise the least of these. Each pull moves x by 1/t towards the z
    that does best, to first order, for all rivals whose rates are within r_t of the least: a small
    matrix game. The arm pulled is then the one furthest behind x. Now and then z is even, so that
    no arm is forgotten. In the long run the proportions are the best there are for the unknown θ.

    With ε > 0 the gap is what the rival lacks to being better by ε.

    problem: the arms, and what counts as an answer.
    bound: decides when to stop; it has to hold when past rewards choose the next arm.
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).
    start, elimination: as for LinGapE; "sample" also forgets the rates of beaten rivals.

    Where this differs from the paper:

    - Stopping is the bound's business; the paper's experiments stop by a threshold without a
      proof.
    - With a spanning start the even steps are about the arms of the start alone: to pull all
      others first would undo it.

    Here the last arm is the worst, and its pulls tell the other two apart:

    >>> from lingape import FrankWolfeSampling, Problem
    >>> explorer = FrankWolfeSampling(Problem([[1, 0], [1, 0.1], [0, 1]], noise=1.0))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[5.0, 5.1, 1.0][arm])
    >>> explorer.recommend(), int(explorer.counts.argmax())
    (1, 2)
    """

    def _rule(self, stopping: StoppingRule) -> PullRule:
        everywhere = range(len(self.problem))
        spans = isinstance(opening_for(self.start, self.problem), Spanning)
        first = self.problem.spanning if spans else everywhere
        return FrankWolfe(self.problem, stopping, list(first))


class FrankWolfeMemory(NamedTuple):
    """What the rule keeps."""

    learned: IntArray  # (1,) the number of pulls that it has learned from
    totals: FloatArray  # (K,) t·x(t)


class FrankWolfe(Learner):
    """Move the proportions with each reward, and pull the arm furthest behind them.

    first: the arms of the opening.
    """

    all_rows: ClassVar[bool] = True
    most_arms: ClassVar[int] = MOST_ROWS

    def __init__(self, problem: Problem, stopping: StoppingRule, first: list[int]) -> None:
        self.problem, self.stopping = problem, stopping
        self.even: FloatArray = np.zeros(len(problem))  # the even z
        self.even[first] = 1.0 / len(first)
        self.memory = FrankWolfeMemory(
            learned=np.zeros(1, dtype=np.int64), totals=np.zeros(len(problem))
        )

    def learn(self, estimate: LeastSquares, leader: int) -> None:
        learned, totals = self.memory
        if not totals.any():
            totals[:] = estimate.pulls * self.even
        # t x(t) = (t - 1) x(t - 1) + z(t)
        totals += self._step(estimate, leader, totals / estimate.pulls)
        learned[0] = estimate.pulls

    def _step(self, estimate: LeastSquares, leader: int, x: FloatArray) -> FloatArray:
        """Return z(t), given x(t - 1)."""
        problem, even, t = self.problem, self.even, estimate.pulls + 1
        rivals = rivals_of(problem, leader, self.stopping.unasked.get(leader, ()))
        gaps = scaled_gaps(estimate.means, problem.epsilon, problem.noise_scale, leader)
        slack = LEADER * (1.0 + abs(estimate.means[leader]) / problem.noise_scale)
        if is_square(t // int((even > 0).sum())) or gaps[rivals].min() <= slack:
            return even
        found = alternatives(problem.orthonormal, x, gaps, leader, rivals)
        near = found.values.min() + t**-0.9 / len(x)  # r_t
        pieces = np.flatnonzero(found.values < near)
        slopes = 0.5 * (found.steps[pieces] @ found.arms.T) ** 2  # ∇f_j
        return maximin(slopes, found.values[pieces])

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        """Return the arm furthest behind x."""
        totals = self.memory.totals
        ratios = np.where(totals > 0, totals / np.maximum(estimate.counts, 1e-300), 0.0)
        return first_max(ratios, PULL * float(ratios.max()))

    def kernel(self, stage: Stage) -> "FrankWolfeKernel":
        return FrankWolfeKernel(copy.deepcopy(self.memory), sides_of(stage), self.even)


@compiled
def is_square(n: int) -> bool:
    """Whether n is 0, 1, 4, 9, … (up to 10^15)."""
    root = int(math.sqrt(n) + 0.5)
    return root * root == n


compiled(maximin)


class FrankWolfeKernel(NamedTuple):
    memory: FrankWolfeMemory
    sides: Sides
    even: FloatArray  # (K,) the even z


@choose.of(FrankWolfeKernel)
def _(pull: FrankWolfeKernel, model: Model, leader: int, rival: int) -> int:
    arena, book, _ = model
    pulls = book.clock[PULLS]
    if pull.memory.learned[0] != pulls:
        _learn(pull, arena, book, leader, pulls)
        pull.memory.learned[0] = pulls
    return _most_behind(pull.memory.totals, book.counts)


@compiled
def _learn(pull: FrankWolfeKernel, arena: Arena, book: Book, leader: int, pulls: int) -> None:
    totals = pull.memory.totals
    if not totals.any():
        totals[:] = pulls * pull.even
    totals += _step(pull, arena, book, leader, pulls)


@compiled
def _step(pull: FrankWolfeKernel, arena: Arena, book: Book, leader: int, pulls: int) -> FloatArray:
    """Return z(t)."""
    totals, even, sides = pull.memory.totals, pull.even, pull.sides
    count, t, first = len(totals), pulls + 1, 0
    for k in range(count):
        if even[k] > 0.0:
            first += 1
    rivals = compiled_rivals(sides, arena.twins, leader)
    gaps = scaled_gaps(book.means, sides.epsilon, arena.noise_scale, leader)
    least = math.inf
    for k in range(count):
        if rivals[k]:
            least = min(least, gaps[k])
    slack = LEADER * (1.0 + abs(book.means[leader]) / arena.noise_scale)
    if is_square(t // first) or least <= slack:
        return even
    values, steps, arms = compiled_alternatives(
        sides.columns, totals / pulls, gaps, leader, rivals
    )
    near = values.min() + t**-0.9 / count
    slopes, rates = _pieces(values, steps, arms, near)
    return maximin(slopes, rates)


@compiled
def _pieces(
    values: FloatArray, steps: FloatArray, arms: FloatArray, near: float
) -> tuple[FloatArray, FloatArray]:
    """Return the slopes and rates of the rivals whose rates are below `near`."""
    close = np.flatnonzero(values < near)
    slopes, rates = np.zeros((len(close), len(values))), values[close]
    for m in range(len(close)):
        for p in range(len(arms)):
            for k in range(len(values)):
                slopes[m, k] += steps[p, close[m]] * arms[p, k]
        for k in range(len(values)):
            slopes[m, k] = 0.5 * slopes[m, k] * slopes[m, k]
    return slopes, rates


@compiled
def _most_behind(totals: FloatArray, counts: IntArray) -> int:
    ratios = np.zeros(len(totals))
    for k in range(len(totals)):
        if totals[k] > 0.0:
            ratios[k] = totals[k] / max(float(counts[k]), 1e-300)
    return compiled_first_max(ratios, PULL * ratios.max())
