"""lingape live run: workers that pull arms by running a command."""

import platform
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ..errors import LingapeError
from ..printable import printable
from . import options
from .live import announce, open_experiment, place, say_certificate
from .showing import live_line, say
from .stopping import FAILED, LIMIT, requests_to_stop
from .threads import OneThreaded

if TYPE_CHECKING:
    from ..live import Experiment, RemoteExperiment, Ticket
    from ..live.command import Command, Stop
    from ..live.notices import Notice


@click.command(cls=OneThreaded)
@place
@options.reward_cmd
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many commands run side by side.",
)
@options.time_to_live
@click.option(
    "--max-pulls", type=click.IntRange(min=1), help="Run the command at most this many times."
)
@click.option(
    "--max-failures",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Give up after this many failures in a row.",
)
@options.timeout
@click.option(
    "--worst",
    type=float,
    metavar="REWARD",
    help="The worst possible reward, told when the command fails; without it the ticket is "
    "voided.",
)
@options.notice
@options.as_json
@click.pass_context
def run(
    ctx: click.Context,
    url: str,
    name: str,
    reward_cmd: str,
    workers: int,
    ttl: str | None,
    max_pulls: int | None,
    max_failures: int,
    timeout: float | None,
    worst: float | None,
    notice: "Notice | None",
    json: bool,
) -> None:
    """Ask, run a command for the reward, tell; until the question is answered.

    It can run on many machines at once against one server or PostgreSQL database, and several
    times on one machine. CMD is as for lingape find: {arm}, {name} and {features} stand for the
    arm's number, name and features; the environment has them too, as LINGAPE_ARM, LINGAPE_NAME
    and LINGAPE_FEATURES, as LINGAPE_LEVELS the levels of factors in JSON, and as LINGAPE_PULL a
    number that no other pull has. A name is a word to
    the shell that runs CMD, and to no other: ssh host ./measure {name}, eval and sh -c have a
    second shell read it as code. There use {arm}, or let a script look at LINGAPE_NAME.

    A ticket whose command fails is voided: the trial counts for nothing. That is right where a
    machine failed, and wrong where the arm did: an arm that fails when it would do badly then
    looks better than it is, and the answer can be wrong. If arms can fail, pass --worst with the
    lowest possible reward (or have the command print it). Commands that cannot be run at all, and
    those killed by Ctrl-C, are voided in any case.

    Ctrl-C waits for the commands under way and stops, a second one kills them and voids their
    tickets. If this process is killed, its tickets return to the pool after --ttl.

    --on-settled and --webhook are for one of several such processes, or for lingape live watch:
    each that is given them announces the answer when it ends.

    Exit codes: 0 settled, 3 stopped at --max-pulls, 4 too many failures in a row, 130 Ctrl-C (143
    SIGTERM, 129 SIGHUP), and those of lingape live.

    \b
    Example:
      lingape live run http://lab:8000 ads --reward-cmd './measure {name}' --workers 4
    """
    from ..live.command import Command

    _check_worst(worst)
    command = Command(reward_cmd, timeout)
    if not command.mentions_arm:
        say(options.ARM_IS_IN_ENVIRONMENT, err=True)
    with open_experiment(url, name) as experiment, requests_to_stop() as stop:
        trials = _Trials(command, worst, max_failures, stop)
        with live_line("starting", quiet=json) as show:
            code, closing = trials.run(experiment, show, workers, max_pulls, ttl)
        certificate = experiment.certificate()
    if code == 0 and not certificate.settled:
        code, closing = LIMIT, "Stopped at the limit of pulls."
    say_certificate(certificate, json)
    trials.sum_up()
    announce(notice, certificate)
    if code:
        say(f"{closing} All rewards told are safe; run it again to continue.", err=True)
    ctx.exit(code)


def _check_worst(worst: float | None) -> None:
    from ..checks import LARGEST

    if worst is not None and not abs(worst) <= LARGEST:
        raise click.BadParameter(
            f"must be a finite number, at most {LARGEST:g} in size; got {worst:g}.",
            param_hint="--worst",
        )


class CommandFailed(LingapeError):
    """The command gave no reward."""


class _Trials:
    """Runs of the command, and what happens to those that fail."""

    def __init__(
        self, command: "Command", worst: float | None, most_in_a_row: int, stop: "Stop"
    ) -> None:
        self._command, self._worst, self._most = command, worst, most_in_a_row
        self._stop = stop
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._voided: Counter[str] = Counter()  # by arm
        self._doubtful = False  # whether one was voided that the arm may have made fail

    def run(
        self,
        experiment: "Experiment | RemoteExperiment",
        show: Callable[[str], None] | None,
        workers: int,
        max_pulls: int | None,
        ttl: str | None,
    ) -> tuple[int, str]:
        """Pull until there is a reason to stop; return the exit code, and what to say first."""
        from ..live.crew import Crew

        def go_on() -> None:
            if self._stop.soon:
                raise KeyboardInterrupt

        try:
            Crew(
                experiment,
                self._reward,
                max_pulls,
                self._most if self._worst is None else 1,
                ttl,
                name=f"{platform.node()}-run",
                check=go_on,
                show=lambda progress: show and show(f"{progress.pulls:,} rewards"),
            ).run(workers)
        except (KeyboardInterrupt, CommandFailed) as reason:
            if self._stop.soon:
                return 128 + self._stop.signal, "Interrupted."
            row = self._in_a_row
            so_often = f"{row} commands in a row failed. " if row > 1 else ""
            return FAILED, f"{so_often}{reason}"
        return 0, ""

    def _reward(self, ticket: "Ticket") -> float:
        """Return what the command prints for a ticket, or the worst there is."""
        from ..live.command import NoReward
        from ..live.replay import asked_by

        number = asked_by(ticket.id)  # of the pull: tickets are asked for one at a time
        result = self._command.run(ticket, number, self._stop)
        with self._lock:
            if not isinstance(result, NoReward):
                self._in_a_row = 0
                return result
            self._in_a_row += 1
            failed = f"{printable(ticket.name)} failed: the command {result}."
            # What always fails, or cannot be run, is not the arm's fault.
            by_arm = self._in_a_row < self._most and result.begun and not self._stop.now
            if self._worst is not None and by_arm:
                say(f"{failed} Told {self._worst:g}.", err=True)
                return self._worst
            say(f"{failed} Its ticket is voided.", err=True)
            self._voided[printable(ticket.name)] += 1
            self._doubtful |= self._worst is None and result.begun and not self._stop.now
        raise CommandFailed(f"The command {result}.")

    def sum_up(self) -> None:
        """Say how many tickets were voided because of failures, and what that means."""
        if total := self._voided.total():
            names = [f"{name} {count}" for name, count in self._voided.most_common(3)]
            most = "most of them: " if len(self._voided) > len(names) else ""
            told = f"{total} voided because the command failed ({most}{', '.join(names)})."
            if self._doubtful:
                told += " If it failed because of the arm, the answer can be wrong: use --worst."
            say(told, err=True)
