"""Who drives explorers: asking and telling in Python (runs.play), or compiled code.

A lane drives the parts of an explorer and knows no algorithm.
"""

from typing import Any, Protocol

import numpy as np

from ..errors import MissingExtra
from ..scaffold.budget_phases import PhasedBudgetExplorer
from ..scaffold.by_contests import ContestExplorer
from ..scaffold.phases import PhasedExplorer


class CompiledLane(Protocol):
    """A run in compiled code, paused between calls of `advance`."""

    @property
    def settled(self) -> bool: ...

    @property
    def pulls(self) -> int: ...

    def prepare(self, world: Any) -> None:
        """Compile what it takes, without a pull."""
        ...

    def advance(self, world: Any, rng: np.random.Generator, until: int) -> None:
        """Play on until settled or `until` pulls."""
        ...


def compiled_lane(explorer: Any) -> CompiledLane | None:
    """Return a compiled lane that goes on from here, if all parts of the explorer have kernels.

    `explorer.adopt(lane)` takes the lane's data back. Raises MissingExtra without numba.
    """
    try:
        from .compiled import ContestLane
        from .phases import PhaseLane
    except ImportError as reason:
        raise MissingExtra(
            "The compiled lane needs numba, which is not installed: pip install 'lingape[sim]', "
            "or use lane='plain'."
        ) from reason
    if getattr(explorer, "done", True):
        return None
    if isinstance(explorer, PhasedExplorer | PhasedBudgetExplorer):
        return PhaseLane(explorer)
    if isinstance(explorer, ContestExplorer):
        return ContestLane.of(explorer)
    return None
