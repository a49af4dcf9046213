"""The bound of Jedra and Proutiere (2020): one prior scale, around plain least squares.

With probability at least 1 - δ, for all times and all directions y at once::

    |yᵀ(θ̂ - θ)| ≤ ‖y‖_{V⁻¹} √(2β),   β = (1 + u) R² log( det(V/uc + I)^½ / δ ),   once V ⪰ cI.

Proof. The self-normalised bound with the prior ucI (docs/bounds.md, one scale) says that ‖S‖²
in the norm of (V + ucI)⁻¹ is at most 2R² log(det(V/uc + I)^½/δ). Where V ⪰ gI we have
V + ucI ⪯ (1 + uc/g)V, so ‖S‖² in the norm of V⁻¹ is at most 1 + uc/g times that, and
θ̂ - θ = V⁻¹S. With g = c this is the statement of the paper; with any smaller g it is still a
bound, so that here widths are long before V ⪰ cI, not infinite.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..certificate import TELLING_ASSUMPTION
from ..checks import LARGEST, SMALLEST, as_float
from ..errors import InvalidBound
from ..kernels.book import GROWTH, Arena, Book, Stage, cholesky
from ..kernels.parts import on_rebuild, radius
from ..least_squares import LeastSquares
from ..problem import Problem
from .base import Bound, NormWidths, no_ridge


@dataclass(frozen=True)
class JedraProutiere(NormWidths, Bound):
    """Widths ‖y‖·√(2β), β = (1 + u) R² log(det(V/uc + I)^½/δ), in units of a spanning set.

    The threshold of Jedra and Proutiere (2020), around plain least squares. The paper takes c from
    a spanning set of d arms, as the smallest eigenvalue of Σxxᵀ over it, which changes with the
    units of the features. Here coordinates are those in which that sum is I, so that V ⪰ I once
    each arm of the set has been pulled, and a linear map of the features changes nothing.

    u: how small the prior is beside c; small ones cost in the determinant, large ones in front.
    c: how much must be known before the factor is 1 + u: as much as c pulls of each arm of the
        spanning set tell.

    >>> import numpy as np
    >>> from lingape import JedraProutiere, Problem
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> bound = JedraProutiere()
    >>> estimate = bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    >>> bound.widths(problem, estimate, leader=0).round(3).tolist()
    [0.0, 0.66]
    """

    u: float = 0.1
    c: float = 1.0
    shrinks_with_lengths: ClassVar[bool] = False  # faster, while 1 + uc/g falls
    adaptive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("u", "c"):
            if not SMALLEST <= as_float(value := getattr(self, name)) <= LARGEST:
                raise InvalidBound(
                    f"{name} of JedraProutiere must be a number above 0, from {SMALLEST:g} to "
                    f"{LARGEST:g}; got {value!r}. The defaults are u=0.1 and c=1."
                )

    @cached_property
    def grid(self) -> FloatArray:
        """Return the one prior scale, uc."""
        return np.array([float(self.u) * float(self.c)])

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        no_ridge(ridge, "JedraProutiere")
        basis = problem.orthonormal
        solved = np.linalg.solve(basis[list(problem.spanning)].T, basis.T).T[problem.twins]
        features = np.ascontiguousarray(solved)
        return LeastSquares(features, sensitivities=True, twins=problem.twins)

    def factor(self, problem: Problem, estimate: LeastSquares) -> float:
        """Return 1 + uc/g, where V ⪰ gI, from what is at hand: 1 + u as soon as g = c is enough.

        The smallest eigenvalue of V is at least the least count among the spanning arms, which
        are the unit vectors here, and at least the inverse of V⁻¹'s trace.

        problem, estimate: as for `widths`.
        """
        spanning = list(problem.spanning)
        least = int(estimate.counts[spanning].min())
        inverse = float(estimate.variances[spanning].sum())
        if least > 0:
            inverse = min(inverse, 1.0 / least)
        return 1.0 + self.u * max(1.0, self.c * inverse)

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        """Return √(2β) for a `problem` and an `estimate`."""
        nats = 0.5 * float(estimate.log_det_ratios(self.grid)[0]) - math.log(problem.delta)
        return problem.noise_scale * math.sqrt(2.0 * self.factor(problem, estimate) * nats)

    def kernel(self, stage: Stage) -> "JedraProutiereKernel":
        """Return this bound for the compiled lane, as a run begins at `stage`."""
        return JedraProutiereKernel(
            nats=-2.0 * math.log(stage.problem.delta),
            u=float(self.u),
            c=float(self.c),
            spanning=np.array(stage.problem.spanning, dtype=np.int64),
            log_det=np.zeros(1),
            unknown=np.full(1, np.inf),
        )

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (problem.noise.assumption(), TELLING_ASSUMPTION)

    def caveat(self, problem: Problem, ridge: float) -> str:
        return ""  # proven


class JedraProutiereKernel(NamedTuple):
    nats: float  # 2 log(1/δ)
    u: float
    c: float
    spanning: IntArray  # (d,) arms that span (Problem.spanning)
    log_det: FloatArray  # (1,) log det(I + V/uc) at the last rebuild
    unknown: FloatArray  # (1,) c/g, where V ⪰ gI; it only falls, and not below 1


@radius.of(JedraProutiereKernel)
def _(bound: JedraProutiereKernel, arena: Arena, book: Book) -> float:
    if bound.unknown[0] > 1.0:
        least, trace = book.counts[bound.spanning[0]], 0.0
        for k in bound.spanning:
            least = min(least, book.counts[k])
            trace += book.variances[k]
        inverse = min(trace, 1.0 / least) if least > 0 else trace
        bound.unknown[0] = max(1.0, bound.c * inverse)
    nats = bound.nats + bound.log_det[0] + book.gauge[GROWTH]
    return arena.noise_scale * math.sqrt(nats * (1.0 + bound.u * bound.unknown[0]))


@on_rebuild.of(JedraProutiereKernel)
def _(bound: JedraProutiereKernel, book: Book) -> None:
    scale = bound.u * bound.c
    log_det = cholesky(book.team, book.gram, scale, book.factor)
    bound.log_det[0] = log_det - len(book.h) * math.log(scale)
