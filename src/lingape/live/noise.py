"""The noise scale R for rewards that are known to lie in a range."""

from ..errors import InvalidArgument
from ..problem import LARGEST, as_float


def noise_scale_for(*, bounded: tuple[float, float] | None = None, binary: bool = False) -> float:
    """Return the R with which rewards in a range are R-sub-Gaussian: half the range (Hoeffding).

    bounded: the lowest and the highest reward there can be.
    binary: rewards are 0 or 1.

    >>> noise_scale_for(bounded=(0, 10)), noise_scale_for(binary=True)
    (5.0, 0.5)
    """
    if (bounded is not None) == bool(binary):
        raise InvalidArgument("Say one of bounded=(low, high) and binary=True.")
    if bounded is None:
        return 0.5
    try:
        low, high = (as_float(end) for end in bounded)
    except (TypeError, ValueError):
        low = high = float("nan")
    if not -LARGEST <= low < high <= LARGEST:
        raise InvalidArgument(
            f"bounded must be the lowest and the highest reward there can be; got {bounded!r}."
        )
    return (high - low) / 2
