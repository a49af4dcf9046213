"""lingape find: a real search, in which each pull runs a command."""

import json as jsonlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..printable import printable
from .options import ARM_IS_IN_ENVIRONMENT, as_json, new_file, real_rewards, rewards_from
from .showing import say
from .stopping import FAILED, LIMIT, requests_to_stop
from .threads import OneThreaded

if TYPE_CHECKING:
    from ..explorers import Explorer
    from ..finding import Failure, Outcome, TrialLog

SHOWN = 20  # arms in the table of pulls


@click.command(cls=OneThreaded)
@click.argument("arms", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--reward-cmd",
    required=True,
    metavar="CMD",
    help="Shell command that pulls an arm and prints the reward as its last line.",
)
@real_rewards
@click.option(
    "--explorer",
    type=click.Choice(["lingape", "xy_static", "uniform", "ugape"]),
    default="lingape",
    show_default=True,
    help="Who chooses the arms; ugape makes no use of the features.",
)
@click.option(
    "--max-pulls", type=click.IntRange(min=1), help="Stop at so many rewards in the log."
)
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="Kill a command that takes longer: it failed."
)
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
    help="How long to wait first; the wait doubles.",
)
@click.option(
    "--log",
    "log_path",
    type=new_file,
    help="Where rewards are kept.  [default: name of ARMS + .find.jsonl, in this folder]",
)
@click.option("--resume", is_flag=True, help="Go on with the log, if there is one.")
@as_json
@click.pass_context
def find(
    ctx: click.Context,
    arms: str,
    reward_cmd: str,
    noise_scale: float | None,
    bounded: tuple[float, float] | None,
    binary: bool,
    epsilon: float,
    delta: float,
    explorer: str,
    max_pulls: int | None,
    timeout: float | None,
    retries: int,
    retry_wait: float,
    log_path: str | None,
    resume: bool,
    json: bool,
) -> None:
    """Find the best arm by running a command for each pull.

    ARMS is a table with one row of features per arm, as for lingape complexity. Say how noisy
    rewards are with one of --noise-scale, --bounded and --binary: the guarantee rests on it.

    In CMD, {arm} stands for the arm's number (from 0), {name} for its name, {features} for its
    features separated by spaces; each comes as one word, quoted. CMD also finds them in its
    environment as LINGAPE_ARM, LINGAPE_NAME and LINGAPE_FEATURES, and the number of the pull as
    LINGAPE_PULL, so it need not have any of the three. It has failed if it exits with another
    status than 0, prints no finite number last, or takes too long. Whether it fails must not
    depend on the reward: where an arm can go wrong, print its worst value.

    A name is a word to the shell that runs CMD, and to no other: ssh host ./measure {name}, eval
    and sh -c have a second shell read it as code. There use {arm}, which is a number, or let a
    script look at LINGAPE_NAME.

    Every reward is on disk in the log before it counts, so a search may be killed at any time and
    go on with --resume. Ctrl-C finishes the pull under way and stops, a second one kills it. Each
    line of the log ends with the hash of all up to it: --resume refuses a log in which a line was
    changed, lost or put in, by accident or by hand. It does not notice lines cut off at the end,
    nor an edit by somebody who computes the hashes anew.

    Exit codes: 0 settled, 3 stopped at --max-pulls, 4 the command failed, 130 Ctrl-C (143 SIGTERM,
    129 SIGHUP), 1 the arms or the log were refused, 2 bad options.

    \b
    Example:
      lingape find arms.csv --reward-cmd './measure {name}' --bounded 0 10 --epsilon 0.1
    """
    from ..finding import Command, Patience, Setup, TrialLog, make_explorer, search
    from ..problem import Problem
    from ..tables import read_arms

    rewards = rewards_from(noise_scale, bounded, binary)
    command, patience = Command(reward_cmd, timeout), Patience(retries, retry_wait)
    names, features = read_arms(arms)
    problem = Problem(
        features, names=names, noise_scale=rewards.scale, epsilon=epsilon, delta=delta
    )
    setup = Setup(make_explorer(explorer, problem), explorer, rewards, command)
    path = log_path or Path(arms).name + ".find.jsonl"
    with (
        TrialLog.open(path, setup, resume=resume) as log,
        requests_to_stop() as (stop, caught),
        _display(log) as (progress, note),
    ):
        for sentence in _opening(log, resume):
            note(sentence)

        def on_failure(arm: int, failure: "Failure", wait: float) -> None:
            note(f"{_title(log, arm)} failed: the command {failure}. Again in {wait:g} s.")

        outcome = search(
            log,
            max_pulls=max_pulls,
            patience=patience,
            stop=stop,
            progress=progress,
            on_failure=on_failure,
        )
    code, closing = _closing(outcome, log, caught)
    if json:
        click.echo(jsonlib.dumps(_as_data(outcome, log), indent=2))
    else:
        say(_table(log))
    if closing:
        say(closing, err=True)
    ctx.exit(code)


