"""What was learnt: the values of arms, their gaps, the effects of factors, and any contrast.

All intervals come from one event (Mixture, docs/bounds.md), which has a probability of at least
1 - δ and concerns all directions and all times at once, however arms were chosen. So one may look
at as many intervals as one likes, as often as one likes, and all of them hold together.

Where the standard deviation of Gaussian noise is not known, an upper bound on it takes its place,
which holds at all times too; a share of δ pays for it.
"""

import decimal
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .arrays import FloatArray, IntArray
from .bounds import Mixture
from .certificate import share, upward
from .data import Data
from .errors import InvalidArgument
from .factors import Factors, Level
from .noise import Bounded
from .printable import columns_of, markdown_table, printable
from .problem import Problem

SPREAD_SHARE = 0.1  # of δ, for the bound on an unknown standard deviation
EXPONENTS = 2.0 ** -np.arange(16)  # λ of that bound
DOWNWARD = decimal.Context(prec=4, rounding=decimal.ROUND_FLOOR)
ESTIMABLE = 1e-8  # relative error with which a direction has to be a sum of arms


class Interval(NamedTuple):
    """An estimate, and between which values the truth lies.

    low, high: infinite while nothing is known.
    """

    value: float
    low: float
    high: float

    def negated(self) -> "Interval":
        """Return the interval of the opposite."""
        return Interval(-self.value, -self.high, -self.low)

    def __str__(self) -> str:
        if not math.isfinite(self.value):
            return "not known"
        if not math.isfinite(self.high - self.low):
            return f"{self.value:.4g} (nothing proven)"
        return f"{self.value:.4g} ({outward(self.low, self.high)})"


class LevelEffect(NamedTuple):
    """How much more arms with a level pay than arms with the reference level.

    It is an average over the arms of the experiment, with all other factors as they are.
    low, high: it lies between these; None while nothing is proven.
    """

    level: str
    value: float | None
    low: float | None
    high: float | None


class FactorEffects(NamedTuple):
    """The effects of the levels of a factor.

    reference: the level that others are compared with.
    best: the level that looks best.
    proven: whether it is proven to be best.
    """

    factor: str
    reference: str
    levels: tuple[LevelEffect, ...]
    best: str | None
    proven: bool


class Lift(NamedTuple):
    """How much more an arm pays than the control."""

    arm: int
    name: str
    value: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True)
