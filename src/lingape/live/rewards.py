"""Which rewards there can be, and the noise scale R that follows from it."""

from dataclasses import dataclass
from typing import Any, Self

from ..errors import InvalidArgument, InvalidReward
from ..problem import LARGEST, as_float


@dataclass(frozen=True)
class Rewards:
    """The rewards that were promised: any number, those in a range, or only 0 and 1.

    >>> str(Rewards.of((0, 10))), Rewards.of("binary").noise_scale
    ('from 0.0 to 10.0', 0.5)
    """

    low: float = -LARGEST
    high: float = LARGEST
    binary: bool = False

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the rewards that None (any number), "binary" or (low, high) stands for."""
        if given is None:
            return cls()
        if isinstance(given, str) and given == "binary":
            return cls(0.0, 1.0, binary=True)
        try:
            low, high = (as_float(end) for end in given)
        except (TypeError, ValueError):
            low = high = float("nan")
        if isinstance(given, str) or not -LARGEST <= low < high <= LARGEST:
            raise InvalidArgument(
                "The range of rewards must be the lowest and the highest reward there can be, or "
                f"'binary' for 0 and 1; got {given!r}."
            )
        return cls(low, high)

    def to_data(self) -> Any:
        """Return what `of` takes, as JSON-able data."""
        if self.binary:
            return "binary"
        return None if self == type(self)() else [self.low, self.high]

    @property
    def noise_scale(self) -> float:
        """The R with which rewards in a range are R-sub-Gaussian: half the range (Hoeffding)."""
        return (self.high - self.low) / 2

    def check(self, reward: float) -> None:
        """Raise InvalidReward if a reward is not one of these."""
        if reward not in (0, 1) if self.binary else not self.low <= reward <= self.high:
            raise InvalidReward(
                f"The reward is {reward!r}, but rewards have to be {self}: the noise scale, and "
                "with it the guarantee, rests on that. Nothing was recorded. If there can be "
                "such rewards, begin another experiment with the range that they really have."
            )

    def __str__(self) -> str:
        if self.binary:
            return "0 or 1"
        return "any number" if self == type(self)() else f"from {self.low!r} to {self.high!r}"


def noise_scale_for(*, bounded: tuple[float, float] | None = None, binary: bool = False) -> float:
    """Return the R with which rewards in a range are R-sub-Gaussian: half the range (Hoeffding).

    bounded: the lowest and the highest reward there can be.
    binary: rewards are 0 or 1.

    >>> noise_scale_for(bounded=(0, 10)), noise_scale_for(binary=True)
    (5.0, 0.5)
    """
    if (bounded is not None) == bool(binary):
        raise InvalidArgument("Pass one of bounded=(low, high) and binary=True.")
    return Rewards.of("binary" if bounded is None else bounded).noise_scale
