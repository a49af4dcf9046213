"""Shares for a race: spend pulls so that the closest of several gaps is settled soonest.

    max_p min_j g_j² / ‖y_j‖²,   the norm that of A(p)⁻¹,   A(p) = Σ p_k x_k x_kᵀ,   Σ p_k = 1

This is the min-max design of min_max.py over y_j/g_j, solved roughly and fast: a race makes a plan for
every block, and shares within a few per cent of the best ones serve it as well.
"""

import numpy as np

from ..arrays import FloatArray

STEPS = 40  # of multiplicative updates
HARDEST = 4  # this many directions per dimension, and as many more, are looked at
TOO_FLAT = 1e-12  # added to A(p), relative to its trace, for directions that get no pulls


def racing(x: FloatArray, y: FloatArray, start: FloatArray) -> FloatArray:
    """Return shares p for arms `x` that make the longest direction in `y` short.

    x: (A, d); arms of unequal noise are divided by its scale.
    y: (J, d) directions, each divided by its gap.
    start: (A,) shares to begin with, above 0 for every arm that may get any.
    """
    p = start.copy()
    y = _hardest(x, y, p)
    q = np.ones(len(y))
    best, shortest = p, np.inf
    for step in range(STEPS):
        inverse = np.linalg.inv(_moments(x, p))
        products = y @ inverse
        lengths = np.einsum("jd,jd->j", products, y)
        longest = float(lengths.max())
        if longest < shortest:
            best, shortest = p, longest
        # Weight moves to the longest directions, and shares to the arms that shorten these.
        q = q * np.sqrt(lengths / longest) if step else (lengths / longest) ** 4
        q = q / q.sum()
        scores = np.square(x @ products.T) @ q
        p = p * np.sqrt(scores / scores.max())
        p = p / p.sum()
    return best


def _hardest(x: FloatArray, y: FloatArray, p: FloatArray) -> FloatArray:
    """Return the longest directions at `p`, in the order given."""
    count = HARDEST * (y.shape[1] + 1)
    if len(y) <= count:
        return y
    lengths = np.einsum("jd,jd->j", y @ np.linalg.inv(_moments(x, p)), y)
    return y[np.sort(np.argsort(-lengths, kind="stable")[:count])]


def _moments(x: FloatArray, p: FloatArray) -> FloatArray:
    a = (x.T * p) @ x
    a[np.diag_indices_from(a)] += TOO_FLAT * np.trace(a)
    return a
