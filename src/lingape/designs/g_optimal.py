"""The G-optimal design: estimate every arm about equally well."""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..errors import DesignFailed
from ..tall import is_tall, orthonormal_turn, spread_out, squared_lengths
from .min_max import in_span, xy

LOOSE = 1e-3  # down to this tolerance multiplicative updates are quick
FEW = 20  # of very many arms, so many for each dimension are looked at first, or added
DUST = 1e-3  # a share this far below the average is as good as none


class GOptimal(NamedTuple):
    """A design and the proof of how good it is.

    proportions: p, summing to 1.
    efficiency: at least this share of what any design achieves; certified.

    >>> import numpy as np
    >>> from lingape.designs import g_optimal
    >>> design = g_optimal(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]]))
    >>> design.proportions.round(3).tolist(), round(design.efficiency, 3)
    ([0.5, 0.5, 0.0], 1.0)
    """

    proportions: FloatArray
    efficiency: float


def g_optimal(arms: FloatArray, *, tolerance: float = 1e-6, max_steps: int = 100_000) -> GOptimal:
    """Minimise max_k ‖x_k‖² in the inverse of Σ p_k x_k x_kᵀ, over proportions p.

    By the equivalence theorem of Kiefer and Wolfowitz the optimum is d, so that a value of at most
    d(1 + tolerance) is a certificate; d is the dimension of the arms' span.

    For loose tolerances by multiplicative updates p_k ← p_k·‖x_k‖²/d (Silvey, Titterington and
    Torsney 1978), which keep symmetric arms symmetric and commute with linear maps of feature
    space; for tight ones as a min-max design over the arms.

    arms: one row of features per arm.
    tolerance: by how much the value may exceed d, as a share of it.
    max_steps: of updates, before it raises DesignFailed.

    >>> import numpy as np
    >>> from lingape.designs import g_optimal
    >>> g_optimal(np.eye(4)).proportions
    array([0.25, 0.25, 0.25, 0.25])
    """
    raw = np.asarray(arms, dtype=np.float64)
    if is_tall(raw) and tolerance >= LOOSE:
        return _of_many(raw, tolerance, max_steps)
    return _of_all(raw, tolerance, max_steps)


def _of_all(arms: FloatArray, tolerance: float, max_steps: int) -> GOptimal:
    """Return a design from updates of all shares."""
    x, _ = in_span(arms, arms)
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
    raise _failed(worst / d - 1, max_steps, tolerance)


def _failed(gap: float, max_steps: int, tolerance: float) -> DesignFailed:
    return DesignFailed(
        f"The design came within {gap:.1e} of optimal in {max_steps} steps, not within the "
        f"tolerance {tolerance:g}. Raise the tolerance or max_steps."
    )


def _of_many(x: FloatArray, tolerance: float, max_steps: int) -> GOptimal:
    """Return a design for very many arms, in which few have a share unless all do.

    A design for some of the arms is good enough for all once it leaves no other much longer than
    d. Until then, those that it leaves longest are added, and some of all that it leaves too long.
    """
    turn, _ = orthonormal_turn(x, np.ones(x.shape[1]), max(x.shape) * np.finfo(float).eps)
    count, d = len(x), turn.shape[1]
    n = min(FEW * d, count - 1)
    p = np.full(count, 1.0 / count)
    lengths = count * squared_lengths(x, turn)  # under equal shares
    some = [spread_out(x, turn, d), np.arange(0, count, max(1, count // n))]
    for _ in range(max_steps):
        worst = float(lengths.max())
        if worst <= d * (1 + tolerance):
            return GOptimal(p, d / worst)
        longest = np.argpartition(-lengths, n)[:n]
        few = np.unique(np.concatenate([*some, longest]))
        own = x[few] @ turn
        shares = _of_all(own, 0.5 * tolerance, max_steps).proportions
        root = np.linalg.cholesky((own.T * shares) @ own)
        lengths = squared_lengths(x, turn @ np.linalg.inv(root).T)
        p = np.zeros(count)
        p[few] = shares
        too_long = np.flatnonzero(lengths > d * (1 + 0.5 * tolerance))
        some = [few[shares > DUST / len(few)], too_long[:: max(1, len(too_long) // n)]]
    raise _failed(worst / d - 1, max_steps, tolerance)
