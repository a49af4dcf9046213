"""What explorers share: the conversation, how it is saved, and how parts make up an explorer."""

from .by_contests import ContestExplorer, Parts
from .conversation import Conversation, adaptive_only, checked_m, checked_reward

__all__ = [
    "ContestExplorer",
    "Conversation",
    "Parts",
    "adaptive_only",
    "checked_m",
    "checked_reward",
]
