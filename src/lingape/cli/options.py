"""What several commands share."""

import math
import os
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..live.rewards import Rewards


class Target(click.Path):
    """A file or a folder to write. What it lies in has to be there: a slip makes no folders."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fsdecode(super().convert(value, param, ctx))
        folder = os.path.dirname(path.rstrip("/") if self.dir_okay else path) or "."
        if not os.path.isdir(folder):
            self.fail(f"there is no folder {folder!r}. Make it first, or write elsewhere.")
        return path


ARM_IS_IN_ENVIRONMENT = (
    "The command does not say which arm to pull: what it runs has to look at LINGAPE_ARM, "
    "LINGAPE_NAME or LINGAPE_FEATURES."
)
new_file = Target(dir_okay=False)
new_folder = Target(file_okay=False)
as_json = click.option("--json", is_flag=True, help="Print the results as JSON.")
jobs = click.option(
    "--jobs", default=-1, show_default=True, help="Processes side by side; -1: one per core."
)
time_to_live = click.option(
    "--ttl",
    default="1d",
    show_default=True,
    callback=lambda _context, _option, ttl: None if ttl == "never" else ttl,
    help="For how long to count on the rewards: 90s, 30m, 6h, 2d or never.",
)
_epsilon = click.option(
    "--epsilon", default=0.0, show_default=True, help="ε, the accuracy asked for."
)
_delta = click.option(
    "--delta", default=0.05, show_default=True, help="δ, the error rate allowed."
)


def real_rewards(command: Any) -> Any:
    """Give a command the options that say which rewards the world pays, and what to prove."""
    for option in (
        _delta,
        _epsilon,
        click.option("--binary", is_flag=True, help="Rewards are 0 or 1; R is 1/2."),
        click.option(
            "--bounded",
            nargs=2,
            type=float,
            metavar="LOW HIGH",
            help="Rewards lie between LOW and HIGH; R is half of that range.",
        ),
        click.option("--noise-scale", type=float, help="R: rewards have R-sub-Gaussian noise."),
    ):
        command = option(command)
    return command


def simulated_rewards(command: Any) -> Any:
    """Give a command the options that say how noisy a simulation is, and what to prove."""
    scale = click.option(
        "--noise-scale", default=1.0, show_default=True, help="R, the scale of the noise."
    )
    return scale(_epsilon(_delta(command)))


def rewards_from(
    noise_scale: float | None, bounded: tuple[float, float] | None, binary: bool
) -> "tuple[Rewards, float]":
    """Return the rewards that these options describe, and R; just one of them has to be given."""
    from ..live.rewards import Rewards

    if (noise_scale is not None) + (bounded is not None) + binary != 1:
        raise click.UsageError(
            "Say how noisy rewards are with one of --noise-scale R (the standard deviation, if "
            "they are Gaussian), --bounded LOW HIGH and --binary."
        )
    rewards = Rewards.of("binary" if binary else bounded)
    return rewards, rewards.noise_scale if noise_scale is None else noise_scale


def numbers(text: str, option: str) -> list[float]:
    """Return the numbers in a text that separates them by commas."""
    from ..problem import LARGEST

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
