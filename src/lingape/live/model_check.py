"""Do the rewards look as the guarantee assumes: linear in the features, as noisy as stated?

Sums of squares are compared with what they would be for Gaussian noise of standard deviation R.
How far the arms' averages lie from the linear fit, Σ N_k (r̄_k - x_kᵀθ̂)² / R², is χ² with as many
degrees of freedom as there are pulled arms beyond the dimension; the part of it that one arm, one
interaction of two factors, or the curve of a factor that is a number explains, with fewer; and how
far rewards lie from their arm's average, with one less than there are rewards for each arm. R-sub-
Gaussian noise varies no more than that. For Gaussian noise of unknown scale the last sum says how
large R is, and the others in units of it are compared with Fisher's F. In a range the variance
follows from the mean. There is a warning when such a sum has a probability below 1 in 10,000, all
of them counted together: small enough that looking often raises few false alarms, although arms
are chosen by their rewards. How few is measured by tests/live/test_model_check.py; it is not
proven. That there is no warning does not prove anything either.

Whether arms lose tickets as often as each other is compared in losses.py.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..checks import LARGEST
from ..data import Data
from ..factors import Factor, Factors
from ..noise import Binary, Bounded
from ..printable import printable
from ..problem import Problem
from ..values import Values, finite
from . import losses
from .replay import Averages, LogCertificate, Replay

RARE = 1e-4
MOST_ARMS = 500  # named in a check
MOST_WAYS = 500  # in which factors may need more features
WORK = 1e8  # multiplications, for what more features would explain
EXPLAINED = 0.5  # of the misfit, to be named as its reason
ASSUMED = "The certificate assumes otherwise."
SUCCESSOR = "takes over all rewards (refit, also as lingape live refit)"
WAY_OUT = (
    "The certificate assumes that they do. One feature per arm, 1 for it and 0 for the others, is "
    f"always right and takes more pulls: a successor with per_arm=True {SUCCESSOR}. Features that "
    "tell these arms apart may be enough."
)


class ArmFit(NamedTuple):
    """How far one arm's average lies from the linear fit.

    arm: its number.
    name: what it is called.
    pulls: how many rewards it has.
    average: of these.
    fitted: what the average would be if the fit were perfect.
    z: the difference in its standard deviations; 0 where the fit goes through it.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     for reward in (0.2, 0.4):
    ...         progress = experiment.add(0, reward)
    ...     [fit] = experiment.check().arms
    >>> fit.name, fit.pulls, round(fit.average, 6)
    ('arm 0', 2, 0.3)
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
    linear_p: the probability of so bad a fit if rewards are linear, at most; None while any fit is
        good.
    noise_scale: R, as stated; None if it was left open.
    noise: the standard deviation of rewards around their arm's average.
    noise_p: the probability of so much noise if it is R; None if R was left open.
    warnings: what contradicts the assumptions.
    voided_p: the probability that arms ever differ so much in voided tickets, if all are voided
        alike, is at most this; None if none is.
    overdue_p: the same for tickets that are open for too long.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     for reward in (0.2, 0.4):
    ...         progress = experiment.add(0, reward)
    ...     found = experiment.check()
    >>> print(found)
    The rewards do not contradict the linear model or the stated noise.
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
    return replace(
        found,
        warnings=(*found.warnings, *ticket_doubts(replay, voided, overdue)),
        voided_p=None if voided is None else voided.p,
        overdue_p=None if overdue is None else overdue.p,
    )


