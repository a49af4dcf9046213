"""Our default bound: a mixture over prior scales, around plain least squares.

docs/bounds.md has the proof. In short: for any fixed Λ ≻ 0, scales λ_j and weights w_j summing
to 1, a Gaussian mixture of exponential supermartingales and Ville's inequality give, with
probability at least 1 - δ, for all times, all directions y and all j at once::

    |yᵀ(θ̂ - θ)| ≤ R √( 2 ℓ_j (‖y‖²_{V⁻¹} + λ_j ‖V⁻¹y‖²_Λ) ),
    ℓ_j = log(1/(w_j δ)) + ½ log det(I + Λ⁻¹V/λ_j).

No bound on ‖θ‖, no count of arms, no ridge. Λ is the moment matrix of the G-optimal design, which
makes the bound the same in every linear reparametrisation of the features; the estimate works in
coordinates where Λ = I.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..certificate import TELLING_ASSUMPTION
from ..checks import as_float
from ..designs import g_optimal
from ..errors import InvalidBound
from ..kernels.book import (
    GROWTH,
    LOG_DET,
    Arena,
    Book,
    Stage,
    cholesky,
    has_gaps_only,
    write_cross,
)
from ..kernels.functions import compiled, inlined, on_gpu
from ..kernels.loops import multiply, write_products
from ..kernels.parts import (
    on_fetch,
    on_pull,
    on_rebuild,
    on_refill,
    on_write_back,
    radius,
    write_ends,
    write_reach,
)
from ..kernels.shortlist import scatter
from ..kernels.teams import begin, highest, meet, owns, stride, total, write_all
from ..least_squares import CANCELLED, Contrasts, LeastSquares
from ..problem import Problem, once
from ..tall import alike, gram, is_tall, product
from .base import Bound, no_ridge

# Validity does not depend on the design being optimal, and width hardly does.
DESIGN_TOLERANCE = 0.05
# Up to this many arms all scales are tried at once; above, only those that can be best.
FEW = 100
# Refinement has never been seen to shorten a width by more than this; trying costs time.
NEAR = 0.8
# Half steps towards the best weights on the scales; the rest gains less than 0.1 %.
ROUNDS = 40
# Between rebuilds det V, and so each eigenvalue, has usually grown by less than this factor.
GROWN = 4.0
LITTLE = math.log(GROWN)
# Where σ is not known: an assumed σ² is weighed against variances σ²/(1 + ξ), with these weights.
# The larger ξ serve the first few dozen pulls.
EXCESSES = np.array([0.0, 1 / 16, 1 / 4, 1.0, 4.0, 16.0])
EXCESS_WEIGHTS = 0.5 ** np.arange(1, len(EXCESSES) + 1)


@dataclass(frozen=True)
class Mixture(Bound):
    """Widths from the best of several prior scales 1, base, base², …, equally weighted.

    scales: how many.
    base: how far apart. The choice is flat: 16 with 8 scales covers runs up to 10^9 pulls
        without a gap, and the bound stays valid beyond.
    refined: when the end is near, and the caches are fresh, weigh the scales against each other
        instead of taking the best one (docs/bounds.md). Stops up to a tenth earlier where two
        arms nearly tie.

    >>> import numpy as np
    >>> from lingape import LinGapE, Mixture, Problem
    >>> problem, bound = Problem([[1, 0], [0, 1]], noise=1.0), Mixture()
    >>> estimate = bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    >>> bound.widths(problem, estimate, leader=0).round(3).tolist()
    [0.0, 0.576]
    >>> LinGapE(problem, bound=Mixture(refined=True)).bound
    Mixture(scales=8, base=16.0, refined=True)
    """

    scales: int = 8
    base: float = 16.0
    refined: bool = False
    adaptive: ClassVar[bool] = True
    shortlists: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.scales, Integral) or self.scales < 1:
            raise InvalidBound(
                f"scales of Mixture must be a whole number from 1; got {self.scales!r}."
            )
        base = as_float(self.base)
        if not 1 < base < math.inf or (self.scales - 1) * math.log(base) > math.log(1e100):
            raise InvalidBound(
                "base of Mixture must be above 1, with base^(scales - 1) at most 1e100; "
                f"got base={self.base!r}, scales={self.scales!r}. The default is 16."
            )

    @cached_property
    def grid(self) -> FloatArray:
        """Return the prior scales λ_j."""
        return self.base ** np.arange(self.scales, dtype=np.float64)

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        no_ridge(ridge, "Mixture")
        return LeastSquares(_whitened(problem), sensitivities=True, twins=problem.twins)

    def nats(self, problem: Problem, estimate: LeastSquares) -> FloatArray:
        """Return ℓ_j of a `problem` and an `estimate` for each scale, never too small."""
        return math.log(self.scales / problem.delta) + 0.5 * estimate.log_det_ratios(self.grid)

    def widths(self, problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
        return self.widths_of(problem, estimate, estimate.contrasts(leader))

    def widths_of(
        self, problem: Problem, estimate: LeastSquares, contrasts: Contrasts
    ) -> FloatArray:
        """Return the half-widths of gaps that are known as `contrasts` says.

        problem, estimate: as for `widths`.
        """
        variance, sensitivity = contrasts
        assert sensitivity is not None  # `estimate` asked for it
        nats, grid = self.nats(problem, estimate), self.grid
        if len(variance) <= FEW:
            squares = (nats[:, None] * (variance + grid[:, None] * sensitivity)).min(axis=0)
        else:
            squares = np.full_like(variance, np.inf)
            for j in _contenders(nats, grid, estimate):
                level = sensitivity * grid[j]
                level += variance
                level *= nats[j]
                np.minimum(squares, level, out=squares)
        squares *= 2.0 * problem.noise_scale**2
        widths: FloatArray = np.sqrt(squares, out=squares)
        return widths

    def factors(self, problem: Problem, estimate: LeastSquares) -> FloatArray:
        """Return what widths of a `problem` depend on beside contrasts, by an `estimate` now."""
        nats = self.nats(problem, estimate)
        ratios = np.linalg.eigvalsh(estimate.inverse)[[0, -1]]
        last, first = (nats * (1.0 + self.grid * ratios[:, None])).argmin(axis=1)
        can_be_best = np.zeros(len(nats))
        can_be_best[first : last + 1] = 1.0
        return np.array([nats, can_be_best])

    def lengthening(
        self, problem: Problem, before: FloatArray, now: FloatArray, shift: float
    ) -> tuple[float, float]:
        """Return c and e so that no width now is above c times what it was plus e‖y‖ before.

        √(‖y‖²_{V⁻¹} + λ‖V⁻¹y‖²) is a length of V⁻¹y, of which the first part has not grown and
        the second by √λ times the shift at most.

        problem, before, now, shift: as for `Foreseeable.lengthening`.
        """
        used = before[1] > 0.0
        longer = math.sqrt(float((now[0] / before[0])[used].max()))
        level = math.sqrt(2.0 * float((now[0] * self.grid)[used].max()))
        return longer, problem.noise_scale * level * shift

    @property
    def near(self) -> float:
        """How short refined widths are at best, as a share of `widths`; 0 if not refined."""
        return NEAR if self.refined else 0.0

    def settling_widths(
        self,
        problem: Problem,
        estimate: LeastSquares,
        leader: int,
        rivals: IntArray,
        means: FloatArray,
    ) -> FloatArray | None:
        """Return refined widths of the leader's gaps to `rivals` if these settle every contest.

        problem, estimate, leader: as for `widths`.
        means: by which all arms are judged.
        """
        if not self.refined:
            return None
        gaps = means[rivals] - means[leader]
        widths = self.widths(problem, estimate, leader)[rivals]
        if (gaps + NEAR * widths > problem.epsilon).any():
            return None
        long = gaps + widths > problem.epsilon
        directions = estimate.features[rivals[long]] - estimate.features[leader]
        widths[long] = problem.noise_scale * self.unit_widths(problem.delta, estimate, directions)
        return widths if (gaps + widths <= problem.epsilon).all() else None

    def unit_widths(
        self, delta: float, estimate: LeastSquares, directions: FloatArray
    ) -> FloatArray:
        """Return widths for R = 1 from weights p on the scales, fitted to each direction.

        delta: δ.
        directions: (n, d), in the coordinates of `estimate`. The bound holds for all there are at
            once, so any number may be looked at.

        On the event of Ville's inequality, for every p at once (Jensen's inequality)::

            (yᵀ(θ̂ - θ))² ≤ 2R² yᵀV⁻¹ (Σ_j p_j (V + λ_jI)⁻¹)⁻¹ V⁻¹y
                               · (log(1/δ) + Σ_j p_j (½ log det(I + V/λ_j) + log(p_j/w_j))),

        so whatever p the iteration below finds gives a valid width; a fixed point of it is the
        best one. All its weight on one scale is the unrefined bound.
        """
        features, grid = estimate.features, self.grid
        v, basis = np.linalg.eigh((features.T * estimate.counts) @ features)
        squares = ((directions @ basis) / v) ** 2  # of V⁻¹y in the eigenvectors of V
        inverses = 1.0 / (v[:, None] + grid)  # (d, J) eigenvalues of (V + λ_jI)⁻¹
        half_log_dets = 0.5 * np.log1p(v[:, None] / grid).sum(axis=0)
        p = np.full((len(directions), len(grid)), 1.0 / len(grid))
        best = np.full(len(directions), np.inf)
        for _ in range(ROUNDS):
            mean_inverse = p @ inverses.T  # (n, d)
            length = (squares / mean_inverse).sum(axis=1)
            divergence = (p * (half_log_dets + np.log(p * len(grid)))).sum(axis=1)
            width_squared = 2.0 * length * (math.log(1 / delta) + divergence)
            best = np.minimum(best, width_squared)
            # The noise that is just not excluded, and the weight that each scale gives it.
            worst = (width_squared / length**2)[:, None] * squares / mean_inverse**2
            log_weights = worst @ inverses / 2.0 - half_log_dets
            weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            p = 0.5 * p + 0.5 * weights
        return np.asarray(np.sqrt(best))

    def student_widths(
        self, delta: float, estimate: LeastSquares, directions: FloatArray, residual: float
    ) -> FloatArray:
        """Return widths for Gaussian noise whose standard deviation is not known.

        delta: δ.
        directions: (n, d), in the coordinates of `estimate`; any number, as for `unit_widths`.
        residual: Q, the sum of squares that the least-squares fit leaves; it takes the place of σ.

        docs/bounds.md has the proof. With probability at least 1 - δ, for all times, directions
        and j, and any weights on the excesses ξ_n that make the average of log(1 + ξ_n) + 2
        log(π_n)/t equal to 2ℓ_j/t, and with ξ for the average of ξ_n, in the eigenvectors of V,

            (yᵀ(θ̂ - θ))² ≤ ξ Q Σ_k y_k² (v_k + λ_j) / (v_k (v_k - ξλ_j)),   if all v_k > ξλ_j.
        """
        features, t = estimate.features, int(estimate.counts.sum())
        v, basis = np.linalg.eigh((features.T * estimate.counts) @ features)
        nats = math.log(self.scales / delta) + 0.5 * np.log1p(v[:, None] / self.grid).sum(axis=0)
        gains = np.log1p(EXCESSES) + 2.0 / t * np.log(EXCESS_WEIGHTS)
        rising = gains > np.append(-np.inf, np.maximum.accumulate(gains)[:-1])
        averages = np.interp(2.0 * nats / t, gains[rising], EXCESSES[rising], right=np.inf)
        proving = averages * self.grid < v[0]
        x, scale = averages[proving], self.grid[proving]
        lengths = (v[:, None] + scale) / (v[:, None] * (v[:, None] - x * scale))  # (d, scales)
        squares = ((directions @ basis) ** 2 @ lengths) * x * residual
        return np.asarray(np.sqrt(squares.min(axis=1, initial=np.inf)))

    def kernel(self, stage: Stage) -> "MixtureKernel":
        """Return this bound for the compiled lane, as a run begins at `stage`."""
        book = stage.book
        count = len(book.means)
        return MixtureKernel(
            log_count=math.log(self.scales / stage.problem.delta),
            grid=self.grid,
            log_dets=np.zeros(self.scales),
            nats=np.zeros(self.scales),
            spread=np.zeros(count),
            cross=np.zeros(book.cross.shape),
            sensitivity=np.zeros(book.gap_variance.shape),
            b=np.zeros(count),
            extent=np.zeros(2),
            contenders=np.zeros(2, dtype=np.int64),
        )

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        return (problem.noise.assumption(), TELLING_ASSUMPTION)

    def caveat(self, problem: Problem, ridge: float) -> str:
        return ""  # proven


@once
def _whitened(problem: Problem) -> FloatArray:
    """Return the features in coordinates where Λ = I."""
    basis = problem.new_orthonormal()
    first = basis if problem.began is None else problem.beginning.orthonormal
    p = np.zeros(len(basis))  # Λ must not depend on what came later
    p[: len(first)] = g_optimal(first, tolerance=DESIGN_TOLERANCE).proportions
    root = np.linalg.cholesky(gram(basis, p))
    if is_tall(basis):
        return alike(product(basis, np.linalg.inv(root).T, out=basis), problem.twins)
    return np.ascontiguousarray(np.linalg.solve(root, basis.T).T[problem.twins])


def _contenders(nats: FloatArray, grid: FloatArray, estimate: LeastSquares) -> range:
    """Return the scales among which every direction finds its best.

    The best scale depends on ‖V⁻¹y‖²/‖y‖²_{V⁻¹} alone and moves one way with it, and that ratio
    lies between the inverses of the largest and the smallest eigenvalue of V.
    """
    smallest, largest = estimate.spectrum[0], estimate.spectrum[-1] * math.exp(estimate.growth)
    first = int((nats * (smallest + grid)).argmin())
    last = int((nats * (largest + grid)).argmin())
    return range(first, last + 1)


@on_gpu("grid", split="spread cross sensitivity b")
class MixtureKernel(NamedTuple):
    """Besides the constants, what moves with the estimate: see kernels/book.py on rows."""

    log_count: float  # log(J/δ)
    grid: FloatArray  # (J,) prior scales
    log_dets: FloatArray  # (J,) log det(I + V/λ_j) at the last rebuild
    nats: FloatArray  # (J,) 2R²ℓ_j
    spread: FloatArray  # (K,) ‖A⁻¹x_k‖²
    cross: FloatArray  # (rows, K) x_kᵀA⁻²x_i; or empty, as in the book
    sensitivity: FloatArray  # (rows, K) ‖A⁻¹(x_k - x_i)‖²
    b: FloatArray  # (K,) work
    extent: FloatArray  # (2,) at the last rebuild, V has no eigenvalue below nor above
    contenders: IntArray  # (2,) the first and last scale among which every arm finds its best


@radius.of(MixtureKernel)
def _(bound: MixtureKernel, arena: Arena, book: Book) -> float:
    """Return what grows at least as fast as every width: √ of the least of 2R²ℓ_j, the last."""
    twice = 2.0 * arena.noise_scale * arena.noise_scale
    for j in range(len(bound.grid)):
        bound.nats[j] = twice * (bound.log_count + 0.5 * (bound.log_dets[j] + book.gauge[GROWTH]))
    bound.contenders[0] = _best_scale(bound.nats, bound.grid, bound.extent[0])
    bound.contenders[1] = len(bound.grid) - 1
    if book.gauge[GROWTH] < LITTLE:
        bound.contenders[1] = _best_scale(bound.nats, bound.grid, GROWN * bound.extent[1])
    return math.sqrt(bound.nats[-1])


@inlined
def _best_scale(nats: FloatArray, grid: FloatArray, eigenvalue: float) -> int:
    """Return the best scale for a direction in which V has this eigenvalue (_contenders)."""
    best = 0
    for j in range(1, len(grid)):
        if nats[j] * (eigenvalue + grid[j]) < nats[best] * (eigenvalue + grid[best]):
            best = j
    return best


@write_ends.of(MixtureKernel)
def _(
    bound: MixtureKernel, book: Book, means: FloatArray, factor: float, leader: int, row: int
) -> None:
    _write_ends(bound, book, means, bound.sensitivity[row], row)


@inlined
def _write_ends(
    bound: MixtureKernel, book: Book, means: FloatArray, sensitivity: FloatArray, row: int
) -> None:
    """Take the best of all scales for each arm."""
    ends, variance = book.scores, book.gap_variance
    nats, grid, count, team = bound.nats, bound.grid, len(book.scores), book.team
    first, last = bound.contenders[0], bound.contenders[1]
    nat, scale = nats[first], grid[first]
    k = begin(team)
    while k < count:
        ends[k] = nat * (variance[row, k] + scale * sensitivity[k])
        k += stride(team)
    for j in range(first + 1, last + 1):
        nat, scale = nats[j], grid[j]
        k = begin(team)
        while k < count:
            value = nat * (variance[row, k] + scale * sensitivity[k])
            ends[k] = value if value < ends[k] else ends[k]
            k += stride(team)
    k = begin(team)
    while k < count:
        ends[k] = means[k] + math.sqrt(ends[k])
        k += stride(team)


@write_reach.of(MixtureKernel)
def _(
    bound: MixtureKernel,
    book: Book,
    means: FloatArray,
    factor: float,
    leader: int,
    row: int,
    growth: float,
) -> None:
    """Allow for sensitivities, too, which need not shrink.

    If A grows to A' ⪯ (1 + g)A, then A⁻¹ - A'⁻¹ = A^{-½}(I - B⁻¹)A^{-½} with I ⪯ B ⪯ (1 + g)I, so
    ‖A'⁻¹y‖ is at most ‖A⁻¹y‖ plus g/(1 + g) times ‖y‖ in the norm of A⁻¹ and that of A^{-½}.
    """
    variance, sensitivity, reach = book.gap_variance, bound.sensitivity, bound.b
    share = math.sqrt(1.0 / bound.extent[0]) * growth / (1.0 + growth)
    for k in range(len(reach)):
        root = math.sqrt(sensitivity[row, k]) + share * math.sqrt(variance[row, k])
        reach[k] = root * root
    _write_ends(bound, book, means, reach, row)


@on_rebuild.of(MixtureKernel)
def _(bound: MixtureKernel, book: Book) -> None:
    _rebuild(bound, book)


@compiled
def _rebuild(bound: MixtureKernel, book: Book) -> None:
    products, grid = book.products, bound.grid
    d, count = products.shape
    if math.isnan(book.gauge[LOG_DET]):  # V is singular: the loop ends as BROKEN
        return
    for j in range(len(grid)):
        log_det = cholesky(book.team, book.gram, grid[j], book.factor)
        bound.log_dets[j] = log_det - d * math.log(grid[j])
    longest, trace, team = 0.0, 0.0, book.team
    p = begin(team)
    while p < d:
        length = 0.0
        for q in range(d):
            length += abs(book.inverse[p, q])
        longest = max(longest, length)
        p += stride(team)
    for p in range(d):
        trace += book.gram[p, p]
    bound.extent[0], bound.extent[1] = 1.0 / highest(team, longest), trace
    _write_spread(bound, book)
    meet(team)
    if len(book.owner) == count:
        for arm in range(count):
            _keep_gaps(bound.sensitivity[arm], products, arm)
        for arm in range(len(bound.cross)):
            _keep_cross(bound.cross[arm], products, arm)


@on_refill.of(MixtureKernel)
def _(bound: MixtureKernel, whole: MixtureKernel, book: Book) -> None:
    for j in range(len(bound.log_dets)):
        bound.log_dets[j] = whole.log_dets[j]
    bound.extent[0], bound.extent[1] = whole.extent[0], whole.extent[1]
    _write_spread(bound, book)


@on_write_back.of(MixtureKernel)
def _(bound: MixtureKernel, small: MixtureKernel, arms: IntArray, row: int, source: int) -> None:
    scatter(arms, small.sensitivity[source], bound.sensitivity[row])


@compiled
def _write_spread(bound: MixtureKernel, book: Book) -> None:
    products, team = book.products, book.team
    d, count = products.shape
    write_all(team, bound.spread, 0.0)
    for p in range(d):
        k = begin(team)
        while k < count:
            bound.spread[k] += products[p, k] * products[p, k]
            k += stride(team)


@compiled
def _keep_gaps(sensitivity: FloatArray, products: FloatArray, arm: int) -> None:
    """Write the row of an arm just after a rebuild."""
    sensitivity[:] = 0.0
    for p in range(len(products)):
        product = products[p, arm]
        for k in range(len(sensitivity)):
            z = product - products[p, k]
            sensitivity[k] += z * z


@compiled
def _keep_cross(cross: FloatArray, products: FloatArray, arm: int) -> None:
    """Write the other row of an arm just after a rebuild."""
    cross[:] = 0.0
    for p in range(len(products)):
        product = products[p, arm]
        for k in range(len(cross)):
            cross[k] += product * products[p, k]


@on_fetch.of(MixtureKernel)
def _(bound: MixtureKernel, arena: Arena, book: Book, arm: int, row: int) -> None:
    _fetch(bound, arena, book, arm, row)


@compiled
def _fetch(bound: MixtureKernel, arena: Arena, book: Book, arm: int, row: int) -> None:
    inverse, spread, h2, team = book.inverse, bound.spread, book.h2, book.team
    cross, sensitivity = bound.cross[row], bound.sensitivity[row]
    multiply(team, inverse, book.h, h2)
    meet(team)
    write_products(team, arena.columns, h2, cross)
    own, least, lost = spread[arm], 2.0 * CANCELLED * spread[arm], 0
    k = begin(team)
    while k < len(spread):
        sensitivity[k] = spread[k] + own - 2.0 * cross[k]
        k += stride(team)
    k = begin(team)
    while k < len(spread):
        lost += sensitivity[k] < least
        k += stride(team)
    if total(team, lost) > 1:  # besides the arm itself: too few digits left
        k = begin(team)
        while k < len(spread):
            if sensitivity[k] < least:
                sensitivity[k] = _gap_sensitivity(inverse, arena.features, k, arm)
            k += stride(team)
    if owns(team, arm):
        sensitivity[arm] = 0.0
    meet(team)


@compiled
def _gap_sensitivity(inverse: FloatArray, x: FloatArray, k: int, arm: int) -> float:
    """Return ‖A⁻¹(x_k - x_arm)‖², from the features."""
    length = 0.0
    for p in range(x.shape[1]):
        z = 0.0
        for q in range(x.shape[1]):
            z += inverse[p, q] * (x[k, q] - x[arm, q])
        length += z * z
    return length


@on_pull.of(MixtureKernel)
def _(bound: MixtureKernel, arena: Arena, book: Book, arm: int, row: int, s: float) -> None:
    """Do to sensitivities what a pull does; hh = ‖A⁻¹x_a‖²."""
    c, b, owner = book.c, bound.b, book.owner
    spread, cross, sensitivity = bound.spread, bound.cross, bound.sensitivity
    count, t, team = len(c), 1.0 / s, book.team
    if has_gaps_only(book):
        write_cross(spread, sensitivity, arm, b)
        hh = spread[arm]
    elif row < 0:
        multiply(team, book.inverse, book.h, book.h2)
        write_products(team, arena.columns, book.h2, b)
        hh = 0.0
        for p in range(len(book.h)):
            hh += book.h[p] * book.h[p]
    else:
        k = begin(team)
        while k < count:
            b[k] = cross[row, k]
            k += stride(team)
        meet(team)
        hh = b[arm]
    if len(cross) < count:
        k = begin(team)
        while k < count:
            f = c[k] * t
            spread[k] -= f * (2.0 * b[k] - hh * f)
            k += stride(team)
    for m in range(len(owner)):
        i = m if len(owner) == count else owner[m]
        if i >= 0:
            own_c, own_b = c[i], b[i]
            k = begin(team)
            while k < count:
                y = (own_c - c[k]) * t
                sensitivity[m, k] -= y * (2.0 * (own_b - b[k]) - hh * y)
                k += stride(team)
            if not has_gaps_only(book):
                f, g = own_c * t, (own_b - hh * own_c * t) * t
                k = begin(team)
                while k < count:
                    cross[m, k] -= f * b[k] + g * c[k]
                    k += stride(team)
