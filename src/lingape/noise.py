"""What rewards are like: how they scatter around their mean, and where they can lie.

Every guarantee rests on this, so a problem has to say it; there is no default.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from .checks import LARGEST, SMALLEST, as_float, glimpse
from .errors import InvalidProblem, InvalidReward
from .printable import stated

HOW_TO_SAY = (
    "Say what rewards are like: noise=R for noise on a known scale (a standard deviation if it is "
    "Gaussian), Bounded(low, high), Binary(), or Normal() for Gaussian noise of unknown scale"
)

NARROWEST = 1e-3  # a range, relative to the larger of its ends


class _Mean(NamedTuple):
    """How an assumption speaks of an arm's mean."""

    plain: str
    pull: str
    value: str


def _mean(linear: bool) -> _Mean:
    if linear:
        return _Mean(
            "An arm's average reward is a fixed weighted sum of its features",
            "a pull of an arm with features x",
            "xᵀθ",
        )
    return _Mean("An arm's average reward does not change", "a pull of an arm", "that arm's mean")


@dataclass(frozen=True)
class SubGaussian:
    """Rewards deviate from their mean by R-sub-Gaussian noise.

    scale: R; the standard deviation if the noise is Gaussian.

    >>> from lingape import SubGaussian
    >>> SubGaussian(0.5).to_data()
    0.5
    """

    scale: float

    def __post_init__(self) -> None:
        scale = _real(self.scale)
        if not 0 < scale <= LARGEST:
            raise InvalidProblem(
                f"noise (R) must be a number above 0 and at most {LARGEST:g}; got "
                f"{glimpse(self.scale)}. Use the noise's standard deviation, or Normal() if it is "
                "Gaussian and you do not know that."
            )
        object.__setattr__(self, "scale", scale)

    def check(self, reward: float) -> None:
        """Raise InvalidReward if `reward` is not a finite number."""
        finite_reward(reward)

    def assumption(self, *, linear: bool = True) -> str:
        """Return what has to be true of rewards, as a sentence.

        linear: whether an arm's mean is xᵀθ; if not, it may be anything.
        """
        mean = _mean(linear)
        return stated(
            f"{mean.plain}, and rewards scatter around it by chance, on a scale of at most "
            f"{self.scale:g}.",
            f"{mean.pull} pays {mean.value} plus noise that, given all rewards told before it, "
            f"has mean 0 and is {self.scale:g}-sub-Gaussian.",
        )

    def negated(self) -> "SubGaussian":
        """Return what is known of the negatives of such rewards."""
        return self

    def to_data(self) -> Any:
        """Return what `checked_noise` takes, as JSON-able data."""
        return self.scale


