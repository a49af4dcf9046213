"""Min-max designs: spend pulls so that the worst-known of several directions is known best.

    min_p max_y ‖y‖² in the norm of A(p)⁻¹,   A(p) = Σ p_k x_k x_kᵀ,   p ≥ 0,   Σ p_k = 1

The XY-designs of Soare, Lazaric and Munos (2014) are of this kind: static (all differences of
arms), adaptive (differences of the arms still in play) and oracle (differences to the best arm,
each divided by its gap). So is the G-optimal design (the arms themselves).

Since scaling p by c divides every norm by c, the same problem is: spend the least,

    min Σ p_k   subject to   ‖y‖²_{A(p)⁻¹} ≤ 1 for all y,   p ≥ 0,

which is smooth and convex, and has an interior point at hand. A primal-dual interior-point method
solves it for a few arms and directions; those that the answer violates most are added until
none is.
"""

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import DesignFailed, InvalidArgument

STEPS = 100  # of the interior-point method; 20 to 40 are usual
STEP_LENGTH = 0.99  # of the way to the boundary
PATIENCE = 10  # rounds that bring nothing, after which the last digits are out of reach
TRIM = 1e-9  # shares below this are solver noise
ROUGH, ROUGH_STEPS = 1e-3, 1_000  # the accuracy of multiplicative updates, and how long to try
FLOOR = 1e-10  # no share falls below this in them
ALIKE = 0.999  # the cosine of the angle between arms that may share


class MinMax(NamedTuple):
    """A design and the proof of how good it is.

    proportions: p, one number per arm, summing to 1.
    value: max_y ‖y‖² in the norm of A(p)⁻¹.
    lower_bound: no design has a smaller value than this.
    weights: q, one number per direction, summing to 1, from which the lower bound follows.

    >>> import numpy as np
    >>> from lingape.designs import xy
    >>> design = xy(np.eye(2), np.array([[1.0, -1.0]]))
    >>> design.proportions.round(3).tolist(), round(design.value, 3), design.gap <= 1e-6
    ([0.5, 0.5], 4.0, True)
    """

    proportions: FloatArray
    value: float
    lower_bound: float
    weights: FloatArray

    @property
    def gap(self) -> float:
        """How much larger than optimal the value can be, as a share."""
        return max(0.0, self.value / self.lower_bound - 1) if self.lower_bound > 0 else math.inf

    def or_better(self, p: FloatArray, value: float, q: FloatArray, bound: float) -> "MinMax":
        """Return this with another design, or another proof, where that is better."""
        best = self
        if value < best.value:
            best = best._replace(proportions=p, value=value)
        if bound > best.lower_bound:
            best = best._replace(lower_bound=bound, weights=q)
        return best


def differences(arms: FloatArray) -> FloatArray:
    """Return x_i - x_j for all i < j.

    arms: one row of features per arm.

    >>> import numpy as np
    >>> from lingape.designs import differences
    >>> differences(np.array([[1, 0], [0, 1], [1, 1]])).tolist()
    [[1, -1], [0, -1], [-1, 0]]
    """
    first, second = np.triu_indices(len(arms), k=1)
    return arms[first] - arms[second]


def xy(
    arms: FloatArray,
    directions: FloatArray,
    *,
    gaps: FloatArray | None = None,
    tolerance: float = 1e-6,
    max_rounds: int = 200,
) -> MinMax:
    """Return the design that minimises max_y ‖y‖²/gap_y² over `directions`.

    arms: one row of features per arm.
    directions: what is to be estimated well, such as `differences` of arms; sums of the arms.
    gaps: one number above 0 per direction; all 1 unless given.
    tolerance: the certified gap between the design's value and the best possible one.
    max_rounds: of adding arms and directions, before it raises DesignFailed.

    >>> import numpy as np
    >>> from lingape.designs import differences, xy
    >>> design = xy(np.eye(3), differences(np.eye(3)))
    >>> np.round(design.proportions, 4), round(design.value, 4)
    (array([0.3333, 0.3333, 0.3333]), 6.0)
    """
    x, y = in_span(np.asarray(arms, dtype=np.float64), np.asarray(directions, dtype=np.float64))
    if gaps is not None:
        gaps = np.asarray(gaps, dtype=np.float64)
        if gaps.shape != (len(y),) or not (gaps > 0).all():
            raise InvalidArgument(
                f"gaps must be {len(y)} numbers above 0, one per direction; got {gaps.tolist()}."
            )
        y = y / gaps[:, None]
    design = _solved(x, y, tolerance, max_rounds)
    if design.gap > tolerance:
        raise DesignFailed(
            f"The design came within {design.gap:.1e} of optimal in at most {max_rounds} rounds, "
            f"not within the tolerance {tolerance:g}. Raise the tolerance or max_rounds."
        )
    return design


