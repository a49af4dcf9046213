"""The G-optimal design: estimate every arm about equally well."""

from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..errors import DesignFailed


class GOptimal(NamedTuple):
    proportions: FloatArray  # p, summing to 1
    efficiency: float  # certified: at least this share of the optimal information


def g_optimal(
    features: FloatArray, *, tolerance: float = 0.01, max_steps: int = 100_000
) -> GOptimal:
    """Minimise max_k ‖x_k‖² in the inverse of Σ p_k x_k x_kᵀ, over proportions p.

    Multiplicative updates p_k ← p_k·‖x_k‖²/d (Silvey, Titterington and Torsney 1978). They keep
    symmetric arms symmetric and commute with linear maps of feature space, so that the design is
    as canonical as the problem. By the equivalence theorem of Kiefer and Wolfowitz the optimum is
    d, so max_k ‖x_k‖² ≤ d(1 + tolerance) is a certificate.

    The features have to span their space.
    """
    k, d = features.shape
    p = np.full(k, 1.0 / k)
    for _ in range(max_steps):
        factor = np.linalg.cholesky((features.T * p) @ features)
        norms = (np.linalg.solve(factor, features.T) ** 2).sum(axis=0)
        worst = norms.max()
        if worst <= d * (1 + tolerance):
            return GOptimal(p, d / worst)
        p *= norms / d
        p /= p.sum()
    raise DesignFailed(
        f"The design came within {worst / d - 1:.1e} of optimal in {max_steps} steps, not within "
        f"the tolerance {tolerance:g}. Raise the tolerance or max_steps."
    )
