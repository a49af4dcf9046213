"""The demonstration behind `lingape demo`: the paper's instance, with two bounds."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..bounds import Mixture
from ..environments import soare
from ..explorers import Explorer, LinGapE
from ..runs import Result, run
from .reported import TABLE_1
from .settings import BOUND, paper_lingape, synthetic_problem

DIMENSION, ANGLE = 5, 0.01


class DemoRun(NamedTuple):
    title: str
    explorer: LinGapE


def demo_runs() -> list[DemoRun]:
    """Return the explorers that the demonstration runs."""
    problem = synthetic_problem(soare(DIMENSION, ANGLE))
    named = problem.replace(names=[f"Arm {k + 1}" for k in range(len(problem))])
    return [
        DemoRun(f"paper's bound, {BOUND}", paper_lingape(named)),
        DemoRun(f"tight bound, {Mixture()}", LinGapE(named, bound=Mixture())),
    ]


def play_demo(entry: DemoRun, *, seed: int, tell: Callable[[str], None] | None = None) -> Result:
    """Run one explorer of the demonstration, and tell how far it has come."""

    def progress(explorer: Explorer, pulls: int) -> None:
        if tell is not None:
            tell(progress_line(explorer, pulls))

    return run(entry.explorer, soare(DIMENSION, ANGLE).gaussian(), seed=seed, progress=progress)


def pulls_table(results: Iterable[Result]) -> str:
    """Return the pulls of each arm beside the LinGapE column of the paper's Table 1."""
    columns = [("paper, Table 1", TABLE_1["LinGapE"])]
    columns += zip(
        ["ours, paper's bound", "ours, tight bound"],
        [tuple(int(n) for n in result.counts) for result in results],
        strict=False,
    )
    width = max(len(title) for title, _ in columns)
    lines = [f"{'':6}  " + "  ".join(f"{title:>{width}}" for title, _ in columns)]
    for k in range(len(TABLE_1["LinGapE"])):
        cells = "  ".join(f"{counts[k]:>{width},}" for _, counts in columns)
        lines.append(f"Arm {k + 1:<2}  {cells}")
    totals = "  ".join(f"{sum(counts):>{width},}" for _, counts in columns)
    lines.append(f"total   {totals}")
    return "\n".join(lines)


def progress_line(explorer: Explorer, pulls: int) -> str:
    """Return one line on how far a run has come."""
    contest = explorer.contest if isinstance(explorer, LinGapE) else None
    if contest is None:
        return f"{pulls:>9,} pulls"
    name = explorer.problem.name
    return (
        f"{pulls:>9,} pulls  {name(contest.leader)} leads {name(contest.rival)}, "
        f"B(t) = {contest.margin:+.2e}"
    )
