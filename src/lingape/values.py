"""What was learnt: the values of arms, their gaps, the effects of factors, and any contrast.

All intervals come from one event (Mixture, docs/bounds.md), which has a probability of at least
1 - δ and concerns all directions and all times at once, however arms were chosen. So one may look
at as many intervals as one likes, as often as one likes, and all of them hold together.
"""

import decimal
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from .arrays import FloatArray, IntArray
from .bounds import Mixture
from .certificate import counted, share, upward
from .data import Data
from .errors import InvalidArgument
from .factors import Factor, Factors, Level
from .html import MOST, as_html
from .least_squares import LeastSquares
from .noise import Bounded
from .printable import columns_of, markdown_table, printable
from .problem import Problem

DOWNWARD = decimal.Context(prec=4, rounding=decimal.ROUND_FLOOR)
ESTIMABLE = 1e-8  # relative error with which a direction has to be a sum of arms
ROUNDING = 1e-14  # of sums of squares


class Interval(NamedTuple):
    """An estimate, and between which values the truth lies.

    value: the estimate; NaN while there are too few rewards for one.
    low, high: the truth lies between these; infinite while nothing is known.

    >>> from lingape import Interval
    >>> interval = Interval(0.5, 0.31, 0.69)
    >>> print(interval)
    0.5 (0.31 to 0.69)
    >>> interval.negated().low
    -0.69
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

    level: which one.
    value: the estimate; None while there are too few rewards for one.
    low: it is at least this; None while nothing is proven.
    high: it is at most this; None while nothing is proven.
    estimable: whether some combination of arms has this difference, so that rewards can tell it.

    >>> from lingape.values import LevelEffect
    >>> LevelEffect("dry", 0.5, 0.32, 0.68, estimable=True).interval
    '+0.32 to +0.68'
    >>> LevelEffect("dry", None, None, None, estimable=True).interval
    'too few rewards'
    """

    level: str
    value: float | None
    low: float | None
    high: float | None
    estimable: bool

    @property
    def interval(self) -> str:
        """Between which values it lies, in words, or why that cannot be said."""
        if not self.estimable:
            return "not estimable"
        if self.value is None:
            return "too few rewards"
        if self.low is None or self.high is None:
            return "nothing proven yet"
        return outward(self.low, self.high, sign=True)


class FactorEffects(NamedTuple):
    """The effects of the levels of a factor.

    factor: its name.
    reference: the level that others are compared with.
    levels: the others.
    best: the level that looks best; None until there are enough rewards.
    proven: whether it is proven to be best.

    >>> import numpy as np
    >>> from lingape import Factors, Problem, Values
    >>> factors = Factors(tone=["warm", "dry"], length=["short", "long"])
    >>> counts, means = np.array([50, 50, 50, 50]), np.array([0.1, 0.3, 0.6, 0.8])
    >>> values = Values(Problem(factors, noise=0.3), counts, means, squares=np.full(4, 4.5))
    >>> tone, length = values.effects().factors
    >>> tone.best, tone.proven, tone.levels[0].interval
    ('dry', True, '+0.3158 to +0.6842')
    """

    factor: str
    reference: str
    levels: tuple[LevelEffect, ...]
    best: str | None
    proven: bool


class Lift(NamedTuple):
    """How much more an arm pays than the control.

    arm: its number.
    name: what it is called.
    value: the estimate; None while there are too few rewards for one.
    low: it is at least this; None while nothing is proven.
    high: it is at most this; None while nothing is proven.
    verdict: that in words.

    >>> import numpy as np
    >>> from lingape import Problem, Values
    >>> problem = Problem([[1, 0], [0, 1]], noise=0.3, names=["control", "variant"])
    >>> counts, means = np.array([50, 50]), np.array([0.1, 0.6])
    >>> (lift,) = Values(problem, counts, means, squares=np.full(2, 4.5)).lifts("control")
    >>> lift.name, lift.verdict
    ('variant', 'better by at least 0.2616')
    """

    arm: int
    name: str
    value: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True)
