"""Options that several commands share."""

import math
import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..tables import ArmTable


class Target(click.Path):
    """A file or folder to write. Its parent folder must exist: a typo creates no folders."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fsdecode(super().convert(value, param, ctx))
        folder = os.path.dirname(path.rstrip("/") if self.dir_okay else path) or "."
        if not os.path.isdir(folder):
            self.fail(f"there is no folder {folder!r}. Create it first, or write elsewhere.")
        return path


ARM_IS_IN_ENVIRONMENT = (
    "The command has no {arm}, {name} or {features}: what it runs finds the arm to pull in its "
    "environment, as LINGAPE_ARM, LINGAPE_NAME, LINGAPE_FEATURES or LINGAPE_LEVELS."
)
WHICH_NOISE = (
    "Say what rewards are like with one of --noise-scale R (the standard deviation, if they are "
    "Gaussian), --bounded LOW HIGH, --binary, and --normal for Gaussian rewards of unknown "
    "standard deviation."
)
PROVEN = ("epsilon", "delta", "norm_bound", "minimize")  # and not about rewards
TABLE = ("naming", "factors", "numbers", "ignore", "interactions", "exclude", "per_arm", "header")
new_file = Target(dir_okay=False)
new_folder = Target(file_okay=False)
as_json = click.option("--json", is_flag=True, help="Print the results as JSON.")
jobs = click.option(
    "--jobs", default=-1, show_default=True, help="Number of processes; -1: one per core."
)
lane = click.option(
    "--lane",
    type=click.Choice(["auto", "gpu"]),
    default="auto",
    show_default=True,
    help="gpu: play on an NVIDIA GPU what can be played there, with other noise.",
)


def pull_limit(default: int) -> Callable[[Any], Any]:
    """Return the option that limits runs."""
    limits = "Stop a run after this many pulls."
    return click.option("--max-pulls", default=default, show_default=True, help=limits)


explorer = click.option(
    "--explorer",
    default="race",
    show_default=True,
    help="Who chooses the arms, with settings if needed: 'lingape(start=spanning)'.",
)
reward_cmd = click.option(
    "--reward-cmd",
    required=True,
    metavar="CMD",
    help="Shell command that pulls an arm and prints the reward as its last line. On Windows a "
    "program and its arguments, without a shell; there only {arm} is replaced.",
)
timeout = click.option(
    "--timeout", type=float, metavar="SECONDS", help="Kill a command that takes longer: it failed."
)
time_to_live = click.option(
    "--ttl",
    default="1d",
    show_default=True,
    callback=lambda _context, _option, ttl: None if ttl == "never" else ttl,
    help="How long to wait for the rewards: 90s, 30m, 6h, 2d or never.",
)
per_arm = click.option("--per-arm", is_flag=True, help="One feature per arm.")
interactions = click.option(
    "--interactions",
    default="",
    metavar="PAIRS",
    help="Factors that depend on each other: tone:length,tone:size, or all.",
)
minimize = click.option("--minimize", is_flag=True, help="The lowest average is the best.")
_epsilon = click.option(
    "--epsilon", default=0.0, show_default=True, help="ε: how far from the best the answer may be."
)
_delta = click.option(
    "--delta", default=0.05, show_default=True, help="δ: the error rate allowed."
)


def real_problem(command: Any) -> Any:
    """Add the arms, and the options that describe real rewards and what to prove.

    The command gets a `problem`.
    """

    @wraps(command)
    def with_problem(
        *given: Any, arms: str, noise: Any, control: str | None, **options: Any
    ) -> Any:
        if noise is None:
            raise click.UsageError(WHICH_NOISE)
        table = table_of(arms, options)
        settings = {name: options.pop(name) for name in PROVEN if name in options}
        problem = table.problem(noise=noise, **settings)
        if control is not None:
            from ..values import as_control

            problem = problem.replace(control=as_control(problem, control))
        return command(*given, problem=problem, **options)

    added: Any = of_table(with_problem)
    for option in (
        click.option(
            "--control", metavar="ARM", help="The arm to compare others with: name or number."
        ),
        minimize,
        _delta,
        _epsilon,
        real_noise,
        click.argument("arms", type=click.Path(exists=True, dir_okay=False)),
    ):
        added = option(added)
    return added


def real_noise(command: Any) -> Any:
    """Add the options that say what rewards are like.

    The command gets a `noise`, which is None if none of them is given.
    """

    @wraps(command)
    def with_noise(
        *given: Any,
        noise_scale: float | None,
        bounded: tuple[float, float] | None,
        binary: bool,
        normal: bool,
        **options: Any,
    ) -> Any:
        said = (noise_scale, bounded, "binary" if binary else None, "normal" if normal else None)
        noise = [one for one in said if one is not None]
        if len(noise) > 1:
            raise click.UsageError(WHICH_NOISE)
        return command(*given, noise=noise[0] if noise else None, **options)

    added: Any = with_noise
    for option in (
        click.option("--normal", is_flag=True, help="Rewards are Gaussian, and R is not known."),
        click.option("--binary", is_flag=True, help="Rewards are 0 or 1."),
        click.option(
            "--bounded",
            nargs=2,
            type=float,
            metavar="LOW HIGH",
            help="Rewards lie between LOW and HIGH.",
        ),
        click.option("--noise-scale", type=float, help="R: rewards have R-sub-Gaussian noise."),
    ):
        added = option(added)
    return added


header = click.option(
    "--header/--no-header",
    default=None,
    help="Whether a CSV file begins with headings.  [default: found out]",
)


def of_table(command: Any) -> Any:
    """Add the options that say what the columns of a table are for."""
    column: dict[str, Any] = {"metavar": "COLUMN", "multiple": True}
    for option in (
        header,
        per_arm,
        click.option(
            "--exclude",
            multiple=True,
            metavar="LEVELS",
            help="Leave out combinations, such as tone=dry,length=long.",
        ),
        interactions,
        click.option("--ignore", **column, help="A column to leave out."),
        click.option(
            "--number", "numbers", **column, help="A column of numbers that have a linear effect."
        ),
        click.option(
            "--factor", "factors", **column, help="A column with the levels of a factor."
        ),
        click.option("--name", "naming", metavar="COLUMN", help="The column with names of arms."),
    ):
        command = option(command)
    return command


def table_of(arms: str, options: dict[str, Any]) -> "ArmTable":
    """Return the arms in a file, taking options about its columns; say what was taken for what."""
    from ..tables import read_arms
    from .showing import say

    given = {name: options.pop(name) for name in TABLE}
    given["name"] = given.pop("naming")
    given["interactions"] = pairs(given["interactions"])
    given["exclude"] = [combination(text) for text in given["exclude"]]
    table = read_arms(arms, **given)
    say(" ".join(table.notes), err=True)
    return table


def pairs(text: str) -> Any:
    """Return interactions from a text such as tone:length,tone:size; none from an empty one."""
    if text in ("", "all"):
        return text or ()
    return [pair.split(":") for pair in text.split(",")]


def combination(text: str) -> dict[str, str]:
    """Return levels by factor from a text such as tone=dry,length=long."""
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and equals for name, equals, _ in parts):
        raise click.BadParameter(
            f"must be levels of factors, such as tone=dry,length=long; got {text!r}."
        )
    return {name.strip(): level.strip() for name, _, level in parts}


def notice(command: Any) -> Any:
    """Add the options that say what to do when the question is answered.

    The command gets a `notice`, which may be None.
    """

    @wraps(command)
    def with_notice(
        *given: Any, on_settled: str | None, webhook: str | None, **options: Any
    ) -> Any:
        from ..live.notices import Notice

        wanted = on_settled is not None or webhook is not None
        return command(*given, notice=Notice(on_settled, webhook) if wanted else None, **options)

    added: Any = click.option(
        "--webhook",
        metavar="URL",
        help="Send the certificate there as JSON when the question is answered.",
    )(with_notice)
    return click.option(
        "--on-settled",
        metavar="CMD",
        help="Run this when the question is answered. It gets the certificate as JSON on its "
        "standard input; LINGAPE_EXPERIMENT, LINGAPE_ARM, LINGAPE_NAME and LINGAPE_STATEMENT are "
        "in its environment. A shell runs it, but not on Windows.",
    )(added)


def to_prove(command: Any) -> Any:
    """Add the options that say what to prove."""
    return _epsilon(_delta(command))


def simulated_rewards(command: Any) -> Any:
    """Add the options that describe simulated noise, and what to prove."""
    scale = click.option(
        "--noise-scale", default=1.0, show_default=True, help="R, the scale of the noise."
    )
    return scale(to_prove(command))


def numbers(text: str, option: str) -> list[float]:
    """Return the numbers in a text that are separated by commas."""
    from ..checks import LARGEST

    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = [math.nan]
    if not math.hypot(*found) <= LARGEST:
        raise click.BadParameter(
            "must be numbers separated by commas, as a vector of length at most "
            f"{LARGEST:g}; got {text!r}.",
            param_hint=option,
        )
    return found