class Values:
    """What rewards say about values, with intervals that hold together.

    counts, means, squares: of each arm's rewards, how many, their average, and the sum of their
        squared distances from it, which only noise of unknown scale needs.
    """

    problem: Problem
    counts: IntArray
    means: FloatArray
    squares: FloatArray

    @cached_property
    def _estimate(self) -> Any:
        estimate = Mixture().estimate(self.problem)
        estimate.load(self.counts, self.counts * self.means)
        return estimate

    @property
    def ready(self) -> bool:
        """Whether there are enough rewards to estimate every arm."""
        return bool(self._estimate.ready)

    @cached_property
    def scale(self) -> float:
        """R, or an upper bound on it that holds at all times."""
        known = self.problem.noise.scale
        return self._upper_scale() if known is None else known

    @property
    def _delta(self) -> float:
        """The δ of the bound on estimates."""
        known = self.problem.noise.scale is not None
        return self.problem.delta * (1.0 if known else 1.0 - SPREAD_SHARE)

    def _upper_scale(self) -> float:
        """Return an upper bound on σ for Gaussian noise (docs/bounds.md).

        With probability 1 - α, for all times and λ in the grid, Σ ε²/σ² ≥ q, the largest
        (½ t log(1 + 2λ) - log(n/α))/λ. What least squares leaves of Σ ε² is less by ‖S‖²_{V⁻¹},
        which the event of Mixture bounds by pσ². So σ² ≤ rest/(q - p).
        """
        estimate, bound = self._estimate, Mixture()
        t = int(self.counts.sum())
        alpha = self.problem.delta * SPREAD_SHARE
        nats = math.log(len(EXPONENTS) / alpha)
        q = float(((0.5 * t * np.log1p(2.0 * EXPONENTS) - nats) / EXPONENTS).max())
        scaled = self.problem.replace(noise=1.0, delta=self._delta)
        smallest = float(estimate.spectrum.min())
        if not smallest > 0.0:
            return math.inf
        p = float((2.0 * bound.nats(scaled, estimate) * (1.0 + bound.grid / smallest)).min())
        apart = np.where(self.counts > 0, self.means - estimate.means, 0.0)
        rest = float(self.squares.sum() + self.counts @ apart**2)
        return math.sqrt(rest / (q - p)) if q > p else math.inf

    def contrasts(self, weights: FloatArray) -> list[Interval]:
        """Return Σ w_k · mean of arm k for each row of `weights`, shape (n, K)."""
        estimate = self._estimate
        return self._intervals(weights @ estimate.features, weights @ estimate.means)

    def _intervals(self, directions: FloatArray, values: FloatArray) -> list[Interval]:
        """Return estimates with the intervals that follow for their directions."""
        if not self.ready:
            return [_unknown()] * len(directions)
        widths = np.zeros(len(directions))
        some = directions.any(axis=1)
        if some.any():
            units = Mixture().unit_widths(self._delta, self._estimate, directions[some])
            widths[some] = units * self.scale
        return [
            Interval(value, value - width, value + width)
            for value, width in zip(values.tolist(), widths.tolist(), strict=True)
        ]

    def arms(self, arms: Sequence[int] | IntArray | None = None) -> list[Interval]:
        """Return the value of each arm, or of some."""
        chosen = slice(None) if arms is None else np.asarray(arms, dtype=np.int64)
        found = self._intervals(self._estimate.features[chosen], self._estimate.means[chosen])
        noise = self.problem.noise
        if not isinstance(noise, Bounded):
            return found
        return [  # means lie in the range of rewards
            Interval(value, max(low, noise.low), min(high, noise.high))
            for value, low, high in found
        ]

    def gaps(self, arm: int, arms: Sequence[int] | IntArray | None = None) -> list[Interval]:
        """Return how much more each arm pays than `arm`."""
        estimate, base = self._estimate, self.problem.check_arm(arm)
        chosen = slice(None) if arms is None else np.asarray(arms, dtype=np.int64)
        directions = estimate.features[chosen] - estimate.features[base]
        return self._intervals(directions, estimate.means[chosen] - estimate.means[base])

    def lifts(self, control: int | str | None = None) -> tuple[Lift, ...]:
        """Return how much more each other arm pays than the control, best first.

        control: its number or name; the problem's unless given.
        """
        problem, base = self.problem, arm_called(self.problem, control)
        found = []
        for arm, gap in enumerate(self.gaps(base)):
            if arm != base:
                words = verdict(gap, problem.minimize)
                found.append(Lift(arm, problem.name(arm), *finite(gap), words))
        sign = problem.gain(1.0)
        return tuple(sorted(found, key=lambda lift: -sign * (lift.value or 0.0)))

    def effects(self, reference: Mapping[str, Level] | None = None) -> "Effects":
        """Return the effects of all factors.

        reference: for each factor the level that others are compared with; the first unless given.
        """
        factors = self._factors("effects")
        base = factors.places(reference or {})
        found = []
        for factor in factors.factors:
            start = base.get(factor.name, 0)
            pairs = [(i, j) for i in range(len(factor.levels)) for j in range(len(factor.levels))]
            rows = [
                _contrast(factors, {factor.name: i}, {factor.name: j}) if i != j else None
                for i, j in pairs
            ]
            zero = np.zeros(len(self.problem))
            intervals = self.contrasts(np.array([zero if row is None else row for row in rows]))
            by_pair = {
                pair: _unknown() if row is None and pair[0] != pair[1] else interval
                for pair, row, interval in zip(pairs, rows, intervals, strict=True)
            }
            found.append(self._summed_up(factor, start, by_pair))
        return Effects(self.problem.delta, int(self.counts.sum()), tuple(found))

    def _summed_up(
        self, factor: Any, start: int, by_pair: dict[tuple[int, int], Interval]
    ) -> FactorEffects:
        sign, count = self.problem.gain(1.0), len(factor.levels)
        levels = tuple(
            LevelEffect(str(factor.levels[i]), *finite(by_pair[i, start]))
            for i in range(count)
            if i != start
        )
        known = [i for i in range(count) if math.isfinite(by_pair[i, start].value)]
        best = max(known, key=lambda i: sign * by_pair[i, start].value, default=None)
        proven = best is not None and all(
            (by_pair[best, j].low if sign > 0 else -by_pair[best, j].high) > 0
            for j in range(count)
            if j != best
        )
        return FactorEffects(
            factor.name,
            str(factor.levels[start]),
            levels,
            None if best is None or not self.ready else str(factor.levels[best]),
            bool(proven),
        )

    def contrast(self, one: Mapping[str, Level], other: Mapping[str, Level]) -> Interval:
        """Return how much more arms with some levels pay than arms with others.

        Factors that are not mentioned are averaged over the arms of the experiment.
        """
        factors = self._factors("contrast")
        row = _contrast(factors, factors.places(one), factors.places(other))
        if row is None:
            raise InvalidArgument(
                "The arms of this experiment do not tell these apart: no combination of them has "
                "this difference. Compare levels that occur with the same levels of the others."
            )
        return self.contrasts(row[None, :])[0]

    def _factors(self, who: str) -> Factors:
        if self.problem.factors is None:
            raise InvalidArgument(
                f"{who} needs arms that are combinations of factors; these have only features. "
                "State the problem with Factors(...), or compare arms with gaps()."
            )
        return self.problem.factors


