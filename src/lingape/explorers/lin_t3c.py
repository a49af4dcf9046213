"""LinT3C: draw a leader from what the data leave possible, and pull against its closest rival."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound, Mixture
from ..checks import checked_whole
from ..draws import normal
from ..kernels.book import MOST_ROWS, PULLS, Arena, Book, Model, Stage
from ..kernels.draws import compiled_normal
from ..kernels.functions import compiled
from ..kernels.parts import choose
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import PullRule, greedy
from ..pulls.greedy import sharpest_between
from ..scaffold import Elimination, Start
from ..scaffold.sampling import SamplingExplorer
from ..stopping import StoppingRule
from ..ties import LEADER, RIVAL, first_max


class LinT3C(SamplingExplorer):
    """Pull for the contest between a drawn leader and the arm that overtakes it most easily.

    The linear version of top-two Thompson sampling with the "transportation cost" challenger of
    Shang, de Heide, Ménard, Kaufmann and Valko, Fixed-confidence guarantees for Bayesian best-arm
    identification (AISTATS 2020), as in Shang's LinBAI.jl, where it is called L-T3C. The leader is
    the best arm under a draw θ̃ ~ N(θ̂, R²V⁻¹). Its challenger is the arm that takes least
    evidence to overtake it, least by the generalised likelihood ratio
    ((x_i - x_j)ᵀθ̂ + ε)²/(2R²‖x_i - x_j‖²). The pull is the one that shrinks their gap's variance
    most (LinGapE's greedy rule), not one of the two at random.

    problem: the arms, and what counts as an answer.
    bound: decides when to stop.
    ridge: λ of the estimate, for bounds around a ridge estimate.
    start: "each" pulls every arm once first; "spanning" only as many as there are dimensions;
        "auto" as for LinGapE.
    elimination: as for LinGapE; draws ignore it, so that "sample" is the same as "stop".
    seed: of the draws.

    Where this departs from the paper:

    - θ̃ is the estimate from rewards with noise added: the rewards of an arm that was pulled T
      times gain R√T times a standard normal number in sum. That has exactly the covariance R²V⁻¹,
      and does not depend on the basis of the features, as a root of V⁻¹ would. (Around a ridge
      estimate the covariance is R²A⁻¹VA⁻¹, a little less than R²A⁻¹.)
    - A drawn leader is often not the best-looking arm, and all arms that look better have ratio 0.
      The paper draws one of these; here it is the one furthest ahead, in standard deviations.

    >>> from lingape import LinT3C, Problem
    >>> explorer = LinT3C(Problem([[1, 0], [1, 0.1], [0, 1]], noise=1.0), seed=1)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[5.0, 5.1, 1.0][arm])
    >>> explorer.recommend(), int(explorer.counts.argmax())
    (1, 2)
    """

    settings: ClassVar[tuple[str, ...]] = ("start", "elimination", "seed")

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        ridge: float | None = None,
        start: Start = "each",
        elimination: Elimination = "none",
        seed: int = 0,
    ) -> None:
        self.seed = checked_whole("seed", seed, most=2**63 - 1)
        super().__init__(problem, bound=bound, ridge=ridge, start=start, elimination=elimination)

    def _rule(self, stopping: StoppingRule) -> PullRule:
        return TopTwo(self.problem, self.seed)


@dataclass(frozen=True, eq=False)
class TopTwo:
    """Pull greedily for a drawn leader and its challenger, whichever arm leads."""

    problem: Problem
    seed: int
    all_rows: ClassVar[bool] = True
    most_arms: ClassVar[int] = MOST_ROWS

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        drawn = self._drawn(estimate)
        top = float(drawn.max())
        leader = first_max(drawn, LEADER * (self.problem.noise_scale + abs(top)))
        return greedy(estimate, leader, self._challenger(estimate, leader))

    def _drawn(self, estimate: LeastSquares) -> FloatArray:
        """Return the means under θ̃ ~ N(θ̂, R²V⁻¹)."""
        counts, x = estimate.counts, estimate.features
        numbers = [
            normal(self.seed, estimate.pulls, k) if counts[k] else 0.0 for k in range(len(x))
        ]
        noise = self.problem.noise_scale * np.sqrt(counts) * numbers
        drawn: FloatArray = estimate.means + x @ (estimate.inverse @ (x.T @ noise))
        return drawn

    def _challenger(self, estimate: LeastSquares, leader: int) -> int:
        """Return the arm that is least far behind the leader, in standard deviations."""
        problem, x = self.problem, estimate.features
        rivals = np.flatnonzero(estimate.twins != estimate.twins[leader])
        # Not by estimate.contrasts, which remembers what it was asked: asking changes nothing.
        y = x[rivals] - x[leader]
        lengths = np.sqrt(np.einsum("kd,de,ke->k", y, estimate.inverse, y, optimize=True))
        deviations = np.full(len(x), np.inf)
        ahead = estimate.means[leader] - estimate.means[rivals] + problem.epsilon
        deviations[rivals] = ahead / lengths
        least = float(deviations.min())
        return first_max(-deviations, RIVAL * (problem.noise_scale + abs(least)))

    def kernel(self, stage: Stage) -> "TopTwoKernel":
        count = len(stage.problem)
        return TopTwoKernel(self.seed, stage.problem.epsilon, np.zeros(count))


class TopTwoKernel(NamedTuple):
    """All rows of the book are kept, in order."""

    seed: int
    epsilon: float
    noise: FloatArray  # (K,) work


@choose.of(TopTwoKernel)
def _(pull: TopTwoKernel, model: Model, leader: int, rival: int) -> int:
    return _drawn(pull, model.arena, model.book, model.book.clock[PULLS])


@compiled
def _drawn(pull: TopTwoKernel, arena: Arena, book: Book, pulls: int) -> int:
    """Return the arm that settles best between a drawn leader and its challenger."""
    leader = _drawn_leader(pull, arena, book, pulls)
    rival = _challenger(pull, arena, book, leader)
    return sharpest_between(book.team, book.cross, book.variances, leader, rival, book.scores)


@compiled
def _drawn_leader(pull: TopTwoKernel, arena: Arena, book: Book, pulls: int) -> int:
    counts, cross, means = book.counts, book.cross, book.means
    drawn, noise = book.c, pull.noise
    count = len(counts)
    for k in range(count):
        noise[k] = 0.0
        if counts[k] > 0:
            noise[k] = (
                arena.noise_scale * math.sqrt(counts[k]) * compiled_normal(pull.seed, pulls, k)
            )
    top = -math.inf
    for i in range(count):
        value = 0.0
        for k in range(count):
            value += cross[i, k] * noise[k]
        drawn[i] = means[i] + value
        top = max(top, drawn[i])
    leader = 0
    while drawn[leader] < top - LEADER * (arena.noise_scale + abs(top)):
        leader += 1
    return leader


@compiled
def _challenger(pull: TopTwoKernel, arena: Arena, book: Book, leader: int) -> int:
    """Return the arm that is least far behind the leader, in standard deviations."""
    means, twins, deviations, least = book.means, arena.twins, pull.noise, math.inf
    for k in range(len(means)):
        deviations[k] = math.inf
        if twins[k] != twins[leader]:
            ahead = means[leader] - means[k] + pull.epsilon
            deviations[k] = ahead / math.sqrt(book.gap_variance[leader, k])
            least = min(least, deviations[k])
    rival = 0
    while deviations[rival] > least + RIVAL * (arena.noise_scale + abs(least)):
        rival += 1
    return rival