def ticket_doubts(
    replay: Replay, voided: losses.Loss | None, overdue: losses.Loss | None
) -> list[str]:
    """Return what tickets say against the assumptions, here and where rewards came from."""
    doubts = []
    if (carried := replay.carried) is not None:
        before = printable(carried.experiment)
        doubts += [f"In {before}, where rewards came from: {doubt}" for doubt in carried.doubts]
    closings = replay.closings

    def name(arm: int) -> str:
        return printable(replay.problem.name(arm))

    if voided is not None and voided.p < losses.RARE:
        gone, all_gone = int(closings.voided[voided.arm]), int(closings.voided.sum())
        here, all_here = int(closings.closed[voided.arm]), int(closings.closed.sum())
        doubts.append(
            f"Tickets of {name(voided.arm)} are voided more often than those of other arms: "
            f"{gone} of {here}, where it is {all_gone - gone} of {all_here - here} for the "
            "others. The certificate assumes that voiding does not depend on the reward. If "
            "a trial fails because of its arm, tell the worst possible value from now on, and "
            "begin again with those voided so far counted as such "
            "(https://lingape.github.io/lingape/live.html#are-the-assumptions-plausible)."
        )
    if overdue is not None and overdue.p < losses.RARE:
        doubts.append(
            f"Rewards of {name(overdue.arm)} are missing more often than those of other arms. The "
            "certificate assumes that this does not depend on the reward. If a trial has no "
            "result because of its arm, tell the worst possible value; if it only takes longer, "
            "wait for it."
        )
    return doubts


def certified(replay: Replay, found: ModelCheck, values: Values) -> LogCertificate:
    """Return what is proven now, how good the arm is, and what speaks against the model."""
    certificate = replay.certificate()
    value, low, high = finite(values.arms([certificate.arm])[0])
    return replace(
        certificate, value=value, value_low=low, value_high=high, warnings=found.warnings
    )


def check_model(problem: Problem, rewards: Averages) -> ModelCheck:
    """Compare rewards with the linear model, and with R if it is known.

    problem: the arms, and what rewards are like.
    rewards: how many each arm has, their average and the sum of squared distances from it.

    >>> from lingape import Problem
    >>> from lingape.live import check_model
    >>> from lingape.live.replay import Averages
    >>> rewards = Averages(2)
    >>> for arm, reward in [(0, 0.2), (0, 4.8), (0, -4.1), (1, 5.3), (1, -3.6)]:
    ...     rewards.add(arm, reward)
    >>> check_model(Problem([[1, 0], [0, 1]], noise=0.5), rewards).fine
    False
    """
    pulled, stated = np.flatnonzero(rewards.counts), problem.noise.scale
    if not len(pulled):
        return ModelCheck((), None, stated, None, None, ())
    counts, averages = rewards.counts[pulled], rewards.means[pulled]
    noise, repeats = rewards.deviation, rewards.repeats
    unit, shape = _scatter(problem, rewards, pulled)
    fit = LinearFit.of(problem.orthonormal[pulled], np.sqrt(counts) / shape, averages)
    z, doubts, noise_p = np.zeros(len(pulled)), [], None
    if unit:
        with np.errstate(all="ignore"):  # if R is tiny, rewards may be infinitely far off
            off = (averages - fit.values) * fit.weights / unit
            # It has variance 1 - leverage; with a leverage of 1 it has none.
            free = fit.leverages < 1.0 - 1e-9
            z = np.where(free, off / np.sqrt(np.where(free, 1.0 - fit.leverages, 1.0)), 0.0)
        off, z = (np.clip(np.nan_to_num(some), -LARGEST, LARGEST) for some in (off, z))
        doubts = _doubts(problem, pulled, fit, off, z, None if stated is not None else repeats)
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
            "not. A successor with a larger noise scale, with noise='normal' if they are bell-"
            f"shaped, or for rewards in a range with that range {SUCCESSOR}."
        )
    linear_p = min(1.0, len(doubts) * min(one.p for one in doubts)) if doubts else None
    if linear_p is not None and linear_p < RARE:
        warnings.append(_warning(doubts, arms))
    return ModelCheck(arms, linear_p, stated, noise, noise_p, tuple(warnings))


