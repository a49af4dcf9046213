"""Experiments with the real world: workers that ask for tickets and tell rewards, late or twice.

An append-only log of events is the truth, and everything else follows from it: which arms were
asked for, what they paid, and what is proven.
"""

from .activity import Activity, Hour, Worker
from .client import Client, RemoteExperiment
from .crew import Failure, Outcome
from .events import (
    Added,
    Archived,
    Asked,
    Carried,
    Corrected,
    Created,
    Event,
    Joined,
    Retired,
    Settled,
    Told,
    Voided,
)
from .experiment import Experiment
from .history import Point
from .listing import experiments
from .model_check import ArmFit, ModelCheck, check_model
from .notices import Notice
from .replay import Addition, LogCertificate, Progress
from .reports import report
from .standing import ArmsPage, Standing, Status
from .summary import Summary, Unreadable
from .tickets import Ticket
from .verification import Verification, read_export, verify

__all__ = [
    "Activity",
    "Added",
    "Addition",
    "Archived",
    "ArmsPage",
    "ArmFit",
    "Asked",
    "Carried",
    "Client",
    "Corrected",
    "Created",
    "Event",
    "Experiment",
    "Failure",
    "Hour",
    "Joined",
    "LogCertificate",
    "ModelCheck",
    "Notice",
    "Outcome",
    "Point",
    "Progress",
    "RemoteExperiment",
    "Retired",
    "Settled",
    "Standing",
    "Status",
    "Summary",
    "Ticket",
    "Told",
    "Unreadable",
    "Verification",
    "Voided",
    "Worker",
    "check_model",
    "experiments",
    "read_export",
    "report",
    "verify",
]
