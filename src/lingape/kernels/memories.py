"""What pull rules keep beside the estimate, in arrays that both lanes move; needs no numba."""

from typing import NamedTuple

from ..arrays import FloatArray, IntArray


class GameMemory(NamedTuple):
    """What LinGame's rule keeps."""

    learned: IntArray  # (1,) the number of pulls that it has learned from
    gap: FloatArray  # (1,) AdaHedge's mixability gap
    totals: FloatArray  # (K,) Σ w_s, from the first pulls on
    weights: FloatArray  # (K,) w_t
    gains: FloatArray  # (K,) Σ gains


class GameCMemory(NamedTuple):
    """What LinGame-C's rule keeps, by answer and arm."""

    learned: IntArray  # (1,)
    gap: FloatArray  # (1,)
    seen: FloatArray  # (K,) the pulls that it has learned from
    by_arm: FloatArray  # (K,) w_t, over all answers
    gains: FloatArray  # (K, K)
    totals: FloatArray  # (K, K) Σ w_s
    pulled: FloatArray  # (K, K)


class LazyMemory(NamedTuple):
    """What the rule keeps."""

    learned: IntArray  # (1,) the number of pulls that it has learned from
    wanted: IntArray  # (1,) whether there must be new shares before the next pull
    shares: FloatArray  # (K,) the proportions now
    totals: FloatArray  # (K,) their sum over all pulls


class FrankWolfeMemory(NamedTuple):
    """What the rule keeps."""

    learned: IntArray  # (1,) the number of pulls that it has learned from
    totals: FloatArray  # (K,) t·x(t)
