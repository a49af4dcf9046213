"""Evidence for Gaussian noise whose standard deviation is not known.

Given the past, the least-squares score S of a block and its residuals are independent. Only the
angle between them is looked at, which no standard deviation changes: with S' = S + εI,
u = S'/√(S'² + I·residual) and ν degrees of freedom,

    E = Σ_λ p(λ) exp(-½η²) E[exp(ηuχ)],   η = λ√I,   χ² chi-squared with ν + 1 of these,

is the likelihood ratio of Student's t at the noncentralities η and 0. It grows with u, so its mean
is at most 1 for all gaps up to -ε and every standard deviation.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..kernels.functions import compiled, on_gpu
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

# Nodes of the trapezoidal rule, in standard deviations of the integrand, which falls off slowly on
# the left if there are few degrees of freedom.
NODES = np.arange(-26.0, 9.01, 0.5)
ROUNDING = 1e-14  # of a sum of squares
LOST = 1e-20  # of the variance, for each reward: squares of tiny rewards are 0


@dataclass(frozen=True)
class NormalEvidence:
    """Weighs Gaussian rewards whose standard deviation is not known, but the same for all arms.

    >>> import numpy as np
    >>> from lingape.evidence import NormalEvidence, Sums
    >>> told = Sums(np.array([10, 10]), np.array([10.0, 0.0]), np.array([12.5, 2.0]))
    >>> guess = NormalEvidence().guess(np.array([1.0, 0.0]), np.array([0.1, 0.1]), told, rank=2)
    >>> guess.variances.round(3).tolist()
    [0.25, 0.25]
    """

    def guess(self, means: FloatArray, leverages: FloatArray, told: Sums, rank: int) -> Guess:
        spread = told.squares - 2.0 * means * told.sums + told.counts * means**2
        freedom = max(1, int(told.counts.sum()) - rank)
        variance = max(float(spread.sum()) / freedom, 1e-300)
        # Far from zero rounding would otherwise show as noise of 0.
        variance = max(variance, 1e-20 * float(np.square(means).max()))
        return Guess(np.full(len(means), variance), means)

    def log_values(self, finding: Finding) -> FloatArray:
        if finding.freedom < 1:
            return np.zeros(len(finding.scores))
        information = finding.information
        shifted = (finding.scores + finding.shift * information) / np.sqrt(information)
        # Squares of rewards far from 0 leave few digits for what they scatter.
        told, variances = finding.sums, finding.guess.variances
        slips = ROUNDING * told.squares / variances + LOST * told.counts
        residual = finding.residual + float(slips.sum())
        u = shifted / np.sqrt(np.maximum(shifted**2 + residual, 1e-300))
        effects = finding.bets * np.sqrt(information)[:, None]  # η
        mean = log_mean_exp_chi(effects * u[:, None], finding.freedom + 1)
        return log_sum(finding.log_weights + mean - 0.5 * effects**2)

    def kernel(self) -> "NormalKernel":
        """Return this for the compiled lane."""
        return NormalKernel()


def log_mean_exp_chi(x: FloatArray, freedom: int) -> FloatArray:
    """Return log E[exp(xχ)], where χ is the root of a chi-squared variable.

    By the trapezoidal rule in log χ, which is exact to rounding for an integrand like this.

    >>> abs(float(log_mean_exp_chi(np.array(0.0), 7))) < 1e-9
    True
    """
    mode = 0.5 * (x + np.sqrt(x**2 + 4.0 * freedom))
    step = 1.0 / np.sqrt(mode**2 + freedom)
    chi = mode[..., None] * np.exp(NODES * step[..., None])
    exponent = freedom * np.log(chi) - 0.5 * chi**2 + x[..., None] * chi
    scale = math.lgamma(freedom / 2) + (freedom / 2 - 1) * math.log(2.0)
    mean: FloatArray = log_sum(exponent) + np.log((NODES[1] - NODES[0]) * step) - scale
    return mean


@on_gpu()
class NormalKernel(NamedTuple):
    pass


@expect.of(NormalKernel)
def _(
    evidence: NormalKernel,
    means: FloatArray,
    leverages: FloatArray,
    told: Sums,
    rank: int,
    guess: Guess,
) -> None:
    spread, pulls, largest = 0.0, 0, 0.0
    for k in range(len(means)):
        n = told.counts[k]
        spread += told.squares[k] - 2.0 * means[k] * told.sums[k] + n * means[k] ** 2
        pulls += n
        largest = max(largest, means[k] ** 2)
    variance = max(spread / max(1, pulls - rank), 1e-300, 1e-20 * largest)
    for k in range(len(means)):
        guess.variances[k], guess.means[k] = variance, means[k]


@log_value.of(NormalKernel)
def _(evidence: NormalKernel, contest: ContestKernel, block: BlockKernel) -> float:
    residual = block.residual
    for a in range(len(block.told.squares)):
        residual += ROUNDING * block.told.squares[a] / block.guess.variances[a]
        residual += LOST * block.told.counts[a]
    return _log_value(contest, residual, block.freedom)


@compiled
def _log_value(contest: ContestKernel, residual: float, freedom: int) -> float:
    if freedom < 1:
        return 0.0
    root = math.sqrt(contest.information)
    shifted = (contest.score + contest.shift * contest.information) / root
    u = shifted / math.sqrt(max(shifted**2 + residual, 1e-300))
    total, paid, largest = 0.0, -math.inf, log_largest(contest)
    for k in range(BETS):
        log_weight = log_bet(contest, k) - largest
        if log_weight >= NEGLIGIBLE:
            effect = contest.largest * SIZES[k] * root
            mean = _log_mean_exp_chi(effect * u, freedom + 1)
            total += math.exp(log_weight)
            paid = log_added(paid, log_weight + mean - 0.5 * effect**2)
    return paid - math.log(total)


@compiled
def _log_mean_exp_chi(x: float, freedom: int) -> float:
    mode = 0.5 * (x + math.sqrt(x**2 + 4.0 * freedom))
    step = 1.0 / math.sqrt(mode**2 + freedom)
    largest = freedom * math.log(mode) - 0.5 * mode**2 + x * mode
    total = 0.0
    for node in NODES:
        chi = mode * math.exp(node * step)
        total += math.exp(freedom * math.log(chi) - 0.5 * chi**2 + x * chi - largest)
    scale = math.lgamma(freedom / 2) + (freedom / 2 - 1) * math.log(2.0)
    return largest + math.log(total * (NODES[1] - NODES[0]) * step) - scale
