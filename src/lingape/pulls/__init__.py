"""Which pull settles a contest between two arms best? One rule per file.

To add one that users choose by name, add its line to PULLS.
"""

from typing import Any

from .base import PullRule
from .greedy import greedy
from .tracking import Tracking
from .wider import Wider

#: Pull rules by name, as in `lingape(pull=tracking)`.
PULLS: dict[str, Any] = {"greedy": greedy, "tracking": Tracking}

__all__ = ["PULLS", "PullRule", "Tracking", "Wider", "greedy"]
