"""Explorers that compare the intervals of single arms."""

from ..contests import ByArm, RadiusBound
from ..errors import InvalidBound
from ..problem import Problem
from ..pulls import Wider
from ..stopping import Margin
from .conversation import ContestExplorer, EachArm, Parts


class ByArmExplorer(ContestExplorer):
    """Pull the less certain of the two arms whose intervals overlap most."""

    def __init__(self, problem: Problem, *, bound: RadiusBound, ridge: float | None) -> None:
        if not getattr(bound, "adaptive", False) or not hasattr(bound, "radius"):
            raise InvalidBound(
                f"{type(self).__name__} lets past rewards choose the next arm and needs one "
                f"radius for all arms; {type(bound).__name__}() does not serve. "
                "Use SelfNormalized() or Unstructured()."
            )
        super().__init__(problem, bound=bound, ridge=ridge)
        self.parts = Parts(EachArm(problem), ByArm(problem, bound), Wider(), Margin(problem))
