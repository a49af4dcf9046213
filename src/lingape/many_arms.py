"""The least-squares estimate of very many arms: nothing is computed for all of them at a pull.

What is kept are θ̂, A and A⁻¹, which a pull moves in O(d²). Means, variances and contrasts of all
arms follow from these and are computed when somebody reads them. Rounds that need not look at all
arms are in contests/shortlist.py and pulls/pivots.py.
"""

import math
from copy import copy
from typing import Any, Self

import numpy as np

from .arrays import FloatArray, IntArray
from .errors import IllConditioned
from .least_squares import STEEP, Contrasts, LeastSquares
from .tall import blocks, gram


class ManyArms(LeastSquares):
    """What a LeastSquares of very many arms becomes, without data or ready.

    notes: what contests and pull rules have worked out and may look up again. It changes no
        result, so that it is no part of the state. What is in it is replaced, never changed.
    """

    def __init__(self, estimate: LeastSquares) -> None:
        super().__init__(
            estimate.features,
            ridge=estimate.ridge,
            sensitivities=estimate._sensitivities,
            twins=estimate.twins,
        )
        self.pullable = estimate.pullable
        if estimate.ready:
            self.load(estimate.counts, estimate.sums)
            # As if this had always been one: the bound depends on when caches were rebuilt.
            for name in ("inverse", "spectrum", "base_log_det", "growth", "rebuild_at"):
                setattr(self, name, copy(getattr(estimate, name)))

    def _clear(self) -> None:
        rank = self.features.shape[1]
        self.inverse: FloatArray = np.full((rank, rank), np.inf)
        self.matrix: FloatArray = np.zeros((rank, rank))  # A
        self.theta: FloatArray = np.zeros(rank)  # θ̂
        self.base_log_det = 0.0
        self.growth = 0.0
        self.spectrum: FloatArray = np.zeros(rank)
        self.rebuild_at = 0
        self._leader = -1  # contrasts are not kept
        self._ratios = None
        self._unpulled = len(self.features)
        self.notes: dict[str, Any] = {}
        self._changed()

    def _changed(self) -> None:
        """Forget what was computed for all arms."""
        self._means: tuple[FloatArray, ...] = ()
        self._variances: tuple[FloatArray, ...] = ()

    @property
    def means(self) -> FloatArray:  # type: ignore[override]
        """x_kᵀθ̂, computed when read."""
        if not self._means:
            self._means = (self.features @ self.theta,)
        return self._means[0]

    @property
    def variances(self) -> FloatArray:  # type: ignore[override]
        """‖x_k‖² in the norm of A⁻¹, computed when read."""
        if not self._variances:
            origin = np.zeros(self.features.shape[1])
            self._variances = (self._lengths(origin, sensitivities=False).variance,)
        return self._variances[0]

    def contrasts(self, leader: int) -> Contrasts:
        """Return what is known about the gap between each arm and `leader`."""
        return self._lengths(self.features[leader], sensitivities=self._sensitivities)

    def contrasts_of(self, rows: FloatArray, origin: FloatArray) -> Contrasts:
        """Return what is known about the gaps between some arms and one, given their features."""
        y = rows - origin
        z = y @ self.inverse
        sensitivity = np.einsum("kd,kd->k", z, z) if self._sensitivities else None
        return Contrasts(np.einsum("kd,kd->k", z, y), sensitivity)

    def _lengths(self, origin: FloatArray, *, sensitivities: bool) -> Contrasts:
        """Return how well the difference of each arm from `origin` is known."""
        count = len(self.features)
        found = Contrasts(np.empty(count), np.empty(count) if sensitivities else None)
        for block in blocks(count):
            y = self.features[block] - origin
            z = y @ self.inverse
            np.einsum("kd,kd->k", z, y, out=found.variance[block])
            if found.sensitivity is not None:
                np.einsum("kd,kd->k", z, z, out=found.sensitivity[block])
        return found

    def _update_caches(self, arm: int, reward: float, first: bool) -> None:
        self._unpulled -= first
        try:
            self._move(arm, reward, first)
        except IllConditioned:
            self._unpulled += first
            raise
        self._changed()

    def _move(self, arm: int, reward: float, first: bool) -> None:
        if not self.ready:
            if first and self._spans():
                self.rebuild()
            return
        if self.pulls >= self.rebuild_at or (first and self._unpulled == 0):
            self.rebuild()
            return
        x = self.features[arm]
        h = self.inverse @ x
        s = 1.0 + float(x @ h)
        if not 1.0 <= s <= STEEP:
            self.rebuild()
            return
        self.theta += h * ((reward - float(x @ self.theta)) / s)
        self.inverse -= np.multiply.outer(h, h / s)
        self.matrix += np.multiply.outer(x, x)
        self.growth += math.log(s)

    def rebuild(self) -> None:
        """Recompute every cache from `counts` and `sums`."""
        pulled = np.flatnonzero(self.counts)
        some = slice(None) if 2 * len(pulled) > len(self.counts) else pulled
        features = self.features[some]
        matrix = gram(features, self.counts[some])
        self._invert(matrix)
        self.matrix = matrix
        self.theta = self.inverse @ (features.T @ self.sums[some])
        self._changed()

    def load(self, counts: IntArray, sums: FloatArray) -> None:
        """Replace the data by each arm's `counts` and `sums` of rewards, and rebuild."""
        self._unpulled = len(counts) - int(np.count_nonzero(counts))
        self.notes = {}
        super().load(counts, sums)

    def pretend(self, arm: int) -> None:
        """Count a pull of `arm` whose reward is not known yet: only the design moves."""
        self.update(arm, float(self.features[arm] @ self.theta) if self.ready else 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"notes": {}, "_means": (), "_variances": ()}

    def copy(self) -> Self:
        """Return an independent copy that shares only what never changes."""
        twin = super().copy()
        twin.notes = dict(self.notes)
        return twin

    def _shown(self, name: str, cache: FloatArray) -> FloatArray:
        return self.features @ cache if name == "theta" else cache

    def _caches(self) -> tuple[str, ...]:
        spectrum = ("spectrum",) if self._sensitivities else ()
        return ("inverse", "matrix", "theta", *spectrum)
