"""The least-squares estimate of every arm's mean, kept up to date pull by pull.

`counts` and `sums` are the whole truth: A = λI + Σ T_k x_k x_kᵀ and b = Σ_k sums_k x_k follow from
them. Everything else is a cache, moved by a rank-one update at each pull and rebuilt from the
truth at fixed times, so that no error accumulates.

With c_k = x_kᵀA⁻¹x_a and s = 1 + c_a, pulling arm a for reward r does

    x_kᵀθ̂     += c_k (r - x_aᵀθ̂) / s          means
    ‖x_k‖²     -= c_k² / s                      variances, in the norm of A⁻¹
    A⁻¹        -= (A⁻¹x_a)(A⁻¹x_a)ᵀ / s         inverse
    log det A  += log s                         growth since the last rebuild
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .errors import IllConditioned, InvalidState, in_words
from .tall import blocks, first_alike, is_tall
from .tall import gram as weighted_gram

# Up to this many multiplications a round, all gaps are recomputed directly; above, only those
# that the cheap formula would get wrong.
DIRECT = 20_000
# ‖x - x'‖² from ‖x‖² + ‖x'‖² - 2x·x' loses digits when it is small beside its terms.
CANCELLED = 1e-4
# The narrowest direction that the first pulls may leave, beside the widest.
SPANNING = 1e-5
# A pivot this much smaller than its diagonal entry has hardly a digit left that is not rounding.
PIVOT = 1e-11
# An update that divides by more than this cancels too many digits of the inverse: rebuild.
STEEP = 1e4
# This many updates, and one more for each dimension, take longer than a rebuild.
MANY = 8
# Unpulled arms are looked for among so many at a time.
STRETCH = 4_096
# Copies have these in common.
SHARED = ("features", "twins")


class Contrasts(NamedTuple):
    """How well each arm's gap to one arm is known: for y = x_k - x_i,"""

    variance: FloatArray  # ‖y‖² in the norm of A⁻¹; times R², the variance of the estimated gap
    sensitivity: FloatArray | None  # ‖A⁻¹y‖²; only where the bound asks for it


