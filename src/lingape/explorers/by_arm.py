"""What explorers share that compare intervals of single arms instead of intervals on gaps."""

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..bounds import Bound
from ..errors import InvalidBound
from ..least_squares import LeastSquares
from ..problem import Problem
from .lanes import load_lane
from .skeleton import Contest, GapExplorer

if TYPE_CHECKING:
    from ..kernels.lane import Lane


class RadiusBound(Bound, Protocol):
    """A bound whose widths are norms times one radius."""

    def radius(self, problem: Problem, estimate: LeastSquares) -> float: ...


class ByArmExplorer(GapExplorer):
    """Pull the less certain of the two arms whose intervals overlap most.

    With U and L the ends of each arm's interval, B_k = max_{i≠k} U_i - L_k is how much worse arm k
    can be than another. The leader has the least B, its rival the largest U of the others. Exact
    duplicates of an arm are not its rivals.
    """

    bound: RadiusBound

    def __init__(self, problem: Problem, *, bound: RadiusBound, ridge: float | None) -> None:
        if not getattr(bound, "adaptive", False) or not hasattr(bound, "radius"):
            raise InvalidBound(
                f"{type(self).__name__} lets past rewards choose the next arm and needs one "
                f"radius for all arms; {type(bound).__name__}() does not serve. "
                "Use SelfNormalized() or Unstructured()."
            )
        super().__init__(problem, bound=bound, ridge=ridge)

    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        if contest is None:  # pull each arm once
            return int(estimate.counts.argmin())
        leader, rival, _ = contest
        variances = estimate.variances
        # The wider interval; of equal ones, to within rounding, the rival's: it was pulled less
        # recently.
        return leader if variances[leader] > variances[rival] * (1 + 1e-9) else rival

    def _closest_contest(self, estimate: LeastSquares) -> Contest:
        means, twins = estimate.means, estimate.twins
        widths = np.sqrt(estimate.variances) * self.bound.radius(self.problem, estimate)
        upper, lower = means + widths, means - widths
        first = int(upper.argmax())
        elsewhere = np.where(twins == twins[first], -np.inf, upper)
        second = int(elsewhere.argmax())
        if elsewhere[second] == -np.inf:  # all arms are the same arm
            return Contest(first, (first + 1) % len(means), 0.0)
        # The largest U among the arms other than k and its duplicates: the first or the second.
        other = np.where(twins == twins[first], upper[second], upper[first])
        worst = other - lower
        slack = 1e-12 * (self.problem.noise_scale + float(np.abs(means).max()))
        leader = int((worst <= worst.min() + slack).argmax())
        rivals = np.where(twins == twins[leader], -np.inf, upper)
        rival = int((rivals >= rivals.max() - slack).argmax())
        return Contest(leader, rival, float(worst[leader]))

    def compiled(self) -> "Lane | None":
        """Return a compiled lane that goes on from here, if there is one for these parts."""
        lane = load_lane()
        if self.done or not lane.serves(self.bound, "by arm"):
            return None
        return lane(self.problem, self.bound, "by arm", self.estimate)
