"""From proportions to whole pulls, and pulls chosen one by one."""

import operator

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InvalidArgument
from ..ties import PULL, first_max

DUST = 1e-9  # shares below this are what a solver leaves of 0


def rounded(proportions: FloatArray, pulls: int) -> IntArray:
    """Return whole numbers of pulls that sum to `pulls`, as close to the proportions as can be.

    The efficient apportionment of Pukelsheim and Rieder (1992): with s arms in the design, no arm
    gets less than a share 1 - s/n of what it should have, so neither does any direction lose more
    than that share of its information.

    >>> import numpy as np
    >>> from lingape.designs import rounded
    >>> rounded(np.array([0.5, 0.3, 0.2]), 9)
    array([4, 3, 2])
    """
    try:
        pulls = operator.index(pulls)
    except TypeError:
        raise InvalidArgument(f"pulls must be a whole number; got {pulls!r}.") from None
    p = np.asarray(proportions, dtype=np.float64)
    used = np.flatnonzero(p > 0)
    if p.ndim != 1 or (p < 0).any() or not np.isclose(p.sum(), 1.0):
        raise InvalidArgument(f"proportions must be at least 0 and sum to 1; got {p.tolist()}.")
    if pulls < len(used):
        raise InvalidArgument(
            f"Each of the {len(used)} arms in the design needs a pull; got {pulls}. "
            "Allow more pulls, or drop arms with small proportions."
        )
    share = p[used]
    counts = np.ceil((pulls - 0.5 * len(used)) * share).astype(np.int64)
    while (total := int(counts.sum())) != pulls:
        if total < pulls:
            counts[(counts / share).argmin()] += 1
        else:
            counts[((counts - 1) / share).argmax()] -= 1
    whole = np.zeros(len(p), dtype=np.int64)
    whole[used] = counts
    return whole


def one_by_one(
    arms: FloatArray, directions: FloatArray, pulls: int, *, ridge: float = 0.0
) -> IntArray:
    """Return the arms that the greedy rule of Soare et al. (2014) pulls, in order.

    Each pull makes the longest of `directions` as short as one pull can. Without a ridge, each arm
    is pulled once before the rule takes over.

    arms: one row of features per arm.
    directions: what is to be estimated well, such as `differences` of arms.
    pulls: how many.
    ridge: λ, added to the design matrix.

    >>> import numpy as np
    >>> from lingape.designs import one_by_one
    >>> one_by_one(np.eye(2), np.array([[1.0, -1.0]]), pulls=4).tolist()
    [0, 1, 0, 1]
    """
    x, y = np.asarray(arms, dtype=np.float64), np.asarray(directions, dtype=np.float64)
    count, d = x.shape
    start = [] if ridge > 0 else list(range(min(count, pulls)))
    chosen = np.empty(pulls, dtype=np.int64)
    chosen[: len(start)] = start
    a = ridge * np.eye(d) + x[start].T @ x[start]
    inverse: FloatArray = np.asarray(np.linalg.pinv(a), dtype=np.float64)
    for n in range(len(start), pulls):
        arm = steepest(inverse, x, y)
        chosen[n] = arm
        h = inverse @ x[arm]
        inverse -= np.multiply.outer(h, h) / (1.0 + x[arm] @ h)
    return chosen


def steepest(inverse: FloatArray, x: FloatArray, y: FloatArray) -> int:
    """Return the arm whose pull leaves the longest of the directions y shortest.

    While several directions are longest no single pull shortens them all, and every arm ties; of
    tied arms, the one that shortens the longest directions most in sum is taken.
    """
    products = x @ inverse
    lengths = np.einsum("md,de,me->m", y, inverse, y)
    gains = (products @ y.T) ** 2 / (1.0 + np.einsum("kd,kd->k", products, x))[:, None]
    after = (lengths - gains).max(axis=1)
    tied = after <= after.min() * (1.0 + PULL)
    longest = lengths >= lengths.max() * (1.0 - PULL)
    return first_max(
        np.where(tied, gains[:, longest].sum(axis=1), -1.0), PULL * float(lengths.max())
    )


def trimmed(shares: FloatArray) -> FloatArray:
    """Return proportions to six digits, without the dust that a numerical solver leaves.

    Six digits cost nothing and make shares that should be equal equal, on every machine.

    >>> import numpy as np
    >>> from lingape.designs import trimmed
    >>> trimmed(np.array([0.33333333, 0.66666667, 1e-12])).tolist()
    [0.333333, 0.666667, 0.0]
    """
    kept = np.where(shares > DUST, shares, DUST)
    digits = 10.0 ** (np.floor(np.log10(kept)) - 5)
    return np.where(shares > DUST, np.round(kept / digits) * digits, 0.0)
