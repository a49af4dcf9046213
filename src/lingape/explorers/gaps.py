"""By how much each arm may be better than the leader, as the explorer itself reckons."""

import numpy as np

from ..arrays import FloatArray
from .by_arm import ByArmExplorer
from .skeleton import GapExplorer


def half_widths(explorer: GapExplorer, leader: int) -> FloatArray:
    """Return how wrong each arm's estimated gap to the leader can be.

    The widths are those of the explorer's own stopping rule, so that the highest upper end but
    the leader's is B(t).
    """
    problem, estimate = explorer.problem, explorer.estimate
    if isinstance(explorer, ByArmExplorer):  # intervals on single arms, laid end to end
        own = np.sqrt(estimate.variances) * explorer.bound.radius(problem, estimate)
        widths = own + own[leader]
    else:
        widths = explorer.bound.widths(problem, estimate, leader)
    # The same arm twice: that gap is known.
    return np.where(estimate.twins == estimate.twins[leader], 0.0, widths)
