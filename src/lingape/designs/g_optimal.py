"""The G-optimal design: estimate every arm about equally well."""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..errors import DesignFailed
from .min_max import in_span, xy

LOOSE = 1e-3  # down to this tolerance multiplicative updates are quick


class GOptimal(NamedTuple):
    """A design and the proof of how good it is."""

    proportions: FloatArray  # p, summing to 1
    efficiency: float  # certified: at least this share of what any design achieves


def g_optimal(arms: FloatArray, *, tolerance: float = 1e-6, max_steps: int = 100_000) -> GOptimal:
    """Minimise max_k ‖x_k‖² in the inverse of Σ p_k x_k x_kᵀ, over proportions p.

    By the equivalence theorem of Kiefer and Wolfowitz the optimum is d, so that a value of at most
    d(1 + tolerance) is a certificate; d is the dimension of the arms' span.

    For loose tolerances by multiplicative updates p_k ← p_k·‖x_k‖²/d (Silvey, Titterington and
    Torsney 1978), which keep symmetric arms symmetric and commute with linear maps of feature
    space; for tight ones as a min-max design over the arms.

    >>> g_optimal(np.eye(4)).proportions
    array([0.25, 0.25, 0.25, 0.25])
    """
    raw = np.asarray(arms, dtype=np.float64)
    x, _ = in_span(raw, raw)
    k, d = x.shape
    worst = math.inf
    p = np.full(k, 1.0 / k)
    for _ in range(max_steps):
        factor = np.linalg.cholesky((x.T * p) @ x)
        norms = (np.linalg.solve(factor, x.T) ** 2).sum(axis=0)
        worst = float(norms.max())
        if worst <= d * (1 + tolerance):
            return GOptimal(p, d / worst)
        if tolerance < LOOSE and worst <= d * (1 + 10 * LOOSE):
            design = xy(x, x, tolerance=tolerance)
            return GOptimal(design.proportions, d / design.value)
        p *= norms / d
        p /= p.sum()
    raise DesignFailed(
        f"The design came within {worst / d - 1:.1e} of optimal in {max_steps} steps, not within "
        f"the tolerance {tolerance:g}. Raise the tolerance or max_steps."
    )