def _scatter(problem: Problem, rewards: Averages, pulled: IntArray) -> tuple[float, FloatArray]:
    """Return a unit, and the standard deviation of the rewards of each pulled arm in that unit.

    The unit is 0 if nothing is known. A known scale is taken as it is, and an unknown one is
    estimated for all arms together. In a range the variance follows from the mean m: at most
    m(1 - m). Two successes and two failures more (Agresti and Coull) and the standard error of m
    keep a few rewards from being taken too seriously. Where rewards vary less than that
    everywhere, they do so here; one more of the rarer of success and failure keeps a few that are
    alike from saying so.
    """
    noise, count = problem.noise, len(pulled)
    if not isinstance(noise, Bounded):
        return (rewards.deviation if noise.scale is None else noise.scale) or 0.0, np.ones(count)
    counts, width = rewards.counts[pulled], noise.high - noise.low
    fit = LinearFit.of(problem.orthonormal[pulled], np.sqrt(counts), rewards.means[pulled])
    m = np.clip((fit.values - noise.low) / width, 0.0, 1.0)
    share = 1.0
    if not isinstance(noise, Binary):
        most = float(np.average(m * (1.0 - m), weights=counts)) * rewards.repeats
        rarer = float(np.average(np.maximum(m, 1.0 - m) ** 2, weights=counts))
        share = min(1.0, (float(rewards.squares.sum()) / width / width + rarer) / (most + rarer))
    m = (counts * m + 2.0) / (counts + 4.0)
    error = np.sqrt(m * (1.0 - m) * fit.leverages / counts)
    m = np.where(m < 0.5, np.minimum(m + error, 0.5), np.maximum(m - error, 0.5))
    return width * math.sqrt(share), np.sqrt(m * (1.0 - m))


class LinearFit(NamedTuple):
    """A weighted least-squares fit to averages.

    basis: an orthonormal basis of the weighted features.
    """

    weights: FloatArray
    basis: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, features: FloatArray, weights: FloatArray, averages: FloatArray) -> "LinearFit":
        """Return the fit."""
        basis = _basis(features * weights[:, None])
        return cls(weights, basis, basis @ (basis.T @ (averages * weights)) / weights)

    @property
    def leverages(self) -> FloatArray:
        """How much each arm's average moves the fit at that arm, from 0 to 1."""
        return np.asarray(np.einsum("kd,kd->k", self.basis, self.basis))


class Doubt(NamedTuple):
    """A way in which the model may be wrong, and the probability of so bad a fit if it is right.

    factors: two that may depend on each other, or one whose effect may be a curve; none for any
        other way.
    share: how much of the misfit it explains.
    """

    p: float
    factors: tuple[str, ...] = ()
    share: float = 0.0


def _doubts(
    problem: Problem,
    pulled: IntArray,
    fit: LinearFit,
    off: FloatArray,
    z: FloatArray,
    below: int | None,
) -> list[Doubt]:
    """Return what speaks against the model: all arms together, single arms, and factors.

    off: how far averages are from the fit, in standard deviations of averages.
    below: degrees of freedom of the noise, where that is an estimate.
    """

    def tail(value: float, freedom: int) -> float:
        if below is None:
            return chi_square_tail(value, freedom)
        return f_tail(value / freedom, freedom, below)

    total, beyond = float(off @ off), len(pulled) - fit.basis.shape[1]
    if beyond < 1 or below == 0:
        return []
    found = [Doubt(tail(total, beyond))]
    if beyond > 1:
        found.append(Doubt(min(1.0, len(z) * tail(float((z**2).max()), 1))))
    ways = list(_ways(problem, pulled, fit, off)) if total > 0.0 else []
    if ways:
        doubts = [
            Doubt(min(1.0, len(ways) * tail(less, more)), names, less / total)
            for names, less, more in ways
        ]
        if max(more for _, _, more in ways) == beyond:  # which is all arms together
            del found[0]
        found.append(min(doubts, key=lambda one: one.p))
    return found


