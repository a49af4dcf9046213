"""Algorithms, one a file; to add one, add its line to EXPLORERS."""

from .base import Explorer
from .lingape import Contest, LinGapE

EXPLORERS: dict[str, type[Explorer]] = {
    "lingape": LinGapE,
}

__all__ = ["EXPLORERS", "Contest", "Explorer", "LinGapE"]
