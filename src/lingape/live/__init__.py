"""Experiments with the real world: workers that ask for tickets and tell rewards, late or twice.

An append-only log of events is the truth, and everything else follows from it: who was asked to
pull what, what it paid, and what is proven.
"""

from .client import Client, RemoteArm, RemoteExperiment, RemoteStatus, RemoteSummary
from .crew import Failure, Outcome
from .events import Added, Asked, Created, Event, Settled, Told, Voided
from .experiment import Experiment
from .model_check import ModelCheck, check_model
from .noise import noise_scale_for
from .replay import LogCertificate, Progress
from .standing import Status
from .tickets import Ticket
from .verification import Verification, read_export, verify

__all__ = [
    "Added",
    "Asked",
    "Client",
    "Created",
    "Event",
    "Experiment",
    "Failure",
    "LogCertificate",
    "ModelCheck",
    "Outcome",
    "Progress",
    "RemoteArm",
    "RemoteExperiment",
    "RemoteStatus",
    "RemoteSummary",
    "Settled",
    "Status",
    "Ticket",
    "Told",
    "Verification",
    "Voided",
    "check_model",
    "noise_scale_for",
    "read_export",
    "verify",
]
