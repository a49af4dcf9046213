"""Rewards of +1 or -1 with mean xᵀθ, such as clicks."""

import numpy as np
import numpy.typing as npt

from ..errors import InvalidEnvironment
from .base import World
from .gaussian import WorldKernel


class Signed(World):
    """Pay +1 with probability (1 + xᵀθ)/2, else -1. The noise is 1-sub-Gaussian (Hoeffding).

    >>> Signed([[1, 0], [0, 1]], theta=[0.5, -1.0]).means
    array([ 0.5, -1. ])
    """

    def __init__(self, arms: npt.ArrayLike, theta: npt.ArrayLike) -> None:
        super().__init__(arms, theta)
        if np.abs(self.means).max() > 1:
            k = int(np.abs(self.means).argmax())
            raise InvalidEnvironment(
                f"Rewards of ±1 have means from -1 to 1, but arm {k} has {self.means[k]:g}. "
                "Scale θ or the features down."
            )

    def pull(self, arm: int, rng: np.random.Generator) -> float:
        """Return one reward of `arm`."""
        return 1.0 if 2.0 * rng.random() - 1.0 < self.means[arm] else -1.0

    def kernel(self) -> WorldKernel:
        """Return this world for the compiled lane."""
        return WorldKernel(self.means, 0.0, signed=True)