class Values:
    """What rewards say about values, with intervals that hold together.

    With probability at least 1 - δ, the problem's, all intervals that are ever computed are
    right: those of arms, gaps, lifts, effects and contrasts, after every reward. This is a
    statement of its own, besides that of a certificate.

    problem: the arms, and what rewards are like.
    counts, means, squares: of each arm's rewards, how many, their average, and the sum of their
        squared distances from it, which only noise of unknown scale needs.

    >>> import numpy as np
    >>> from lingape import Factors, Problem, Values
    >>> factors = Factors(tone=["warm", "dry"], length=["short", "long"])
    >>> counts, means = np.array([50, 50, 50, 50]), np.array([0.1, 0.3, 0.6, 0.8])
    >>> values = Values(Problem(factors, noise=0.3), counts, means, squares=np.full(4, 4.5))
    >>> print(values.contrast({"tone": "dry"}, {"tone": "warm"}))
    0.5 (0.3158 to 0.6842)
    """

    problem: Problem
    counts: IntArray
    means: FloatArray
    squares: FloatArray

    @cached_property
    def _estimate(self) -> LeastSquares:
        estimate = _blank(self.problem).copy()
        estimate.load(self.counts, self.counts * self.means)
        return estimate

    def _repr_html_(self) -> str:
        problem = self.problem
        rows = [["arm", "pulls", "average", f"{share(problem.delta)} interval"]]
        order = np.argsort(-problem.gain(1.0) * self._estimate.means, kind="stable")[:MOST]
        for arm, interval in zip(order.tolist(), self.arms(order), strict=True):
            value, low, high = finite(interval)
            average = "–" if value is None else f"{value:.4g}"
            rows.append([problem.name(arm), f"{self.counts[arm]:,}", average, ends_of(low, high)])
        text, more = "All intervals hold together, at all times.", len(problem) - MOST
        return as_html("Values", text, rows, more=more)

    @property
    def ready(self) -> bool:
        """Whether there are enough rewards to estimate every arm."""
        return self._estimate.ready

    @property
    def estimates(self) -> FloatArray:
        """The estimated value of each arm; NaN while there are too few rewards."""
        if not self.ready:
            return np.full(len(self.problem), np.nan)
        return np.clip(self._estimate.means, *self._possible)

    def contrasts(self, weights: FloatArray) -> list[Interval]:
        """Return any sums of the arms' values.

        weights: of each arm in each sum, shape (n, K). For what one arm pays more than another, 1
            and -1.
        """
        estimate, rows = self._estimate, np.asarray(weights, dtype=np.float64)
        least, most = self._possible
        with np.errstate(invalid="ignore"):  # 0 times infinity, where arms do not matter
            ends = np.where(rows == 0, 0.0, np.stack([rows * least, rows * most]))
        low, high = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
        return self._intervals(rows @ estimate.features, rows @ estimate.means, low, high)

    def _intervals(
        self, directions: FloatArray, values: FloatArray, least: FloatArray, most: FloatArray
    ) -> list[Interval]:
        """Return estimates with the intervals that follow for their directions.

        least, most: between which the truth has to lie by what is known of rewards.
        """
        if not self.ready:
            return [_unknown()] * len(directions)
        widths = np.zeros(len(directions))
        some = directions.any(axis=1)
        if some.any():
            widths[some] = self._widths(directions[some])
        ends = (values, values - widths, values + widths)
        return [
            Interval(*row)
            for row in zip(*(np.clip(end, least, most).tolist() for end in ends), strict=True)
        ]

    def _widths(self, directions: FloatArray) -> FloatArray:
        problem, estimate, bound = self.problem, self._estimate, Mixture()
        if problem.noise.scale is not None:
            return problem.noise.scale * bound.unit_widths(problem.delta, estimate, directions)
        apart = np.where(self.counts > 0, self.means - estimate.means, 0.0)
        residual = float(self.squares.sum() + self.counts @ apart**2)
        # Squares of rewards far from 0 leave few digits for what they scatter.
        residual += ROUNDING * float(self.squares.sum() + self.counts @ self.means**2)
        return bound.student_widths(problem.delta, estimate, directions, residual)

    @property
    def _possible(self) -> tuple[FloatArray, FloatArray]:
        """Between which values each arm's has to lie by what is known of rewards."""
        noise, can_pull = self.problem.noise, self.problem.can_pull
        low, high = (noise.low, noise.high) if isinstance(noise, Bounded) else (-np.inf, np.inf)
        return np.where(can_pull, low, -np.inf), np.where(can_pull, high, np.inf)

    def arms(self, arms: Sequence[int] | IntArray | None = None) -> list[Interval]:
        """Return the value of each arm.

        arms: of which arms, by number; all unless given.
        """
        chosen = self._chosen(arms)
        estimate, (least, most) = self._estimate, self._possible
        return self._intervals(
            estimate.features[chosen], estimate.means[chosen], least[chosen], most[chosen]
        )

    def gaps(self, arm: int, arms: Sequence[int] | IntArray | None = None) -> list[Interval]:
        """Return how much more each arm pays than one of them.

        arm: the one that others are compared with.
        arms: which others, by number; all unless given.
        """
        estimate, base = self._estimate, self.problem.check_arm(arm)
        chosen = self._chosen(arms)
        least, most = self._possible
        return self._intervals(
            estimate.features[chosen] - estimate.features[base],
            estimate.means[chosen] - estimate.means[base],
            least[chosen] - most[base],
            most[chosen] - least[base],
        )

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
        found = tuple(self._effects_of(one, base.get(one.name, 0)) for one in factors.factors)
        return Effects(self.problem.delta, int(self.counts.sum()), found)

    def _effects_of(self, factor: Factor, start: int) -> FactorEffects:
        sign, count = self.problem.gain(1.0), len(factor.levels)
        against = self._against(factor, start)
        levels = tuple(
            LevelEffect(str(factor.levels[i]), *finite(gap or _unknown()), gap is not None)
            for i, gap in enumerate(against)
            if i != start
        )
        best, proven = None, False
        if self.ready and count > 1:
            gains = [-math.inf if gap is None else sign * gap.value for gap in against]
            best = int(np.argmax(gains))
            rivals = [gap for i, gap in enumerate(self._against(factor, best)) if i != best]
            proven = all(
                gap is not None and (gap.high < 0 if sign > 0 else gap.low > 0) for gap in rivals
            )
        return FactorEffects(
            factor.name,
            str(factor.levels[start]),
            levels,
            None if best is None else str(factor.levels[best]),
            proven,
        )

    def _against(self, factor: Factor, base: int) -> list[Interval | None]:
        """Return how much more each level pays than one of them; None where no arms tell."""
        pairs = [({factor.name: i}, {factor.name: base}) for i in range(len(factor.levels))]
        return self._told_apart(self._factors("effects"), pairs)

    def contrast(self, one: Mapping[str, Level], other: Mapping[str, Level]) -> Interval:
        """Return how much more arms with some levels pay than arms with others.

        one, other: levels by factor, such as {"tone": "dry", "length": "long"}. Factors that are
            not mentioned are averaged over the arms of the experiment.
        """
        factors = self._factors("contrast")
        (found,) = self._told_apart(factors, [(factors.places(one), factors.places(other))])
        if found is None:
            raise InvalidArgument(
                "The arms of this experiment do not tell these apart: no combination of them has "
                "this difference. Compare levels that occur with the same levels of the others."
            )
        return found

    def _told_apart(self, factors: Factors, pairs: "Sequence[Pair]") -> list[Interval | None]:
        """Return the difference that changing levels makes, or None where no arms tell it."""
        rows = contrast_weights(factors, pairs)
        zero = np.zeros(len(self.problem))
        found = self.contrasts(np.array([zero if row is None else row for row in rows]))
        return [None if row is None else gap for row, gap in zip(rows, found, strict=True)]

    def _chosen(self, arms: Sequence[int] | IntArray | None) -> slice | list[int]:
        return slice(None) if arms is None else [self.problem.check_arm(arm) for arm in arms]

    def _factors(self, who: str) -> Factors:
        if self.problem.factors is None:
            raise InvalidArgument(
                f"{who} needs arms that are combinations of factors; these have only features. "
                "State the problem with Factors(...), or compare arms: values().gaps(arm)."
            )
        return self.problem.factors


