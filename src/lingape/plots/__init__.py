"""Draw runs: how long they took, where the pulls went, how it was settled, what was learnt.

Every function returns a matplotlib Figure, and `save` writes it. Needs the extra `plot`, which is
imported when something is drawn; pyplot is never touched, so it works without a display. Explorers
differ in colour (Okabe and Ito's, which the colour-blind can tell apart) and in marker, line and
hatch, so that a figure can be read in print without colour.
"""

from .arms import allocation, intervals, margin
from .learnt import effects, values
from .style import save
from .times import distribution, relative, stopping_curve, stopping_times

__all__ = [
    "allocation",
    "distribution",
    "effects",
    "intervals",
    "margin",
    "relative",
    "save",
    "stopping_curve",
    "stopping_times",
    "values",
]
