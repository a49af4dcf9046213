"""Prove that what a log says was found follows from what it says was told."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..certificate import Certificate
from ..errors import InvalidState, LingapeError
from .events import Created, Event, Settled, as_data, as_text, damaged, from_data, from_text
from .replay import LogCertificate, Replay
from .store import START, Entry, Head, check_link

# Another machine may add up in another order, so its bounds differ in the last digits.
ROUNDING = 1e-6
NUMBERS = ("gap_bound", "pulls", "settled", "statement")  # which move with rounding


@dataclass(frozen=True)
class Verification:
    """What a log was found to prove."""

    events: int
    pulls: int
    digest: str
    certificate: LogCertificate

    def __str__(self) -> str:
        return (
            f"The log is whole: {self.events} events, {self.pulls} rewards, hash {self.digest}.\n"
            f"What follows from it: {self.certificate}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return asdict(self) | {"certificate": self.certificate.to_dict()}


def verify(entries: Iterable[Entry], *, head: Head | None = None) -> Verification:
    """Replay a log from its first event, or raise InvalidState at what does not follow.

    Checked are the chain of hashes, that rewards have tickets and come once, and that the
    certificate follows from the rewards: the same arm, and the same bound up to rounding.
    head: where the log ought to end.
    """
    replay: Replay | None = None
    at = Head(0, START)
    for entry in entries:
        at = check_link(at, entry)
        event = from_text(entry.text, place=entry.seq)
        if replay is None:
            if not isinstance(event, Created):
                raise damaged(1, "a log begins with its creation")
            replay = Replay(event, at.digest)
            continue
        _check_verdict(replay, event)
        try:
            replay.apply(event, at.digest)
        except InvalidState:
            raise
        except LingapeError as reason:
            raise damaged(entry.seq, f"the explorer refuses it ({reason})") from reason
    if replay is None:
        raise InvalidState("The log is empty. Restore a copy.")
    if head is not None and at != head:
        raise InvalidState(
            f"The log has lost its end: it has {at.seq} events and ought to have {head.seq}. "
            "Restore a copy."
        )
    _check_verdict(replay, None)
    return Verification(at.seq, replay.told + replay.added, at.digest, replay.certificate())


def _check_verdict(replay: Replay, event: Event | None) -> None:
    """Raise unless a verdict comes just when the explorer has one, up to rounding."""
    seq, explorer, epsilon = replay.head.seq + 1, replay.explorer, replay.problem.epsilon
    slack = ROUNDING * (replay.problem.noise_scale + epsilon)
    found = replay.proof() if isinstance(event, Settled) or explorer.done else None
    if isinstance(event, Settled):
        assert found is not None
        nearly = explorer.done or found.gap_bound <= epsilon + slack
        if not nearly or not _agree(event.certificate, found, slack, replay):
            raise damaged(
                seq, f"its certificate does not follow from the events before, which say: {found}"
            )
    elif found is not None and replay.settled is None:
        contest = getattr(explorer, "contest", None)
        if contest is None or contest.margin < epsilon - slack:
            raise damaged(seq, "the question was answered before it, and the log does not say so")


def _agree(stored: dict[str, Any], found: Certificate, slack: float, replay: Replay) -> bool:
    """Whether a stored certificate is the one that was found now."""
    again = found.to_dict()
    if any(stored.get(name) != again[name] for name in again if name not in NUMBERS):
        return False
    pulls, bound, margin = stored.get("pulls"), stored.get("gap_bound"), again["gap_bound"]
    if pulls != again["pulls"]:  # here rounding let it stop a pull or so earlier
        in_time = pulls == replay.told + replay.added
        return in_time and bound is not None and bound <= replay.problem.epsilon + slack
    if bound is None or margin is None:
        return bound is margin
    return bool(abs(bound - margin) <= slack)


def export_line(entry: Entry) -> str:
    """Return an entry as a line of an export: the event as JSON, with its hash."""
    data = as_data(from_text(entry.text, place=entry.seq))
    return json.dumps(data | {"hash": entry.digest}) + "\n"


def read_export(path: str | Path) -> Iterator[Entry]:
    """Yield the entries of a log that was exported as JSON lines."""
    with open(path, "rb") as file:
        for place, line in enumerate(file, start=1):
            try:
                data = json.loads(line)
                digest = data.pop("hash")
            except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as reason:
                raise InvalidState(
                    f"Line {place} of {path} is not an event of an exported log ({reason!r}). "
                    "Export it again, or restore a copy."
                ) from reason
            yield Entry(place, as_text(from_data(data, place=place)), str(digest))
