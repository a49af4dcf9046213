"""What the kernel of every pull rule does."""

from typing import Any

import numpy as np

from ...arrays import FloatArray
from ..book import Model
from ..parts import part_function

NEEDS_HELP = -1  # in place of an arm


@part_function(inline=True)
def choose(pull: Any, model: Model, leader: int, rival: int) -> int:
    """Return the arm to pull for this contest, or NEEDS_HELP if its part has to act first."""
    return NEEDS_HELP  # every rule has its own


@part_function(inline=True)
def glide(
    pull: Any,
    model: Model,
    means: FloatArray,
    world: Any,
    rng: np.random.Generator,
    until: int,
    contest: tuple[int, int, float],
) -> int:
    """Make pulls of which all but the last cannot end the run, if any; return how many.

    contest: leader, rival, and the bound's radius.
    """
    return 0
