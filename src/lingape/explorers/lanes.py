"""Find the compiled lane, where numba is installed."""

from typing import TYPE_CHECKING

from ..errors import MissingExtra

if TYPE_CHECKING:
    from ..kernels.lane import Lane


def load_lane() -> "type[Lane]":
    """Return the compiled lane, or raise MissingExtra."""
    try:
        from ..kernels.lane import Lane
    except ImportError as reason:
        raise MissingExtra(
            "The compiled lane needs numba, which is not installed: "
            "pip install 'lingape[sim]', or use lane='plain'."
        ) from reason
    return Lane
