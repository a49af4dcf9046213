"""How an experiment stands."""

from dataclasses import asdict, dataclass
from typing import Any

from .model_check import ModelCheck
from .replay import LogCertificate


@dataclass(frozen=True)
class Status:
    """How an experiment stands."""

    name: str
    explorer: str
    arms: int
    pulls: int  # rewards, of tickets and added
    pending: int  # tickets whose reward is awaited
    expired: int  # tickets past their deadline; their rewards are welcome still
    voided: int
    settled: bool
    leader: int | None  # None until arms can be compared
    rival: int | None  # the arm that may still beat it by most
    gap_bound: float | None  # B(t), by how much at most
    epsilon: float
    delta: float
    event: int  # number of the last event
    digest: str  # hash of the log up to it
    certificate: LogCertificate
    check: ModelCheck

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.pulls} rewards for {self.arms} arms; {self.pending} awaited, "
            f"{self.expired} overdue, {self.voided} voided.",
            str(self.certificate),
        ]
        return "\n".join(lines + [f"Warning: {warning}" for warning in self.check.warnings])

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return asdict(self) | {
            "certificate": self.certificate.to_dict(),
            "check": self.check.to_dict(),
        }
