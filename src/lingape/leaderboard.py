"""A standing comparison: every explorer on a fixed set of instances.

New explorers are picked up from the registries. Fixed confidence: samples until settled as a
multiple of the lower bound, errors, and time per round. Fixed budget: errors at equal budget.
"""

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import plots, specs
from .environments import Instance, soare
from .errors import LingapeError
from .explorers import BUDGET_EXPLORERS, EXPLORERS
from .printable import markdown_list, markdown_table
from .provenance import stamp
from .rates import clopper_pearson
from .runs import run
from .study import Cell, Pace, Study
from .study.results import SUMMARY_HEADS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHAMPION = "lingape"
# Beside every registered explorer with its default settings.
VARIANTS = (
    "lingape(pull=tracking)",
    "lingape(elimination=sample)",
    "lingape(bound=self_normalized)",
    "lingape(bound=stylised)",
    "lin_game(bound=self_normalized)",
    "lazy_track_and_stop(bound=jedra_proutiere)",
    "xy_static(bound=mixture)",
)
# The paper's settings, random and sparse arms, items that cannot be pulled, near ties and ties.
HARD = (
    "soare(5, 0.1)",
    "soare(10, 0.1)",
    "soare(5, 0.02)",
    "canonical(5, 0.2)",
    "canonical(10, 0.5)",
    "sphere(50, 10, 0)",
    "sphere(30, 5, 4)",
    "sparse(60, 20, 2, 0)",
    "items(5, 30, 0)",
)
TIED = ("soare_tied(5, 0.1)", "soare_tied(2, 0.02)")
QUICK = ("soare(5, 0.1)", "canonical(5, 0.5)")
BUDGETS = (
    ("soare(10, 0.1)", 400),
    ("sphere(50, 10, 0)", 800),
    ("canonical(16, 0.5)", 300),
    ("outsider", 200),
)
COLUMNS = ("explorer", "instance", "runs", "unfinished", "mean", "standard_error", "errors")
# Yardsticks that are told θ, and rules without a proof, do not compete.
NOT_COMPETING = ("xy_oracle", "lingape(bound=stylised)")


@dataclass(frozen=True)
class BoardOptions:
    """How long to compare.

    seeds: runs of each pair.
    max_pulls: the limit of a run; on tied arms a tenth of it.
    quick: few instances and runs, as a quick check.
    data: instances made from real data, if any.
    """

    seeds: int = 40
    max_pulls: int = 300_000
    jobs: int = -1
    quick: bool = False
    data: tuple[Instance, ...] = ()
    tell: Callable[[str], None] = lambda text: None


@dataclass(frozen=True, eq=False)
class Board:
    """The results of a comparison."""

    options: BoardOptions
    confident: list[Cell]
    tied: list[Cell]
    budget: list[tuple[int, Cell]]  # with the budget
    speeds: dict[str, float]  # rounds per second
    refused: list[str] = field(default_factory=list)

    def lost(self) -> list[str]:
        """Return where an explorer with a proof needs clearly fewer samples, in words."""
        found = []
        for cell, champion in self._competing():
            doubt = 2 * math.hypot(cell.standard_error or 0, champion.standard_error or 0)
            if champion.unfinished or cell.mean < champion.mean - doubt:
                found.append(
                    f"{cell.instance}: {cell.explorer} needs {cell.mean:,.0f} samples, {CHAMPION} "
                    f"{champion.mean:,.0f}."
                )
        return found

    def everywhere_better(self) -> list[str]:
        """Return explorers that need fewer samples than LinGapE on average on every instance."""
        wins = Counter(
            cell.explorer for cell, champion in self._competing() if cell.mean < champion.mean
        )
        return [name for name in wins if wins[name] == len(self._instances())]

    def _competing(self) -> list[tuple[Cell, Cell]]:
        """Return finished cells of other explorers with a proof, each with LinGapE's beside it."""
        champions = {cell.instance: cell for cell in self.confident if cell.explorer == CHAMPION}
        return [
            (cell, champions[cell.instance])
            for cell in self.confident
            if cell.explorer not in (CHAMPION, *NOT_COMPETING)
            and cell.instance in champions
            and not cell.unfinished
        ]

    def _instances(self) -> list[str]:
        return list(dict.fromkeys(cell.instance for cell in self.confident))

    def markdown(self, command: str) -> str:
        """Return the page."""
        o = self.options
        blocks = [
            "# Leaderboard",
            f"Every explorer on the same instances with the same noise: {o.seeds} runs each, "
            f"δ = 0.05, ε = 0, limit {o.max_pulls:,} pulls. An explorer has its default settings, "
            "and the stopping bound `Mixture` where it has none of its own, so that these "
            "compete only on what they pull; variants are named. `xy_oracle` is told θ and "
            "`stylised` has no proof: they do not compete.",
            "![Samples until settled](leaderboard.png)",
            "## Fixed confidence",
        ]
        for instance in self._instances():
            blocks += [f"### {instance}", self._table(instance)]
        blocks += [
            "## Tied arms",
            "Two arms are equally good: a run that settles claims a difference that does not "
            f"exist, which may happen in 5 % of runs. Limit {o.max_pulls // 10:,} pulls.",
            self._tied_table(),
            "## Fixed budget",
            "Errors when the budget is spent.",
            self._budget_table(),
            "## Speed",
            "On soare(5, 0.1) with a δ too small to settle, in one process, including set-up.",
            self._speed_table(),
            *self._reading(),
            f"(`{command}`, {stamp()}; the same as CSV in [leaderboard.csv](leaderboard.csv))",
        ]
        return "\n\n".join(blocks) + "\n"

    def _table(self, instance: str) -> str:
        cells = [cell for cell in self.confident if cell.instance == instance]
        rows = [
            [cell.explorer, *cell.as_cells()] for cell in sorted(cells, key=lambda cell: cell.mean)
        ]
        return markdown_table([["explorer", *SUMMARY_HEADS, "wrong (95 %)"], *rows], "lrrrl")

    def _speed_table(self) -> str:
        rows = [
            [name, f"{1e6 / speed:.2f}", f"{speed:,.0f}"]
            for name, speed in sorted(self.speeds.items(), key=lambda item: -item[1])
        ]
        return markdown_table([["explorer", "µs per round", "rounds per second"], *rows], "lr")

    def _tied_table(self) -> str:
        rows = [["explorer", "instance", "false claims (95 %)"]]
        for cell in self.tied:
            claims = cell.runs - cell.unfinished
            low, high = clopper_pearson(claims, cell.runs)
            told = f"{claims} of {cell.runs} ({low:.1%} – {high:.1%})"
            rows.append([cell.explorer, cell.instance, told])
        return markdown_table(rows)

    def _budget_table(self) -> str:
        rows = [
            [cell.explorer, cell.instance, str(budget), cell.as_cells()[-1]]
            for budget, cell in self.budget
        ]
        return markdown_table([["explorer", "instance", "budget", "wrong (95 %)"], *rows], "llrl")

    def _reading(self) -> list[str]:
        lost, better = self.lost(), self.everywhere_better()
        blocks = ["## Reading"]
        if lost:
            blocks.append("LinGapE with Mixture loses, by more than two standard errors, here:")
            blocks.append(markdown_list(lost))
        else:
            blocks.append("No explorer with a proof needs clearly fewer samples than LinGapE.")
        blocks.append(f"Better on average on every instance: {', '.join(better) or 'none'}.")
        return blocks + (["Not run:", markdown_list(self.refused)] if self.refused else [])

    def draw(self) -> "Figure":
        """Draw the samples until settled, as multiples of LinGapE's."""
        return plots.relative(
            {(c.explorer, c.instance): (c.mean, bool(c.unfinished)) for c in self.confident},
            to=CHAMPION,
        )

    def write(self, folder: Path, command: str) -> list[Path]:
        """Write the page, the rows and the figure into a folder; return the files."""
        folder.mkdir(exist_ok=True)
        page, table = folder / "leaderboard.md", folder / "leaderboard.csv"
        page.write_text(self.markdown(command), encoding="utf-8")
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for cell in (*self.confident, *self.tied, *(cell for _, cell in self.budget)):
                writer.writerow([getattr(cell, name) for name in COLUMNS])
        return [page, table, *plots.save(self.draw(), folder / "leaderboard")]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "confidence": [vars(cell) for cell in self.confident],
            "tied": [vars(cell) for cell in self.tied],
            "budget": [vars(cell) | {"budget": budget} for budget, cell in self.budget],
            "lost": self.lost(),
            "everywhere_better": self.everywhere_better(),
            "rounds_a_second": self.speeds,
            "refused": self.refused,
        }