@dataclass(frozen=True)
class Bounded:
    """Rewards lie between `low` and `high`; others are refused.

    Race learns the variance of each arm; to other explorers the noise is R-sub-Gaussian with R
    half the range (Hoeffding).

    >>> from lingape import Bounded
    >>> Bounded(0, 10).scale
    5.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = _real(self.low), _real(self.high)
        if not (abs(low) <= LARGEST and abs(high) <= LARGEST and high - low >= SMALLEST):
            raise InvalidProblem(
                "The range of rewards must be the lowest reward there can be, then the highest, "
                f"two numbers at most {LARGEST:g} in size and at least {SMALLEST:g} apart; got "
                f"{glimpse((self.low, self.high))}. For rewards without limits give the scale "
                "of their noise."
            )
        if high - low < NARROWEST * max(abs(low), abs(high)):
            raise InvalidProblem(
                "The range of rewards must not be narrow beside its distance from 0, or sums of "
                f"rewards lose their digits; got {glimpse((self.low, self.high))}. Subtract the "
                "lowest reward from all of them."
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def scale(self) -> float:
        """R, half the range."""
        return (self.high - self.low) / 2

    @property
    def words(self) -> str:
        """Which rewards there can be, in words."""
        return f"from {self.low!r} to {self.high!r}"

    def check(self, reward: float) -> None:
        """Raise InvalidReward if `reward` is outside of the range."""
        if not self.low <= reward <= self.high:
            raise self._broken_by(reward)

    def _broken_by(self, reward: float) -> InvalidReward:
        return InvalidReward(
            f"Rewards have to be {self.words}, for the guarantee rests on that; got {reward!r}. "
            "Nothing was recorded. If there can be such rewards, begin again with the range that "
            "they really have."
        )

    def assumption(self, *, linear: bool = True) -> str:
        """Return what has to be true of rewards, as a sentence.

        linear: whether an arm's mean is xᵀθ; if not, it may be anything.
        """
        mean = _mean(linear)
        return stated(
            f"{mean.plain}, and rewards are {self.words}.",
            f"{mean.pull} pays a reward that is {self.words}; given all rewards told before it, "
            f"its mean is {mean.value}.",
        )

    def negated(self) -> "Bounded":
        """Return what is known of the negatives of such rewards."""
        return Bounded(-self.high, -self.low)

    def to_data(self) -> Any:
        """Return what `checked_noise` takes, as JSON-able data."""
        return [self.low, self.high]


@dataclass(frozen=True)
class Binary(Bounded):
    """Rewards are 0 or 1, such as clicks and wins; others are refused.

    >>> from lingape import Binary
    >>> Binary().scale
    0.5
    """

    low: float = field(default=0.0, init=False, repr=False)
    high: float = field(default=1.0, init=False, repr=False)

    @property
    def words(self) -> str:
        """Which rewards there can be, in words."""
        return "0 or 1"

    def check(self, reward: float) -> None:
        """Raise InvalidReward if `reward` is neither 0 nor 1."""
        if reward not in (0, 1):
            raise self._broken_by(reward)

    def to_data(self) -> Any:
        """Return what `checked_noise` takes, as JSON-able data."""
        return "binary"


@dataclass(frozen=True)
class Normal:
    """Rewards are Gaussian, with the same standard deviation for all arms, which is not known.

    Explorers that need a scale refuse it; Race learns it.

    >>> from lingape import Normal, Problem, Race
    >>> Race(Problem([[1, 0], [0, 1]], noise=Normal())).ask()
    0
    """

    scale: ClassVar[None] = None

    def check(self, reward: float) -> None:
        """Raise InvalidReward if `reward` is not a finite number."""
        finite_reward(reward)

    def assumption(self, *, linear: bool = True) -> str:
        """Return what has to be true of rewards, as a sentence.

        linear: whether an arm's mean is xᵀθ; if not, it may be anything.
        """
        mean = _mean(linear)
        return stated(
            f"{mean.plain}, and rewards scatter around it by chance in the shape of a bell curve, "
            "equally wide for all arms.",
            f"{mean.pull} pays {mean.value} plus noise that, given all rewards told before it, is "
            "Gaussian with mean 0 and a standard deviation that is always the same.",
        )

    def negated(self) -> "Normal":
        """Return what is known of the negatives of such rewards."""
        return self

    def to_data(self) -> Any:
        """Return what `checked_noise` takes, as JSON-able data."""
        return "normal"


Noise: TypeAlias = SubGaussian | Bounded | Normal
NoiseLike: TypeAlias = Noise | float | Sequence[float] | str  # what checked_noise takes


def checked_noise(given: Any) -> Noise:
    """Return the noise that was given, or that a number, a range or a text stands for, or raise.

    >>> checked_noise(2), checked_noise((0, 5)), checked_noise("binary"), checked_noise("normal")
    (SubGaussian(scale=2.0), Bounded(low=0.0, high=5.0), Binary(), Normal())
    """
    if isinstance(given, Noise):
        return given
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Real) and not isinstance(given, bool):
        return SubGaussian(given)  # type: ignore[arg-type]  # which makes it a float
    if isinstance(given, list | tuple) and len(given) == 2:
        return Bounded(*given)
    if isinstance(given, str) and given in ("binary", "normal"):
        return Binary() if given == "binary" else Normal()
    raise InvalidProblem(f"{HOW_TO_SAY}{'' if given is None else f'; got {glimpse(given)}'}.")


def finite_reward(reward: Any) -> float:
    """Return the reward as a float, or raise InvalidReward if it is not a finite number."""
    value = as_float(reward)
    if not abs(value) <= LARGEST:
        raise InvalidReward(
            f"A reward must be a finite number, at most {LARGEST:g} in size; got {reward!r}. "
            "Leave out trials that gave no result (if that does not depend on how they went). "
            "Nothing was recorded."
        )
    return value


def _real(value: Any) -> float:
    """Return a real number as a float, or NaN: a text or a truth value is none."""
    return as_float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
