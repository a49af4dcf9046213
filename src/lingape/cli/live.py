"""lingape live: an experiment in a database, driven from the shell."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..printable import printable
from . import options
from .group import Group
from .options import as_json
from .showing import ask_for_matplotlib, say
from .threads import OneThreaded

if TYPE_CHECKING:
    from ..live import (
        Client,
        Experiment,
        LogCertificate,
        Progress,
        RemoteExperiment,
        Verification,
    )
    from ..live.notices import Notice
    from ..problem import Problem

OVER = 3  # exit code of ask when there is nothing left to pull


class _Live(Group):
    command_class = OneThreaded


@click.group(cls=_Live)
def live() -> None:
    """Experiments in which workers ask for arms and tell rewards.

    URL is the database, as sqlite:///run.db (in this folder) or sqlite:////full/path/run.db, or a
    server, as http://127.0.0.1:8000 (see lingape serve); NAME is the experiment in it. Everything
    is on disk before a command ends, so any of them can be killed and repeated: no reward is lost
    or counted twice. A server's token is taken from LINGAPE_WRITE_TOKEN, or LINGAPE_READ_TOKEN.

    Exit codes: 0 done; 1 refused, and repeating will not help; 2 bad options; 3 (ask) there is
    nothing left to pull; 5 the database or the server could not be used: do the same again later.

    \b
    Example:
      lingape live new sqlite:///run.db ads arms.csv --binary
      lingape live ask sqlite:///run.db ads --ttl 6h
      lingape live tell sqlite:///run.db ads 2-0-k3wzq5ab 1
      lingape live status sqlite:///run.db ads
    """


def place(command: Any) -> Any:
    """Give a command the arguments that say which experiment it is about."""
    return click.argument("url")(click.argument("name")(command))


def open_experiment(url: str, name: str) -> "Experiment | RemoteExperiment":
    """Return an experiment, in a database or on a server."""
    from ..live import Experiment

    if _remote(url):
        return _client(url).experiment(name)
    return Experiment.open(url, name)


def _remote(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _client(url: str) -> "Client":
    from ..live import Client

    return Client(url, _token())


def _token() -> str | None:
    return os.environ.get("LINGAPE_WRITE_TOKEN") or os.environ.get("LINGAPE_READ_TOKEN") or None


def warn(warnings: Iterable[str]) -> None:
    """Print on standard error why a certificate may be wrong."""
    for warning in warnings:
        say(f"Warning: {warning}", err=True)


def announce(notice: "Notice | None", certificate: "LogCertificate") -> None:
    """Do what was asked for when the question is answered, if it is."""
    if notice is not None and certificate.settled:
        for trouble in notice.send(certificate):
            say(trouble, err=True)


def say_certificate(certificate: "LogCertificate", json: bool) -> None:
    """Print what is proven; as JSON, with the warnings on standard error too."""
    say(certificate.to_dict() if json else str(certificate))
    warn(certificate.warnings if json else ())


def _rewards(count: int) -> str:
    return "1 reward" if count == 1 else f"{count} rewards"


def _say_progress(
    experiment: "Experiment | RemoteExperiment",
    progress: "Progress",
    json: bool,
    **recorded: Any,
) -> None:
    """Print how many rewards there are, and what is proven if that settles the question."""
    if json:
        say(recorded | progress._asdict())
        return
    so_far = f"{_rewards(progress.pulls)}."
    if progress.settled:
        so_far += " " + experiment.certificate().statement.splitlines()[0]
    say(so_far)


@live.command()
@place
@options.real_problem
@options.explorer
@click.option(
    "--norm-bound", type=float, help="S, an upper bound on the length of θ, for some bounds."
)
@click.option("--seed", default=0, show_default=True, help="For explorers that draw at random.")
@click.option("--question", metavar="TEXT", help="What is to be found out, for people.")
@click.option("--notes", metavar="TEXT", help="What else people should know.")
@click.option("--owner", metavar="TEXT", help="Whom to ask about it.")
@as_json
def new(
    url: str,
    name: str,
    problem: "Problem",
    json: bool,
    **settings: Any,
) -> None:
    """Begin an experiment with the arms in a table, one row per arm, as for lingape find.

    Say what rewards are like with one of --noise-scale, --bounded, --binary and --normal: the
    guarantee rests on it. If the experiment is there already with the same settings, nothing
    happens.
    """
    from ..live import Experiment

    if _remote(url):
        with _client(url) as client:
            client.create(name, problem, **settings)
    else:
        Experiment.open(url, name, create=problem, **settings).close()
    with open_experiment(url, name) as begun:
        status = begun.status()
    say(status.to_dict() if json else f"{name}: {len(problem)} arms, {_rewards(status.pulls)}.")


@live.command("list")
@click.argument("url")
@click.option("--all", "everything", is_flag=True, help="Those that were archived, too.")
@as_json
def list_(url: str, everything: bool, json: bool) -> None:
    """Print the experiments, one per line: name, arms, rewards, state; separated by tabs.

    The state is "running" or "settled", with ", but doubtful" where the model check warns: then
    lingape live status says why; and with ", archived" where it was taken off the list. If a log
    cannot be read: name, unreadable, why, and what to do.
    """
    from ..live import Unreadable, experiments

    known = experiments(url, _token())
    found = [one for one in known if everything or not getattr(one, "archived", False)]
    if out := len(known) - len(found):
        say(f"{out} archived, not shown; --all shows all.", err=True)
    if json:
        shown = ("name", "arms", "pulls", "settled", "archived", "warnings")
        say(
            [
                {"name": one.name, "unreadable": True, "error": one.error}
                if isinstance(one, Unreadable)
                else {name: one.to_dict()[name] for name in shown}
                for one in found
            ]
        )
        return
    for one in found:
        if isinstance(one, Unreadable):
            say(f"{printable(one.name)}\tunreadable\t{printable(one.error)}")
        else:
            state = one.state + (", archived" if one.archived else "")
            say(f"{printable(one.name)}\t{one.arms} arms\t{_rewards(one.pulls)}\t{state}")
    if not known:
        say("There are no experiments yet; lingape live new begins one.", err=True)


@live.command()
@place
@click.option(
    "-n",
    "count",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="How many arms.",
)
@click.option("--worker", help="Who asks, for the log.")
@options.time_to_live
@click.option("--key", help="Asking again with the same key gives the same tickets.")
@as_json
@click.pass_context
def ask(
    ctx: click.Context,
    url: str,
    name: str,
    count: int,
    worker: str | None,
    ttl: str | None,
    key: str | None,
    json: bool,
) -> None:
    """Print arms to pull, one per line: ticket, number and name, separated by tabs.

    Line breaks and the like in a name are escaped, as \\n; --json has names as they are.

    Exit code 3 says that the question is answered and there is nothing left to pull.
    """
    from ..errors import ExplorationOver

    with open_experiment(url, name) as experiment:
        try:
            tickets = experiment.ask(count, worker=worker, ttl=ttl, key=key)
        except ExplorationOver as over:
            say(str(over), err=True)
            ctx.exit(OVER)
    if json:
        say([ticket.to_dict() for ticket in tickets])
        return
    for ticket in tickets:
        say(f"{ticket.id}\t{ticket.arm}\t{printable(ticket.name)}")


@live.command(context_settings={"ignore_unknown_options": True})  # rewards may be negative
@place
@click.argument("ticket")
@click.argument("reward", type=float)
@as_json
def tell(url: str, name: str, ticket: str, reward: float, json: bool) -> None:
    """Record the reward of a ticket; repeating it changes nothing."""
    with open_experiment(url, name) as experiment:
        progress = experiment.tell(ticket, reward)
        _say_progress(experiment, progress, json, ticket=ticket, reward=reward)


@live.command()
@place
@click.argument("ticket")
@click.option("--reason", required=True, help="Why there will be no reward.")
@as_json
def void(url: str, name: str, ticket: str, reason: str, json: bool) -> None:
    """Record that a ticket will have no reward, for a reason other than the reward."""
    with open_experiment(url, name) as experiment:
        progress = experiment.void(ticket, reason)
        _say_progress(experiment, progress, json, ticket=ticket, reason=reason)


@live.command(context_settings={"ignore_unknown_options": True})
@place
@click.argument("arm", type=int)
@click.argument("reward", type=float)
@click.option("--key", help="Adding again with the same key changes nothing.")
@as_json
def add(url: str, name: str, arm: int, reward: float, key: str | None, json: bool) -> None:
    """Record a reward that no ticket asked for, by the arm's number."""
    with open_experiment(url, name) as experiment:
        progress = experiment.add(arm, reward, key=key)
        _say_progress(experiment, progress, json, arm=arm, reward=reward, key=key)


