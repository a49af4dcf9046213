"""Keep the counts close to the best proportions for the contested gap: (12) of the paper."""

from typing import Any

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..designs import DirectionProgram, Mix
from ..kernels.stage import Stage
from ..least_squares import LeastSquares
from ..ties import PULL, first_max


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

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.pulls.tracking import new_tracking

        return new_tracking(stage.estimate.features.shape[1])

    def help(
        self,
        kernel: Any,
        features: FloatArray,
        means: FloatArray,
        leader: int,
        rival: int,
    ) -> Any:
        """Return the kernel with the proportions for a pair that it has not met before."""
        from ..kernels.pulls.tracking import with_pair

        p = self.mix(features, leader, rival).proportions
        support = np.flatnonzero(p)
        key = min(leader, rival) * len(p) + max(leader, rival)
        return with_pair(kernel, key, support, p[support])
