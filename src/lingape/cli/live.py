"""lingape live: an experiment in a database, driven from the shell."""

import json as jsonlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import as_json

if TYPE_CHECKING:
    from ..live import (
        Client,
        Experiment,
        RemoteExperiment,
        Status,
        Verification,
    )

OVER = 3  # exit code of ask when there is nothing left to pull


@click.group()
def live() -> None:
    """Experiments in which workers ask for arms and tell rewards.

    URL is the database, as sqlite:///run.db (in this folder) or sqlite:////full/path/run.db, or a
    server, as http://127.0.0.1:8000 (see lingape serve); NAME is the experiment in it. Everything
    is on disk before a command ends, so any of them may be killed and repeated: no reward is lost
    or counted twice. A server's token is taken from LINGAPE_WRITE_TOKEN, or LINGAPE_READ_TOKEN.

    \b
    Example:
      lingape live new sqlite:///run.db ads arms.csv --binary
      lingape live ask sqlite:///run.db ads --ttl 6h
      lingape live tell sqlite:///run.db ads 2-0-k3wzq5ab 1
      lingape live status sqlite:///run.db ads
    """


def _place(command: Any) -> Any:
    """Give a command the arguments that say which experiment it is about."""
    return click.argument("url")(click.argument("name")(command))


def _open(url: str, name: str) -> "Experiment | RemoteExperiment":
    from ..live import Experiment

    if _remote(url):
        return _client(url).experiment(name)
    return Experiment.open(url, name)