class LeastSquares:
    """Estimate xᵀθ for every arm from pulls of any arms, `ready` once those span the space.

    features: (K, r), spanning R^r.
    ridge: λ; with 0 this is plain least squares.
    sensitivities: keep track of ‖A⁻¹x_k‖² too.
    twins: for each arm the first one with exactly its features, whose mean is the same to this
        estimate; found here unless given.

    Its `pullable`, which the explorer sets, says which arms can be pulled; None for all.

    >>> import numpy as np
    >>> from lingape import LeastSquares
    >>> estimate = LeastSquares(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> estimate.update(0, reward=2.0)
    >>> estimate.ready
    False
    >>> estimate.update(1, reward=3.0)
    >>> estimate.means.round(6).tolist(), estimate.variances.round(6).tolist()
    ([2.0, 3.0, 5.0], [1.0, 1.0, 2.0])
    """

    def __init__(
        self,
        features: FloatArray,
        *,
        ridge: float = 0.0,
        sensitivities: bool = False,
        twins: IntArray | None = None,
    ) -> None:
        count, rank = features.shape
        self.features = features
        self.twins = first_alike(features) if twins is None else twins
        self.ridge = ridge
        self.counts: IntArray = np.zeros(count, dtype=np.int64)
        self.sums: FloatArray = np.zeros(count)
        self.pulls = 0
        self.ready = False
        self.pullable: BoolArray | None = None
        self._all_pulled_before = 0  # every arm before this one was pulled, or cannot be
        self._direct = count * rank * rank <= DIRECT
        self._sensitivities = sensitivities
        self._spread_tracked = sensitivities and not self._direct
        self._clear()

    def _clear(self) -> None:
        count, rank = self.features.shape
        self.inverse: FloatArray = np.full((rank, rank), np.inf)  # A⁻¹
        self.means: FloatArray = np.zeros(count)  # x_kᵀθ̂
        self.variances: FloatArray = np.full(count, np.inf)  # ‖x_k‖² in the norm of A⁻¹
        self.spread: FloatArray = np.full(count, np.inf)  # ‖A⁻¹x_k‖²
        self.base_log_det = 0.0  # log det A at the last rebuild
        self.growth = 0.0  # log det A now minus then
        self.spectrum: FloatArray = np.zeros(rank)  # of V = A - λI then, for sensitivities
        self.rebuild_at = 0
        self._leader = -1  # the arm whose contrasts are kept, or -1
        self._gap_variance: FloatArray = np.zeros(0)
        self._gap_sensitivity: FloatArray = np.zeros(0)
        self._ratios: tuple[FloatArray, FloatArray] | None = None

    @property
    def log_det(self) -> float:
        """Return log det A."""
        return self.base_log_det + self.growth

    def log_det_ratios(self, scales: FloatArray) -> FloatArray:
        """Return log det(I + V/λ) for each λ in `scales`, or a little more.

        Between rebuilds it is the value at the last one plus the growth of log det A, which grows
        at least as fast.
        """
        if self._ratios is None or self._ratios[0] is not scales:
            self._ratios = scales, np.log1p(self.spectrum[:, None] / scales).sum(axis=0)
        return self._ratios[1] + self.growth

    @property
    def fresh(self) -> bool:
        """Return whether the caches were rebuilt at the last pull."""
        return self.ready and self.growth == 0.0

    def update(self, arm: int, reward: float) -> None:
        """Learn that pulling `arm` paid `reward`; if that fails, nothing has changed."""
        first, before = not self.counts[arm], self.sums[arm]
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.pulls += 1
        try:
            self._update_caches(arm, reward, first)
        except IllConditioned:
            self._all_pulled_before = 0
            self.counts[arm] -= 1
            self.sums[arm] = before
            self.pulls -= 1
            raise

    def _update_caches(self, arm: int, reward: float, first: bool) -> None:
        if not self.ready:
            if first and self._spans():
                self.rebuild()
            return
        if self.pulls >= self.rebuild_at or (first and self.counts.all()):
            self.rebuild()
            return
        features, inverse = self.features, self.inverse
        h = inverse @ features[arm]
        c = features @ h
        s = 1.0 + float(c[arm])
        if not 1.0 <= s <= STEEP:
            self.rebuild()
            return
        f = c / s
        if not self._direct:
            self._update_lengths(h, c, f, s)
        c *= f
        self.variances -= c
        f *= reward - self.means[arm]
        self.means += f
        inverse -= np.multiply.outer(h, h / s)
        self.growth += math.log(s)

    def _update_lengths(self, h: FloatArray, c: FloatArray, f: FloatArray, s: float) -> None:
        """Update what `contrasts` starts from when there are many arms.

        A⁻¹y loses h yᵀh/s, so its squared length loses (yᵀh/s)(2 yᵀA⁻¹h - hᵀh yᵀh/s).
        """
        i = self._leader
        if self._spread_tracked:
            b = self.features @ (2.0 * (self.inverse @ h))
            hh = float(h @ h)
            if i >= 0:
                f_y = f - f[i]
                loss = b - b[i]
                loss -= f_y * hh
                loss *= f_y
                self._gap_sensitivity -= loss
            b -= f * hh
            b *= f
            self.spread -= b
        if i >= 0:
            c_y = c - c[i]
            c_y *= c_y
            c_y /= s
            self._gap_variance -= c_y

    def first_unpulled(self) -> int | None:
        """Return the first arm that can be pulled and never was, if there is one."""
        for start in range(self._all_pulled_before, len(self.counts), STRETCH):
            stretch = slice(start, start + STRETCH)
            unpulled = self.counts[stretch] == 0
            if self.pullable is not None:
                unpulled &= self.pullable[stretch]
            first = int(unpulled.argmax())
            if unpulled[first]:
                self._all_pulled_before = start + first
                return start + first
        self._all_pulled_before = len(self.counts)
        return None

    def contrasts(self, leader: int) -> Contrasts:
        """Return what is known about the gap between each arm and `leader`; not to be changed."""
        features, inverse = self.features, self.inverse
        if self._direct:
            y = features - features[leader]
            z = y @ inverse
            variance = np.einsum("kd,kd->k", z, y)
            return Contrasts(
                variance, np.einsum("kd,kd->k", z, z) if self._sensitivities else None
            )
        if leader != self._leader:
            self._compare_with(leader)
        return Contrasts(
            self._gap_variance, self._gap_sensitivity if self._spread_tracked else None
        )

    def _compare_with(self, leader: int) -> None:
        """Compute the contrasts for a new leader, which further pulls keep up to date."""
        features, inverse = self.features, self.inverse
        h = inverse @ features[leader]
        variance = features @ (-2.0 * h)
        variance += self.variances
        variance += self.variances[leader]
        # A gap that small has both ends about equally long: two are twice one.
        lost = variance < 2.0 * CANCELLED * self.variances[leader]
        if self._spread_tracked:
            sensitivity = features @ (inverse @ (-2.0 * h))
            sensitivity += self.spread
            sensitivity += self.spread[leader]
            lost |= sensitivity < 2.0 * CANCELLED * self.spread[leader]
        close = np.flatnonzero(lost)  # always the leader itself, rarely many others
        y = features[close] - features[leader]
        z = y @ inverse
        variance[close] = np.einsum("kd,kd->k", z, y)
        self._gap_variance = variance
        if self._spread_tracked:
            sensitivity[close] = np.einsum("kd,kd->k", z, z)
            self._gap_sensitivity = sensitivity
        self._leader = leader

    def rebuild(self) -> None:
        """Recompute every cache from `counts` and `sums`."""
        features = self.features
        self._invert(weighted_gram(features, self.counts))
        b = features.T @ self.sums
        self.means, self.variances = np.empty(len(features)), np.empty(len(features))
        self.spread = np.empty(len(features) if self._spread_tracked else 0)
        for some in blocks(len(features)) if is_tall(features) else (slice(None),):
            products = features[some] @ self.inverse
            self.means[some] = products @ b
            self.variances[some] = np.einsum("kd,kd->k", products, features[some])
            if self._spread_tracked:
                self.spread[some] = np.einsum("kd,kd->k", products, products)
        self._leader = -1

    def _invert(self, gram: FloatArray) -> None:
        """Compute A⁻¹ and what goes with it from V, which becomes A; or raise, nothing changed."""
        spectrum = np.linalg.eigvalsh(gram) if self._sensitivities else self.spectrum
        gram.flat[:: len(gram) + 1] += self.ridge
        try:
            # A Cholesky factor keeps the small eigenvalues that others round off.
            factor = np.linalg.cholesky(gram)
        except np.linalg.LinAlgError as reason:
            raise ill_conditioned(self.ridge) from reason
        pivots = factor.diagonal()
        if (pivots * pivots < PIVOT * gram.diagonal()).any():
            raise ill_conditioned(self.ridge)
        root = np.linalg.inv(factor)
        self.inverse = root.T @ root
        self.spectrum = np.maximum(spectrum, 0.0)
        self.base_log_det = 2.0 * float(np.log(pivots).sum())
        self.growth = 0.0
        self._ratios = None
        self.rebuild_at = next_rebuild(self.pulls, len(self.features))
        self.ready = True

    def load(self, counts: IntArray, sums: FloatArray) -> None:
        """Replace the data by each arm's `counts` and `sums` of rewards, and rebuild."""
        self.counts, self.sums = counts.copy(), sums.copy()
        self.pulls = int(counts.sum())
        self._all_pulled_before = 0
        self.ready = self.ready or self._spans(always=True)
        if self.ready:
            self.rebuild()

    def pretend(self, arm: int) -> None:
        """Count a pull of `arm` whose reward is not known yet: only the design moves.

        A reward equal to its own prediction has a residual of 0, so it changes no mean.
        """
        self.update(arm, float(self.means[arm]) if self.ready else 0.0)

    def pretend_many(self, arms: Sequence[int]) -> None:
        """Do as `pretend` for each of some arms; many at once are faster by a rebuild."""
        for place, arm in enumerate(arms):
            if self.ready and len(arms) - place >= MANY + self.features.shape[1]:
                more = np.bincount(arms[place:], minlength=len(self.counts))
                self.load(self.counts + more, self.sums + more * self.means)
                return
            self.pretend(arm)

    def copy(self) -> Self:
        """Return an independent copy that shares only what never changes."""
        twin = object.__new__(type(self))
        twin.__dict__ = {
            name: value.copy() if isinstance(value, np.ndarray) and name not in SHARED else value
            for name, value in self.__dict__.items()
        }
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def _spans(self, *, always: bool = False) -> bool:
        """Whether the pulled arms determine the estimate, to a good share of all digits.

        Looked at for each new arm while there are few, then when they have doubled, unless
        `always`. All arms are all there will ever be.
        """
        pulled = np.flatnonzero(self.counts)
        count, rank = self.features.shape
        if len(pulled) == count:
            return True
        rarely = len(pulled) > 4 * rank and len(pulled) & (len(pulled) - 1)
        if len(pulled) < rank or (rarely and not always):
            return False
        values = np.linalg.svd(self.features[pulled], compute_uv=False)
        return bool(values[-1] > SPANNING * values[0])

    def state(self) -> dict[str, Any]:
        """Return the estimate as JSON-able data, caches included so that resuming is exact."""
        caches = {name: getattr(self, name).tolist() for name in self._caches()}
        return {
            "counts": self.counts.tolist(),
            "sums": self.sums.tolist(),
            "rebuild_at": self.rebuild_at,
            "growth": self.growth,
            "base_log_det": self.base_log_det,
            "leader": self._leader,
            "caches": caches if self.ready else None,
        }

    def restore(self, state: Any, *, noise_scale: float = 1.0) -> None:
        """Take over a saved state, after checking that it holds together.

        noise_scale: R, if it is known. Means much smaller than it, or than the averages that they
            are made of, are as good as 0.
        """
        count = len(self.features)
        counts, sums = _array(state, "counts", (count,)), _array(state, "sums", (count,))
        if (counts < 0).any() or (counts % 1 != 0).any() or (sums[counts == 0] != 0).any():
            raise InvalidState(
                "Saved counts must be whole and not negative, and an arm never pulled has no "
                f"rewards; got counts {counts.tolist()[:10]} and sums {sums.tolist()[:10]} (the "
                f"first ten). {_WAY_OUT}"
            )
        self.load(counts.astype(np.int64), sums)
        caches = state.get("caches")
        # Without caches it was not known yet whether the arms pulled so far span.
        if self._spans() if caches is None else not self.ready:
            raise InvalidState(f"The saved caches do not go with the saved counts. {_WAY_OUT}")
        if caches is None:
            self.ready = False
            self._clear()
            return
        leader = _array(state, "leader", ())
        if not (leader == -1 or leader in range(count)):
            raise InvalidState(f"The saved leader {leader} is not an arm. {_WAY_OUT}")
        if leader >= 0:
            self._compare_with(int(leader))
        log_det, spectrum = self.base_log_det, self.spectrum
        small = noise_scale + float(np.abs(sums / np.maximum(counts, 1)).max())
        for name in self._caches():
            saved = _array(caches, name, getattr(self, name).shape)
            fresh, close = self._shown(name, getattr(self, name)), self._shown(name, saved)
            scale = small if name in ("means", "theta") else 1e-300
            # The spectrum is as old as the last rebuild.
            if name != "spectrum" and np.abs(close - fresh).max() > 1e-6 * (
                np.abs(fresh).max() + scale
            ):
                raise InvalidState(f"The saved {name} do not follow from the counts. {_WAY_OUT}")
            setattr(self, name, saved)
        self._ratios = None
        self.growth = float(_array(state, "growth", ()))
        self.base_log_det = float(_array(state, "base_log_det", ()))
        self.rebuild_at = int(_array(state, "rebuild_at", ()))
        # Since then V has only grown, by just so much, and the next rebuild is still to come.
        if (
            self.growth < 0
            or abs(self.log_det - log_det) > 1e-6 * (1 + abs(log_det))
            or (self.spectrum > spectrum + 1e-6 * spectrum.max()).any()
            or not self.pulls < self.rebuild_at <= next_rebuild(self.pulls, count)
        ):
            raise InvalidState(f"The saved determinants do not follow from the counts. {_WAY_OUT}")
        if self._sensitivities and abs(_log_sum(self.spectrum) - self.base_log_det) > 1e-3 * (
            1 + abs(log_det)
        ):
            raise InvalidState(f"The saved spectrum does not follow from the counts. {_WAY_OUT}")

    def _shown(self, name: str, cache: FloatArray) -> FloatArray:
        """Return a cache as numbers whose size says how much an error in them matters."""
        return cache

    def _caches(self) -> tuple[str, ...]:
        """Return the names of the caches in use."""
        spread = ("spread",) if self._spread_tracked else ()
        gaps = ("_gap_variance",) if self._leader >= 0 else ()
        both = ("_gap_sensitivity",) if gaps and spread else ()
        spectrum = ("spectrum",) if self._sensitivities else ()
        return ("inverse", "means", "variances", *spectrum, *spread, *gaps, *both)


