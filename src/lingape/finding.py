"""Search for the best arm where each pull runs a command that prints a reward.

The log is the truth: a reward counts if and only if its line is whole in the log, and the
explorer is a fold over the rewards there. So a search may be killed at any moment and resumed, and
no reward is lost or counted twice.
"""

import errno
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import IO, Any, Self, TypeAlias

from .errors import InvalidArgument, InvalidState, LingapeError
from .explorers import EXPLORERS, Explorer
from .explorers.skeleton import checked_reward
from .problem import LARGEST, Problem

FORMAT, VERSION = "lingape find log", 1
MARK = f'{{"format": "{FORMAT}"'.encode()  # how every log begins
# Explorers that need nothing but a problem, and use every reward.
CHOICES = ("lingape", "xy-static", "uniform", "ugape")

PLACEHOLDER = re.compile(r"\{(arm|name|features)\}")
QUOTED = re.compile(r"""\\.|('[^']*'|"(?:\\.|[^"\\])*")""", re.S)
TAIL = 65_536  # bytes at the end of a command's output that are looked at
SLICE = 0.2  # seconds between looks at the clock and at Stop
GRACE = 1.0  # seconds between asking a command to end and killing it


@dataclass
class Stop:
    """A request to stop: 1 after the pull under way, 2 now. Signal handlers set it."""

    level: int = 0

    @property
    def soon(self) -> bool:
        return self.level >= 1

    @property
    def now(self) -> bool:
        return self.level >= 2


@dataclass(frozen=True)
class Rewards:
    """Which rewards there can be, and the noise scale that follows.

    scale: R, for rewards of any size.
    low, high: for bounded ones; then R is half the range.
    binary: only 0 and 1.

    >>> Rewards.bounded(0, 10).scale
    5.0
    """

    scale: float
    low: float = -LARGEST
    high: float = LARGEST
    binary: bool = False

    @classmethod
    def bounded(cls, low: float, high: float) -> Self:
        if not -LARGEST <= low < high <= LARGEST:
            raise InvalidArgument(
                f"Bounded rewards need a lowest value below the highest; got {low:g} and {high:g}."
            )
        return cls((high - low) / 2, float(low), float(high))

    @classmethod
    def zero_or_one(cls) -> Self:
        return cls(0.5, 0.0, 1.0, binary=True)

    def allow(self, reward: float) -> bool:
        """Whether a reward is one of these."""
        return reward in (0, 1) if self.binary else self.low <= reward <= self.high

    def __str__(self) -> str:
        if self.binary:
            return "0 or 1"
        if self.high == LARGEST:
            return "any number"
        return f"from {self.low!r} to {self.high!r}"


@dataclass(frozen=True)
class Failure:
    """Why an attempt gave no reward."""

    what: str  # goes on after "the command"
    output: str = ""  # the last line that it wrote
    exit: int | None = None
    outside: float | None = None  # a reward outside the range promised

    def __str__(self) -> str:
        return f"{self.what}: {self.output}" if self.output else self.what


