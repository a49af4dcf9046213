"""Rewards of +1 or -1 with mean xᵀθ."""

from .two_valued import TwoValued


class Signed(TwoValued):
    """Pay +1 with probability (1 + xᵀθ)/2, else -1. The noise is 1-sub-Gaussian (Hoeffding).

    arms, theta: as for Gaussian.

    >>> from lingape import Signed
    >>> Signed([[1, 0], [0, 1]], theta=[0.5, -1.0]).means
    array([ 0.5, -1. ])
    """

    reward_range = -1.0, 1.0
