"""Rewards of 1 or 0 with mean xᵀθ, such as clicks."""

from .two_valued import TwoValued


class ZeroOne(TwoValued):
    """Pay 1 with probability xᵀθ, else 0: a world for problems with noise="binary".

    arms, theta: as for Gaussian.

    >>> from lingape import ZeroOne
    >>> ZeroOne([[1, 0], [0, 1]], theta=[0.5, 1.0]).means
    array([0.5, 1. ])
    """

    reward_range = 0.0, 1.0
