"""lingape find: a live experiment with one worker, in which each pull runs a command."""

import json as jsonlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..printable import printable
from . import options
from .live import announce, warn
from .showing import say
from .stopping import FAILED, LIMIT, requests_to_stop
from .threads import OneThreaded

if TYPE_CHECKING:
    from ..live import Experiment, LogCertificate, Ticket
    from ..live.notices import Notice
    from ..live.replay import Replay
    from ..live.search import Search, SearchEnd
    from ..problem import Problem

NAME = "find"  # of the experiment
PAUSE = 0.2  # seconds between updates of the display


def _checked_wait(_context: click.Context, _option: click.Parameter, wait: float) -> float:
    if not 0 <= wait < float("inf"):
        raise click.BadParameter(
            f"must be a finite number of seconds, at least 0; got {wait:g}.",
            param_hint="--retry-wait",
        )
    return wait


@click.command(cls=OneThreaded)
@options.reward_cmd
@options.real_problem
@options.explorer
@click.option(
    "--max-pulls", type=click.IntRange(min=1), help="Stop at this many rewards in the log."
)
@options.timeout
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="How often to run a failed command again.",
)
@click.option(
    "--retry-wait",
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    callback=_checked_wait,
    help="How long to wait first; the wait doubles.",
)
@click.option(
    "--log",
    "log_path",
    type=options.new_file,
    help="Where rewards are kept.  [default: name of ARMS + .find.db, in this folder]",
)
@click.option("--resume", is_flag=True, help="Continue with the log, if there is one.")
@options.notice
@options.as_json
@click.pass_context
def find(
    ctx: click.Context,
    problem: "Problem",
    reward_cmd: str,
    explorer: str,
    max_pulls: int | None,
    timeout: float | None,
    retries: int,
    retry_wait: float,
    log_path: str | None,
    resume: bool,
    notice: "Notice | None",
    json: bool,
) -> None:
    """Find the best arm by running a command for each pull.

    ARMS is a table with one row per arm, as CSV, Parquet or NPY, or a TOML file with factors.
    Columns of text are factors, those of numbers are features, and names are recognised; what was
    taken for what is said first, and options say it otherwise. Say what rewards are like with one
    of --noise-scale, --bounded, --binary and --normal: the guarantee rests on it.

    In CMD, {arm} stands for the arm's number (from 0), {name} for its name, {features} for its
    features separated by spaces; each comes as one word, quoted. CMD also finds them in its
    environment as LINGAPE_ARM, LINGAPE_NAME, LINGAPE_FEATURES and, where arms are made of
    factors, LINGAPE_LEVELS, a JSON object, and the number of the pull as
    LINGAPE_PULL, so it need not have any of the three. It has failed if it exits with another
    status than 0, prints no finite number last, or takes too long. Whether it fails must not
    depend on the reward: where an arm can go wrong, print its worst value.

    A name is a word to the shell that runs CMD, and to no other: ssh host ./measure {name}, eval
    and sh -c have a second shell read it as code. There use {arm}, which is a number, or let a
    script look at LINGAPE_NAME.

    The log is the experiment "find" in an SQLite file, with one worker: every reward is on disk
    before it counts, so a search may be killed at any time and continued with --resume. lingape
    live status, verify, export and so on work on it: lingape live verify sqlite:///FILE find.
    Ctrl-C finishes the pull under way and stops, a second one kills it. A log in which an event
    was changed, lost or inserted is refused; lingape live verify checks all of it.

    Exit codes: 0 settled, 3 stopped at --max-pulls, 4 the command failed, 130 Ctrl-C (143 SIGTERM,
    129 SIGHUP), 1 the arms or the log were refused, 2 bad options, 5 the log could not be written:
    do the same again with --resume.

    \b
    Example:
      lingape find arms.csv --reward-cmd './measure {name}' --bounded 0 10 --epsilon 0.1
    """
    from ..live.command import Command
    from ..live.search import Search

    command = Command(reward_cmd, timeout)
    path = log_path or Path(ctx.params["arms"]).name + ".find.db"
    settings = {"create": problem, "explorer": explorer}
    with _opened(path, resume, **settings) as log, requests_to_stop() as stop:
        with _display(log) as (show, note):
            search = Search(log, command, stop, show, note)
            for sentence in _opening(search, path, resume):
                note(sentence)
            ending = search.run(max_pulls, retries, retry_wait)
        code = _report(ending, log, path, stop.signal, json=json)
        announce(notice, log.certificate())
    ctx.exit(code)


def _opened(path: str, resume: bool, **settings: Any) -> "Experiment":
    """Return the experiment in a log: a new one, or with `resume` perhaps one that is there."""
    from ..errors import Conflict, InvalidArgument
    from ..live import Experiment

    if not resume and os.path.exists(path):
        raise InvalidArgument(
            f"There is a log {path} already, and it is never overwritten. Continue it with "
            "--resume, or start another with --log PATH."
        )
    try:
        return Experiment.open(f"sqlite:///{path}", NAME, **settings)
    except Conflict as reason:
        reason.add_note("To continue it, pass the settings that it was begun with.")
        raise


