"""Explorers whose pulls are fixed in advance; rewards only decide when to stop."""

import numpy as np

from ..arrays import FloatArray
from ..contests import ByGap
from ..errors import InvalidBound
from ..plans import Plan, Proportions
from ..stopping import Margin
from .conversation import ContestExplorer, Parts


class PlannedExplorer(ContestExplorer):
    """Pull by a plan.

    Arms that the plan does not have next (or soon: workers finish in any order) are refused, as
    FixedDesign() holds only for pulls that are fixed in advance.
    """

    def follow(self, plan: Plan, truth: FloatArray | None = None) -> None:
        """Set the plan; for the end of a constructor.

        truth: means by which to compare arms, for explorers that know them.
        """
        self.plan = plan
        contests = ByGap(self.problem, self.bound, truth)
        self.parts = Parts(plan, contests, plan, Margin(self.problem))


def plan_for(explorer: PlannedExplorer, shares: FloatArray) -> Proportions:
    """Return the plan that follows `shares`, after one pull of each arm if they do not span."""
    problem = explorer.problem
    if explorer.estimate.features.shape[1] > problem.rank:
        raise InvalidBound(
            f"{type(explorer).__name__} designs its pulls by features, which {explorer.bound} "
            "ignores: it would never know arms that the design leaves out. Use UGapE or Uniform."
        )
    used = problem.orthonormal[shares > 0]
    return Proportions(shares, each_first=bool(np.linalg.matrix_rank(used) < problem.rank))