def _title(log: "TrialLog", arm: int) -> str:
    problem = log.setup.explorer.problem
    number = "" if problem.names is None else f" (arm {arm})"
    return f"Pull {log.pulls + 1} of {printable(problem.name(arm))}{number}"


def _opening(log: "TrialLog", resume: bool) -> Iterator[str]:
    """Say what is worth knowing before the first pull, and what was found in the log."""
    if not log.setup.command.mentions_arm:
        yield ARM_IS_IN_ENVIRONMENT
    if log.torn:
        yield f"The last line of {log.path} was not whole and has been cut off."
    if log.pulls or log.under_way is not None:
        yield f"Going on with {log.path}; rewards in it: {log.pulls}."
    elif resume:
        yield f"There are no rewards in {log.path} yet: starting from the beginning."
    if not log.chained:
        yield (
            f"{log.path} was begun by an earlier version and has no hashes: a line that was "
            "changed since cannot be told."
        )
    if log.changed:
        yield "The command is another than before; the log says so too."
    if log.under_way is not None:
        yield (
            f"{_title(log, log.under_way)} was under way when the search was killed, and is made "
            "again. Its command may still be running."
        )


def _closing(outcome: "Outcome", log: "TrialLog", caught: list[int]) -> tuple[int, str]:
    """Return the exit code, and what to say if the question is still open."""
    from ..finding import Ending

    safe = f"The rewards so far ({log.pulls}) are safe in {log.path}"
    again = "call lingape find as before with --resume"
    if outcome.ending is Ending.LIMIT:
        return LIMIT, (
            f"Stopped at the limit of pulls. {safe}; to go on, {again} and a higher"
            " --max-pulls. "
            "Arms that tie are never told apart: --epsilon above 0 accepts any arm that close."
        )
    if outcome.ending is Ending.INTERRUPTED:
        return 128 + caught[-1], f"Interrupted. {safe}; to go on, {again}."
    if outcome.ending is Ending.FAILED:
        assert outcome.arm is not None and outcome.failure is not None
        title = _title(log, outcome.arm)
        if outcome.failure.outside is not None:
            return FAILED, (
                f"{title} breaks what was promised: the command {outcome.failure}. The noise "
                "scale, and so the guarantee, rests on that range. Start another log with --log "
                "and the range that rewards really have."
            )
        times = f"failed {outcome.attempts} times" if outcome.attempts > 1 else "failed"
        return FAILED, (
            f"{title} {times}: the command {outcome.failure}\n"
            f"{safe}; fix the command, then {again}."
        )
    return 0, ""


def _as_data(outcome: "Outcome", log: "TrialLog") -> dict[str, Any]:
    explorer = log.setup.explorer
    arm = explorer.recommend()
    return {
        "arm": arm,
        "name": explorer.problem.name(arm),
        "pulls": log.pulls,
        "counts": explorer.counts.tolist(),
        "ending": outcome.ending.value,
        "settled": explorer.done,
        "failure": None if outcome.failure is None else str(outcome.failure),
        "log": str(log.path),
        "certificate": explorer.certificate().to_dict(),
    }


def _table(log: "TrialLog") -> str:
    explorer = log.setup.explorer
    counts = explorer.counts
    order = [int(k) for k in (-counts).argsort(kind="stable")]
    names = [printable(explorer.problem.name(k)) for k in order[:SHOWN]]
    width = max(map(len, names))
    lines = [str(explorer.certificate()), "", "Pulls of each arm, most first:"]
    lines += [f"  {name:<{width}}  {counts[k]:>9,}" for name, k in zip(names, order, strict=False)]
    if len(order) > SHOWN:
        rest = order[SHOWN:]
        lines.append(f"  and {len(rest):,} arms more with {counts[rest].sum():,} pulls")
    return "\n".join([*lines, f"Log: {log.path}"])


def _status(explorer: "Explorer", arm: int) -> str:
    """Return one line on how far the search has come."""
    contest = getattr(explorer, "contest", None)

    def name(arm: int) -> str:
        return printable(explorer.problem.name(arm))

    line = f"{int(explorer.counts.sum()):>6,} pulls"
    if contest is not None:
        line += f"  {name(contest.leader)} leads {name(contest.rival)}, B(t) = "
        line += f"{contest.margin:+.2e}"
    return f"{line}  pulling {name(arm)}"


@contextmanager
def _display(
    log: "TrialLog",
) -> Iterator[tuple[Callable[[int], None], Callable[[str], None]]]:
    """Show how the search is going, on stderr: live on a terminal with rich, else some lines."""
    explorer = log.setup.explorer

    def note(sentence: str) -> None:
        say(sentence, err=True)

    last = -1

    def some_lines(arm: int) -> None:
        nonlocal last
        if log.pulls >= 2 * last:
            note(_status(explorer, arm))
            last = max(1, log.pulls)

    try:
        from rich.console import Console
        from rich.text import Text  # not markup: names may have brackets
    except ImportError:
        yield some_lines, note
        return
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield some_lines, note
        return
    with console.status("starting") as line:
        yield (
            lambda arm: line.update(Text(_status(explorer, arm))),
            lambda sentence: console.print(Text(printable(sentence))),
        )