@dataclass(frozen=True)
class Effects(Data):
    """The effects of all factors, with intervals that hold together at all times.

    delta: the probability that any of them is ever wrong is at most this.
    pulls: after how many rewards.
    """

    delta: float
    pulls: int
    factors: tuple[FactorEffects, ...]

    def __str__(self) -> str:
        rows = [["factor", "level", "effect", f"{share(self.delta)} interval", ""]]
        for factor in self.factors:
            rows.append([printable(factor.factor), *_reference_row(factor)])
            for level in factor.levels:
                mark = _mark(factor, level.level)
                if level.value is None:
                    rows.append(["", printable(level.level), "–", "not estimable", mark])
                elif level.low is None or level.high is None:
                    rows.append(["", printable(level.level), f"{level.value:+.4g}", "–", mark])
                else:
                    ends = outward(level.low, level.high, sign=True)
                    rows.append(["", printable(level.level), f"{level.value:+.4g}", ends, mark])
        return markdown_table(rows, "llrl")


def _reference_row(factor: FactorEffects) -> list[str]:
    return [printable(factor.reference), "0", "reference", _mark(factor, factor.reference)]


def _mark(factor: FactorEffects, level: str) -> str:
    if factor.best != level:
        return ""
    return "best" if factor.proven else "looks best"


def outward(low: float, high: float, *, sign: bool = False, word: str = "to") -> str:
    """Return an interval to four digits, never narrower than it is.

    >>> outward(-0.12341, 0.2), outward(0.99999, 1.5)
    ('-0.1235 to 0.2', '0.9999 to 1.5')
    """
    texts = ["-" + upward(-low) if low < 0 else _downward(low)]
    texts.append(upward(high) if high >= 0 else "-" + _downward(-high))
    if sign:
        texts = [
            text if text.startswith("-") or float(text) == 0 else f"+{text}" for text in texts
        ]
    return f" {word} ".join(texts)


def _downward(value: float) -> str:
    """Return a number from 0 to four digits, never more than it is."""
    return f"{float(DOWNWARD.plus(decimal.Decimal(repr(value + 0.0)))):.4g}"


