"""lingape reproduce: the paper's tables and figures."""

import json as jsonlib
import time
from pathlib import Path
from typing import Any, Literal

import click

from .options import as_json, jobs, lane, new_folder
from .showing import ask_for_matplotlib, interruptible, live_line, say, simulating

NAMES = ("table1", "figure1", "figure2", "figure3")


@click.command()
@click.argument("name", type=click.Choice([*NAMES, "all"]))
@click.option(
    "--repeats",
    type=click.IntRange(1, 100_000),
    default=10,
    show_default=True,
    help="Runs of each kind; the paper has ten.",
)
@jobs
@lane
@click.option("--quick", is_flag=True, help="Two runs on fewer instances, as a quick check.")
@click.option(
    "--r6a",
    type=click.Path(exists=True, dir_okay=False),
    multiple=True,
    help="Yahoo's R6A log for figure3, plain or gzip. May be repeated.  [default: MovieLens]",
)
@click.option("--synthetic", is_flag=True, help="Use a made-up log for figure3; needs no network.")
@click.option(
    "--out",
    type=new_folder,
    default="reproduction",
    show_default=True,
    help="The folder to write to; created if missing.",
)
@as_json
def reproduce(
    name: str,
    repeats: int,
    jobs: int,
    lane: Literal["auto", "gpu"],
    quick: bool,
    r6a: tuple[str, ...],
    synthetic: bool,
    out: str,
    json: bool,
) -> None:
    """Reproduce a table or figure of the paper, or all of them.

    Writes the figure (PNG and SVG), every run (CSV) and a page (Markdown) with our numbers beside
    the paper's and whether its claims hold.
    """
    from ..datasets.r6a import write_synthetic_r6a
    from ..paper import EXPERIMENTS, PageOptions

    if r6a and synthetic:
        raise click.UsageError("Use --r6a or --synthetic, not both.")
    ask_for_matplotlib()
    logs = tuple(map(Path, r6a))
    if synthetic:
        Path(out).mkdir(exist_ok=True)
        logs = (Path(out, "synthetic-r6a.gz"),)
        write_synthetic_r6a(logs[0], lines=100_000, seed=0)
    pages: list[dict[str, Any]] = []
    given = " --lane gpu" if lane == "gpu" else ""
    given += (" --quick" if quick else "") + (" --synthetic" if synthetic else "")
    given += "".join(f" --r6a {Path(log).name}" for log in r6a)

    def stopped() -> str:
        written = ", ".join(page["name"] for page in pages)
        kept = f"{written} in {out}" if pages else "nothing"
        return f"Stopped in {wanted}. Written before that: {kept}."

    with interruptible(stopped), simulating():
        for wanted in NAMES if name == "all" else (name,):
            begun = time.perf_counter()
            with live_line(f"{wanted}: starting", quiet=json) as show:
                options = PageOptions(
                    repeats=repeats,
                    jobs=jobs,
                    lane=lane,
                    quick=quick,
                    tell=show,
                    r6a=logs or None,
                    synthetic=synthetic,
                )
                page = EXPERIMENTS[wanted](options)
            command = f"lingape reproduce {wanted} --repeats {repeats}{given}"
            files = page.write(Path(out), command)
            pages.append(page.to_dict() | {"files": [str(file) for file in files]})
            if not json:
                say(f"\n{page.title}  ({time.perf_counter() - begun:.0f} s)")
                for claim in page.claims:
                    say(f"- {claim.says}: {claim.verdict.upper()}; {claim.by}")
                say(f"Page: {files[0]}")
    if json:
        click.echo(jsonlib.dumps(pages, indent=2))