def compare_all(options: BoardOptions) -> Board:
    """Run the comparison."""
    entries, limit = [*EXPLORERS, *VARIANTS], options.max_pulls
    confident, refused = _judged(entries, QUICK if options.quick else HARD, options, limit=limit)
    more = _judged(entries, options.data, options, limit=limit, world="signed", seeds=10)
    told_nothing = [name for name in entries if "oracle" not in name]
    ties = TIED[:1] if options.quick else TIED
    tied, _ = _judged(told_nothing, ties, options, limit=limit // 10)
    budget: list[tuple[int, Cell]] = []
    for instance, pulls in BUDGETS[:1] if options.quick else BUDGETS:
        names = [f"{name}(budget={pulls})" for name in BUDGET_EXPLORERS]
        cells, _ = _judged(names, [instance], options, limit=pulls, seeds=10 * options.seeds)
        budget += [(pulls, cell) for cell in cells]
    speeds = _speeds(entries, options)
    return Board(options, confident + more[0], tied, budget, speeds, refused + more[1])


def _speeds(entries: Iterable[str], options: BoardOptions) -> dict[str, float]:
    """Return how many rounds per second each explorer plays, on an instance too hard to settle."""
    instance = soare(5, 0.1)
    problem = instance.problem(delta=1e-30)
    limit = 2_000 if options.quick else 50_000
    found = {}
    for name in entries:
        recipe, world = specs.Recipe.read(name), instance.gaussian()
        run(recipe(problem, instance.theta), world, max_pulls=500)  # compiles
        result = run(recipe(problem, instance.theta), world, max_pulls=limit)
        found[name] = result.pulls / result.seconds
    return found


def _judged(
    explorers: Iterable[str],
    instances: Iterable[Instance | str],
    options: BoardOptions,
    *,
    limit: int,
    world: str = "gaussian",
    seeds: int | None = None,
) -> tuple[list[Cell], list[str]]:
    """Run explorers on instances, skipping pairs that an explorer refuses."""
    found: list[Cell] = []
    refused: list[str] = []
    for item in instances:
        instance = specs.instance(item) if isinstance(item, str) else item
        able = []
        for name in explorers:
            try:
                specs.Recipe.read(name)(instance.problem(), instance.theta)
                able.append(name)
            except LingapeError as error:
                refused.append(f"{name} on {instance.name}: {error}")
        study = Study(able, [instance], seeds=seeds or options.seeds, max_pulls=limit, world=world)

        def progress(pace: Pace, name: str = instance.name) -> None:
            options.tell(f"{name}: {pace}")

        found += study.run(jobs=options.jobs, progress=progress).summary()
    return found, refused
