"""lingape leaderboard: every explorer on a fixed set of instances."""

import json as jsonlib
from pathlib import Path

import click

from .options import as_json, jobs, new_folder
from .showing import ask_for_matplotlib, interruptible, live_line, say, simulating


@click.command()
@click.option(
    "--seeds",
    type=click.IntRange(min=2),
    default=40,
    show_default=True,
    help="Runs of each explorer on each instance.",
)
@click.option(
    "--max-pulls",
    type=click.IntRange(min=1_000),
    default=300_000,
    show_default=True,
    help="Stop a run after this many pulls: on tied arms a tenth of them and, without --quick, "
    "ten times as many where only Race and LinGapE are compared.",
)
@jobs
@click.option("--quick", is_flag=True, help="Few instances and ten runs, as a quick check.")
@click.option("--no-data", is_flag=True, help="Leave out MovieLens, which pip downloads.")
@click.option(
    "--out",
    type=new_folder,
    default="leaderboard",
    show_default=True,
    help="The folder to write to; created if missing.",
)
@as_json
def leaderboard(
    seeds: int, max_pulls: int, jobs: int, quick: bool, no_data: bool, out: str, json: bool
) -> None:
    """Compare all explorers on a fixed set of instances, and write a page about it."""
    from ..datasets.movielens import load_movielens
    from ..leaderboard import BoardOptions, compare_all

    ask_for_matplotlib()
    data = () if quick or no_data else (load_movielens().sample(20, 0),)
    with (
        interruptible(lambda: "Stopped; nothing was written."),
        simulating(),
        live_line("starting", quiet=json) as show,
    ):
        options = BoardOptions(
            seeds=min(10, seeds) if quick else seeds,
            max_pulls=min(100_000, max_pulls) if quick else max_pulls,
            jobs=jobs,
            quick=quick,
            data=data,
            tell=show,
        )
        board = compare_all(options)
    given = (" --quick" if quick else "") + (" --no-data" if no_data else "")
    command = f"lingape leaderboard --seeds {seeds} --max-pulls {max_pulls}{given}"
    files = board.write(Path(out), command)
    if json:
        click.echo(jsonlib.dumps(board.to_dict() | {"files": [str(f) for f in files]}, indent=1))
        return
    say(board.markdown(command).split("## Reading")[1].strip())
    say(f"Page: {files[0]}")
