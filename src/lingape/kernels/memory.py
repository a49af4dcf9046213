"""What samplers keep beside the estimate, in arrays that both lanes can move."""

from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray

# Kinds of sampler, for kernels/samplers.py.
NONE = 0
LIN_GAME = 1
LIN_GAME_C = 2
FRANK_WOLFE = 3
LAZY, LIN_T3C = 4, 5
# Positions in Memory.counters.
LEARNED = 0  # the number of pulls that memory has learned from
WANTED = 1  # of LAZY: whether there must be new shares before the next pull
# Shares have six digits, so that after n pulls their sums are known to about this much of n.
DIGITS = 1e-7
# The share of pulls that LinGame's second player takes to go to all arms alike.
SHARED = 1e-6


class Memory(NamedTuple):
    """As much of each as a sampler needs."""

    kind: int
    seed: int
    numbers: FloatArray  # (n,)
    counters: IntArray  # (n,), the first being LEARNED
    vectors: FloatArray  # (n, K)
    matrices: FloatArray  # (n, d, d)


def new_memory(
    kind: int,
    *,
    seed: int = 0,
    numbers: int = 0,
    counters: int = 1,
    vectors: tuple[int, int] = (0, 0),
    matrices: tuple[int, int] = (0, 0),
) -> Memory:
    """Return a memory full of zeros: `vectors` is (how many, K), `matrices` (how many, d)."""
    n, d = matrices
    return Memory(
        kind,
        seed,
        np.zeros(numbers),
        np.zeros(counters, dtype=np.int64),
        np.zeros(vectors),
        np.zeros((n, d, d)),
    )