def even_xy(arms: FloatArray, directions: FloatArray, *, share: float = 0.01) -> MinMax:
    """Return a design within `share` of optimal that treats arms alike that are almost the same.

    Of two arms that are almost the same an optimal design may give one everything and the other
    nothing. Here they share, as long as that costs no more than `share` of the value.

    arms: one row of features per arm.
    directions: what is to be estimated well, such as `differences` of arms; sums of the arms.
    share: how much worse than optimal the design may be.

    Raises InvalidArgument if no pulls of these arms would estimate some direction.

    >>> import numpy as np
    >>> from lingape.designs import even_xy
    >>> arms = np.array([[1.0, 0.0], [1.0, 0.001], [0.0, 1.0]])
    >>> even_xy(arms, np.array([[1.0, -1.0]])).proportions.round(2).tolist()
    [0.25, 0.25, 0.5]
    """
    x, y = in_span(np.asarray(arms, dtype=np.float64), np.asarray(directions, dtype=np.float64))
    best = _solved(x, y, 1e-3 * share, 200)
    lengths = np.maximum(np.linalg.norm(x, axis=1), 1e-300)
    p, value = best.proportions, best.value
    settled = np.zeros(len(x), dtype=bool)
    for k in np.argsort(-p, kind="stable"):
        if p[k] <= TRIM or settled[k]:
            continue
        alike = (np.abs(x @ x[k]) >= ALIKE * lengths * lengths[k]) & ~settled
        settled |= alike
        shared = p.copy()
        shared[alike] = p[alike].mean()
        if (
            alike.sum() > 1
            and (worse := float(_lengths(x, y, shared).max())) <= (1 + share) * best.value
        ):
            p, value = shared, worse
    return best._replace(proportions=p, value=value)


