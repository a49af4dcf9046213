"""Evidence for rewards in a range, whatever their variance.

With a guess m of each arm's mean and β = λw,

    E = Σ_λ p(λ) exp(λεI) Π (1 + β(r - m)) exp(βm),   the product over the pulls of a block,

has a mean of at most 1 if the gap is at most -ε: a factor has the mean (1 + β(μ - m)) exp(βm) ≤
exp(βμ), and Σ βμ = λI·gap. Its logarithm is βr - ½β²(r - m)² and terms of third order, so the
variance that counts is the one that rewards have, arm by arm. For rewards other than 0 and 1 a
factor is replaced by something smaller that depends only on r and r² (`curvature`), so that sums
of rewards and of their squares are all that has to be known.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..kernels.functions import compiled, on_gpu
from ..kernels.parts import expect, log_value
from ..noise import Binary, Bounded
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

DEEPEST = 0.5  # no reward lowers a factor to less than 1 - DEEPEST
PRIOR_PULLS = 10.0  # how many pulls the variance that follows from the mean counts for
NARROWEST = 1e-4  # of the variance that a mean allows
SMALLEST = 1e-16  # of an arm whose features are all 0, which allow none: plans divide by it
CHUNK = 1_000_000  # numbers at a time


@dataclass(frozen=True)
class BoundedEvidence:
    """Weighs rewards in a range, by the variance that each arm's rewards show.

    noise: the range.

    >>> import numpy as np
    >>> from lingape import Binary
    >>> from lingape.evidence import BoundedEvidence, Sums
    >>> told = Sums(np.array([50, 50]), np.array([45.0, 25.0]), np.array([45.0, 25.0]))
    >>> evidence = BoundedEvidence(Binary())
    >>> guess = evidence.guess(np.array([0.9, 0.5]), np.array([0.02, 0.02]), told, rank=2)
    >>> guess.variances.round(3).tolist()
    [0.095, 0.25]
    """

    noise: Bounded

    def guess(self, means: FloatArray, leverages: FloatArray, told: Sums, rank: int) -> Guess:
        """Return means within the range, and variances between theirs and what rewards show.

        Estimated means are drawn towards the average reward, by as much as half a success at that
        rate says (or half a failure, if these are rarer). A mean m allows a variance of up to
        m(1 - m), which rewards of 0 and 1 have. Others have a share of it, which is estimated, as
        is then the variance of each arm.
        """
        low, width = self.noise.low, self.noise.high - self.noise.low
        counts, (sums, squares) = told.counts, self._moved(told)
        middle = (float(sums.sum()) + 0.5) / (float(counts.sum()) + 1.0)
        prior = leverages * (0.5 / min(middle, 1.0 - middle))
        m = (np.clip((means - low) / width, 0.0, 1.0) + prior * middle) / (1.0 + prior)
        most = np.maximum(m * (1.0 - m), SMALLEST)
        variances = most
        if not isinstance(self.noise, Binary):
            spread = np.maximum(squares - 2.0 * m * sums + counts * m**2, 0.0)
            share = (spread.sum() + PRIOR_PULLS / 4) / (counts @ most + PRIOR_PULLS / 4)
            variances = (PRIOR_PULLS * min(1.0, share) * most + spread) / (PRIOR_PULLS + counts)
            variances = np.maximum(variances, NARROWEST * most)
        return Guess(width**2 * variances, low + width * m)

    def _moved(self, told: Sums) -> tuple[FloatArray, FloatArray]:
        """Return sums of rewards and of their squares, with rewards moved to [0, 1]."""
        low, width = self.noise.low, self.noise.high - self.noise.low
        sums = (told.sums - told.counts * low) / width
        squares = (told.squares - 2.0 * low * told.sums + told.counts * low**2) / width**2
        return sums, squares

    def log_values(self, finding: Finding) -> FloatArray:
        rows = max(1, CHUNK // max(1, finding.weights.shape[1] * finding.bets.shape[1]))
        parts = [
            self._some(finding, slice(first, first + rows))
            for first in range(0, len(finding.scores), rows)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _some(self, finding: Finding, rows: slice) -> FloatArray:
        """Return log E for some contests."""
        width = self.noise.high - self.noise.low
        n, (s, s2) = finding.sums.counts, self._moved(finding.sums)
        m = (finding.guess.means - self.noise.low) / width
        w, information = width * finding.weights[rows], finding.information[rows, None]
        depth = np.maximum(w * m, -w * (1.0 - m)).max(axis=1)  # how far a factor falls, per λ
        bets = np.minimum(finding.bets[rows], DEEPEST / depth[:, None])
        beta = bets[:, :, None] * w[:, None, :]
        if isinstance(self.noise, Binary):
            logs = s * np.log1p(beta * (1.0 - m)) + (n - s) * np.log1p(-beta * m) + n * beta * m
        else:
            fall = np.maximum(beta * m, -beta * (1.0 - m))
            logs = beta * s - curvature(fall) * beta**2 * np.maximum(
                s2 - 2 * m * s + n * m**2, 0.0
            )
        # Σ β·low/width: the part of S that moving rewards took away.
        moved = bets * ((n * finding.weights[rows]).sum(axis=1) * self.noise.low)[:, None]
        total = logs.sum(axis=2) + moved + bets * finding.shift * information
        return log_sum(finding.log_weights[rows] + total)

    def kernel(self) -> "BoundedKernel":
        """Return this for the compiled lane."""
        noise = self.noise
        return BoundedKernel(noise.low, noise.high - noise.low, isinstance(noise, Binary))


def curvature(fall: FloatArray) -> FloatArray:
    """Return the c for which log(1 + u) ≥ u - cu² for all u ≥ -fall."""
    small = np.maximum(fall, 1e-3)
    exact = (-np.log1p(-small) - small) / small**2
    # Below that rounding would show; the series has only terms above 0.
    series = 0.5 + fall / 3.0 + fall**2 / 4.0 + fall**3
    return np.where(fall < 1e-3, series, exact)


@on_gpu()
class BoundedKernel(NamedTuple):
    low: float
    width: float
    binary: bool


@expect.of(BoundedKernel)
def _(
    evidence: BoundedKernel,
    means: FloatArray,
    leverages: FloatArray,
    told: Sums,
    rank: int,
    guess: Guess,
) -> None:
    _expect(evidence, means, leverages, told, guess)


@compiled
def _expect(
    evidence: BoundedKernel, means: FloatArray, leverages: FloatArray, told: Sums, guess: Guess
) -> None:
    counts, low, width = told.counts, evidence.low, evidence.width
    successes, pulls, scatter, allowed = 0.0, 0, 0.0, 0.0
    spread = guess.variances  # until these are known
    for k in range(len(means)):
        successes += _moved(evidence, told, k)[0]
        pulls += counts[k]
    middle = (successes + 0.5) / (pulls + 1.0)
    for k in range(len(means)):
        prior = leverages[k] * (0.5 / min(middle, 1.0 - middle))
        m = (min(max((means[k] - low) / width, 0.0), 1.0) + prior * middle) / (1.0 + prior)
        s, s2 = _moved(evidence, told, k)
        spread[k] = max(s2 - 2.0 * m * s + counts[k] * m**2, 0.0)
        scatter += spread[k]
        allowed += counts[k] * max(m * (1.0 - m), SMALLEST)
        guess.means[k] = m
    share = min(1.0, (scatter + PRIOR_PULLS / 4) / (allowed + PRIOR_PULLS / 4))
    for k in range(len(means)):
        most = max(guess.means[k] * (1.0 - guess.means[k]), SMALLEST)
        variance = most
        if not evidence.binary:
            variance = (PRIOR_PULLS * share * most + spread[k]) / (PRIOR_PULLS + counts[k])
            variance = max(variance, NARROWEST * most)
        guess.variances[k] = width**2 * variance
        guess.means[k] = low + width * guess.means[k]


@compiled
def _moved(evidence: BoundedKernel, told: Sums, k: int) -> tuple[float, float]:
    n, low, width = told.counts[k], evidence.low, evidence.width
    s = (told.sums[k] - n * low) / width
    return s, (told.squares[k] - 2.0 * low * told.sums[k] + n * low**2) / width**2


@log_value.of(BoundedKernel)
def _(evidence: BoundedKernel, contest: ContestKernel, block: BlockKernel) -> float:
    return _log_value(evidence, contest, block)


@compiled
def _log_value(evidence: BoundedKernel, contest: ContestKernel, block: BlockKernel) -> float:
    weights, counts, width = contest.weights, block.told.counts, evidence.width
    depth, moved = 0.0, 0.0
    for a in range(len(weights)):
        m, w = (block.guess.means[a] - evidence.low) / width, width * weights[a]
        depth = max(depth, w * m, -w * (1.0 - m))
        moved += counts[a] * weights[a]
    total, paid, largest = 0.0, -math.inf, log_largest(contest)
    for k in range(BETS):
        log_weight = log_bet(contest, k) - largest
        if log_weight < NEGLIGIBLE:
            continue
        bet = min(contest.largest * SIZES[k], DEEPEST / depth)
        logs = bet * (moved * evidence.low + contest.shift * contest.information)
        for a in range(len(weights)):
            n, (s, s2) = counts[a], _moved(evidence, block.told, a)
            m = (block.guess.means[a] - evidence.low) / width
            beta = bet * width * weights[a]
            if evidence.binary:
                logs += s * math.log1p(beta * (1.0 - m)) + (n - s) * math.log1p(-beta * m)
                logs += n * beta * m
            else:
                c = _curvature(max(beta * m, -beta * (1.0 - m)))
                logs += beta * s - c * beta**2 * max(s2 - 2 * m * s + n * m**2, 0.0)
        total += math.exp(log_weight)
        paid = log_added(paid, log_weight + logs)
    return paid - math.log(total)


@compiled
def _curvature(fall: float) -> float:
    if fall < 1e-3:
        return 0.5 + fall / 3.0 + fall**2 / 4.0 + fall**3
    return (-math.log1p(-fall) - fall) / fall**2
