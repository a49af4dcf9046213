"""The log of a search: what was pulled, and what it paid."""

import errno
import hashlib
import json
import os
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from ..chain import chained
from ..errors import InvalidArgument, InvalidState, LingapeError, in_words
from ..explorers import EXPLORERS, Explorer
from ..problem import Problem
from .command import Command, Failure, Rewards

FORMAT, VERSION = "lingape find log", 2
UNCHAINED = 1  # the version without hashes, which can be read and gone on with
START = hashlib.sha256(f"{FORMAT}, version {VERSION}".encode()).hexdigest()
HASHED = re.compile(rb'(.*), "hash": "([0-9a-f]{64})"\}', re.S)
MARK = f'{{"format": "{FORMAT}"'.encode()  # how every log begins
# Seconds to wait for the lock: a search killed as it starts a command leaves a child that holds
# the lock until it becomes that command.
PATIENCE = 2.0
# Explorers that need nothing but a problem, and use every reward.
CHOICES = ("lingape", "xy_static", "uniform", "ugape")


def make_explorer(name: str, problem: Problem) -> Explorer:
    """Return a fresh explorer by its name in EXPLORERS, with its default settings."""
    if name not in CHOICES:
        raise InvalidArgument(f"The explorer must be one of {', '.join(CHOICES)}; got {name!r}.")
    kind: Any = EXPLORERS[name]
    explorer: Explorer = kind(problem)
    return explorer


@dataclass(frozen=True)
class Setup:
    """What is searched for and how: the head of a log."""

    explorer: Explorer
    name: str  # of the explorer, in EXPLORERS
    rewards: Rewards
    command: Command

    def header(self) -> dict[str, Any]:
        state = self.explorer.state()
        return {
            "format": FORMAT,
            "version": VERSION,
            "problem": state["problem"],
            "explorer": {
                "name": self.name,
                "bound": state["bound"],
                "ridge": state["ridge"],
                "settings": state["settings"],
            },
            "rewards": str(self.rewards),
            "command": self.command.template,
        }


