"""Bandit instances from logged data (Section 7.2): fit θ* to all rows, draw arms from some.

The reader of a data set yields chunks of rows; `fit` passes over them once, in bounded memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..checks import checked_whole
from ..environments import Instance
from ..errors import InvalidData

GAP = 0.05  # Appendix A: every arm is at least this much worse than the best
RIDGE = 0.01  # of the regression that makes θ* (Appendix A)
SHARE = 0.1  # of the rows are good enough for the best arm, where no levels are given
THIN = 1e-4  # a direction this much thinner than the widest is the rounding of the features
POOL = 100_000  # distinct rows to draw arms from: 29 MB of 36 features

#: Some rows of a data set: features (n, d) and outcomes ±1 (n,).
Chunk: TypeAlias = tuple[FloatArray, FloatArray]
Words: TypeAlias = NDArray[np.uint64]


@dataclass
class Rows:
    """How many rows of a data set were read, and how many of them were used.

    read: malformed ones too.
    used: those that were whole.

    >>> from lingape.datasets.real_data import Rows
    >>> print(Rows(read=1200, used=1150))
    1,150 of 1,200 rows
    """

    read: int = 0
    used: int = 0

    @property
    def skipped(self) -> int:
        """The rows that were malformed or incomplete."""
        return self.read - self.used

    def __str__(self) -> str:
        return f"{self.used:,} of {self.read:,} rows"


class Levels(NamedTuple):
    """Between which means, both ends excluded, the best arm and the others are drawn.

    best: the best arm's mean lies between these.
    others: so do the means of the others.

    >>> from lingape.datasets.real_data import Levels
    >>> Levels(best=(-0.88, 1.0), others=(-1.0, -0.93)).best
    (-0.88, 1.0)
    """

    best: tuple[float, float]
    others: tuple[float, float]


def default_levels(means: FloatArray) -> Levels:
    """Return levels for data that come without.

    The best arm is from the best tenth of the rows, the others are worse than all of that tenth by
    0.05 or more. The level is rounded to 0.01, as people write them.

    means: of all rows.

    >>> import numpy as np
    >>> from lingape.datasets.real_data import default_levels
    >>> best, others = default_levels(np.linspace(-0.5, 0.5, 101))
    >>> best[0], round(others[1], 2)
    (0.4, 0.35)
    """
    level = round(float(np.quantile(means, 1.0 - SHARE)), 2)
    return Levels(best=(level, 1.0), others=(-1.0, level - GAP))


@dataclass(frozen=True, eq=False)
class RealData:
    """A data set as a source of bandit instances.

    name: which data it is, for people.
    features: distinct rows to draw arms from, shape (n, d).
    theta: θ*, the ridge regression of the outcomes on the features of all rows used.
    rows: how many rows were read and used.
    levels: which rows may be the best arm and which the others.

    >>> import numpy as np
    >>> from lingape.datasets.real_data import fit
    >>> rng = np.random.default_rng(0)
    >>> features = rng.uniform(-0.5, 0.5, size=(500, 3)).round(2)
    >>> outcomes = np.where(rng.uniform(-1, 1, size=500) < features @ [0.9, -0.5, 0.2], 1.0, -1.0)
    >>> data = fit([(features, outcomes)], name="clicks")
    >>> instance = data.sample(4, seed=1)
    >>> instance.name, instance.arms.shape
    ('clicks, 4 arms, seed 1', (4, 3))
    """

    name: str
    features: FloatArray
    theta: FloatArray
    rows: Rows
    levels: Levels

    @cached_property
    def basis(self) -> FloatArray:
        """An orthonormal basis, shape (d, r), of the directions in which the features vary.

        R6A's memberships add up to 1 up to rounding to six decimals, so 11 of its 36 directions
        hold only rounding errors. The identity if there are no such directions.
        """
        return _wide_directions(self.features)

    @cached_property
    def means(self) -> FloatArray:
        """The mean reward zᵀθ* of each row of `features`."""
        means: FloatArray = self.features @ self.theta
        return means

    def sample(self, k: int, seed: int) -> Instance:
        """Return K arms drawn from the rows, the best one first; the same for the same seed.

        One row is drawn from those with `levels.best[0]` < zᵀθ* < `levels.best[1]`, and K - 1 from
        those with zᵀθ* between `levels.others`; all of them distinct, each equally likely.
        The levels lie 0.05 or more apart, so the first arm is better than every other by that
        (Appendix A). They also lie within (-1, 1), so that (1 + zᵀθ*)/2 is a probability. With the
        same seed, a smaller K gives the first arms of a larger one.

        The arms are given in the coordinates of `basis`, so that no algorithm spends pulls on
        rounding errors. Norms and means are the same there.
        """
        k, seed = checked_whole("k (arms)", k, least=2), checked_whole("seed", seed)
        best, others = self._between(self.levels.best), self._between(self.levels.others)
        if not len(best) or len(others) < k - 1:
            raise InvalidData(
                f"{k} arms need 1 row with a mean in {self.levels.best} and {k - 1} in "
                f"{self.levels.others}; {self.name} has {len(best)} and {len(others)}. Ask for "
                "fewer arms, or read more rows."
            )
        rng = np.random.default_rng(seed)
        first = rng.choice(best)
        chosen = np.append(first, rng.permutation(others)[: k - 1])
        return Instance(
            f"{self.name}, {k} arms, seed {seed}",
            self.features[chosen] @ self.basis,
            self.basis.T @ self.theta,
        )

    def _between(self, ends: tuple[float, float]) -> IntArray:
        low, high = ends
        return np.flatnonzero((low < self.means) & (self.means < high))


def fit(
    chunks: Iterable[Chunk],
    *,
    name: str,
    ridge: float = RIDGE,
    levels: Levels | None = None,
    rows: Rows | None = None,
    pool: int = POOL,
    seed: int = 0,
) -> RealData:
    """Return θ* = (ZᵀZ + ridge·I)⁻¹ Zᵀy over all chunks, and a pool of their distinct rows.

    chunks: of features (n, d) and outcomes ±1 (n,).
    name: which data it is, for people.
    ridge: of the regression; 0.01, the paper's, unless given.
    levels: as in RealData; `default_levels` where left out.
    rows: what the reader of the chunks counts in; where left out, every row counts as read.
    pool: how many distinct rows to keep, at most; 100,000 unless given.
    seed: says which ones, where there are more.

    >>> import numpy as np
    >>> from lingape.datasets.real_data import fit
    >>> rng = np.random.default_rng(0)
    >>> features = rng.uniform(-0.5, 0.5, size=(500, 3)).round(2)
    >>> outcomes = np.where(rng.uniform(-1, 1, size=500) < features @ [0.9, -0.5, 0.2], 1.0, -1.0)
    >>> data = fit([(features, outcomes)], name="clicks")
    >>> str(data.rows), data.theta.shape
    ('500 of 500 rows', (3,))
    """
    sample = _DistinctRows(pool, seed)
    used, gram, moment = 0, np.zeros((0, 0)), np.zeros(0)
    for features, outcomes in chunks:
        if not used:
            d = features.shape[1]
            gram, moment = ridge * np.eye(d), np.zeros(d)
        used += len(features)
        gram += features.T @ features
        moment += features.T @ outcomes
        sample.add(features)
    if not used:
        raise InvalidData(
            f"θ* must be fitted to at least one row; {name} has none that can be used."
        )
    features = sample.rows()
    basis = _wide_directions(features)
    # Digits after the ninth are rounding errors, which differ between machines.
    theta: FloatArray = (basis @ (basis.T @ np.linalg.solve(gram, moment))).round(9)
    levels = levels or default_levels(features @ theta)
    return RealData(name, features, theta, rows or Rows(used, used), levels)


def _wide_directions(features: FloatArray) -> FloatArray:
    squares, directions = np.linalg.eigh(features.T @ features)
    wide = squares > THIN**2 * squares[-1]
    basis: FloatArray = np.eye(len(wide)) if wide.all() else directions[:, wide]
    return basis


@dataclass
class _DistinctRows:
    """A uniform sample of the distinct rows of a stream: those with the smallest hashes.

    Equal rows have equal hashes, so it does not matter how often and when a row occurs.
    """

    size: int
    seed: int
    kept: list[FloatArray] = field(default_factory=list)
    hashes: list[Words] = field(default_factory=list)
    waiting: int = 0
    limit: np.uint64 = np.uint64(2**64 - 1)  # noqa: RUF009  cannot be changed

    def add(self, features: FloatArray) -> None:
        hashes = _hashes(features, self.seed)
        small = hashes <= self.limit
        self.kept.append(features[small])
        self.hashes.append(hashes[small])
        self.waiting += len(self.kept[-1])
        if self.waiting > self.size:
            self._sift()

    def rows(self) -> FloatArray:
        """Return the sample, in an order that depends on its rows and the seed alone."""
        self._sift()
        return self.kept[0]

    def _sift(self) -> None:
        hashes, first = np.unique(np.concatenate(self.hashes), return_index=True)
        self.kept = [np.concatenate(self.kept)[first[: self.size]]]
        self.hashes = [hashes[: self.size]]
        self.waiting = 0
        if len(hashes) >= self.size:
            self.limit = hashes[self.size - 1]


def _hashes(features: FloatArray, seed: int) -> Words:
    """Return 64 random-looking bits per row, the same on every machine."""
    factors = np.random.default_rng(seed).integers(2**63, size=features.shape[1], dtype=np.uint64)
    words: Words = np.ascontiguousarray(features + 0.0).view(np.uint64)  # + 0.0: one zero, not two
    # Round numbers differ only in their high bits, which a product would lose.
    words = words ^ (words >> np.uint64(32))
    sums: Words = (words * (2 * factors + np.uint64(1))).sum(axis=1, dtype=np.uint64)
    sums = (sums ^ (sums >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)  # as in SplitMix64
    sums = (sums ^ (sums >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return sums ^ (sums >> np.uint64(31))