@live.command("add-arms")
@place
@click.option(
    "--levels",
    multiple=True,
    metavar="LEVELS",
    help="A new arm by its levels: tone=dry,length=long. May be repeated.",
)
@click.option(
    "--features",
    multiple=True,
    metavar="NUMBERS",
    help="A new arm by its features, separated by commas. May be repeated.",
)
@click.option("--called", multiple=True, metavar="NAME", help="Its name; one for each arm.")
@click.option("--key", help="Adding again with the same key changes nothing.")
@as_json
def add_arms(
    url: str,
    name: str,
    levels: tuple[str, ...],
    features: tuple[str, ...],
    called: tuple[str, ...],
    key: str | None,
    json: bool,
) -> None:
    """Add arms while the experiment runs, and print their numbers.

    What they pay has to follow from what the others show: known levels, new combinations.
    """
    if bool(levels) == bool(features):
        raise click.UsageError(
            "Say which arms to add: --levels tone=dry,length=long where arms are made of factors, "
            "--features 1,0,2 where they have features only."
        )
    arms = [options.combination(one) for one in levels]
    rows = [options.numbers(one, "--features") for one in features]
    with open_experiment(url, name) as experiment:
        found = experiment.add_arms(arms or rows, names=called, key=key)
        problem = experiment.problem
    if json:
        say([{"arm": arm, "name": problem.name(arm)} for arm in found.arms])
        return
    for arm in found.arms:
        say(f"{arm}\t{printable(problem.name(arm))}")


