"""Rewards xᵀθ plus Gaussian noise."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..checks import as_float
from ..errors import InvalidEnvironment
from ..kernels.functions import on_gpu
from ..kernels.parts import draw_normal, draw_uniform, pay
from .base import World


class Gaussian(World):
    """Pay xᵀθ + scale·N(0, 1).

    arms: one row of features per arm.
    theta: θ, a weight for each feature.
    scale: the standard deviation of the noise.

    >>> from lingape import Gaussian
    >>> Gaussian([[1, 0], [0, 1]], theta=[1.0, 0.5]).means
    array([1. , 0.5])
    """

    reward_range = -np.inf, np.inf

    def __init__(self, arms: npt.ArrayLike, theta: npt.ArrayLike, *, scale: float = 1.0) -> None:
        super().__init__(arms, theta)
        self.scale = as_float(scale)
        if not 0 <= self.scale < np.inf:
            raise InvalidEnvironment(f"scale must be finite and at least 0; got {scale!r}.")

    def pull(self, arm: int, rng: np.random.Generator) -> float:
        """Return one reward of `arm`; all randomness comes from `rng`."""
        return float(self.means[arm] + self.scale * rng.standard_normal())

    def kernel(self) -> "WorldKernel":
        """Return this world for the compiled lane."""
        return WorldKernel(self.means, self.scale, 0.0, 0.0)


@on_gpu("means")
class WorldKernel(NamedTuple):
    """All worlds here have one kernel, so that a run in another needs no code of its own."""

    means: FloatArray  # (K,)
    scale: float  # of the Gaussian noise
    low: float  # the two rewards that there are, or twice the same if the noise is Gaussian
    high: float


@pay.of(WorldKernel)
def _(world: WorldKernel, arm: int, rng: Any) -> float:
    if world.low == world.high:
        return world.means[arm] + world.scale * draw_normal(rng)  # type: ignore[no-any-return]
    if world.low + (world.high - world.low) * draw_uniform(rng) < world.means[arm]:
        return world.high
    return world.low
