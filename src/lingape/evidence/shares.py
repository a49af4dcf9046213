"""Shares for a race: spend pulls so that the closest of several gaps is settled soonest.

    max_p min_j g_j² / ‖y_j‖²,   the norm that of A(p)⁻¹,   A(p) = Σ p_k x_k x_kᵀ,   Σ p_k = 1

This is the min-max design of designs/min_max.py over y_j/g_j, solved roughly and fast: a race
makes many plans, and shares within a few per cent of the best ones serve it as well.
"""

import math

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..kernels.book import factored_inverse, multiply
from ..kernels.parts import compiled
from ..ties import PULL

STEPS = 40  # of multiplicative updates
HARDEST = 4  # this many directions per dimension, and as many more, are looked at
FEW = 64  # up to this many arms all are looked at
ROUNDS = 3  # of adding arms to the first ones otherwise
FAINT = 0.003  # smaller shares are left out,
STRETCH = 1.5  # unless the longest direction would become this much longer
TOO_FLAT = 1e-12  # added to A(p), relative to its trace, for directions that get no pulls


def racing(x: FloatArray, y: FloatArray, start: FloatArray, basis: IntArray) -> FloatArray:
    """Return shares p for arms `x` that make the longest direction in `y` short.

    x: (A, d); arms of unequal noise are divided by its scale.
    y: (J, d) directions, each divided by its gap.
    start: (A,) shares to begin with, above 0 for every arm that may get any.
    basis: arms to begin with if there are many, which span the space: those of the last plan, say.
    """
    y = _hardest(x, y / np.abs(y).max(), start)
    if len(x) <= FEW:
        return _trimmed(x, y, _updated(x, y, start))
    arms, inverse = basis, np.linalg.inv(_moments(x, start))
    p: FloatArray = np.zeros(len(x))
    for _ in range(ROUNDS):  # with the arm that says most about each direction
        scores = np.abs(x @ (inverse @ y.T))
        best = (scores >= scores.max(axis=0) * (1.0 - PULL)).argmax(axis=0)
        arms = np.union1d(arms, best)
        p[:] = 0.0
        p[arms] = _updated(x[arms], y, np.full(len(arms), 1.0 / len(arms)))
        inverse = np.linalg.inv(_moments(x[arms], p[arms]))
    return _trimmed(x, y, p)


def _trimmed(x: FloatArray, y: FloatArray, p: FloatArray) -> FloatArray:
    """Return the shares without faint ones, unless some direction would suffer."""
    longest, faint = _longest(x, y, p), FAINT
    while True:
        cut = np.where(p >= faint, p, 0.0)
        if cut.any() and _longest(x, y, cut / cut.sum()) <= STRETCH * longest:
            return np.asarray(cut / cut.sum())
        faint *= 0.25


def _longest(x: FloatArray, y: FloatArray, p: FloatArray) -> float:
    return float(np.einsum("jd,jd->j", y @ np.linalg.inv(_moments(x, p)), y).max())


def _updated(x: FloatArray, y: FloatArray, p: FloatArray) -> FloatArray:
    """Return the best shares that multiplicative updates come by."""
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
    """Return the longest directions at `p`, longest first if some are left out."""
    count = HARDEST * (y.shape[1] + 1)
    if len(y) <= count:
        return y
    lengths = np.einsum("jd,jd->j", y @ np.linalg.inv(_moments(x, p)), y)
    return y[np.argsort(-lengths, kind="stable")[:count]]


def _moments(x: FloatArray, p: FloatArray) -> FloatArray:
    a = (x.T * p) @ x
    a[np.diag_indices_from(a)] += TOO_FLAT * np.trace(a)
    return a


@compiled
def compiled_racing(
    x: FloatArray, y: FloatArray, start: FloatArray, basis: IntArray
) -> FloatArray:
    """Return what `racing` does."""
    d, y = x.shape[1], y / np.abs(y).max()
    moments, inverse = np.empty((d, d)), np.empty((d, d))
    _write_moments(x, start, moments)
    factored_inverse(moments, inverse)
    most = HARDEST * (d + 1)
    products, lengths = np.empty((len(y), d)), np.empty(len(y))
    if len(y) > most:
        _write_lengths(y, inverse, products, lengths)
        y = y[np.argsort(-lengths, kind="mergesort")[:most]]
    if len(x) <= FEW:
        return _compiled_trimmed(x, y, _compiled_updated(x, y, start))
    chosen = np.zeros(len(x), dtype=np.bool_)
    for arm in basis:
        chosen[arm] = True
    p = np.zeros(len(x))
    for _ in range(ROUNDS):
        _choose_most_telling(x, y, inverse, chosen)
        arms = np.flatnonzero(chosen)
        part = _compiled_updated(x[arms], y, np.full(len(arms), 1.0 / len(arms)))
        p[:] = 0.0
        for a in range(len(arms)):
            p[arms[a]] = part[a]
        _write_moments(x, p, moments)
        factored_inverse(moments, inverse)
    return _compiled_trimmed(x, y, p)


