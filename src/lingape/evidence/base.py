"""What kinds of evidence have in common: bets on how large a gap is, and sums over a block."""

import math
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from ..arrays import FloatArray, IntArray
from ..kernels.functions import inlined, on_gpu

# A bet is a gap λ that rewards may show. The largest is the standard error that few pulls leave,
# and each other is STEP times the one before. The first COMMON are equally likely beforehand, and
# the others share what is left, each STEP times as likely as the one before.
BETS, COMMON, RARE, STEP = 32, 14, 0.07, math.sqrt(0.5)
# Estimates of the gap that is bet on are taken to be this much less certain than they are: the
# leader is the arm that was overestimated most.
DOUBT = 2.0
FARTHEST = 1e100  # standard errors between a bet and the estimate, at most
NEGLIGIBLE = -30.0  # log-weights this far below the largest are left out
SIZES = STEP ** np.arange(BETS)
LOG_PRIOR = np.log(
    np.where(
        np.arange(BETS) < COMMON,
        (1.0 - RARE) / COMMON,
        RARE * (1.0 - STEP) * STEP ** (np.arange(BETS) - COMMON),
    )
)


@on_gpu()
class Sums(NamedTuple):
    """What a block, or a whole run, was paid, by arm.

    >>> from lingape.evidence import Sums
    >>> told = Sums.nothing(arms=2)
    >>> told.add(0, reward=1.5)
    >>> told
    Sums(counts=array([1, 0]), sums=array([1.5, 0. ]), squares=array([2.25, 0.  ]))
    """

    counts: IntArray  # how many rewards
    sums: FloatArray  # the sums of the rewards
    squares: FloatArray  # the sums of their squares

    @classmethod
    def nothing(cls, arms: int) -> Self:
        """Return those of so many arms before any reward."""
        return cls(np.zeros(arms, dtype=np.int64), np.zeros(arms), np.zeros(arms))

    def of(self, arms: IntArray) -> Self:
        """Return those of some arms."""
        return self._replace(
            counts=self.counts[arms], sums=self.sums[arms], squares=self.squares[arms]
        )

    def copy(self) -> Self:
        return self.of(np.arange(len(self.counts)))

    def add(self, place: int, reward: float) -> None:
        """Count a reward."""
        self.counts[place] += 1
        self.sums[place] += reward
        self.squares[place] += reward * reward


@on_gpu()
class Guess(NamedTuple):
    """What rewards are expected to be like, by arm, from those told so far.

    >>> import numpy as np
    >>> from lingape.evidence import Guess, SubGaussianEvidence, Sums
    >>> told = Sums(np.array([10, 10]), np.array([10.0, 0.0]), np.array([12.5, 2.0]))
    >>> estimates, leverages = np.array([1.0, 0.0]), np.array([0.1, 0.1])
    >>> guess: Guess = SubGaussianEvidence(0.5).guess(estimates, leverages, told, rank=2)
    >>> guess.means.tolist(), guess.variances.tolist()
    ([1.0, 0.0], [0.25, 0.25])
    """

    variances: FloatArray  # of the rewards of each arm
    means: FloatArray  # of the rewards of each arm


class Finding(NamedTuple):
    """What a block says about J contests of a challenger and a rival, from A arms.

    Rewards r of arm a count w_a in S = Σ w_a r, such that S has the mean I·(gap + shift) and, if
    the guess of the variances is right, the variance I.

    weights: w, one row per contest, one column per arm that has pulls in the block.
    scores: S of each contest.
    information: I of each contest.
    bets: λ, the gaps that rewards may show, a row per contest.
    log_weights: the logarithms of the bets' weights, which sum to 1 in each row.
    shift: what gaps are compared with: ε, or 0.
    sums: what each arm was paid in the block.
    guess: what it was expected to pay.
    residual: the sum of (r - fitted)²/variance over the rewards of the block.
    freedom: how many pulls there were beyond those that the fit uses up.

    Here two arms had 50 pulls each, and the first paid 1 more on average:

    >>> import numpy as np
    >>> from lingape.evidence import Finding, Guess, SubGaussianEvidence, Sums
    >>> rewards = Sums(np.array([50, 50]), np.array([50.0, 0.0]), np.array([99.0, 49.0]))
    >>> finding = Finding(
    ...     weights=np.array([[0.5, -0.5]]),
    ...     scores=np.array([25.0]),
    ...     information=np.array([25.0]),
    ...     bets=np.array([[0.5, 1.0]]),
    ...     log_weights=np.log([[0.5, 0.5]]),
    ...     shift=0.0,
    ...     sums=rewards,
    ...     guess=Guess(np.ones(2), np.array([1.0, 0.0])),
    ...     residual=98.0,
    ...     freedom=98,
    ... )
    >>> SubGaussianEvidence(1.0).log_values(finding).round(2).tolist()
    [11.85]
    """

    weights: FloatArray  # (J, A)
    scores: FloatArray  # (J,)
    information: FloatArray  # (J,)
    bets: FloatArray  # (J, B)
    log_weights: FloatArray  # (J, B)
    shift: float
    sums: Sums  # (A,)
    guess: Guess  # (A,)
    residual: float
    freedom: int


