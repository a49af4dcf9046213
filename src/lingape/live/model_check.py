"""Do the rewards look as the guarantee assumes: linear in the features, as noisy as stated?

Two sums of squares are compared with what they would be for Gaussian noise of standard deviation
R. How far the arms' averages lie from the linear fit, Σ N_k (r̄_k - x_kᵀθ̂)² / R², is χ² with as
many degrees of freedom as there are pulled arms beyond the dimension; how far rewards lie from
their arm's average, with one less than there are rewards for each arm. R-sub-Gaussian noise varies
no more than that. For Gaussian noise of unknown scale the second sum says how large R is, and the
first in units of it is compared with Fisher's F. There is a warning when such a sum has a
probability below 1 in 10,000: small enough that looking often raises few false alarms, although
arms are chosen by their rewards. How few is measured by tests/live/test_model_check.py; it is not
proven. That there is no warning does not prove anything either.

Whether arms lose tickets as often as each other is compared in losses.py.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..checks import LARGEST
from ..data import Data
from ..noise import Binary, Bounded
from ..printable import printable
from ..problem import Problem
from . import losses
from .replay import Averages, Replay

RARE = 1e-4
MOST_ARMS = 500  # named in a check
MOST_PAIRS = 100  # of factors
WAY_OUT = (
    "The certificate assumes that they do. One feature per arm, 1 for it and 0 for the others, is "
    "always right and takes more pulls; features that tell these arms apart may be enough."
)


class ArmFit(NamedTuple):
    """How far one arm's average lies from the linear fit.

    arm, name: which arm it is.
    pulls: how many rewards it has.
    average: of these.
    fitted: what the average would be if the fit were perfect.
    z: the difference in its standard deviations; 0 where the fit goes through it.
    """

    arm: int
    name: str
    pulls: int
    average: float
    fitted: float
    z: float


@dataclass(frozen=True)
class ModelCheck(Data):
    """Whether rewards look as assumed.

    arms: pulled ones, worst fit first, at most 500.
    linear_p: the probability of so bad a fit if rewards are linear; None while any fit is good.
    noise_scale: R, as stated; None if it was left open.
    noise: the standard deviation of rewards around their arm's average.
    noise_p: the probability of so much noise if it is R; None if R was left open.
    warnings: what contradicts the assumptions.
    voided_p: the probability that arms ever differ so much in voided tickets, if all are voided
        alike, is at most this; None if none is.
    overdue_p: the same for tickets that are open for too long.
    statement: all that in words.
    """

    arms: tuple[ArmFit, ...]
    linear_p: float | None
    noise_scale: float | None
    noise: float | None
    noise_p: float | None
    warnings: tuple[str, ...]
    voided_p: float | None = None
    overdue_p: float | None = None

    @property
    def fine(self) -> bool:
        """Whether there are no warnings."""
        return not self.warnings

    def __str__(self) -> str:
        if self.warnings:
            return "\n".join(self.warnings)
        if self.linear_p is None and self.noise_p is None:
            found = "There are too few rewards to check the model."
        elif self.noise_scale is None:
            found = "The rewards do not contradict the linear model."
        else:
            return "The rewards do not contradict the linear model or the stated noise."
        if self.noise_scale is None and self.noise is not None:
            found += f" Their noise has a standard deviation of about {self.noise:.3g}."
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return super().to_dict() | {"statement": str(self)}


def check(replay: Replay, now: float) -> ModelCheck:
    """Compare rewards with the model, and the arms by the tickets that they lose."""
    found = check_model(replay.problem, replay.averages)
    voided, overdue = losses.voided(replay), losses.overdue(replay, now)
    warnings = list(found.warnings)
    closings = replay.closings

    def name(arm: int) -> str:
        return printable(replay.problem.name(arm))

    if voided is not None and voided.p < losses.RARE:
        gone, all_gone = int(closings.voided[voided.arm]), int(closings.voided.sum())
        here, all_here = int(closings.closed[voided.arm]), int(closings.closed.sum())
        warnings.append(
            f"Tickets of {name(voided.arm)} are voided more often than those of other arms: "
            f"{gone} of {here}, where it is {all_gone - gone} of {all_here - here} for the "
            "others. The certificate assumes that voiding does not depend on the reward. If "
            "a trial fails because of its arm, tell the worst possible value; for tickets voided "
            "before, add it."
        )
    if overdue is not None and overdue.p < losses.RARE:
        warnings.append(
            f"Rewards of {name(overdue.arm)} are missing more often than those of other arms. The "
            "certificate assumes that this does not depend on the reward. If a trial has no "
            "result because of its arm, tell the worst possible value; if it only takes longer, "
            "wait for it."
        )
    return replace(
        found,
        warnings=tuple(warnings),
        voided_p=None if voided is None else voided.p,
        overdue_p=None if overdue is None else overdue.p,
    )


def check_model(problem: Problem, rewards: Averages) -> ModelCheck:
    """Compare `rewards` with the linear model of a `problem`, and with R if it is known."""
    pulled, stated = np.flatnonzero(rewards.counts), problem.noise.scale
    if not len(pulled):
        return ModelCheck((), None, stated, None, None, ())
    counts, averages = rewards.counts[pulled], rewards.means[pulled]
    noise, repeats = rewards.deviation, rewards.repeats
    variances = _variances(problem, rewards, pulled)
    fit = _fit(problem.orthonormal[pulled], counts, averages, variances)
    apart = averages - fit.values
    z, doubts, noise_p = np.zeros(len(pulled)), [], None
    if variances is not None:
        # A residual has variance v(1 - leverage)/N_k; with a leverage of 1 it has none.
        spread = np.sqrt(variances * np.maximum(1.0 - fit.leverages, 0.0) / counts)
        free = fit.leverages < 1.0 - 1e-9
        with np.errstate(all="ignore"):  # if R is tiny, rewards may be infinitely far off
            z = np.where(free, apart / np.where(free, spread, 1.0), 0.0)
            off = float(counts @ (apart**2 / variances))
        z = np.clip(np.nan_to_num(z), -LARGEST, LARGEST)  # JSON has no infinity
        below = None if stated is not None else repeats
        if (beyond := len(pulled) - fit.rank) > 0:
            doubts = _doubts(problem, pulled, counts, averages, variances, z, off, beyond, below)
    if stated is not None and noise is not None:
        noise_p = chi_square_tail(repeats * (noise / stated) * (noise / stated), repeats)
    worst = np.argsort(-np.abs(z), kind="stable")[:MOST_ARMS]
    rows = (values[worst].tolist() for values in (pulled, counts, averages, fit.values, z))
    arms = tuple(ArmFit(arm, problem.name(arm), *row) for arm, *row in zip(*rows, strict=True))
    warnings = []
    if noise_p is not None and noise_p < RARE:
        warnings.append(
            f"Rewards of the same arm vary with a standard deviation of about {noise:.3g}, more "
            f"than the stated noise scale of {stated:g}. The certificate assumes that they do "
            "not. Begin another experiment with a larger noise scale; for rewards in a range, "
            "state the range."
        )
    linear_p = min(1.0, len(doubts) * min(one.p for one in doubts)) if doubts else None
    if linear_p is not None and linear_p < RARE:
        warnings.append(_warning(min(doubts, key=lambda one: one.p), arms))
    return ModelCheck(arms, linear_p, stated, noise, noise_p, tuple(warnings))


class Doubt(NamedTuple):
    """A way in which the model may be wrong, and the probability of so bad a fit if it is right.

    pair: two factors that may depend on each other; None for any other way.
    """

    p: float
    pair: tuple[str, str] | None = None


def _doubts(
    problem: Problem,
    pulled: IntArray,
    counts: IntArray,
    averages: FloatArray,
    variances: FloatArray,
    z: FloatArray,
    off: float,
    beyond: int,
    below: int | None,
) -> list[Doubt]:
    """Return what speaks against the model: all arms together, single arms, and interactions.

    below: degrees of freedom of the variance, where it is an estimate.
    """

    def tail(value: float, freedom: int) -> float:
        if below is None:
            return chi_square_tail(value, freedom)
        return f_tail(value / freedom, freedom, below)

    found = [Doubt(tail(off, beyond))]
    if beyond > 1:
        found.append(Doubt(min(1.0, len(z) * tail(float((z**2).max()), 1))))
    factors = problem.factors
    if factors is None or factors.per_arm or beyond < 2:
        return found
    pairs = [
        pair
        for pair in itertools.combinations([factor.name for factor in factors.factors], 2)
        if not any(set(pair) <= set(together) for together in factors.interactions)
    ][:MOST_PAIRS]
    best: Doubt | None = None
    for pair in pairs:
        wider = factors.model(interactions=[*factors.interactions, pair])
        fit = _fit(wider.features[pulled], counts, averages, variances)
        less = off - float(counts @ ((averages - fit.values) ** 2 / variances))
        more = fit.rank - (len(pulled) - beyond)
        if more > 0:
            one = Doubt(min(1.0, len(pairs) * tail(max(0.0, less), more)), pair)
            best = one if best is None or one.p < best.p else best
    return found if best is None else [*found, best]


def _warning(doubt: Doubt, arms: tuple[ArmFit, ...]) -> str:
    """Return what does not fit, and what to do."""
    worst = arms[0]
    furthest = (
        f"furthest off: {'; '.join(printable(fit.name) for fit in arms[:3])} (the first pays "
        f"{worst.average:.3g} on average, where the model says {worst.fitted:.3g})"
    )
    if doubt.pair is None:
        return (
            "The arms' average rewards do not follow from their features within the noise; "
            f"{furthest}. {WAY_OUT}"
        )
    one, other = map(printable, doubt.pair)
    return (
        f"The effects of {one} and {other} seem to depend on each other, which the model leaves "
        f"out; {furthest}. The certificate assumes that they do not. A successor with "
        f"interactions=[({one!r}, {other!r})] takes over all rewards (refit)."
    )


def _variances(problem: Problem, rewards: Averages, pulled: IntArray) -> FloatArray | None:
    """Return the variance of the rewards of each pulled arm, or None if nothing is known of it.

    A known scale is taken as it is, and an unknown one estimated for all arms together. In a range
    the variance follows from the mean, where two successes and two failures more (Agresti and
    Coull) keep a few rewards from being taken too seriously; where rewards vary less than that
    everywhere, they do so here.
    """
    noise, count = problem.noise, len(pulled)
    if not isinstance(noise, Bounded):
        r = rewards.deviation if noise.scale is None else noise.scale
        return np.full(count, r**2) if r else None
    counts, width = rewards.counts[pulled], noise.high - noise.low
    fit = _fit(problem.orthonormal[pulled], counts, rewards.means[pulled], None)
    m = np.clip((fit.values - noise.low) / width, 0.0, 1.0)
    m = (counts * m + 2.0) / (counts + 4.0)
    share = 1.0
    if not isinstance(noise, Binary) and rewards.repeats:
        most = float((counts * m * (1.0 - m)).sum()) * rewards.repeats / float(counts.sum())
        share = min(1.0, max(1e-4, float(rewards.squares.sum()) / width**2 / most))
    return np.asarray(width**2 * share * m * (1.0 - m))


class Fit(NamedTuple):
    values: FloatArray
    leverages: FloatArray
    rank: int


def _fit(
    features: FloatArray, counts: IntArray, averages: FloatArray, variances: FloatArray | None
) -> Fit:
    """Return the weighted least-squares fit to averages, its leverages, and its rank."""
    weights = np.sqrt(counts if variances is None else counts / variances)
    left = _basis(features * weights[:, None])
    fitted = left @ (left.T @ (averages * weights)) / weights
    return Fit(fitted, np.einsum("kd,kd->k", left, left), left.shape[1])


def _basis(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the columns, for many rows much faster than by SVD.

    The eigenvectors of RᵀR give one that is orthonormal up to rounding, which grows where columns
    nearly depend on each other; then doing the same with that one leaves plain rounding.
    """
    values, vectors = np.linalg.eigh(rows.T @ rows)
    kept = values > 1e-12 * values[-1]
    if not kept.any():  # every pulled arm is all zeros, as a control may be
        return rows[:, :0]
    basis: FloatArray = rows @ (vectors[:, kept] / np.sqrt(values[kept]))
    if values[kept][0] < 1e-6 * values[-1]:
        values, vectors = np.linalg.eigh(basis.T @ basis)
        basis = basis @ (vectors / np.sqrt(values))
    return basis


