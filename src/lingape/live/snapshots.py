"""The state of a replay as text, to continue from without replaying the log."""

import json
from base64 import b64decode, b64encode
from collections import defaultdict, deque
from typing import Any

import numpy as np

from .. import __version__
from ..errors import LingapeError
from ..problem import Problem
from .activity import Diary
from .events import Settled, as_data, from_data
from .replay import RECENT, Averages, Closings, Open, Replay, make_explorer
from .store import Snapshot


def snapshot_of(replay: Replay) -> Snapshot:
    """Return everything but the first event, to continue from exactly, to the last bit."""
    settled = replay.settled
    data = {
        "version": __version__,
        "explorer": _packed(replay.explorer.progress()),
        "averages": _packed(vars(replay.averages)),
        "closings": _packed(vars(replay.closings)),
        "open": [[ticket, *what] for ticket, what in replay.open.items()],
        "early": list(replay.early.items()),
        "numbers": [replay.asked, replay.told, replay.voided, replay.added],
        "settled": None if settled is None else vars(settled),
        "settled_digest": replay.settled_digest,
        "settled_pulls": replay.settled_pulls,
        "corrections": [[seq, *what] for seq, what in replay.corrections.items()],
        "corrected": replay.corrected,
        "archived": replay.archived,
        "times": list(replay.times),
        "last": replay.last,
        "diary": replay.diary.to_data(),
        "carried": None if replay.carried is None else as_data(replay.carried),
        "reasons": list(replay.reasons.items()),
        # The problem is in the first event, unless arms came or went.
        "problem": json.dumps(replay.problem.to_dict()) if _changed(replay.problem) else None,
    }
    return Snapshot(replay.head, json.dumps(data))


def restore(replay: Replay, snapshot: Snapshot) -> bool:
    """Move a replay to a snapshot, or return False if that is damaged or of another version."""
    try:
        data = json.loads(snapshot.text)
        if data["version"] != __version__:
            return False
        problem, blank = replay.problem, replay.blank
        if data["problem"] is not None:
            problem = Problem(**json.loads(data["problem"]))
        if problem != replay.problem:
            blank = make_explorer(replay.created.explorer, problem, replay.created.seed)
        explorer = blank.resumed(_unpacked(data["explorer"]))
        averages, closings = Averages(len(problem)), Closings(len(problem))
        for tallies, saved in ((averages, data["averages"]), (closings, data["closings"])):
            _refill(tallies, _unpacked(saved))
        tickets = {ticket: Open(*what) for ticket, *what in data["open"]}
        early = defaultdict(list, data["early"])
        asked, told, voided, added = data["numbers"]
        settled = data["settled"] and Settled(**data["settled"])
        corrections = {seq: (by, reward) for seq, by, reward in data["corrections"]}
        carried: Any = data["carried"] and from_data(data["carried"], place=2)
        times = deque(data["times"], maxlen=RECENT)
        reasons = dict(data["reasons"])
        archived, last = bool(data["archived"]), float(data["last"])
        diary, settled_pulls = Diary.from_data(data["diary"]), int(data["settled_pulls"])
        waiting = sum(map(len, early.values()))
        consistent = (
            explorer.counts.sum() + waiting == told + added
            and asked == told + voided + len(tickets)
            and closings.closed.sum() == told + voided
            and closings.voided.sum() == voided
        )
    except (KeyError, TypeError, ValueError, LingapeError):
        return False
    if not consistent:
        return False
    replay.problem, replay.blank = problem, blank
    replay.corrections, replay.corrected = corrections, data["corrected"]
    replay.reasons, replay.times, replay.archived = reasons, times, archived
    replay.carried = carried
    replay.explorer, replay.averages, replay.closings = explorer, averages, closings
    replay.open, replay.early = tickets, early
    replay.asked, replay.told, replay.voided, replay.added = asked, told, voided, added
    replay.settled, replay.settled_digest = settled, data["settled_digest"]
    replay.settled_pulls, replay.last, replay.diary = settled_pulls, last, diary
    replay.head = snapshot.head
    return True


def _changed(problem: Problem) -> bool:
    return problem.began is not None or bool(problem.retired)


def _refill(tallies: Averages | Closings, saved: dict[str, Any]) -> None:
    """Put saved values in place of those there, of the same kind and as many."""
    for name, value in vars(tallies).items():
        if isinstance(value, np.ndarray):
            value[:] = saved[name]
        else:
            setattr(tallies, name, type(value)(saved[name]))


def _packed(value: Any) -> Any:
    """Return data with long rows of numbers as bytes in base64: exact, and fast to read."""
    if isinstance(value, dict):
        return {name: _packed(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) or (isinstance(value, list) and len(value) > 8):
        try:
            array = np.asarray(value)
        except ValueError:  # rows of different lengths
            array = np.empty(0, dtype=object)
        if array.dtype in (np.int64, np.float64):
            text = b64encode(array.tobytes()).decode()
            return {"packed": text, "type": array.dtype.name, "shape": array.shape}
    return [_packed(part) for part in value] if isinstance(value, list) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict) and "packed" in value:
        data = np.frombuffer(b64decode(value["packed"]), dtype=value["type"])
        return data.reshape(value["shape"]).tolist()
    if isinstance(value, dict):
        return {name: _unpacked(part) for name, part in value.items()}
    return [_unpacked(part) for part in value] if isinstance(value, list) else value