class Evidence(Protocol):
    """The evidence in a block, for one kind of noise.

    >>> import numpy as np
    >>> from lingape import Normal
    >>> from lingape.evidence import Sums, evidence_for
    >>> evidence = evidence_for(Normal())
    >>> told = Sums(np.array([10, 10]), np.array([10.0, 0.0]), np.array([12.5, 2.0]))
    >>> guess = evidence.guess(np.array([1.0, 0.0]), np.array([0.1, 0.1]), told, rank=2)
    >>> guess.variances.round(3).tolist()
    [0.25, 0.25]
    """

    def guess(self, means: FloatArray, leverages: FloatArray, told: Sums, rank: int) -> Guess:
        """Return what to expect, given estimated means and all rewards told.

        leverages: ‖x‖² of each arm in the norm of V⁻¹; a mean is known as well as if its arm alone
            had been pulled 1/leverage times.
        told: what was paid, by arm.
        rank: the dimension of the span of the arms.
        """
        ...

    def log_values(self, finding: Finding) -> FloatArray:
        """Return the logarithm of the evidence for each gap being above -shift, shape (J,)."""
        ...

    def kernel(self) -> Any:
        """Return this for the compiled lane."""
        ...


def placed_bets(
    gaps: FloatArray, errors: FloatArray, largest: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return bets and the logarithms of their weights, for estimated gaps with standard errors."""
    bets = largest[:, None] * SIZES
    with np.errstate(over="ignore"):
        away = np.clip((bets - gaps[:, None]) / errors[:, None], -FARTHEST, FARTHEST)
    log_weights = LOG_PRIOR - 0.5 / DOUBT * away**2
    log_weights -= log_weights.max(axis=1, keepdims=True)
    log_weights[log_weights < NEGLIGIBLE] = -np.inf
    used = np.isfinite(log_weights).any(axis=0)
    bets, log_weights = bets[:, used], log_weights[:, used]
    return bets, log_weights - log_sum(log_weights)[:, None]


def log_sum(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the sum of exponentials, along the last axis."""
    largest = logs.max(axis=-1)
    total: FloatArray = largest + np.log(np.exp(logs - largest[..., None]).sum(axis=-1))
    return total


class ContestKernel(NamedTuple):
    """One row of a Finding."""

    weights: FloatArray  # (A,) w
    score: float  # S
    information: float  # I
    gap: float  # that was estimated when the block was planned
    error: float  # its standard error
    shift: float
    largest: float  # the largest bet


class BlockKernel(NamedTuple):
    """What a Finding has for all of its rows."""

    told: Sums
    guess: Guess
    residual: float
    freedom: int


@inlined
def log_bet(contest: ContestKernel, k: int) -> float:
    """Return the logarithm of the weight of the k-th bet, but for a constant."""
    away = abs(contest.largest * SIZES[k] - contest.gap) / contest.error
    away = min(away, FARTHEST)
    return float(LOG_PRIOR[k] - 0.5 / DOUBT * away * away)


@inlined
def log_largest(contest: ContestKernel) -> float:
    """Return the largest of these logarithms."""
    largest = -math.inf
    for k in range(BETS):
        largest = max(largest, log_bet(contest, k))
    return largest


@inlined
def log_added(log: float, more: float) -> float:
    """Return log(exp(log) + exp(more))."""
    if log < more:
        log, more = more, log
    return log + math.log1p(math.exp(more - log))