def chi_square_tail(value: float, freedom: int) -> float:
    """Return the probability that a χ² variable exceeds `value`.

    It is the regularised incomplete gamma function Q(a, x), by its series where that converges
    fast and else by its continued fraction (Numerical Recipes, Section 6.2).
    """
    a, x = freedom / 2.0, value / 2.0
    if x <= 0.0:
        return 1.0
    if math.isinf(x):
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        n = a
        while term > 1e-16 * total:
            n += 1.0
            term *= x / n
            total += term
        return max(0.0, 1.0 - front * total)
    tiny = 1e-300
    b = x + 1.0 - a
    c, d = 1.0 / tiny, 1.0 / b
    fraction = d
    for i in range(1, 100_000):
        an = -i * (i - a)
        b += 2.0
        d = 1.0 / (an * d + b or tiny)
        c = b + an / c or tiny
        step = d * c
        fraction *= step
        if abs(step - 1.0) < 1e-15:
            break
    return front * fraction


def f_tail(value: float, above: int, below: int) -> float:
    """Return the probability that a variable with Fisher's F distribution exceeds `value`.

    above, below: degrees of freedom of the numerator and of the denominator. It is the regularised
    incomplete beta function, by its continued fraction (Numerical Recipes, Section 6.4).
    """
    a, b = below / 2.0, above / 2.0
    x = below / (below + above * value)
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast for the other tail
        return 1.0 - _beta_share(b, a, above * value / (below + above * value))
    return _beta_share(a, b, x)


def _beta_share(a: float, b: float, x: float) -> float:
    """Return I_x(a, b) for x that is not large."""
    if x <= 0.0:
        return 0.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(front + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or tiny)
    fraction = d
    for m in range(1, 100_000):
        before = fraction
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + term * d or tiny)
            c = 1.0 + term / c or tiny
            fraction *= d * c
        if abs(fraction / before - 1.0) < 1e-15:
            break
    return front * fraction
