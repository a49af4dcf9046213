"""Pull the arm that shrinks the contested gap's variance most: equation (9) of the paper."""

from typing import Any

from ..kernels.stage import Stage
from ..least_squares import LeastSquares
from ..ties import PULL, first_max


class _Greedy:
    """Pull the arm that shrinks the contested gap's variance most, equation (9).

    argmin_a yᵀ(A + x_a x_aᵀ)⁻¹y = argmax_a (x_aᵀA⁻¹y)² / (1 + x_aᵀA⁻¹x_a)  (Sherman-Morrison)
    """

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        features = estimate.features
        u = features @ (estimate.inverse @ (features[leader] - features[rival]))
        u *= u
        u /= 1.0 + estimate.variances
        if estimate.pullable is not None:
            u[~estimate.pullable] = -1.0
        return first_max(u, PULL * float(u[u.argmax()]))

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.pulls.greedy import new_greedy

        return new_greedy(len(stage.estimate.counts))

    __name__ = "greedy"

    def __repr__(self) -> str:
        return "greedy"

    def __reduce__(self) -> str:
        return "greedy"  # there is only one


greedy = _Greedy()
