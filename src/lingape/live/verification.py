"""Prove that the certificate in a log follows from the rewards in it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..certificate import Certificate, same_p_values
from ..data import Data
from ..errors import InvalidState, in_words
from ..scaffold import ContestExplorer
from .events import Event, Settled, as_data, as_text, damaged, from_data, from_text
from .model_check import certified, check
from .replay import LogCertificate, Replay, Rewritten
from .store import START, Entry, Head, check_link

# Another machine may add up in another order, so its bounds differ in the last digits.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Verification(Data):
    """What a log was found to prove.

    events: how many it has.
    pulls: how many rewards.
    digest: the hash of all of it.
    certificate: what follows from it.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.add(arm=1, reward=0.3)
    ...     verification = experiment.verify()
    >>> verification.events, verification.pulls, verification.certificate.settled
    (2, 1, False)
    """

    events: int
    pulls: int
    digest: str
    certificate: LogCertificate

    def __str__(self) -> str:
        rewards = "1 reward" if self.pulls == 1 else f"{self.pulls} rewards"
        events = "1 event" if self.events == 1 else f"{self.events} events"
        return (
            f"The log is whole: {events}, {rewards}, hash {self.digest}.\n"
            f"What follows from it: {self.certificate}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data, with the certificate's warnings."""
        return super().to_dict() | {"warnings": list(self.certificate.warnings)}


def verify(entries: Iterable[Entry], *, head: Head | None = None) -> Verification:
    """Replay a log from its first event, or raise InvalidState at the first contradiction.

    Checked are the chain of hashes, that rewards have tickets, come once and are in the range
    promised, that keys were used once, and that the certificate follows from the rewards: the same
    arm, and the same bound up to rounding.
    A log that lost its end is whole as far as it goes: only a hash kept elsewhere shows the loss.
    The certificate comes with what the model check says of the rewards, as of the last event.
    entries: the log, as `read_export` yields it.
    head: where it should end.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> from lingape.live import read_export, verify
    >>> folder = tempfile.mkdtemp()
    >>> url, path = f"sqlite:///{folder}/ads.db", f"{folder}/ads.jsonl"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     lines = experiment.export(path)
    >>> verify(read_export(path)).events
    1
    """
    replay: Replay | None = None
    at = Head(0, START)
    names: set[str] = set()
    if isinstance(entries, Iterator):
        entries = list(entries)  # they may have to be read again
    for entry in entries:
        at = check_link(at, entry)
        event = from_text(entry.text, place=entry.seq)
        if (name := event.reference) is not None:
            if name in names:
                raise damaged(entry.seq, f"its reference, {name}, was used before")
            names.add(name)
        if replay is None:
            replay = Replay.begin(entry)
            continue
        _check_verdict(replay, event)
        try:
            replay.follow(entry)
        except Rewritten:  # what was said before it followed from what was known then
            replay = Replay.rewritten(partial(islice, entries, entry.seq))
    if replay is None:
        raise InvalidState("The log is empty. Restore a copy.")
    if head is not None and at != head:
        raise InvalidState(
            f"The log has lost its end: it has {at.seq} events and should have {head.seq}. "
            "Restore a copy."
        )
    _check_verdict(replay, None)
    certificate = certified(replay, check(replay, event.time), replay.values())
    return Verification(at.seq, replay.progress.pulls, at.digest, certificate)


def _check_verdict(replay: Replay, event: Event | None) -> None:
    """Raise unless a verdict comes just when the explorer has one, up to rounding."""
    seq, explorer, epsilon = replay.head.seq + 1, replay.explorer, replay.problem.epsilon
    scale = replay.problem.noise.scale or replay.averages.deviation or 0.0
    slack = ROUNDING * (scale + epsilon)
    found = replay.proof() if isinstance(event, Settled) or explorer.done else None
    if isinstance(event, Settled):
        assert found is not None
        nearly = explorer.done or found.gap_bound <= epsilon + slack
        if not nearly or not _agree(event.certificate, found, slack, replay):
            raise damaged(
                seq,
                "its certificate does not follow from the events before, which say: "
                + str(found).partition("\n")[0],
            )
    elif found is not None and replay.settled is None:
        contest = explorer.contest if isinstance(explorer, ContestExplorer) else None
        if contest is None or contest.margin < epsilon - slack:
            raise damaged(seq, "the question was answered before it, and the log does not say so")


def _agree(stored: dict[str, Any], found: Certificate, slack: float, replay: Replay) -> bool:
    """Whether a stored certificate is the one that was found now, but for rounding."""
    pulls, bound = stored.get("pulls"), stored.get("gap_bound")
    p_values = stored.get("p_values")
    if type(pulls) is not int or type(bound) is not float:
        return False
    if not same_p_values(p_values, found.p_values):
        return False
    if pulls == found.pulls:
        near = abs(bound - found.gap_bound) <= slack
    else:  # here rounding let it stop a pull or so earlier
        epsilon, counted = replay.problem.epsilon, int(replay.explorer.counts.sum())
        near = pulls == counted and 0 <= bound <= epsilon + slack
    # Its words have to follow from its numbers.
    again = replace(found, gap_bound=bound, pulls=pulls, settled=True)
    if p_values is not None:
        again = replace(again, p_values=tuple(p_values))
    return near and stored == again.to_dict()


def export_line(entry: Entry) -> str:
    """Return an entry as a line of an export: the event as JSON, with its hash."""
    data = as_data(from_text(entry.text, place=entry.seq))
    return json.dumps(data | {"hash": entry.digest}) + "\n"


def write_export(path: str | Path, lines: Iterable[str]) -> int:
    """Write the lines of an export to a new file, or leave none behind; return how many."""
    count = 0
    with open(path, "x", encoding="ascii", newline="\n") as file:
        try:
            for line in lines:
                file.write(line)
                count += 1
        except BaseException:
            Path(path).unlink()
            raise
    return count


@dataclass(frozen=True)
class Export:
    """The entries of a log in a file, read whenever they are looked at.

    path: of the file.
    """

    path: str | Path

    def __iter__(self) -> Iterator[Entry]:
        return _entries(self.path)


def read_export(path: str | Path) -> Iterable[Entry]:
    """Return the entries of a log that was exported to `path` as JSON lines.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> from lingape.live import read_export
    >>> folder = tempfile.mkdtemp()
    >>> url, path = f"sqlite:///{folder}/ads.db", f"{folder}/ads.jsonl"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     lines = experiment.export(path)
    >>> [entry.seq for entry in read_export(path)]
    [1]
    """
    # What comes through a pipe can be read only once.
    return Export(path) if Path(path).is_file() else list(_entries(path))


def _entries(path: str | Path) -> Iterator[Entry]:
    with open(path, "rb") as file:
        for place, line in enumerate(file, start=1):
            try:
                data = json.loads(line)
                digest = data.pop("hash")
            except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as reason:
                raise InvalidState(
                    f"Line {place} of {path} is not an event of an exported log "
                    f"({in_words(reason)}). Export it again, or restore a copy."
                ) from reason
            yield Entry(place, as_text(from_data(data, place=place)), str(digest))
