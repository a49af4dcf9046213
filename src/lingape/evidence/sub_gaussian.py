"""Evidence for noise on a known scale R.

    E = Σ_λ p(λ) exp(λ(S + εI) - ½λ²I)

has a mean of at most 1 if the gap is at most -ε, since S is then sub-Gaussian with variance I around a
mean of at most -εI.
"""

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from .base import Finding, Guess, Sums, log_sum


@dataclass(frozen=True)
class SubGaussianEvidence:
    scale: float

    def guess(self, means: FloatArray, told: Sums, rank: int) -> Guess:
        return Guess(np.full(len(means), self.scale**2), means)

    def log_values(self, finding: Finding) -> FloatArray:
        bets, information = finding.bets, finding.information[:, None]
        scores = finding.scores[:, None] + finding.shift * information
        return log_sum(finding.log_weights + bets * scores - 0.5 * bets**2 * information)
