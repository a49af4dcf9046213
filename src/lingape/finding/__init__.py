"""Search for the best arm where each pull runs a command that prints a reward.

The log is the truth: a reward counts if and only if its line is whole in the log, and the
explorer is a fold over the rewards there. So a search may be killed at any moment and resumed, and
no reward is lost or counted twice.
"""

from .command import Command, Failure, Pull, Rewards, Stop
from .log import CHOICES, Setup, TrialLog, make_explorer
from .search import Ending, Outcome, Patience, search

__all__ = [
    "CHOICES",
    "Command",
    "Ending",
    "Failure",
    "Outcome",
    "Patience",
    "Pull",
    "Rewards",
    "Setup",
    "Stop",
    "TrialLog",
    "make_explorer",
    "search",
]