def _ways(
    problem: Problem, pulled: IntArray, fit: LinearFit, off: FloatArray
) -> Iterator[tuple[tuple[str, ...], float, int]]:
    """Yield what more features would explain: of which factors, how much, and how many they are.

    These are the interactions of two factors that the model leaves out, and levels of their own
    for factors that are numbers, as long as that does not take too long.
    """
    factors = problem.factors
    if factors is None or factors.per_arm:
        return
    rows, left = factors.rows[pulled], WORK
    total, beyond = float(off @ off), len(pulled) - fit.basis.shape[1]
    for names, levels in itertools.islice(_left_out(factors), MOST_WAYS):
        size = math.prod(columns.shape[1] for columns in levels.values())
        if _told_apart([factors.factors[place] for place in levels], rows[:, list(levels)]):
            yield names, total, beyond  # with these, every arm has a level of its own
            continue
        cost = size * len(pulled) * (size + fit.basis.shape[1]) + size**3
        if cost > left:
            continue
        left -= cost
        more = np.ones((len(pulled), 1))
        for place, columns in levels.items():
            more = (more[:, :, None] * columns[rows[:, place]][:, None, :]).reshape(len(rows), -1)
        more *= fit.weights[:, None]
        sizes = np.einsum("km,km->m", more, more)
        more -= fit.basis @ (fit.basis.T @ more)
        values, vectors = np.linalg.eigh(more.T @ more)
        kept = values > 1e-12 * sizes.max()
        if kept.any():
            found = (vectors[:, kept].T @ (more.T @ off)) ** 2 / values[kept]
            yield names, min(total, float(found.sum())), int(kept.sum())


def _told_apart(some: list[Factor], rows: IntArray) -> bool:
    """Whether no two arms have the same levels of some factors, none of which is a number."""
    sizes = [len(factor.levels) for factor in some]
    if math.prod(sizes) < len(rows) or any(factor.number for factor in some):
        return False
    return len(np.unique(np.ravel_multi_index(tuple(rows.T), sizes))) == len(rows)


def _left_out(
    factors: Factors,
) -> Iterator[tuple[tuple[str, ...], dict[int, FloatArray]]]:
    """Yield factors whose effects the model leaves out, with the features of their levels."""
    for place, factor in enumerate(factors.factors):
        if factor.number and len(factor.levels) > 2:
            levels = replace(factor, number=False).columns()[1]
            yield (factor.name,), {place: levels}
    for pair in itertools.combinations(enumerate(factors.factors), 2):
        names = tuple(factor.name for _, factor in pair)
        if not any(set(names) <= set(together) for together in factors.interactions):
            yield names, {place: factor.columns()[1] for place, factor in pair}


def _warning(doubts: list[Doubt], arms: tuple[ArmFit, ...]) -> str:
    """Return what does not fit, and what to do."""
    worst = arms[0]
    furthest = (
        f"furthest off: {'; '.join(printable(fit.name) for fit in arms[:3])} (the first pays "
        f"{worst.average:.3g} on average, where the model says {worst.fitted:.3g})"
    )
    names = tuple(map(printable, doubts[-1].factors))
    if doubts[-1].share < EXPLAINED:
        return (
            "The arms' average rewards do not follow from their features within the noise; "
            f"{furthest}. {WAY_OUT}"
        )
    if len(names) == 1:
        return (
            f"The effect of {names[0]} does not seem to be proportional to its value, as the "
            f"model has it; {furthest}. {ASSUMED} Begin another experiment with {names[0]} as a "
            "factor, with an effect for each level; or a successor with per_arm=True, one feature "
            f"per arm, {SUCCESSOR}."
        )
    return (
        f"The effects of {names[0]} and {names[1]} seem to depend on each other, which the model "
        f"leaves out; {furthest}. {ASSUMED} A successor with interactions=[{names!r}] {SUCCESSOR}."
    )


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