def in_span(arms: FloatArray, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both in coordinates in which the arms are orthonormal; the problem is the same."""
    if arms.ndim != 2 or directions.ndim != 2 or arms.shape[1] != directions.shape[1]:
        raise InvalidArgument(
            "arms and directions must have shapes (K, d) and (m, d); got "
            f"{arms.shape} and {directions.shape}."
        )
    if not len(arms) or not (np.isfinite(arms).all() and np.isfinite(directions).all()):
        raise InvalidArgument("arms and directions must be finite numbers, with at least one arm.")
    left, values, right = np.linalg.svd(arms, full_matrices=False)
    rank = int((values > values[0] * max(arms.shape) * np.finfo(float).eps).sum())
    inside = directions @ right[:rank].T
    outside = np.linalg.norm(directions - inside @ right[:rank], axis=1)
    if (outside > 1e-9 * np.linalg.norm(directions, axis=1)).any():
        raise InvalidArgument(
            f"Directions must be combinations of the arms; direction {int(outside.argmax())} is "
            "not, so no number of pulls would estimate it. Use differences of arms."
        )
    if not np.linalg.norm(inside, axis=1).any():
        raise InvalidArgument("There must be a direction other than 0 to estimate.")
    return left[:, :rank], inside / values[:rank]


def _solved(x: FloatArray, y: FloatArray, tolerance: float, max_rounds: int) -> MinMax:
    """Return the best design found, also where it leaves directions of no interest out.

    Directions that do not span the space may have an optimal design that does not either, and
    then the interior-point method may fail. Multiplicative updates do not, but they are slow, so
    that only a rough answer comes of them.
    """
    with np.errstate(all="ignore"), suppress(ZeroDivisionError, np.linalg.LinAlgError):
        return _column_generation(x, y, tolerance, max_rounds)
    p, q = _spread_out(x), np.full(len(y), 1.0 / len(y))
    best = MinMax(p, math.inf, 0.0, q)
    for _ in range(ROUGH_STEPS):
        for _ in range(5):
            scores = _certificate(x, y, p, q)[1]
            p = p * np.sqrt(scores / scores.max())
            p = np.maximum(p / p.sum(), FLOOR)  # and A(p) stays invertible
            p /= p.sum()
        lengths, scores, average = _certificate(x, y, p, q)
        best = best.or_better(p, float(lengths.max()), q, average**2 / float(scores.max()))
        if best.gap <= max(tolerance, ROUGH):
            break
        q = q * lengths / average
    return best


def _column_generation(x: FloatArray, y: FloatArray, tolerance: float, max_rounds: int) -> MinMax:
    """Solve for some arms and directions, adding those that the solution violates most."""
    count, d = x.shape
    batch = 2 * d + 10
    p = _spread_out(x)
    arms = np.sort(np.argsort(-p, kind="stable")[: max(4 * d, 30)])
    if np.linalg.matrix_rank(x[arms]) < d:
        arms = np.arange(count)
    lengths = _lengths(x, y, p)
    directions = np.sort(np.argsort(-lengths, kind="stable")[:batch])
    best = MinMax(p, float(lengths.max()), 0.0, np.zeros(len(y)))
    idle, reached = 0, math.inf
    for n in range(max_rounds):
        # The first rounds only need to know roughly where to look.
        accuracy = 1e-3 if n < 3 else max(0.05 * tolerance, 1e-12)
        start = np.maximum(p[arms], 1e-3 / len(arms))
        p, q = np.zeros(count), np.zeros(len(y))
        p[arms], q[directions] = _interior_point(x[arms], y[directions], start, accuracy)
        lengths, scores, average = _certificate(x, y, p, q)
        best = best.or_better(p, float(lengths.max()), q, average**2 / float(scores.max()))
        idle, reached = (0, best.gap) if best.gap < 0.99 * reached else (idle + 1, reached)
        if best.gap <= tolerance or idle == PATIENCE:
            break
        arms = _exchange(arms, p, scores, average, tolerance, batch)
        directions = _exchange(directions, q, lengths, average, tolerance, batch)
    return best


def _spread_out(x: FloatArray) -> FloatArray:
    """Return a design that is good for all directions, by a few multiplicative updates."""
    p = np.full(len(x), 1.0 / len(x))
    for _ in range(10):
        p *= _lengths(x, x, p)
        p /= p.sum()
    return p


def _lengths(x: FloatArray, y: FloatArray, p: FloatArray) -> FloatArray:
    """Return ‖y‖² in the norm of A(p)⁻¹ for each direction."""
    factor = np.linalg.cholesky((x.T * p) @ x)
    return np.asarray((np.linalg.solve(factor, y.T) ** 2).sum(axis=0))


def _certificate(
    x: FloatArray, y: FloatArray, p: FloatArray, q: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the length of each direction, the score of each arm, and the average length.

    With M = Σ q_y y yᵀ, every design A has max_y ‖y‖² ≥ tr(A⁻¹M). For Z = A(p)⁻¹M^½, divided by
    the largest ‖Zᵀx_k‖ so that tr(ZᵀAZ) ≤ 1 for every A, Cauchy-Schwarz gives
    tr(ZᵀM^½)² ≤ tr(ZᵀAZ) tr(M^½A⁻¹M^½) ≤ tr(A⁻¹M), and the left-hand side is
    tr(A(p)⁻¹M)² / max_k x_kᵀA(p)⁻¹MA(p)⁻¹x_k: average² over the largest score.
    """
    factor = np.linalg.cholesky((x.T * p) @ x)
    xs, ys = np.linalg.solve(factor, x.T), np.linalg.solve(factor, y.T)
    lengths = np.einsum("dm,dm->m", ys, ys)
    used = np.flatnonzero(q)
    scores = ((xs.T @ ys[:, used]) ** 2) @ q[used]
    return lengths, scores, float(q[used] @ lengths[used])


def _exchange(
    kept: IntArray,
    share: FloatArray,
    scores: FloatArray,
    average: float,
    tolerance: float,
    batch: int,
) -> IntArray:
    """Drop what is not used and add what is violated most."""
    worst = np.argsort(-scores, kind="stable")[:batch]
    worst = worst[scores[worst] > average * (1 + tolerance / 4)]
    return np.union1d(kept[share[kept] > TRIM], worst)


def _interior_point(
    x: FloatArray, y: FloatArray, p: FloatArray, accuracy: float
) -> tuple[FloatArray, FloatArray]:
    """Minimise Σp subject to ‖y‖² ≤ 1; return the shares of arms and, dual, of directions.

    With u = x_kᵀA⁻¹y the gradient of ‖y‖² is -u², and the Hessian of Σ q_y‖y‖² is
    2 (Σ_y q_y u_y u_yᵀ) ∘ XA⁻¹Xᵀ. At the optimum z = 1 - Σ q_y u_y², q(1 - ‖y‖²) = 0 and zp = 0.
    """
    count = len(x) + len(y)
    inverse = np.linalg.inv((x.T * p) @ x)
    p = 2.0 * float(np.einsum("md,de,me->m", y, inverse, y).max()) * p  # now all ‖y‖² ≤ ½
    inverse, z_y, slack = _slacks(x, y, p)
    barrier = 0.5 * float(p.sum()) / count
    q, z, ambition = barrier / slack, barrier / p, 0.1
    for _ in range(STEPS):
        u = x @ z_y.T
        squares = u * u
        complementarity = float(q @ slack + z @ p)
        residual = float(np.abs(1.0 - squares @ q - z).max())
        if complementarity <= accuracy * p.sum() and residual <= accuracy:
            break
        barrier = ambition * complementarity / count
        newton = 2.0 * ((u * q) @ u.T) * (x @ inverse @ x.T) + (squares * (q / slack)) @ squares.T
        newton[np.diag_indices_from(newton)] += z / p
        dp = _solve_scaled(newton, barrier / p - 1.0 + squares @ (barrier / slack))
        dz = barrier / p - z - z / p * dp
        dq = barrier / slack - q - q / slack * (squares.T @ dp)
        step, dual_step = _longest(p, dp), min(_longest(z, dz), _longest(q, dq))
        before = slack
        inverse, z_y, slack = _slacks(x, y, p + step * dp)
        while (slack < (1.0 - STEP_LENGTH) * before).any():  # too close to the boundary, or beyond
            step *= 0.8
            inverse, z_y, slack = _slacks(x, y, p + step * dp)
        p, z, q = p + step * dp, z + dual_step * dz, q + dual_step * dq
        ambition = 0.1 if min(step, dual_step) > 0.5 else 0.5  # recentre after a short step
    return p / p.sum(), q / q.sum()


def _slacks(
    x: FloatArray, y: FloatArray, p: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A⁻¹, A⁻¹y and 1 - ‖y‖²."""
    inverse: FloatArray = np.asarray(np.linalg.inv((x.T * p) @ x), dtype=np.float64)
    z_y = y @ inverse
    return inverse, z_y, 1.0 - np.einsum("md,md->m", z_y, y)


def _solve_scaled(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system whose unknowns span many orders of magnitude."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None] * scale
    scaled[np.diag_indices_from(scaled)] += 1e-13  # duplicate arms make it singular
    return np.asarray(scale * np.linalg.solve(scaled, scale * right))


def _longest(values: FloatArray, change: FloatArray) -> float:
    """Return how far `values` may move along `change` and stay positive, at most 1."""
    down = change < 0
    if not down.any():
        return 1.0
    return min(1.0, STEP_LENGTH * float((-values[down] / change[down]).min()))
