"""Evidence for noise on a known scale R.

    E = Σ_λ p(λ) exp(λ(S + εI) - ½λ²I)

has a mean of at most 1 if the gap is at most -ε, since S is then sub-Gaussian with variance I
around a mean of at most -εI.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..checks import SMALLEST
from ..errors import InvalidProblem
from ..kernels.functions import on_gpu
from ..kernels.parts import expect, log_value
from .base import (
    BETS,
    NEGLIGIBLE,
    SIZES,
    BlockKernel,
    ContestKernel,
    Finding,
    Guess,
    Sums,
    log_added,
    log_bet,
    log_largest,
    log_sum,
)


@dataclass(frozen=True)
class SubGaussianEvidence:
    """Weighs rewards whose noise is R-sub-Gaussian.

    scale: R; at least 1e-100.

    >>> import numpy as np
    >>> from lingape.evidence import SubGaussianEvidence, Sums
    >>> told = Sums(np.array([10, 10]), np.array([10.0, 0.0]), np.array([12.5, 2.0]))
    >>> evidence = SubGaussianEvidence(0.5)
    >>> guess = evidence.guess(np.array([1.0, 0.0]), np.array([0.1, 0.1]), told, rank=2)
    >>> guess.variances.tolist()
    [0.25, 0.25]
    """

    scale: float

    def __post_init__(self) -> None:
        if self.scale < SMALLEST:
            raise InvalidProblem(
                f"noise (R) must be at least {SMALLEST:g}, or its square is lost; got "
                f"{self.scale:g}. Measure rewards in other units."
            )

    def guess(self, means: FloatArray, leverages: FloatArray, told: Sums, rank: int) -> Guess:
        return Guess(np.full(len(means), self.scale**2), means)

    def log_values(self, finding: Finding) -> FloatArray:
        bets, information = finding.bets, finding.information[:, None]
        scores = finding.scores[:, None] + finding.shift * information
        return log_sum(finding.log_weights + bets * scores - 0.5 * bets**2 * information)

    def kernel(self) -> "SubGaussianKernel":
        """Return this for the compiled lane."""
        return SubGaussianKernel(self.scale)


@on_gpu()
class SubGaussianKernel(NamedTuple):
    scale: float


@expect.of(SubGaussianKernel)
def _(
    evidence: SubGaussianKernel,
    means: FloatArray,
    leverages: FloatArray,
    told: Sums,
    rank: int,
    guess: Guess,
) -> None:
    for k in range(len(means)):
        guess.variances[k], guess.means[k] = evidence.scale**2, means[k]


@log_value.of(SubGaussianKernel)
def _(evidence: SubGaussianKernel, contest: ContestKernel, block: BlockKernel) -> float:
    score = contest.score + contest.shift * contest.information
    total, paid, largest = 0.0, -math.inf, log_largest(contest)
    for k in range(BETS):
        log_weight, bet = log_bet(contest, k) - largest, contest.largest * SIZES[k]
        if log_weight >= NEGLIGIBLE:
            total += math.exp(log_weight)
            paid = log_added(paid, log_weight + bet * score - 0.5 * bet**2 * contest.information)
    return paid - math.log(total)
