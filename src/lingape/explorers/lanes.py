"""Find the compiled lane, where numba is installed."""

from typing import TYPE_CHECKING

from ..errors import MissingExtra

if TYPE_CHECKING:
    from ..kernels.lane import Lane
    from ..kernels.phases import PhaseLane

_ADVICE = (
    "The compiled lane needs numba, which is not installed: pip install 'lingape[sim]', or use "
    "lane='plain'."
)


def load_lane() -> "type[Lane]":
    """Return the compiled lane, or raise MissingExtra."""
    try:
        from ..kernels.lane import Lane
    except ImportError as reason:
        raise MissingExtra(_ADVICE) from reason
    return Lane


def load_phase_lane() -> "type[PhaseLane]":
    """Return the compiled lane for phases, or raise MissingExtra."""
    try:
        from ..kernels.phases import PhaseLane
    except ImportError as reason:
        raise MissingExtra(_ADVICE) from reason
    return PhaseLane
