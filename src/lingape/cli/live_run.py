"""lingape live run: workers that pull arms by running a command."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ..errors import LingapeError
from ..printable import printable
from .live import open_experiment, place
from .options import ARM_IS_IN_ENVIRONMENT, as_json, time_to_live
from .showing import live_line, say
from .stopping import FAILED, LIMIT, requests_to_stop

if TYPE_CHECKING:
    from ..finding import Command, Stop
    from ..live import Experiment, LogCertificate, RemoteExperiment, Ticket
    from ..live.tickets import TimeToLive


@click.command()
@place
@click.option(
    "--reward-cmd",
    required=True,
    metavar="CMD",
    help="Shell command that pulls an arm and prints the reward as its last line.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many commands run side by side.",
)
@time_to_live
@click.option("--max-pulls", type=click.IntRange(min=1), help="Run the command so often at most.")
@click.option(
    "--max-failures",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Give up after so many failures in a row.",
)
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="Kill a command that takes longer: it failed."
)
@as_json
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
    json: bool,
) -> None:
    """Ask, run a command for the reward, tell; until the question is answered.

    Run it on as many machines as you like against one server or PostgreSQL database, also several
    times on one machine. CMD is as for lingape find: {arm}, {name} and {features} stand for the
    arm's number, name and features; the environment has them too, as LINGAPE_ARM, LINGAPE_NAME
    and LINGAPE_FEATURES, and as LINGAPE_PULL a number that no other pull has. A name is a word to
    the shell that runs CMD, and to no other: ssh host ./measure {name}, eval and sh -c have a
    second shell read it as code. There use {arm}, or let a script look at LINGAPE_NAME.

    A ticket whose command fails is voided. Whether it fails must not depend on the reward: where
    an arm can go wrong, print its worst value.

    Ctrl-C waits for the commands under way and stops, a second one kills them and voids their
    tickets. If this process is killed, its tickets return to the pool after --ttl.

    Exit codes: 0 settled, 3 stopped at --max-pulls, 4 too many failures in a row, 130 Ctrl-C (143
    SIGTERM, 129 SIGHUP), and those of lingape live.

    \b
    Example:
      lingape live run http://lab:8000 ads --reward-cmd './measure {name}' --workers 4
    """
    from ..finding import Command
    from ..live.crew import run_crew

    command = Command(reward_cmd, timeout)
    if not command.mentions_arm:
        say(ARM_IS_IN_ENVIRONMENT, err=True)
    code, closing = 0, ""
    with (
        open_experiment(url, name) as experiment,
        requests_to_stop() as (stop, caught),
        live_line("starting", quiet=json) as show,
    ):
        try:
            run_crew(
                _Source(experiment, stop, show),
                lambda ticket: _reward(command, ticket, stop),
                workers=workers,
                max_pulls=max_pulls,
                max_failures=max_failures,
                ttl=ttl,
            )
        except (KeyboardInterrupt, CommandFailed) as reason:
            if stop.soon:
                code, closing = 128 + caught[-1], "Interrupted."
            else:
                code, closing = FAILED, f"{max_failures} commands in a row failed: {reason}"
        certificate = experiment.certificate()
    if code == 0 and not certificate.settled:
        code, closing = LIMIT, "Stopped at the limit of pulls."
    say(certificate.to_dict() if json else str(certificate))
    if code:
        say(f"{closing} All rewards told are safe; run it again to go on.", err=True)
    ctx.exit(code)


class CommandFailed(LingapeError):
    """The command gave no reward."""


@dataclass(frozen=True)
class _Source:
    """An experiment that hands out no tickets once it is time to stop."""

    experiment: "Experiment | RemoteExperiment"
    stop: "Stop"
    show: Callable[[str], None] | None

    def ask(
        self, n: int = 1, *, worker: str | None = None, ttl: "TimeToLive" = "1d"
    ) -> "list[Ticket]":
        if self.stop.soon:
            raise KeyboardInterrupt
        return self.experiment.ask(n, worker=f"{platform.node()}-{worker}", ttl=ttl)

    def tell(self, ticket: str, reward: float) -> None:
        pulls = self.experiment.tell(ticket, reward).pulls
        if self.show is not None:
            self.show(f"{pulls:,} rewards")

    def void(self, ticket: str, reason: str) -> None:
        self.experiment.void(ticket, reason)

    def certificate(self) -> "LogCertificate":
        return self.experiment.certificate()


def _reward(command: "Command", ticket: "Ticket", stop: "Stop") -> float:
    """Return what the command prints for a ticket."""
    from ..finding import Failure, Pull

    asked = int(ticket.id.partition("-")[0])  # the event that asked for this ticket alone
    result = command.run(Pull(ticket.arm, ticket.name, ticket.features, asked), stop)
    if isinstance(result, Failure):
        say(f"{printable(ticket.name)} failed: the command {result}.", err=True)
        raise CommandFailed(f"the command {result}.")
    return result