@live.command()
@place
@click.argument("arm")
@click.option("--reason", required=True, help="Why, other than that it does badly.")
@as_json
def retire(url: str, name: str, arm: str, reason: str, json: bool) -> None:
    """Take an ARM out, by its number or name: it is no longer handed out and cannot be the answer.

    For reasons that have nothing to do with its rewards. An arm that does badly is ruled out
    without that.
    """
    from ..values import arm_called, as_control

    with open_experiment(url, name) as experiment:
        problem = experiment.problem
        number = arm_called(problem, as_control(problem, arm))
        progress = experiment.retire(number, reason)
        _say_progress(experiment, progress, json, arm=number, reason=reason)


@live.command(context_settings={"ignore_unknown_options": True})
@place
@click.argument("ticket", metavar="TICKET|EVENT")
@click.argument("reward")
@click.option("--reason", required=True, help="Why, such as 'typing error'.")
@click.option("--key", help="Correcting again with the same key changes nothing.")
@as_json
def correct(
    url: str, name: str, ticket: str, reward: str, reason: str, key: str | None, json: bool
) -> None:
    """Put another REWARD in the place of a wrong one; "none" if there was no such trial.

    It is given by its ticket, or by the number of the event that recorded it. Everything is then
    as if the right reward had been told from the start; the log keeps both.
    """
    value = None if reward == "none" else click.FLOAT(reward)
    what = int(ticket) if ticket.isdecimal() else ticket
    with open_experiment(url, name) as experiment:
        progress = experiment.correct(what, value, reason, key=key)
        _say_progress(experiment, progress, json, corrected=what, reward=value, reason=reason)


@live.command()
@place
@click.option("--undo", is_flag=True, help="Put it back on the list.")
@as_json
def archive(url: str, name: str, undo: bool, json: bool) -> None:
    """Take an experiment off the list; nothing else changes."""
    with open_experiment(url, name) as experiment:
        progress = experiment.archive(not undo)
    if json:
        say({"archived": not undo} | progress._asdict())
    else:
        say(f"{name}: {'put back on' if undo else 'taken off'} the list.")


@live.command()
@place
@options.notice
@as_json
def watch(url: str, name: str, notice: "Notice | None", json: bool) -> None:
    """Wait until the question is answered, with a line at each change.

    With --on-settled or --webhook it then announces the answer; if there is one already, at once.
    """
    with open_experiment(url, name) as experiment:
        for status in experiment.watch():
            so_far = f"{_rewards(status.pulls)}; {status.state}"
            say(f"{so_far}; {printable(status.leader_name or 'nobody')} leads", err=True)
        certificate = status.certificate
    say_certificate(certificate, json)
    announce(notice, certificate)


@live.command()
@place
@as_json
def status(url: str, name: str, json: bool) -> None:
    """Show how the experiment stands, what is proven, and whether the model looks right."""
    with open_experiment(url, name) as experiment:
        now = experiment.status()
    say(now.to_dict() if json else str(now))


@live.command()
@place
@as_json
def certificate(url: str, name: str, json: bool) -> None:
    """Show what is proven now, how good the arm is, and whether the model looks right."""
    with open_experiment(url, name) as experiment:
        say_certificate(experiment.certificate(), json)


