"""What worlds that pay one of two rewards have in common."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidEnvironment
from .base import World
from .gaussian import WorldKernel


class TwoValued(World):
    """Pay the larger of two rewards with the probability that gives the mean xᵀθ."""

    reward_range: ClassVar[tuple[float, float]]  # the two rewards

    def __init__(self, arms: npt.ArrayLike, theta: npt.ArrayLike) -> None:
        super().__init__(arms, theta)
        low, high = self.reward_range
        outside = np.maximum(low - self.means, self.means - high)
        if outside.max() > 0:
            k = int(outside.argmax())
            raise InvalidEnvironment(
                f"Rewards of {low:g} or {high:g} have means from {low:g} to {high:g}, but arm {k} "
                f"has {self.means[k]:g}. Change θ or the features so that xᵀθ lies there."
            )

    def pull(self, arm: int, rng: np.random.Generator) -> float:
        """Return one reward of `arm`; all randomness comes from `rng`."""
        low, high = self.reward_range
        return high if low + (high - low) * rng.random() < self.means[arm] else low

    def kernel(self) -> WorldKernel:
        """Return this world for the compiled lane."""
        return WorldKernel(self.means, 0.0, *self.reward_range)