def _opening(search: "Search", path: str, resume: bool) -> Iterator[str]:
    """Say what is worth knowing before the first pull, and what was found in the log."""
    if not search.command.mentions_arm:
        yield options.ARM_IS_IN_ENVIRONMENT
    pulls, settled = search.progress
    if pulls or search.left:
        yield f"Continuing with {path}; rewards in it: {pulls}."
    elif resume:
        yield f"There are no rewards in {path} yet: starting from the beginning."
    if search.other_command and not settled:
        yield "The command is not the one used before; the log has both."
    for ticket in search.left:
        yield (
            f"{search.title(ticket)} was under way when the search was killed, and is made again. "
            "Its command may still be running."
        )


def _report(ending: "SearchEnd", log: "Experiment", path: str, signal: int, *, json: bool) -> int:
    """Print how a search ended; return the exit code."""
    status = log.status()
    code, closing = _closing(ending, status.pulls, path, signal)
    if json:
        with log.current() as replay:
            data = _as_data(ending, replay, log.certificate(), path)
        click.echo(jsonlib.dumps(data, indent=2, allow_nan=False))
        warn(status.warnings)
    else:
        found = "\n".join([status.certificate.statement, *status.certificate.notes()])
        say(f"{found}\n\n{status.table()}\nLog: {path}")
    if closing:
        say(closing, err=True)
    return code


def _closing(ending: "SearchEnd", pulls: int, path: str, signal: int) -> tuple[int, str]:
    """Return the exit code, and what to say if the question is still open."""
    from ..live.search import AT_LIMIT, INTERRUPTED

    safe = f"The rewards so far ({pulls}) are safe in {path}"
    again = "call lingape find as before with --resume"
    if ending.words == AT_LIMIT:
        return LIMIT, (
            f"Stopped at the limit of pulls. {safe}; to continue, {again} and a higher "
            "--max-pulls. Arms that tie are never told apart: --epsilon above 0 accepts any arm "
            "that close."
        )
    if ending.words == INTERRUPTED:
        return 128 + signal, f"Interrupted. {safe}; to continue, {again}."
    if ending.failure is None:
        return 0, ""
    if ending.outside:
        return FAILED, (
            f"{ending.pull} breaks what was promised: the command {ending.failure}. The "
            "guarantee rests on that range. Start another log with --log and the range that "
            "rewards really have."
        )
    times = f"failed {ending.attempts} times" if ending.attempts > 1 else "failed"
    return FAILED, (
        f"{ending.pull} {times}: the command {ending.failure}\n"
        f"{safe}; fix the command, then {again}."
    )


def _as_data(
    ending: "SearchEnd", replay: "Replay", certificate: "LogCertificate", path: str
) -> dict[str, Any]:
    from ..values import finite

    arm = replay.explorer.recommend()
    value, low, high = finite(replay.values().arms([arm])[0])
    return {
        "arm": arm,
        "name": replay.problem.name(arm),
        "value": value,
        "value_low": low,
        "value_high": high,
        "pulls": replay.progress.pulls,
        "counts": replay.averages.counts.tolist(),
        "ending": ending.words,
        "settled": replay.progress.settled,
        "failure": ending.failure,
        "log": path,
        "certificate": certificate.to_dict(),
        "warnings": list(certificate.warnings),
    }


@contextmanager
def _display(
    experiment: "Experiment",
) -> "Iterator[tuple[Callable[[int, Ticket], None], Callable[[str], None]]]":
    """Show how the search is going, on stderr: live on a terminal with rich, else some lines."""

    def status(ticket: "Ticket") -> str:
        with experiment.current() as replay:
            contest, name = replay.explorer.contest, replay.problem.name
            line = f"{replay.progress.pulls:>6,} pulls"
            out = replay.explorer.certificate().ruled_out
        if contest is not None:
            line += f"  {printable(name(contest.leader))} leads {printable(name(contest.rival))}"
            line += f", B(t) = {contest.margin:+.2e}" if out is None else f", {out} ruled out"
        return f"{line}  pulling {printable(ticket.name)}"

    last: float = -1

    def some_lines(pulls: int, ticket: "Ticket") -> None:
        nonlocal last
        if pulls >= 2 * last:
            say(status(ticket), err=True)
            last = max(1, pulls)

    try:
        from rich.console import Console
        from rich.text import Text  # not markup: names may have brackets
    except ImportError:
        console = None
    else:
        console = Console(file=sys.stderr)
    if console is None or not console.is_terminal:
        yield some_lines, lambda sentence: say(sentence, err=True)
        return

    def in_place(pulls: int, ticket: "Ticket") -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE:
            line.update(Text(status(ticket)))
            last = time.monotonic()

    with console.status("starting") as line:
        yield in_place, lambda sentence: console.print(Text(printable(sentence)))
