"""Shares for a race: spend pulls so that the closest of several gaps is settled soonest.

    max_p min_j g_j² / ‖y_j‖²,   the norm that of A(p)⁻¹,   A(p) = Σ p_k x_k x_kᵀ,   Σ p_k = 1

This is the min-max design of designs/min_max.py over y_j/g_j, solved roughly and fast: a race
makes many plans, and shares within a few per cent of the best ones serve it as well.
"""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..kernels.book import factored_inverse
from ..kernels.functions import compiled, on_gpu
from ..kernels.loops import multiply
from ..kernels.teams import ALONE
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


@on_gpu()
class Desk(NamedTuple):
    """What compiled plans are made on: A arms, and room for J directions.

    x, y, start and used are the arguments of `racing`; the others are work.
    """

    x: FloatArray  # (A, d)
    y: FloatArray  # (J, d)
    start: FloatArray  # (A,)
    used: BoolArray  # (A,) whether an arm is in the basis
    shares: FloatArray  # (A,) the plan
    hardest: FloatArray  # (H, d) directions
    some: FloatArray  # (A, d) arms, if not all are looked at
    gram: FloatArray  # (d, d)
    inverse: FloatArray  # (d, d)
    factor: FloatArray  # (d, d)
    products: FloatArray  # (J, d)
    lengths: FloatArray  # (J,)
    q: FloatArray  # (H,)
    p: FloatArray  # (A,)
    best: FloatArray  # (A,)
    scores: FloatArray  # (A,)
    product: FloatArray  # (d,)


def new_desk(arms: int, directions: int, d: int) -> Desk:
    """Return a desk for so many arms and at most so many directions."""
    most = min(directions, HARDEST * (d + 1))
    return Desk(
        x=np.zeros((arms, d)),
        y=np.zeros((directions, d)),
        start=np.zeros(arms),
        used=np.zeros(arms, dtype=np.bool_),
        shares=np.zeros(arms),
        hardest=np.zeros((most, d)),
        some=np.zeros((arms if arms > FEW else 0, d)),
        gram=np.zeros((d, d)),
        inverse=np.zeros((d, d)),
        factor=np.zeros((d, d)),
        products=np.zeros((directions, d)),
        lengths=np.zeros(directions),
        q=np.zeros(most),
        p=np.zeros(arms),
        best=np.zeros(arms),
        scores=np.zeros(arms),
        product=np.zeros(d),
    )


@compiled
def compiled_racing(desk: Desk, directions: int) -> None:
    """Write the shares that `racing` returns, for so many directions; changes what was given."""
    x, p, used, count = desk.x, desk.p, desk.used, len(desk.x)
    _scale(desk.y[:directions])
    if directions > len(desk.hardest) or count > FEW:
        _write_moments(x, desk.start, desk.gram)
        factored_inverse(desk.gram, desk.factor, desk.inverse)
    y = desk.hardest[: _write_hardest(desk, directions)]
    if count <= FEW:
        _update(desk, x, y, desk.start)
        _trim(desk, y, desk.best)
        return
    for _ in range(ROUNDS):
        _choose_most_telling(desk, y)
        number = 0
        for k in range(count):
            if used[k]:
                for m in range(x.shape[1]):
                    desk.some[number, m] = x[k, m]
                number += 1
        for a in range(number):
            desk.start[a] = 1.0 / number
        _update(desk, desk.some[:number], y, desk.start[:number])
        number = 0
        for k in range(count):
            p[k] = 0.0
            if used[k]:
                p[k] = desk.best[number]
                number += 1
        _write_moments(x, p, desk.gram)
        factored_inverse(desk.gram, desk.factor, desk.inverse)
    _trim(desk, y, p)


@compiled
def _scale(y: FloatArray) -> None:
    """Divide by the largest number."""
    largest = 0.0
    for j in range(len(y)):
        for m in range(y.shape[1]):
            largest = max(largest, abs(y[j, m]))
    for j in range(len(y)):
        for m in range(y.shape[1]):
            y[j, m] /= largest


