"""A shell command that pulls an arm and prints the reward."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..errors import InvalidArgument
from ..noise import finite_reward
from .tickets import Ticket

PLACEHOLDER = re.compile(r"\{(arm|name|features)\}")
UNKNOWN = re.compile(r"(?<!\$)\{[A-Za-z_]+\}")  # most likely a misspelt placeholder
QUOTED = re.compile(r"""\\.|('[^']*'|"(?:\\.|[^"\\])*")""", re.S)
TAIL = 65_536  # bytes at the end of a command's output that are looked at
SLICE = 0.2  # seconds between looks at the clock and at Stop
NOT_RUN = "could not be run"
GRACE = 1.0  # seconds between asking a command to end and killing it

APART: dict[str, Any]  # how a command is run: Ctrl-C is for us, and we kill all of it
if sys.platform == "win32":  # no shell: cmd.exe would run what is in a name, also in %NAME%
    APART = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    APART = {"shell": True, "start_new_session": True}


@dataclass
class Stop:
    """A request to stop: 1 after the command that runs now, 2 at once. Signal handlers set it."""

    level: int = 0
    signal: int = 0  # the last one received

    @property
    def soon(self) -> bool:
        return self.level >= 1

    @property
    def now(self) -> bool:
        return self.level >= 2


@dataclass(frozen=True)
class NoReward:
    """Why a run of the command gave no reward."""

    what: str  # continues "the command ..."
    output: str = ""  # the last line that it wrote
    exit: int | None = None

    @property
    def begun(self) -> bool:
        """Whether the command ran at all; shells exit with 126 and 127 if it did not."""
        return self.exit not in (126, 127) and not self.what.startswith(NOT_RUN)

    def __str__(self) -> str:
        return f"{self.what}: {self.output}" if self.output else self.what


@dataclass(frozen=True)
class Command:
    """The user's command, run once per pull.

    template: a shell command. {arm}, {name} and {features} stand for the arm's number, its name
        and its features; other braces are left alone. The environment has LINGAPE_ARM,
        LINGAPE_NAME, LINGAPE_FEATURES, LINGAPE_LEVELS (of factors, as JSON) and LINGAPE_PULL, the
        number of the pull, so that a command does not need placeholders. On Windows it is a
        program and its arguments, without a shell, and {arm} is the only placeholder.
    timeout: seconds after which a run is killed and counts as failed.

    >>> Command("measure --arm {arm} --format '{value}'").shell_text(3)
    "measure --arm 3 --format '{value}'"
    """

    template: str
    timeout: float | None = None

    def __post_init__(self) -> None:
        slip = None if self.mentions_arm else UNKNOWN.search(QUOTED.sub("", self.template))
        if slip is not None:
            raise InvalidArgument(
                f"{slip[0]} is not a placeholder; {{arm}}, {{name}} and {{features}} are. Use one "
                "of them, or quote the braces if they are part of the command."
            )
        text = PLACEHOLDER.search(self.template.replace("{arm}", ""))
        if sys.platform == "win32" and text:
            raise InvalidArgument(
                f"On Windows a command cannot have {text[0]}: programs disagree on how to quote a "
                f"text. Let it read LINGAPE_{text[1].upper()} in its environment, or use {{arm}}."
            )
        for quoted in QUOTED.finditer(self.template):
            inside = PLACEHOLDER.search((quoted[1] or "").replace("{arm}", ""))
            if inside:
                raise InvalidArgument(
                    f"{inside[0]} must be outside quotes: it is quoted already, and the command "
                    f'has {quoted[0]}. Remove the quotes, or use "$LINGAPE_{inside[1].upper()}".'
                )
        if self.timeout is not None and not self.timeout > 0:
            raise InvalidArgument(f"timeout must be above 0 seconds; got {self.timeout:g}.")

    @property
    def mentions_arm(self) -> bool:
        """Whether the command says which arm to pull; if not, what it runs has to find out."""
        return bool(PLACEHOLDER.search(self.template)) or "LINGAPE_" in self.template

    def shell_text(self, arm: int) -> str:
        """Return what the shell is given, or on Windows the system.

        Names and features are quoted variables, so this shell never runs what a name contains. A
        command that passes its words to another shell, as ssh and eval do, has that one read them.
        """

        def text(match: re.Match[str]) -> str:
            return str(arm) if match[1] == "arm" else f'"$LINGAPE_{match[1].upper()}"'

        return PLACEHOLDER.sub(text, self.template)

    def run(self, ticket: Ticket, number: int, stop: Stop) -> float | NoReward:
        """Return the number on the last line that the command prints, or why there is none.

        number: of the pull, for the command.
        """
        environment = os.environ | {
            "LINGAPE_ARM": str(ticket.arm),
            "LINGAPE_NAME": ticket.name,
            "LINGAPE_FEATURES": " ".join(map(repr, ticket.features)),
            "LINGAPE_LEVELS": json.dumps(ticket.levels),
            "LINGAPE_PULL": str(number),
        }
        try:
            code, cut_short, printed, complaint = self._run(ticket.arm, environment, stop)
        except (OSError, ValueError) as reason:  # such as a name with a null byte
            return NoReward(f"{NOT_RUN} ({reason})")
        if cut_short is not None:
            return NoReward(cut_short, complaint or printed)
        if code:
            how = f"ended with exit status {code}" if code > 0 else f"died of signal {-code}"
            return NoReward(how, complaint or printed, code)
        if not printed:
            return NoReward("printed nothing, where its last line must be a number", complaint)
        try:
            return finite_reward(float(printed))
        except ValueError:  # also InvalidReward
            return NoReward("must print a finite number as its last line, but printed", printed)

    def _run(
        self, arm: int, environment: dict[str, str], stop: Stop
    ) -> tuple[int, str | None, str, str]:
        """Return the exit status, why it was cut short, and the last lines of its outputs."""
        # Files, not pipes: what the command leaves running may keep them open.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                self.shell_text(arm),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                **APART,
            )
            try:
                cut_short = self._wait(process, stop)
            finally:
                if process.poll() is None:
                    _kill(process)
            return process.returncode or 0, cut_short, _last_line(out), _last_line(err)

    def _wait(self, process: "subprocess.Popen[bytes]", stop: Stop) -> str | None:
        """Wait until the command ends; return why it has to be killed, if it has."""
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
    """End a command and everything it started: with SIGTERM, then with SIGKILL."""
    if sys.platform == "win32":  # has neither signals nor groups to send them to
        tool = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
        with suppress(OSError):
            subprocess.run([tool, "/F", "/T", "/PID", str(process.pid)], capture_output=True)
        process.kill()
        process.wait()
        return
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
