"""Which pull settles a contest between two arms best? Two rules, from Section 5.1 of the paper."""

from typing import Any, Protocol

import numpy as np

from .arrays import BoolArray, FloatArray
from .designs import DirectionProgram, Mix
from .least_squares import LeastSquares
from .ties import PULL, first_max


class PullRule(Protocol):
    """Decides which arm to pull for a contest between two."""

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        """Return the arm to pull so as to learn the gap between `leader` and `rival`."""
        ...


def greedy(estimate: LeastSquares, leader: int, rival: int) -> int:
    """Pull the arm that shrinks the contested gap's variance most, equation (9).

    argmin_a yᵀ(A + x_a x_aᵀ)⁻¹y = argmax_a (x_aᵀA⁻¹y)² / (1 + x_aᵀA⁻¹x_a)  (Sherman-Morrison)
    """
    features = estimate.features
    u = features @ (estimate.inverse @ (features[leader] - features[rival]))
    u *= u
    u /= 1.0 + estimate.variances
    if estimate.pullable is not None:
        u[~estimate.pullable] = -1.0
    return first_max(u, PULL * float(u[u.argmax()]))


class Tracking:
    """Keep the counts close to the best proportions for the contested gap, equation (12).

    The proportions p* come from the linear program (11), solved once for each pair of arms that
    is ever contested.
    """

    def __init__(self) -> None:
        self._features: FloatArray | None = None
        self._program: DirectionProgram | None = None
        self._mixes: dict[tuple[int, int], Mix] = {}

    def __repr__(self) -> str:
        return "Tracking()"

    def __eq__(self, other: object) -> bool:
        return type(other) is Tracking

    def __hash__(self) -> int:
        return hash(Tracking)

    def __reduce__(self) -> tuple[type["Tracking"], tuple[()]]:
        return Tracking, ()  # everything kept is a cache

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        p = self.mix(estimate.features, leader, rival, estimate.pullable).proportions
        support = np.flatnonzero(p)
        shortfall = -estimate.counts[support] / p[support]  # -T_a/p*_a (12)
        return int(support[first_max(shortfall, -PULL * float(shortfall.max()))])

    def mix(
        self,
        features: FloatArray,
        leader: int,
        rival: int,
        pullable: BoolArray | None = None,
    ) -> Mix:
        """Return w*, p* and ρ for the gap between two arms; the same for either order."""
        if features is not self._features:  # first use, or handed on to another problem
            usable = features if pullable is None else features[pullable]
            self._features, self._program, self._mixes = features, DirectionProgram(usable), {}
        assert self._program is not None
        first, second = pair = min(leader, rival), max(leader, rival)
        if pair not in self._mixes:
            mix = self._program.solve(features[first] - features[second])
            if pullable is not None:
                weights, shares = np.zeros(len(features)), np.zeros(len(features))
                weights[pullable], shares[pullable] = mix.weights, mix.proportions
                mix = Mix(weights, shares, mix.rho)
            self._mixes[pair] = mix
        return self._mixes[pair]


PULLS: dict[str, Any] = {"greedy": greedy, "tracking": Tracking}
