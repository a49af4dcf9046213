"""Equation (9) for very many arms: which one shrinks a gap's variance most, from a few of them.

For y = x_i - x_j and q = A⁻¹y the score of an arm is u²/(1 + v), with u = xᵀq and v = ‖x‖² in the
norm of A⁻¹. By Cauchy-Schwarz u² ≤ v‖y‖², so that a score is at most u²/(1 + u²/‖y‖²), which rises
with `|u|`. Therefore only arms with a `|u|` as large as some best score calls for can win.

All arms with a large `|u|` are known for some directions q that were looked at before, the pivots.
In a direction at an angle φ from a pivot p::

    |xᵀq| / ‖q‖ ≤ |xᵀp| cos φ + √(‖x‖² - (xᵀp)²) sin φ   (‖p‖ = 1).

With each pivot the arms are kept for which this is large at some angle at which it serves.
The same contests come back again and again, so that there is mostly a pivot close by.
"""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..many_arms import ManyArms
from ..tall import squared_lengths
from ..ties import PULL, first_max

ANGLE = math.radians(12.0)  # up to which a pivot serves
SHARE = 0.95  # arms are kept that reach this share of what the winner did
PIVOTS = 256
SAFE = 1e-9  # by which inequalities are off at most, as a share


class Pivot(NamedTuple):
    """A direction, and the arms that can matter to others close by."""

    arms: IntArray  # ascending
    along: FloatArray  # |xᵀp|
    across: FloatArray  # what is left of x
    level: float  # no other arm has a larger |xᵀq|/‖q‖ for any direction q close by


class Pivots(NamedTuple):
    """Pivots, the newest last."""

    directions: FloatArray  # (n, d), of length 1
    kept: tuple[Pivot, ...]


def sharpest_of_many(estimate: ManyArms, leader: int, rival: int) -> int:
    """Return the arm that shrinks the variance of the gap between two arms most."""
    y = estimate.features[leader] - estimate.features[rival]
    q = estimate.inverse @ y
    size, most = math.sqrt(float(q @ q)), float(y @ q)
    pivots: Pivots | None = estimate.notes.get("pivots")
    if pivots is not None:
        cosines = pivots.directions @ (q / size)
        nearest = int(np.abs(cosines).argmax())
        cosine = abs(float(cosines[nearest]))
        if cosine >= math.cos(ANGLE):
            # Not √(1 - cos²), which loses the digits of small angles.
            off = q / size - cosines[nearest] * pivots.directions[nearest]
            pivot = pivots.kept[nearest]
            reach = pivot.along * cosine
            reach += pivot.across * (math.sqrt(float(off @ off)) + SAFE)
            least = _least(estimate, q, int(pivot.arms[reach.argmax()]), most)
            if least > pivot.level * size:
                return _best(estimate, q, pivot.arms[reach * size >= least])
    return _looked_up(estimate, q, size, most, pivots)


def _least(estimate: ManyArms, q: FloatArray, arm: int, most: float) -> float:
    """Return the least |u| with which an arm can do as well as `arm`."""
    x = estimate.features[arm]
    score = float(x @ q) ** 2 / (1.0 + float(x @ estimate.inverse @ x)) * (1.0 - 2.0 * PULL)
    return (1.0 - SAFE) * math.sqrt(score / (1.0 - score / most))


def _best(estimate: ManyArms, q: FloatArray, arms: IntArray) -> int:
    """Return the best of some arms, which are in order."""
    rows = estimate.features[arms]
    u = rows @ q
    scores = u * u / (1.0 + np.einsum("kd,kd->k", rows @ estimate.inverse, rows))
    return int(arms[first_max(scores, PULL * float(scores.max()))])


def _looked_up(
    estimate: ManyArms, q: FloatArray, size: float, most: float, pivots: Pivots | None
) -> int:
    """Return the best of all arms, and make the direction a pivot."""
    direction = q / size
    along = np.abs(estimate.features @ direction)
    if estimate.pullable is not None:
        along[~estimate.pullable] = -1.0
    least = _least(estimate, q, int(along.argmax()), most)
    arm = _best(estimate, q, np.flatnonzero(along * size >= least))
    level = SHARE * _least(estimate, q, arm, most) / size
    squares = _squares(estimate)
    cosine, sine = math.cos(ANGLE), math.sin(ANGLE)
    long = math.sqrt(float(squares.max()))
    kept = np.flatnonzero(along >= max(level - long * sine, 0.0))
    across = np.sqrt(np.maximum(squares[kept] - along[kept] ** 2, 0.0)) + SAFE * long
    # An arm reaches farthest in its own direction, or else at the widest angle.
    close = across * cosine < along[kept] * sine
    reach = np.where(close, np.hypot(along[kept], across), along[kept] * cosine + across * sine)
    kept, across = kept[reach > level], across[reach > level]
    new = Pivots(direction[None, :], (Pivot(kept, along[kept] + SAFE * long, across, level),))
    if pivots is not None:
        new = Pivots(
            np.vstack([pivots.directions[1 - PIVOTS :], new.directions]),
            (*pivots.kept[1 - PIVOTS :], *new.kept),
        )
    estimate.notes["pivots"] = new
    return arm


def _squares(estimate: ManyArms) -> FloatArray:
    """Return the squared length of each arm."""
    if "squares" not in estimate.notes:
        identity = np.eye(estimate.features.shape[1])
        estimate.notes["squares"] = squared_lengths(estimate.features, identity)
    return estimate.notes["squares"]  # type: ignore[no-any-return]