@lru_cache(maxsize=8)
def _blank(problem: Problem) -> LeastSquares:
    """Return the estimate before any reward: its coordinates take longest to compute."""
    return Mixture().estimate(problem)


@dataclass(frozen=True)
class Effects(Data):
    """The effects of all factors, with intervals that hold together at all times.

    delta: the probability that any of them is ever wrong is at most this.
    pulls: after how many rewards.
    factors: the effects of each factor's levels.

    >>> import numpy as np
    >>> from lingape import Factors, Problem, Values
    >>> factors = Factors(tone=["warm", "dry"], length=["short", "long"])
    >>> counts, means = np.array([50, 50, 50, 50]), np.array([0.1, 0.3, 0.6, 0.8])
    >>> values = Values(Problem(factors, noise=0.3), counts, means, squares=np.full(4, 4.5))
    >>> print(values.effects(reference={"tone": "dry"}))
    | factor | level | effect | 95 % interval       |      |
    | ------ | ----- | -----: | ------------------- | ---- |
    | tone   | dry   |      0 | reference           | best |
    |        | warm  |   -0.5 | -0.6842 to -0.3158  |      |
    | length | short |      0 | reference           |      |
    |        | long  |   +0.2 | +0.01581 to +0.3842 | best |
    """

    delta: float
    pulls: int
    factors: tuple[FactorEffects, ...]

    def __str__(self) -> str:
        return markdown_table(self._rows(), "llrl")

    def _repr_html_(self) -> str:
        text = f"After {counted(self.pulls)}; all intervals hold together, at all times."
        return as_html("Effects", text, self._rows())

    def _rows(self) -> list[list[str]]:
        rows = [["factor", "level", "effect", f"{share(self.delta)} interval", ""]]
        for factor in self.factors:
            rows.append([printable(factor.factor), *_reference_row(factor)])
            for level in factor.levels:
                mark = _mark(factor, level.level)
                value = "–" if level.value is None else f"{level.value:+.4g}"
                rows.append(["", printable(level.level), value, level.interval, mark])
        return rows