@live.command()
@place
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="FACTOR=LEVEL",
    help="Compare the levels of a factor with this one, not with the first.",
)
@click.option(
    "--contrast",
    nargs=2,
    metavar="LEVELS LEVELS",
    help="Compare arms with some levels with arms with others: tone=dry,length=long tone=warm.",
)
@click.option("--against", metavar="ARM", help="Compare all arms with this one, the control.")
@click.option(
    "--plot",
    type=options.new_file,
    help="Draw it too: a file ending in .png, .svg or .pdf, or NAME for NAME.png and NAME.svg.",
)
@as_json
def effects(
    url: str,
    name: str,
    references: tuple[str, ...],
    contrast: tuple[str, str] | None,
    against: str | None,
    plot: str | None,
    json: bool,
) -> None:
    """Show what each level of each factor adds, with intervals that hold together at all times.

    An effect is an average over the arms, with the other factors as they are.
    """
    from ..data import to_data
    from ..values import as_control, lift_table

    if plot is not None and contrast is not None:
        raise click.UsageError("--plot draws effects, or with --against arms, but no --contrast.")
    if plot is not None:
        ask_for_matplotlib()
    with open_experiment(url, name) as experiment:
        status, values = experiment.status(), experiment.values()
    found: Any
    if contrast is not None:
        found = values.contrast(*map(options.combination, contrast))
        shown = str(found)
    elif against is not None:
        control = as_control(values.problem, against)
        found = values.lifts(control)
        shown = lift_table(found, values.problem.delta)
    else:
        found = values.effects(options.combination(",".join(references)) if references else None)
        shown = str(found)
    say(to_data(found) if json else shown)
    if plot is not None:
        from .. import plots

        figure = plots.effects(found) if against is None else plots.values(values, control=control)
        for file in plots.save(figure, plot):
            say(f"Plot: {file}", err=json)
    warn(status.warnings)


@live.command()
@place
@click.argument("successor")
@click.option(
    "--interactions",
    metavar="PAIRS",
    help="Factors that depend on each other: tone:length,tone:size, or all; '' for none.  "
    "[default: as before]",
)
@options.per_arm
@options.real_noise
@click.option(
    "--epsilon",
    type=float,
    help="ε of the successor, chosen without looking.  [default: as before]",
)
@click.option(
    "--delta",
    type=float,
    help="δ of the successor, chosen without looking.  [default: as before]",
)
@click.option("--norm-bound", type=float, help="S, if the features change or it was unknown.")
@click.option("--explorer", help="Who explores.  [default: as before]")
@as_json
def refit(
    url: str,
    name: str,
    successor: str,
    interactions: str | None,
    json: bool,
    **settings: Any,
) -> None:
    """Begin a SUCCESSOR with the same arms, another model or goal, and all rewards so far.

    For when the model check warns: --interactions lets factors depend on each other, --per-arm
    gives every arm a feature of its own, which is always right, and --noise-scale, --bounded,
    --binary or --normal say what rewards are like after all. What is not given stays as it was.
    """
    pairs = None if interactions is None else options.pairs(interactions)
    with (
        open_experiment(url, name) as experiment,
        experiment.refit(successor, interactions=pairs, **settings) as begun,
    ):
        status = begun.status()
    say(status.to_dict() if json else str(status))


@live.command()
@place
@click.argument("path", type=options.new_file)
@as_json
def export(url: str, name: str, path: str, json: bool) -> None:
    """Write the log to a new file, as JSON lines: for verify, for import, and to keep.

    With - for the file it goes to standard output, and nothing else does.
    """
    with open_experiment(url, name) as experiment:
        if path == "-":
            sys.stdout.writelines(experiment.export_lines())
            return
        count = experiment.export(path)
    events = "1 event" if count == 1 else f"{count} events"
    say({"path": path, "events": count} if json else f"{path}: {events}")


def _input(path: str) -> Path:
    """Return the file to read; where - stands for it, standard input."""
    if path == "-" and sys.platform == "win32":
        raise click.UsageError("On Windows, - cannot stand for standard input. Name a file.")
    return Path("/dev/stdin" if path == "-" else path)


@live.command("import")
@click.argument(
    "path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.argument("url")
@as_json
def import_(path: str, url: str, json: bool) -> None:
    """Verify an exported experiment and copy it into a database.

    With - for the file it comes from standard input.
    """
    from ..live import Experiment

    if _remote(url):
        raise click.UsageError(
            f"{url} is a server, and servers take no logs. Give the URL of its database."
        )
    with Experiment.from_export(_input(path), url) as experiment:
        name, status = experiment.name, experiment.status()
    say(status.to_dict() if json else f"{name}: {status.arms} arms, {_rewards(status.pulls)}.")


@live.command()
@click.argument("source", metavar="URL|FILE")
@click.argument("name", required=False)
@as_json
def verify(source: str, name: str | None, json: bool) -> None:
    """Replay a log from its beginning, and check that the certificate follows from it.

    Give a URL and a NAME, or a FILE that was exported (- is standard input).
    """
    found: Verification
    if name is not None:
        with open_experiment(source, name) as experiment:
            found = experiment.verify()
    elif "://" in source:
        raise click.UsageError("Which experiment? Give its NAME after the URL.")
    else:
        from ..live import read_export
        from ..live import verify as verify_log

        found = verify_log(read_export(_input(source)))
    say(found.to_dict() if json else str(found))
    warn(found.certificate.warnings if json else ())