def _remote(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _client(url: str) -> "Client":
    from ..live import Client

    token = os.environ.get("LINGAPE_WRITE_TOKEN") or os.environ.get("LINGAPE_READ_TOKEN")
    return Client(url, token or None)


def _say(what: Any) -> None:
    """Print a text, or data as JSON."""
    click.echo(what if isinstance(what, str) else jsonlib.dumps(what, indent=1))


@live.command()
@_place
@click.argument("arms", type=click.Path(exists=True, dir_okay=False))
@click.option("--noise-scale", type=float, help="R: rewards have R-sub-Gaussian noise.")
@click.option(
    "--bounded",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Rewards lie between LOW and HIGH; R is half of that range.",
)
@click.option("--binary", is_flag=True, help="Rewards are 0 or 1; R is 1/2.")
@click.option("--epsilon", default=0.0, show_default=True, help="ε, the accuracy asked for.")
@click.option("--delta", default=0.05, show_default=True, help="δ, the error rate allowed.")
@click.option(
    "--explorer",
    default="lingape",
    show_default=True,
    help="Who chooses the arms, with settings if need be: 'lingape(start=spanning)'.",
)
@click.option("--seed", default=0, show_default=True, help="Of explorers that draw.")
@as_json
def new(
    url: str,
    name: str,
    arms: str,
    noise_scale: float | None,
    bounded: tuple[float, float] | None,
    binary: bool,
    epsilon: float,
    delta: float,
    explorer: str,
    seed: int,
    json: bool,
) -> None:
    """Begin an experiment with the arms in a table, one row of features per arm.

    If it is there already with the same settings, nothing happens.
    """
    from ..live import Experiment, noise_scale_for
    from ..problem import Problem
    from ..tables import read_arms

    if (noise_scale is not None) + (bounded is not None) + binary != 1:
        raise click.UsageError(
            "Say how noisy rewards are with one of --noise-scale R (the standard deviation, if "
            "they are Gaussian), --bounded LOW HIGH and --binary."
        )
    if noise_scale is None:
        noise_scale = noise_scale_for(bounded=bounded, binary=binary)
    names, features = read_arms(arms)
    problem = Problem(features, names=names, noise_scale=noise_scale, epsilon=epsilon, delta=delta)
    status: Status
    if _remote(url):
        with _client(url) as client:
            status = client.create(name, problem, explorer=explorer, seed=seed).status()
    else:
        with Experiment.open(url, name, create=problem, explorer=explorer, seed=seed) as begun:
            status = begun.status()
    _say(status.to_dict() if json else f"{name}: {len(problem)} arms, {status.pulls} rewards.")


@live.command()
@_place
@click.option("-n", "count", default=1, show_default=True, help="How many arms.")
@click.option("--worker", help="Who asks, for the log.")
@click.option(
    "--ttl",
    default="1d",
    show_default=True,
    help="For how long to count on the rewards: 90s, 30m, 6h, 2d or never.",
)
@click.option("--key", help="Asking again with the same key gives the same tickets.")
@as_json
@click.pass_context
def ask(
    ctx: click.Context,
    url: str,
    name: str,
    count: int,
    worker: str | None,
    ttl: str,
    key: str | None,
    json: bool,
) -> None:
    """Print arms to pull, one a line: ticket, number and name, separated by tabs.

    Exit code 3 says that the question is answered and there is nothing left to pull.
    """
    from ..errors import ExplorationOver

    lasting = None if ttl == "never" else ttl
    with _open(url, name) as experiment:
        try:
            tickets = experiment.ask(count, worker=worker, ttl=lasting, key=key)
        except ExplorationOver as over:
            click.echo(str(over), err=True)
            ctx.exit(OVER)
    if json:
        _say([ticket.to_dict() for ticket in tickets])
        return
    for ticket in tickets:
        _say(f"{ticket.id}\t{ticket.arm}\t{ticket.name}")


@live.command(context_settings={"ignore_unknown_options": True})  # rewards may be negative
@_place
@click.argument("ticket")
@click.argument("reward", type=float)
@as_json
def tell(url: str, name: str, ticket: str, reward: float, json: bool) -> None:
    """Record the reward of a ticket; repeating it changes nothing."""
    with _open(url, name) as experiment:
        experiment.tell(ticket, reward)
    if json:
        _say({"ticket": ticket, "reward": reward})


@live.command()
@_place
@click.argument("ticket")
@click.option("--reason", required=True, help="Why there will be no reward.")
@as_json
def void(url: str, name: str, ticket: str, reason: str, json: bool) -> None:
    """Record that a ticket will have no reward, for a reason other than the reward."""
    with _open(url, name) as experiment:
        experiment.void(ticket, reason)
    if json:
        _say({"ticket": ticket, "reason": reason})


@live.command(context_settings={"ignore_unknown_options": True})
@_place
@click.argument("arm", type=int)
@click.argument("reward", type=float)
@click.option("--key", help="Adding again with the same key changes nothing.")
@as_json
def add(url: str, name: str, arm: int, reward: float, key: str | None, json: bool) -> None:
    """Record a reward that no ticket asked for, by the arm's number."""
    with _open(url, name) as experiment:
        experiment.add(arm, reward, key=key)
    if json:
        _say({"arm": arm, "reward": reward, "key": key})


@live.command()
@_place
@as_json
def status(url: str, name: str, json: bool) -> None:
    """Show how the experiment stands, what is proven, and whether the model looks right."""
    with _open(url, name) as experiment:
        now = experiment.status()
    _say(now.to_dict() if json else str(now))


@live.command()
@_place
@as_json
def certificate(url: str, name: str, json: bool) -> None:
    """Show what is proven now."""
    with _open(url, name) as experiment:
        found = experiment.certificate()
    _say(found.to_dict() if json else str(found))


@live.command()
@_place
@click.argument("path", type=click.Path(dir_okay=False))
@as_json
def export(url: str, name: str, path: str, json: bool) -> None:
    """Write the log as JSON lines."""
    with _open(url, name) as experiment:
        count = experiment.export(path)
    _say({"path": path, "events": count} if json else f"{path}: {count} events")


@live.command()
@click.argument("place", metavar="URL|FILE")
@click.argument("name", required=False)
@as_json
def verify(place: str, name: str | None, json: bool) -> None:
    """Replay a log from its beginning, and check that the certificate follows from it.

    Give a URL and a NAME, or a FILE that was exported.
    """
    found: Verification
    if name is not None:
        with _open(place, name) as experiment:
            found = experiment.verify()
    elif "://" in place:
        raise click.UsageError("Which experiment? Give its NAME after the URL.")
    else:
        from ..live import read_export
        from ..live import verify as verify_log

        found = verify_log(read_export(Path(place)))
    _say(found.to_dict() if json else str(found))
