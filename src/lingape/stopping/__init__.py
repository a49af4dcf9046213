"""Is the question answered? One rule per file."""

from .base import StoppingRule
from .elimination import Eliminating
from .margin import Margin
from .surest import Moment, Surest

__all__ = ["Eliminating", "Margin", "Moment", "StoppingRule", "Surest"]