def lift_table(lifts: Sequence[Lift], delta: float) -> str:
    """Return how arms compare with the control, in columns."""
    rows = [["arm", "against control", f"{share(delta)} interval", "verdict"]]
    for lift in lifts:
        value = "–" if lift.value is None else f"{lift.value:+.4g}"
        rows.append(
            [printable(lift.name), value, ends_of(lift.low, lift.high, sign=True), lift.verdict]
        )
    return columns_of(rows)


def as_control(problem: Problem, text: str) -> int | str:
    """Return an arm as it is written in the shell: a name, or a number if none is called so."""
    named = problem.names is not None and text in problem.names
    return int(text) if text.isdecimal() and not named else text


def arm_called(problem: Problem, arm: int | str | None) -> int:
    """Return the number of an arm that is given by number or name; None for the control."""
    if arm is None:
        if problem.control is None:
            raise InvalidArgument("Say which arm is the control, by number or name.")
        return problem.control
    if isinstance(arm, str) and problem.names is not None and arm in problem.names:
        return problem.names.index(arm)
    if isinstance(arm, str):
        raise InvalidArgument(
            f"No arm is called {arm!r}. Names are those of the problem; an arm can also be given "
            "by its number."
        )
    return problem.check_arm(arm)


def _contrast(
    factors: Factors, one: Mapping[str, int], other: Mapping[str, int]
) -> FloatArray | None:
    """Return weights on arms whose sum is the difference that changing levels makes, or None.

    It is averaged over the arms. Where each has a feature of its own, over those whose other
    levels occur with both.
    """
    first, second = factors.rows.copy(), factors.rows.copy()
    for column, factor in enumerate(factors.factors):
        if factor.name in one:
            first[:, column] = one[factor.name]
        if factor.name in other:
            second[:, column] = other[factor.name]
    if factors.per_arm:
        known = {tuple(row): arm for arm, row in enumerate(factors.rows.tolist())}
        pairs = {
            (known.get(tuple(a)), known.get(tuple(b)))
            for a, b in zip(first.tolist(), second.tolist(), strict=True)
        }
        whole = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not whole:
            return None
        weights = np.zeros(len(factors))
        for a, b in whole:
            weights[a] += 1.0 / len(whole)
            weights[b] -= 1.0 / len(whole)
        return weights
    wanted = (factors.features_of(first) - factors.features_of(second)).mean(axis=0)
    x = factors.features
    size = np.abs(x).max(axis=0)
    scaled = x / np.where(size > 0, size, 1.0)
    target = wanted / np.where(size > 0, size, 1.0)
    weights = np.linalg.lstsq(scaled.T, target, rcond=None)[0]
    missed = float(np.abs(weights @ scaled - target).max())
    return weights if missed <= ESTIMABLE * max(1.0, float(np.abs(target).max())) else None


def as_interval(value: float | None, low: float | None, high: float | None) -> Interval:
    """Return an interval from data, where None stands for what is not known."""
    return Interval(
        math.nan if value is None else value,
        -math.inf if low is None else low,
        math.inf if high is None else high,
    )


def ends_of(low: float | None, high: float | None, *, sign: bool = False) -> str:
    """Return the ends of an interval in words."""
    return "–" if low is None or high is None else outward(low, high, sign=sign)


def _unknown() -> Interval:
    return Interval(math.nan, -math.inf, math.inf)


def finite(interval: Interval) -> tuple[float | None, float | None, float | None]:
    """Return an interval with None for what is not known, as in JSON."""
    value, low, high = (end if math.isfinite(end) else None for end in interval)
    return value, low, high


def verdict(gap: Interval, minimize: bool) -> str:
    """Return in words how an arm compares with the control."""
    low, high = (-gap.high, -gap.low) if minimize else (gap.low, gap.high)
    more, less = ("better", "worse")
    if low > 0:
        return f"{more} by at least {_downward(low)}"
    if high < 0:
        return f"{less} by at least {_downward(-high)}"
    return "not told apart yet"
