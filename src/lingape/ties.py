"""Break ties the same way on every machine.

Symmetric arms, duplicate arms and ±1 rewards make exact ties common, and rounding decides an
exact tie differently after a rotation, on another processor, or in compiled code. Everything that
picks an arm therefore treats values closer than a slack far above rounding as equal, and takes
the first.
"""

from .arrays import FloatArray

# Relative slacks: far above rounding (1e-16, 1e-13 after many updates), far below statistics.
LEADER = 1e-12  # of the noise scale plus the largest estimated mean
RIVAL = 1e-10  # of the width of the interval
#: Scores of arms to pull count as equal if they differ by at most this share of the best.
PULL = 1e-9


def first_max(values: FloatArray, slack: float) -> int:
    """Return the first position whose value is within `slack` of the largest.

    >>> import numpy as np
    >>> from lingape.ties import PULL, first_max
    >>> scores = np.array([0.5, 0.1 + 0.2, 1.0, 1.0 + 1e-12])
    >>> first_max(scores, slack=PULL * scores.max()), int(scores.argmax())
    (2, 3)
    """
    return int((values >= values[values.argmax()] - slack).argmax())
