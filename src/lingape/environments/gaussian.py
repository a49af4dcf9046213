"""Rewards xᵀθ plus Gaussian noise."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidEnvironment
from ..problem import as_float
from .base import World


class Gaussian(World):
    """Pay xᵀθ + scale·N(0, 1).

    >>> Gaussian([[1, 0], [0, 1]], theta=[1.0, 0.5]).means
    array([1. , 0.5])
    """

    def __init__(self, arms: npt.ArrayLike, theta: npt.ArrayLike, *, scale: float = 1.0) -> None:
        super().__init__(arms, theta)
        self.scale = as_float(scale)
        if not 0 <= self.scale < np.inf:
            raise InvalidEnvironment(f"scale must be finite and at least 0; got {scale!r}.")

    def pull(self, arm: int, rng: np.random.Generator) -> float:
        """Return one reward of `arm`."""
        return float(self.means[arm] + self.scale * rng.standard_normal())

    def kernel(self) -> Any:
        """Return this world for the compiled lane."""
        from ..kernels.worlds import WorldKernel

        return WorldKernel(self.means, self.scale, signed=False)
