"""The noise of a GPU for worlds on a processor, and explorers that a GPU plays."""

import numpy as np

from lingape import (
    FixedDesign,
    LinGapE,
    Mixture,
    SelfNormalized,
    Stylised,
    Tracking,
    Uniform,
    WorstCase,
    XYStatic,
)
from lingape.kernels.parts import pay
from lingape.kernels.philox import Philox
from lingape.kernels.teams import ALONE

KEY = 0x0123456789ABCDEF

PARTS = {
    "the paper's bound": lambda p: LinGapE(p, bound=SelfNormalized("K^2")),
    "the worst case": lambda p: LinGapE(p, bound=WorstCase()),
    "stylised": lambda p: LinGapE(p, bound=Stylised()),
    "mixture": LinGapE,
    "tracking": lambda p: LinGapE(p, pull=Tracking()),
    "dropping": lambda p: LinGapE(p, elimination="stop"),
    "not asking": lambda p: LinGapE(p, elimination="sample"),
    "few at first": lambda p: LinGapE(p, start="spanning"),
    "uniform": lambda p: Uniform(p, bound=FixedDesign()),
    "static": lambda p: XYStatic(p, bound=FixedDesign()),
    "one by one": lambda p: LinGapE(p, bound=Mixture(scales=3)),
}


def draws(key=KEY, number=0):
    place = np.array([number, 0])
    return Philox(ALONE, np.array([key], dtype=np.uint64), place, np.zeros(4))


class Fed:
    """A world with the noise that a run meets on a GPU."""

    def __init__(self, world, number):
        self.arms, self.means = world.arms, world.means
        self._world, self._draws = world.kernel(), draws(number=number)

    def pull(self, arm, rng):
        return float(pay(self._world, arm, self._draws))