@dataclass(frozen=True)
class Command:
    """The user's command, run once per pull.

    template: a shell command. {arm}, {name} and {features} stand for the arm's number, its name
        and its features; other braces are left alone. The environment has LINGAPE_ARM,
        LINGAPE_NAME, LINGAPE_FEATURES and LINGAPE_PULL, the number of the pull.
    timeout: seconds after which a run is killed and counts as failed.

    >>> Command("measure {name} | awk '{print $1}'").shell_text(3)
    'measure "$LINGAPE_NAME" | awk \\'{print $1}\\''
    """

    template: str
    timeout: float | None = None

    def __post_init__(self) -> None:
        if os.name != "posix":
            raise InvalidArgument("Commands are run by a POSIX shell, and this system has none.")
        if not PLACEHOLDER.search(self.template) and "LINGAPE_" not in self.template:
            raise InvalidArgument(
                "The command must say which arm to pull, or every arm runs the same; got "
                f'{self.template!r}. Put {{arm}}, {{name}}, {{features}} or "$LINGAPE_ARM" in it.'
            )
        for quoted in QUOTED.finditer(self.template):
            inside = PLACEHOLDER.search((quoted[1] or "").replace("{arm}", ""))
            if inside:
                raise InvalidArgument(
                    f"{inside[0]} must stand outside quotes, because it brings its own; the "
                    f'command has {quoted[0]}. Take it out of them, or use "$LINGAPE_'
                    f'{inside[1].upper()}".'
                )
        if self.timeout is not None and not self.timeout > 0:
            raise InvalidArgument(f"timeout must be above 0 seconds; got {self.timeout:g}.")

    def shell_text(self, arm: int) -> str:
        """Return what the shell is given.

        Names and features come as quoted variables, so that no name, whatever it contains, is
        ever read as shell code.
        """

        def text(match: re.Match[str]) -> str:
            return str(arm) if match[1] == "arm" else f'"$LINGAPE_{match[1].upper()}"'

        return PLACEHOLDER.sub(text, self.template)

    def run(self, problem: Problem, arm: int, number: int, stop: Stop) -> float | Failure:
        """Return the number on the last line that the command prints, or why there is none."""
        environment = os.environ | {
            "LINGAPE_ARM": str(arm),
            "LINGAPE_NAME": problem.name(arm),
            "LINGAPE_FEATURES": " ".join(map(repr, problem.arms[arm].tolist())),
            "LINGAPE_PULL": str(number),
        }
        try:
            code, cut_short, printed, complaint = self._run(arm, environment, stop)
        except (OSError, ValueError) as reason:  # such as a name with a null byte
            return Failure(f"could not be run ({reason})")
        if cut_short is not None:
            return Failure(cut_short, complaint or printed)
        if code:
            how = f"ended with exit status {code}" if code > 0 else f"died of signal {-code}"
            return Failure(how, complaint or printed, code)
        if not printed:
            return Failure("printed nothing, where its last line must be a number", complaint)
        try:
            return checked_reward(float(printed))
        except ValueError:  # also InvalidReward
            return Failure("must print a finite number as its last line, but printed", printed)

    def _run(
        self, arm: int, environment: dict[str, str], stop: Stop
    ) -> tuple[int, str | None, str, str]:
        """Return the exit status, why it was cut short, and the last lines of its outputs."""
        # Files, not pipes: what the command leaves running may keep them open.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                self.shell_text(arm),
                shell=True,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                start_new_session=True,  # Ctrl-C is for us, and we kill all of it
            )
            try:
                cut_short = self._wait(process, stop)
            finally:
                if process.poll() is None:
                    _kill(process)
            return process.returncode or 0, cut_short, _last_line(out), _last_line(err)

    def _wait(self, process: "subprocess.Popen[bytes]", stop: Stop) -> str | None:
        """Wait for the end; return why it has to be brought about, if so."""
        begun = time.monotonic()
        while True:
            rest = SLICE
            if self.timeout is not None:
                rest = min(rest, max(0.0, begun + self.timeout - time.monotonic()))
            try:
                process.wait(rest)
                return None
            except subprocess.TimeoutExpired:
                if stop.now:
                    return "was stopped by a signal to lingape"
                if rest < SLICE and time.monotonic() >= begun + (self.timeout or 0.0):
                    return f"took more than {self.timeout:g} seconds"


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a command and all it started: first asked, then made to."""
    end = time.monotonic() + GRACE
    with suppress(ProcessLookupError, PermissionError):  # nobody left; the latter on macOS
        os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() < end:
            process.poll()
            os.killpg(process.pid, 0)
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)


def _last_line(file: IO[bytes]) -> str:
    """Return the last line that is not blank."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    lines = file.read(TAIL).decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


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

    A failed or unfinished pull is made again under the same n.
    """

    path: Path
    setup: Setup
    pulls: int = 0  # rewards in the log
    under_way: int | None = None  # the arm of a pull whose end is not in the log
    torn: bool = False  # a last line without its end was cut off
    changed: bool = False  # resumed with another command
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
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as reason:
            raise InvalidState(
                f"The log {self.path} is in use by another lingape find. Wait for it to end, or "
                "start a log of your own with --log PATH."
            ) from reason

    def _replay(self, lines: list[bytes]) -> None:
        """Check every line, and tell the explorer the rewards."""
        for place, line in enumerate(lines, start=1):
            try:
                data = json.loads(line)
            except (ValueError, RecursionError) as reason:
                raise self._refusal(place, f"is damaged ({reason})") from reason
            if not isinstance(data, dict):
                raise self._refusal(place, "is damaged (it must be a JSON object)")
            if place == 1:
                self._check_header(data)
            else:
                self._check_event(place, data)

    def _check_header(self, header: dict[str, Any]) -> None:
        if header.get("format") != FORMAT:
            raise self._refusal(1, "is not the header of a log of lingape find")
        if header.get("version") != VERSION:
            raise InvalidState(
                f"This version reads logs of version {VERSION}; {self.path} has "
                f"{header.get('version')!r}. Resume with the version of lingape that wrote it."
            )
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
                "range that rewards really have. Only if the command was at fault, mend it and "
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
        line = json.dumps(data, allow_nan=False).encode() + b"\n"
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
        self._size += len(line)

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


class Ending(Enum):
    """How a search ended."""

    SETTLED = "settled"
    LIMIT = "stopped at the pull limit"
    FAILED = "the command failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Outcome:
    """How a search ended, and why if a command failed."""

    ending: Ending
    arm: int | None = None  # that failed
    attempts: int = 0
    failure: Failure | None = None


# Called with the arm whose pull begins.
Progress: TypeAlias = Callable[[int], None]
# Called with an arm, why an attempt failed, and the seconds until the next.
OnFailure: TypeAlias = Callable[[int, Failure, float], None]


@dataclass(frozen=True)
class Patience:
    """How often a failed attempt is made again, and after how long; the wait doubles."""

    retries: int = 2
    wait: float = 1.0

    def __post_init__(self) -> None:
        if self.retries < 0 or not 0 <= self.wait < float("inf"):
            raise InvalidArgument(
                "Retries and the seconds to wait must be at least 0; got "
                f"{self.retries} and {self.wait:g}."
            )


def search(
    log: TrialLog,
    *,
    max_pulls: int | None = None,
    patience: Patience = Patience(),
    stop: Stop | None = None,
    progress: Progress = lambda arm: None,
    on_failure: OnFailure = lambda arm, failure, wait: None,
) -> Outcome:
    """Pull until the explorer is done, `max_pulls` rewards are in the log, or it has to stop."""
    explorer, stop = log.setup.explorer, stop or Stop()
    while not explorer.done:
        if max_pulls is not None and log.pulls >= max_pulls:
            return Outcome(Ending.LIMIT)
        if stop.soon:
            return Outcome(Ending.INTERRUPTED)
        arm = explorer.ask()
        progress(arm)
        outcome = _pull(log, arm, patience, stop, on_failure)
        if outcome is not None:
            return outcome
    return Outcome(Ending.SETTLED)


def _pull(
    log: TrialLog, arm: int, patience: Patience, stop: Stop, on_failure: OnFailure
) -> Outcome | None:
    """Pull one arm, with retries; return how the search ends if it does."""
    setup, wait, attempt = log.setup, patience.wait, 1
    while True:
        log.pull(arm)
        result = setup.command.run(setup.explorer.problem, arm, log.pulls + 1, stop)
        if isinstance(result, float):
            if setup.rewards.allow(result):
                log.reward(arm, result)
                return None
            what = f"printed {result!r}, but rewards have to be {setup.rewards}"
            result = Failure(what, outside=result)
        log.failure(arm, result)
        # A reward outside is not drawn again: to draw until it pleases breaks the guarantee.
        again = result.outside is None and attempt <= patience.retries
        if again and not stop.soon:
            on_failure(arm, result, wait)
            _pause(wait, stop)
        if stop.soon and result.outside is None:
            return Outcome(Ending.INTERRUPTED, arm, attempt, result)
        if not again:
            return Outcome(Ending.FAILED, arm, attempt, result)
        wait, attempt = 2 * wait, attempt + 1


def _pause(seconds: float, stop: Stop) -> None:
    end = time.monotonic() + seconds
    while not stop.soon and (rest := end - time.monotonic()) > 0:
        time.sleep(min(SLICE, rest))