_WAY_OUT = "Restore an undamaged copy, or tell the logged rewards to a new explorer."


def next_rebuild(pulls: int, arms: int) -> int:
    """Return the pull count at which caches built now are rebuilt."""
    return pulls + max(64, pulls // 64, arms // 16)


def _array(state: Any, name: str, shape: tuple[int, ...]) -> FloatArray:
    try:
        array = np.array(state[name], dtype=np.float64)
    except (KeyError, TypeError, ValueError, OverflowError) as reason:
        raise InvalidState(
            f"The saved state has no usable {name!r} ({in_words(reason)}). {_WAY_OUT}"
        ) from None
    if array.shape != shape or not np.isfinite(array).all():
        raise InvalidState(
            f"The saved {name!r} must be finite, of shape {shape}; got shape {array.shape}. "
            f"{_WAY_OUT}"
        )
    return array


def _log_sum(spectrum: FloatArray) -> float:
    return float(np.log(np.maximum(spectrum, 1e-300)).sum())


def ill_conditioned(ridge: float) -> IllConditioned:
    """Return what to raise when the design matrix cannot be factored."""
    return IllConditioned(
        "The pulled features are so nearly dependent, and so large beside the ridge "
        f"({ridge:g}), that the design matrix cannot be inverted in double precision. Measure "
        "features in units that bring them closer to 1, drop those that nearly repeat others, or "
        "use Mixture(), which chooses its own units."
    )