def _reference_row(factor: FactorEffects) -> list[str]:
    return [printable(factor.reference), "0", "reference", _mark(factor, factor.reference)]


def _mark(factor: FactorEffects, level: str) -> str:
    if factor.best != level:
        return ""
    return "best" if factor.proven else "looks best"


def outward(low: float, high: float, *, sign: bool = False, word: str = "to") -> str:
    """Return an interval to four digits, never narrower than it is but for rounding.

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
    """Return a number from 0 to four digits, never more than it is; see upward."""
    return f"{float(DOWNWARD.plus(decimal.Decimal(f'{value + 0.0:.12g}'))):.4g}"


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


Pair: TypeAlias = tuple[Mapping[str, int], Mapping[str, int]]  # places of levels, by factor


def contrast_weights(factors: Factors, pairs: Sequence[Pair]) -> list[FloatArray | None]:
    """Return weights on arms whose sum is the difference that changing levels makes, or None.

    It is averaged over the arms; where each has a feature of its own, over those whose other
    levels occur with both.
    """
    if factors.per_arm:
        return [_matched(factors, *pair) for pair in pairs]
    size = np.abs(factors.features).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    ends = [[factors.features_of(_changed(factors, end)).mean(axis=0) for end in p] for p in pairs]
    wanted = np.array([(one - other) / size for one, other in ends])
    arms = factors.features / size
    found = np.linalg.lstsq(arms.T, wanted.T, rcond=None)[0].T
    missed = np.abs(found @ arms - wanted).max(axis=1)
    told = missed <= ESTIMABLE * np.maximum(1.0, np.abs(wanted).max(axis=1))
    return [row if tells else None for row, tells in zip(found, told, strict=True)]


def _matched(
    factors: Factors, one: Mapping[str, int], other: Mapping[str, int]
) -> FloatArray | None:
    """Return the weights of arms that differ in nothing else, where these exist."""
    arms: dict[tuple[int, ...], list[int]] = {}
    for arm, row in enumerate(factors.rows.tolist()):
        arms.setdefault(tuple(row), []).append(arm)
    ends = (_changed(factors, levels).tolist() for levels in (one, other))
    found = [(arms.get(tuple(a), []), arms.get(tuple(b), [])) for a, b in zip(*ends, strict=True)]
    pairs = [(first, second) for first, second in found if first and second]
    weights = np.zeros(len(factors))
    for first, second in pairs:
        weights[first] += 1.0 / (len(pairs) * len(first))
        weights[second] -= 1.0 / (len(pairs) * len(second))
    return weights if pairs else None


def _changed(factors: Factors, levels: Mapping[str, int]) -> IntArray:
    """Return the combinations with some factors at given levels."""
    rows = factors.rows.copy()
    for column, factor in enumerate(factors.factors):
        rows[:, column] = levels.get(factor.name, rows[:, column])
    return rows


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
    if low == high == 0:
        return "the same"
    more, less = ("better", "worse")
    if low > 0:
        return f"{more} by at least {_downward(low)}"
    if high < 0:
        return f"{less} by at least {_downward(-high)}"
    return "not told apart yet"
