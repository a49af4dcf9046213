"""What explorers share: the conversation, how it is saved, and what groups of them do alike."""

from .conversation import (
    ContestExplorer,
    Conversation,
    EachArm,
    NoOpening,
    Parts,
    Start,
    adaptive_only,
    checked_m,
    checked_reward,
    opening_for,
)

__all__ = [
    "ContestExplorer",
    "Conversation",
    "EachArm",
    "NoOpening",
    "Parts",
    "Start",
    "adaptive_only",
    "checked_m",
    "checked_reward",
    "opening_for",
]