@dataclass
class TrialLog:
    """An append-only file of JSON lines: a header, then events.

    Each line is written at once and is on disk before it counts. Lines have these forms, with n
    the number of the pull from 1:

        {"event": "pull", "n": n, "arm": k}             before the command runs
        {"event": "reward", "n": n, "arm": k, "reward": y}
        {"event": "failure", "n": n, "arm": k, "what": ..., "output": ..., "exit": ...,
         "outside": y}                                  a reward outside the range, else null
        {"event": "command", "command": ...}            resumed with another command

    A failed or unfinished pull is made again under the same n. A line ends with the hash of all
    that was written up to it (chain.py), so that one changed by accident or by hand is noticed.
    """

    path: Path
    setup: Setup
    pulls: int = 0  # rewards in the log
    under_way: int | None = None  # the arm of a pull whose end is not in the log
    torn: bool = False  # a last line without its end was cut off
    changed: bool = False  # resumed with another command
    chained: bool = True  # lines have hashes; those of an earlier version have not
    _digest: str = field(default=START, repr=False)
    _file: int = field(default=-1, repr=False)
    _size: int = field(default=0, repr=False)

    @classmethod
    def open(cls, path: str | Path, setup: Setup, *, resume: bool) -> Self:
        """Start a log, or with `resume` go on with one and tell the explorer its rewards.

        A log that is refused is left as it was.
        """
        log = cls(Path(path), setup)
        try:
            log._open(resume)
        except OSError as reason:
            log.close()
            raise InvalidState(
                f"The log {path} cannot be used: {reason.strerror or reason}. "
                "Choose another place with --log."
            ) from reason
        except BaseException:
            log.close()
            raise
        return log

    def _open(self, resume: bool) -> None:
        flags = os.O_RDWR | os.O_APPEND
        try:
            self._file = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            if not resume:
                raise InvalidArgument(
                    f"There is a log {self.path} already, and it is never overwritten. Go on with "
                    "it with --resume, or start another with --log PATH."
                ) from None
            self._file = os.open(self.path, flags)
        self._lock()
        with open(self._file, "rb", closefd=False) as file:
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        if not whole and data[: len(MARK)] != MARK[: len(data)]:
            raise self._refusal(1, "is not the header of a log of lingape find")
        self._replay(whole.split(b"\n")[:-1])
        self.changed &= not self.setup.explorer.done
        self._size, self.torn = len(whole), len(whole) < len(data)
        if self.torn:
            os.ftruncate(self._file, self._size)
        if not whole:
            self._append(self.setup.header())
            _sync_folder(self.path)
        elif self.changed:
            self._event("command", command=self.setup.command.template)

    def _lock(self) -> None:
        """Keep other processes out until the file is closed or we die."""
        try:
            import fcntl
        except ImportError:
            return
        end = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as reason:
                if time.monotonic() > end:
                    raise InvalidState(
                        f"The log {self.path} is in use by another lingape find. Wait for it to "
                        "end, or start a log of your own with --log PATH."
                    ) from reason
            time.sleep(0.01)

    def _replay(self, lines: list[bytes]) -> None:
        """Check every line, and tell the explorer the rewards."""
        for place, line in enumerate(lines, start=1):
            try:
                data = json.loads(line)
            except (ValueError, RecursionError) as reason:
                raise self._refusal(place, f"is damaged ({in_words(reason)})") from reason
            if not isinstance(data, dict):
                raise self._refusal(place, "is damaged (it must be a JSON object)")
            if place == 1:
                self._check_version(data)
            if self.chained:
                self._check_link(place, line)
            if place == 1:
                self._check_header(data)
            else:
                self._check_event(place, data)

    def _check_link(self, place: int, line: bytes) -> None:
        """Raise unless a line is what was written, after the lines before it."""
        parts = HASHED.fullmatch(line)
        written = None if parts is None else (parts[1] + b"}").decode()
        if parts is None or chained(self._digest, written or "") != parts[2].decode():
            raise self._refusal(
                place, "is not what was written, or not all before it is (its hash differs)"
            )
        self._digest = parts[2].decode()

    def _check_version(self, header: dict[str, Any]) -> None:
        if header.get("format") != FORMAT:
            raise self._refusal(1, "is not the header of a log of lingape find")
        if header.get("version") not in (UNCHAINED, VERSION):
            raise InvalidState(
                f"This version reads logs of version {UNCHAINED} and {VERSION}; {self.path} has "
                f"{header.get('version')!r}. Resume with the version of lingape that wrote it."
            )
        self.chained = header["version"] != UNCHAINED or "hash" in header

    def _check_header(self, header: dict[str, Any]) -> None:
        differences = _differences(header, self.setup.header())
        if differences:
            raise InvalidState(
                f"The log {self.path} is of another search: {'; '.join(differences)}. Resume with "
                "the settings it was made with, or start another with --log PATH."
            )
        self._check_command(1, header)

    def _check_command(self, place: int, data: dict[str, Any]) -> None:
        if not isinstance(data.get("command"), str):
            raise self._refusal(place, "is damaged (it has no command)")
        self.changed = data["command"] != self.setup.command.template

    def _check_event(self, place: int, data: dict[str, Any]) -> None:
        event, n, arm = data.get("event"), data.get("n"), data.get("arm")
        if event == "command":
            self._check_command(place, data)
            return
        if event not in ("pull", "reward", "failure"):
            raise self._refusal(place, f"has the unknown event {event!r}")
        if type(n) is not int or n != self.pulls + 1:
            raise self._refusal(place, f"has n = {n!r} where pull {self.pulls + 1} is due")
        if type(arm) is not int or not 0 <= arm < len(self.setup.explorer.problem):
            raise self._refusal(place, f"has the unknown arm {arm!r}")
        if event == "pull":
            self.under_way = arm
            return
        if arm != self.under_way:
            raise self._refusal(place, f"has a {event} of arm {arm}, which was not being pulled")
        self.under_way = None
        if event == "failure" and data.get("outside") is not None:
            raise InvalidState(
                f"Line {place} of {self.path} has the reward {data['outside']!r}, but rewards had "
                f"to be {self.setup.rewards}. Making that pull again would choose among rewards, "
                "which the guarantee does not allow. Start another log with --log PATH and the "
                "range that rewards really have. Only if the command was at fault, fix it and "
                "delete that line."
            )
        if event == "reward":
            reward: Any = data.get("reward")
            number = isinstance(reward, int | float) and not isinstance(reward, bool)
            if not number or not self.setup.rewards.allow(reward):
                raise self._refusal(
                    place, f"has the reward {reward!r}; rewards must be {self.setup.rewards}"
                )
            try:
                self.setup.explorer.tell(arm, reward)
            except LingapeError as reason:
                raise self._refusal(place, f"does not fit ({reason})") from reason
            self.pulls += 1

    def _refusal(self, place: int, what: str) -> InvalidState:
        return InvalidState(
            f"Line {place} of {self.path} {what}. The file was left as it is; restore an "
            "undamaged copy, or start another log with --log PATH."
        )

    def pull(self, arm: int) -> None:
        """Record that a pull of `arm` begins."""
        self._event("pull", n=self.pulls + 1, arm=arm)

    def reward(self, arm: int, reward: float) -> None:
        """Record what the pull paid, for good, and then tell the explorer."""
        self._event("reward", n=self.pulls + 1, arm=arm, reward=reward)
        self.pulls += 1
        self.setup.explorer.tell(arm, reward)

    def failure(self, arm: int, failure: Failure) -> None:
        """Record that the pull gave no reward."""
        data = asdict(failure) | {"output": failure.output[:1000]}
        self._event("failure", n=self.pulls + 1, arm=arm, **data)

    def _event(self, event: str, **data: Any) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._append({"event": event} | data | {"time": now})

    def _append(self, data: dict[str, Any]) -> None:
        text = json.dumps(data, allow_nan=False)
        digest = chained(self._digest, text)
        if self.chained:
            text = f'{text[:-1]}, "hash": "{digest}"}}'
        line = text.encode() + b"\n"
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError as reason:
            with suppress(OSError):  # else the torn line is cut off at the next start
                os.ftruncate(self._file, self._size)
            raise InvalidState(
                f"The log {self.path} cannot be written ({reason.strerror}), so that pull "
                f"{self.pulls + 1} does not count. The rewards before it are safe; make room "
                "and go on with --resume."
            ) from reason
        self._size, self._digest = self._size + len(line), digest

    def close(self) -> None:
        """Close the file, which lets others have it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sync_folder(path: Path) -> None:
    """Make the name of a new file durable, which syncing the file does not."""
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError:  # some file systems cannot
        pass
    finally:
        os.close(folder)


def _differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Say in which of the things that matter two headers differ."""
    new = json.loads(json.dumps(new))
    before, now = old.get("problem"), new["problem"]
    if not isinstance(before, dict) or not isinstance(before.get("arms"), list):
        return ["its header has no problem"]
    found = []
    if len(before["arms"]) != len(now["arms"]):
        found.append(f"it has {len(before['arms'])} arms, now there are {len(now['arms'])}")
    else:
        pairs = zip(before["arms"], now["arms"], strict=True)
        other = [k for k, (a, b) in enumerate(pairs) if a != b]
        if other:
            found.append(f"the features of arm {other[0]} differ")
        elif before.get("names") != now["names"]:
            found.append("the names of the arms differ")
    for key in ("noise_scale", "norm_bound", "epsilon", "delta"):
        if before.get(key) != now[key]:
            found.append(f"it has {key} {before.get(key)}, now {now[key]}")
    if old.get("rewards") != new["rewards"]:
        found.append(f"its rewards are {old.get('rewards')}, now {new['rewards']}")
    if old.get("explorer") != new["explorer"]:
        found.append(_other_explorer(old.get("explorer"), new["explorer"]))
    return found


def _other_explorer(old: Any, new: dict[str, Any]) -> str:
    name = old.get("name") if isinstance(old, dict) else old
    if name != new["name"]:
        return f"its explorer is {name}, now {new['name']}"
    return f"its explorer is {json.dumps(old)}, now {json.dumps(new)}"