@compiled
def _compiled_trimmed(x: FloatArray, y: FloatArray, p: FloatArray) -> FloatArray:
    d, faint = x.shape[1], FAINT
    moments, inverse = np.empty((d, d)), np.empty((d, d))
    products, lengths = np.empty((len(y), d)), np.empty(len(y))
    _write_moments(x, p, moments)
    factored_inverse(moments, inverse)
    longest = _write_lengths(y, inverse, products, lengths)
    while True:
        cut = np.where(p >= faint, p, 0.0)
        if cut.any():
            cut /= cut.sum()
            _write_moments(x, cut, moments)
            factored_inverse(moments, inverse)
            if _write_lengths(y, inverse, products, lengths) <= STRETCH * longest:
                return cut
        faint *= 0.25


@compiled
def _choose_most_telling(
    x: FloatArray, y: FloatArray, inverse: FloatArray, chosen: BoolArray
) -> None:
    """Mark the arm that says most about each direction."""
    d, product, scores = x.shape[1], np.empty(x.shape[1]), np.empty(len(x))
    for j in range(len(y)):
        multiply(inverse, y[j], product)
        largest = 0.0
        for k in range(len(x)):
            value = 0.0
            for m in range(d):
                value += x[k, m] * product[m]
            scores[k] = abs(value)
            largest = max(largest, scores[k])
        k = 0
        while scores[k] < largest * (1.0 - PULL):
            k += 1
        chosen[k] = True


@compiled
def _compiled_updated(x: FloatArray, y: FloatArray, start: FloatArray) -> FloatArray:
    d, p, q = x.shape[1], start.copy(), np.ones(len(y))
    moments, inverse = np.empty((d, d)), np.empty((d, d))
    products, lengths = np.empty((len(y), d)), np.empty(len(y))
    best, shortest = p.copy(), math.inf
    for step in range(STEPS):
        _write_moments(x, p, moments)
        factored_inverse(moments, inverse)
        longest = _write_lengths(y, inverse, products, lengths)
        if longest < shortest:
            shortest = longest
            best[:] = p
        for j in range(len(y)):
            part = lengths[j] / longest
            q[j] = q[j] * math.sqrt(part) if step > 0 else part**4
        q /= q.sum()
        _move_shares(x, products, q, p)
    return best


@compiled
def _write_moments(x: FloatArray, p: FloatArray, moments: FloatArray) -> None:
    count, d = x.shape
    moments[:] = 0.0
    for k in range(count):
        if p[k] > 0.0:
            for m in range(d):
                value = p[k] * x[k, m]
                for n in range(m + 1):
                    moments[m, n] += value * x[k, n]
    trace = 0.0
    for m in range(d):
        trace += moments[m, m]
    for m in range(d):
        moments[m, m] += TOO_FLAT * trace
        for n in range(m):
            moments[n, m] = moments[m, n]


@compiled
def _write_lengths(
    y: FloatArray, inverse: FloatArray, products: FloatArray, lengths: FloatArray
) -> float:
    """Write A⁻¹y and ‖y‖² for each direction, and return the longest."""
    d, longest = len(inverse), 0.0
    for j in range(len(y)):
        lengths[j] = 0.0
        for m in range(d):
            value = 0.0
            for n in range(d):
                value += inverse[m, n] * y[j, n]
            products[j, m] = value
            lengths[j] += value * y[j, m]
        longest = max(longest, lengths[j])
    return longest


@compiled
def _move_shares(x: FloatArray, products: FloatArray, q: FloatArray, p: FloatArray) -> None:
    count, d = x.shape
    scores, largest = np.zeros(count), 0.0
    for k in range(count):
        for j in range(len(q)):
            value = 0.0
            for m in range(d):
                value += x[k, m] * products[j, m]
            scores[k] += q[j] * value * value
        largest = max(largest, scores[k])
    for k in range(count):
        p[k] *= math.sqrt(scores[k] / largest)
    p /= p.sum()
