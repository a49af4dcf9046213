"""What explorers share: the conversation, how it is saved, and what groups of them do alike."""

from .conversation import (
    ContestExplorer,
    Conversation,
    EachArm,
    Elimination,
    NoOpening,
    Parts,
    Spanning,
    Start,
    adaptive_only,
    checked_m,
    checked_pull,
    opening_for,
    stopping_for,
)

__all__ = [
    "ContestExplorer",
    "Conversation",
    "EachArm",
    "Elimination",
    "NoOpening",
    "Parts",
    "Spanning",
    "Start",
    "adaptive_only",
    "checked_m",
    "checked_pull",
    "opening_for",
    "stopping_for",
]
