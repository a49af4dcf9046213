"""What simulated worlds pay, compiled."""

from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from .parts import part_function


class GaussianWorld(NamedTuple):
    means: FloatArray  # (K,)
    scale: float  # of the noise


class SignedWorld(NamedTuple):
    means: FloatArray  # (K,)


@part_function(inline=True)
def pay(world: GaussianWorld, arm: int, rng: np.random.Generator) -> float:
    """Draw one reward of an arm."""
    return world.means[arm] + world.scale * rng.standard_normal()  # type: ignore[no-any-return]


@pay.of(SignedWorld)
def _(world: SignedWorld, arm: int, rng: np.random.Generator) -> float:
    if 2.0 * rng.random() - 1.0 < world.means[arm]:
        return 1.0
    return -1.0
