"""Algorithms, one a file; to add one, add its line to EXPLORERS."""

from .base import Explorer
from .lin_ugape import LinUGapE
from .lingape import LinGapE
from .skeleton import Contest
from .ugape import UGapE
from .uniform import Uniform
from .xy_adaptive import XYAdaptive
from .xy_oracle import XYOracle
from .xy_static import XYStatic

EXPLORERS: dict[str, type[Explorer]] = {
    "lingape": LinGapE,
    "xy-static": XYStatic,
    "xy-adaptive": XYAdaptive,
    "xy-oracle": XYOracle,
    "uniform": Uniform,
    "ugape": UGapE,
    "lin-ugape": LinUGapE,
}

__all__ = [
    "EXPLORERS",
    "Contest",
    "Explorer",
    "LinGapE",
    "LinUGapE",
    "UGapE",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
]
