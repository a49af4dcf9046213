"""The demonstration behind `lingape demo`: the paper's instance, with two bounds."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..bounds import Mixture
from ..environments import soare
from ..explorers import Explorer, LinGapE
from ..runs import Result, run
from .reported import TABLE_1
from .settings import BOUND, lingape, synthetic_problem

DIMENSION, ANGLE = 5, 0.01


class DemoRun(NamedTuple):
    title: str
    explorer: LinGapE


def demo_runs() -> list[DemoRun]:
    """Return the explorers that the demonstration runs."""
    problem = synthetic_problem(soare(DIMENSION, ANGLE))
    named = problem.replace(names=[f"Arm {k + 1}" for k in range(len(problem))])
    return [
        DemoRun(f"paper's bound, {BOUND}", lingape(named)),
        DemoRun(f"tight bound, {Mixture()}", LinGapE(named, bound=Mixture())),
    ]


def play_demo(entry: DemoRun, *, seed: int, tell: Callable[[str], None]) -> Result:
    """Run one explorer of the demonstration, and tell how far it has come."""
    return run(
        entry.explorer,
        soare(DIMENSION, ANGLE).gaussian(),
        seed=seed,
        progress=lambda explorer, pulls: tell(progress_line(explorer, pulls)),
    )


def pulls_table(results: Iterable[Result]) -> str:
    """Return the pulls of each arm beside the LinGapE column of the paper's Table 1."""
    titles = ("paper, Table 1", "ours, paper's bound", "ours, tight bound")
    width = max(map(len, titles))
    columns = [TABLE_1["LinGapE"], *(result.counts.tolist() for result in results)]
    rows = {f"Arm {k}": counts for k, counts in enumerate(zip(*columns, strict=True), start=1)}
    rows["total"] = tuple(map(sum, columns))
    lines = [f"{'':6}  " + "  ".join(f"{title:>{width}}" for title in titles)]
    for name, counts in rows.items():
        lines.append(f"{name:<6}  " + "  ".join(f"{count:>{width},}" for count in counts))
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
