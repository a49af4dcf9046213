"""What explorers share whose pulls are fixed in advance."""

from typing import TYPE_CHECKING

from ..arrays import FloatArray
from ..errors import InvalidArm
from ..least_squares import LeastSquares
from ..plans import Plan
from .lanes import load_lane
from .skeleton import Contest, GapExplorer

if TYPE_CHECKING:
    from ..kernels.lane import Lane


class PlannedExplorer(GapExplorer):
    """Pull by a plan; rewards only decide when to stop.

    A fixed-design bound holds only for such pulls, so arms that the plan does not have next (or
    soon: workers finish in any order) are refused.
    """

    plan: Plan

    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        return self.plan.pick(estimate)

    def _begun(self, estimate: LeastSquares) -> bool:
        return estimate.ready and self.plan.started(estimate)

    def _allow(self, arm: int) -> None:
        if not self.done and not self.plan.allows(self.estimate, arm):
            raise InvalidArm(
                f"The pulls of {type(self).__name__} are fixed in advance, or its bound would not "
                f"hold; {self.problem.name(arm)} is not due (arm {self.plan.pick(self.estimate)} "
                "is). Pull what ask() says, or explore with LinGapE. Nothing was recorded."
            )

    def compiled(self) -> "Lane | None":
        """Return a compiled lane that goes on from here, if there is one for these parts."""
        lane = load_lane()
        if self.done or not lane.serves(self.bound, self.plan):
            return None
        return lane(
            self.problem,
            self.bound,
            self.plan,
            self.estimate,
            truth=self._truth(),
            opening=self.plan,
        )

    def _truth(self) -> FloatArray | None:
        """Return the means to judge by, for explorers that know them."""
        return None
