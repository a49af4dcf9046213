"""Which comparison is closest? One way to choose it per file."""

from .base import Contest, Contests, RadiusBound
from .by_arm import ByArm
from .by_gap import ByGap
from .by_pair import ByPair
from .top import Top

__all__ = ["ByArm", "ByGap", "ByPair", "Contest", "Contests", "RadiusBound", "Top"]
