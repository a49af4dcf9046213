"""What simulated worlds pay, compiled."""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray
from .parts import part_function


class WorldKernel(NamedTuple):
    """Gaussian and Signed have one kernel, so that a run in either needs no code of its own."""

    means: FloatArray  # (K,)
    scale: float  # of the Gaussian noise
    signed: bool  # whether rewards are +1 or -1 instead


@part_function(inline=True)
def pay(world: Any, arm: int, rng: np.random.Generator) -> float:
    """Draw one reward of an arm."""
    return np.nan  # every world has its own


@pay.of(WorldKernel)
def _(world: WorldKernel, arm: int, rng: np.random.Generator) -> float:
    if not world.signed:
        return world.means[arm] + world.scale * rng.standard_normal()  # type: ignore[no-any-return]
    if 2.0 * rng.random() - 1.0 < world.means[arm]:
        return 1.0
    return -1.0