@compiled
def _write_hardest(desk: Desk, directions: int) -> int:
    """Write the longest directions, longest first if some are left out; return how many."""
    y, lengths, most = desk.y, desk.lengths, min(directions, len(desk.hardest))
    if directions > most:
        _write_lengths(y[:directions], desk.inverse, desk.products, lengths)
    for n in range(most):
        longest = n
        if directions > most:
            longest = 0
            for j in range(1, directions):
                if lengths[j] > lengths[longest]:
                    longest = j
            lengths[longest] = -1.0
        for m in range(y.shape[1]):
            desk.hardest[n, m] = y[longest, m]
    return most


@compiled
def _trim(desk: Desk, y: FloatArray, p: FloatArray) -> None:
    """Write shares without faint ones, unless some direction would suffer."""
    x, cut, faint, products, lengths = desk.x, desk.shares, FAINT, desk.products, desk.lengths
    gram, factor, inverse = desk.gram, desk.factor, desk.inverse
    _write_moments(x, p, gram)
    factored_inverse(gram, factor, inverse)
    longest = _write_lengths(y, inverse, products, lengths)
    while True:
        total = 0.0
        for k in range(len(p)):
            cut[k] = p[k] if p[k] >= faint else 0.0
            total += cut[k]
        if total > 0.0:
            for k in range(len(p)):
                cut[k] /= total
            _write_moments(x, cut, gram)
            factored_inverse(gram, factor, inverse)
            if not _write_lengths(y, inverse, products, lengths) > STRETCH * longest:
                return
        faint *= 0.25


@compiled
def _choose_most_telling(desk: Desk, y: FloatArray) -> None:
    """Mark the arm that says most about each direction."""
    x, product, scores = desk.x, desk.product, desk.scores
    for j in range(len(y)):
        multiply(ALONE, desk.inverse, y[j], product)
        largest = 0.0
        for k in range(len(x)):
            value = 0.0
            for m in range(len(product)):
                value += x[k, m] * product[m]
            scores[k] = abs(value)
            largest = max(largest, scores[k])
        k = 0
        while scores[k] < largest * (1.0 - PULL):
            k += 1
        desk.used[k] = True


@compiled
def _update(desk: Desk, x: FloatArray, y: FloatArray, start: FloatArray) -> None:
    """Write the best shares that multiplicative updates come by into desk.best."""
    p, q, best, scores, count, shortest = desk.p, desk.q, desk.best, desk.scores, len(x), math.inf
    gram, factor, inverse, lengths = desk.gram, desk.factor, desk.inverse, desk.lengths
    products = desk.products[: len(y)]
    for k in range(count):
        p[k] = best[k] = start[k]
    for step in range(STEPS):
        _write_moments(x, p, gram)
        factored_inverse(gram, factor, inverse)
        longest = _write_lengths(y, inverse, products, lengths)
        if longest < shortest:
            shortest = longest
            for k in range(count):
                best[k] = p[k]
        total = 0.0
        for j in range(len(y)):
            part = lengths[j] / longest
            q[j] = q[j] * math.sqrt(part) if step > 0 else part**4
            total += q[j]
        for j in range(len(y)):
            q[j] /= total
        _move_shares(x, products, q, scores, p)


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
def _move_shares(
    x: FloatArray, products: FloatArray, q: FloatArray, scores: FloatArray, p: FloatArray
) -> None:
    (count, d), largest, total = x.shape, 0.0, 0.0
    for k in range(count):
        scores[k] = 0.0
        for j in range(len(products)):
            value = 0.0
            for m in range(d):
                value += x[k, m] * products[j, m]
            scores[k] += q[j] * value * value
        largest = max(largest, scores[k])
    for k in range(count):
        p[k] *= math.sqrt(scores[k] / largest)
        total += p[k]
    for k in range(count):
        p[k] /= total
