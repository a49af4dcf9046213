"""A standing comparison: every explorer on a fixed set of instances.

New explorers are picked up from the registries. Fixed confidence: samples until settled as a
multiple of the lower bound, errors, and time per round. Fixed budget: errors at equal budget. Race
and LinGapE also meet at a smaller δ and on rewards of 0 and 1.
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
from .study import Cell, Duel, Pace, Results, Study, mean_ratio, tail_ratio
from .study.results import SUMMARY_HEADS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHAMPION = "lingape"
CHALLENGER = "race"
# Beside every registered explorer with its default settings.
VARIANTS = (
    "lingape(pull=tracking)",
    "lingape(elimination=sample)",
    "lingape(bound=self_normalized)",
    "lingape(bound=stylised)",
    "lin_game(bound=self_normalized)",
    "lazy_track_and_stop(bound=jedra_proutiere)",
    "xy_static(bound=fixed_design)",
)
# The paper's settings, near ties, random and sparse arms, many and few for the dimension, items
# that cannot be pulled, and designed experiments.
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
    "sphere(200, 5, 1)",
    "polynomial(21, 4, 0)",
    "hypercube(5, 3)",
    "factorial(0, [0.2, 0.4], [0.2, 0.4], [0.2, 0.5])",
)
# Rewards of 0 and 1: rates from 4 % to 10.5 %, and around 3 %. The best leads by 1 %.
CONVERSIONS = ("factorial", "factorial(0.02, [0.01], [0.01])")
TIED = ("soare_tied(5, 0.1)", "soare_tied(2, 0.02)")
QUICK = ("soare(5, 0.1)", "canonical(5, 0.5)")
BUDGETS = (
    ("soare(10, 0.1)", 400),
    ("sphere(50, 10, 0)", 800),
    ("canonical(16, 0.5)", 300),
    ("outsider", 200),
)
WORLDS = {"gaussian": "Gaussian noise", "signed": "data, ±1", "zero_one": "0 or 1"}  # in words
DELTA = 0.05  # of all comparisons but those of Race and LinGapE
SPEED_DELTA = 1e-30  # where speed is measured, for long runs
SEEDS_ON_DATA = 10
COLUMNS = ("explorer", "instance", "runs", "unfinished", "mean", "standard_error", "errors")
# Yardsticks that are told θ, and rules without a proof, do not compete.
NOT_COMPETING = ("xy_oracle", "lingape(bound=stylised)")


@dataclass(frozen=True)
class BoardOptions:
    """How long to compare.

    seeds: runs of each pair.
    max_pulls: the limit of a run; on tied arms a tenth of it.
    quick: few instances and runs, as a quick check.
    deltas: at which Race and LinGapE are compared.
    data: instances made from real data, if any.
    jobs: how many processes; -1 for one per core.
    tell: called with what is being done, in words.

    >>> from lingape.leaderboard import BoardOptions
    >>> BoardOptions(seeds=10).duel_seeds, BoardOptions(quick=True).duel_limit
    (50, 300000)
    """

    seeds: int = 40
    max_pulls: int = 300_000
    jobs: int = -1
    quick: bool = False
    data: tuple[Instance, ...] = ()
    deltas: tuple[float, ...] = (DELTA, 0.001)
    tell: Callable[[str], None] = lambda text: None

    @property
    def duel_seeds(self) -> int:
        """Runs of Race and LinGapE: it takes many to see how long unlucky ones are."""
        return self.seeds if self.quick else 5 * self.seeds

    @property
    def duel_limit(self) -> int:
        """The limit of these: LinGapE takes long where rewards are 0 or 1 and δ is small."""
        return self.max_pulls if self.quick else 10 * self.max_pulls

    @property
    def speed_limit(self) -> int:
        """The limit of a run whose speed is measured."""
        return 2_000 if self.quick else 50_000


@dataclass(frozen=True, eq=False)
class Board:
    """The results of a comparison.

    options: how long was compared.
    confident: what each explorer took on each instance, until it was sure.
    tied: the same where arms tie.
    budget: what explorers with a budget found, beside the budget.
    speeds: rounds per second, by explorer.
    refused: what could not be played, in words.
    duels: of Race and LinGapE.

    >>> from lingape.leaderboard import Board, BoardOptions
    >>> board = Board(BoardOptions(quick=True), confident=[], tied=[], budget=[], speeds={})
    >>> board.lost(), board.everywhere_better()
    ([], [])
    """

    options: BoardOptions
    confident: list[Cell]
    tied: list[Cell]
    budget: list[tuple[int, Cell]]
    speeds: dict[str, float]
    refused: list[str] = field(default_factory=list)
    duels: list[Duel] = field(default_factory=list)

    def lost(self) -> list[str]:
        """Return where an explorer with a proof needs clearly fewer samples, in words."""
        found = []
        for cell, champion in self._competing():
            doubt = 2 * math.hypot(cell.standard_error or 0, champion.standard_error or 0)
            if cell.mean < champion.mean - doubt:
                needs, of_champion = cell.as_cells()[0], champion.as_cells()[0]
                found.append(
                    f"{cell.instance}: {cell.explorer} needs {needs} samples, {CHAMPION} "
                    f"{of_champion}."
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
            f"δ = {DELTA:g}, ε = 0, limit {o.max_pulls:,} pulls. An explorer has its default "
            "settings, and the stopping bound `Mixture` where it has none of its own, so that "
            "these compete only on what they pull; variants are named. `xy_oracle` is told θ and "
            "`stylised` has no proof: they do not compete.",
            *self._duel_blocks(),
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
            f"One run on soare(5, 0.1), δ = {SPEED_DELTA:g}, of at most {o.speed_limit:,} rounds, "
            "in one process, including set-up.",
            self._speed_table(),
            *self._reading(),
            f"(`{command}`, {stamp()}; the same as CSV in [leaderboard.csv](leaderboard.csv))",
        ]
        return "\n\n".join(blocks) + "\n"

    def _duel_blocks(self) -> list[str]:
        """Return the section on Race and LinGapE."""
        if not self.duels:
            return []
        blocks = [
            "## Race against LinGapE",
            f"The mean pulls of `{CHALLENGER}` divided by those of `{CHAMPION}` (with `Mixture`), "
            "with 95 % intervals: the geometric mean over instances. The intervals are about "
            "chance in these runs, not about other instances. How long unlucky runs are: the "
            "99 % quantile of pulls as a multiple of the median of that instance.",
            self._headline(),
            f"Instance by instance, {self.options.duel_seeds} runs of each ({SEEDS_ON_DATA} on "
            f"data), limit {self.options.duel_limit:,} pulls; ~ where it ended some, so that the "
            "ratio means little. Where rewards are 0 or 1, LinGapE knows only that R = 1/2, and "
            "Race learns the variance; the lower bound is for Gaussian noise and left out there. "
            "To save time, only these two are compared on rewards of 0 or 1, and at other δ than "
            f"{DELTA:g}.",
        ]
        for delta in self._deltas():
            blocks += [f"### δ = {delta:g}", self._duel_table(delta)]
        return blocks

    def _deltas(self) -> list[float]:
        return list(dict.fromkeys(duel.delta for duel in self.duels))

    def _groups(self) -> list[tuple[float, str, list[Duel]]]:
        """Return the duels by δ and by what rewards are like."""
        found = []
        for delta in self._deltas():
            for world in WORLDS:
                duels = [d for d in self.duels if (d.delta, d.world) == (delta, world)]
                found += [(delta, world, duels)] if duels else []
        return found

    def _headline(self) -> str:
        head = ["δ", "rewards", "instances", f"{CHALLENGER} / {CHAMPION} (95 %)"]
        rows = [[*head, f"99 % / median: {CHALLENGER}", CHAMPION]]
        for delta, world, duels in self._groups():
            cut = "~ " if any(duel.cut for duel in duels) else ""
            row = [f"{delta:g}", WORLDS[world], str(len(duels)), f"{cut}{mean_ratio(duels)}"]
            rows.append([*row, *(f"{tail:.2f}" for tail in _tails(duels))])
        return markdown_table(rows, "rlrlrr")

    def _duel_table(self, delta: float) -> str:
        heads = [f"{CHALLENGER} / {CHAMPION} (95 %)"]
        for name in (CHALLENGER, CHAMPION):
            heads += [f"{name}: pulls", "× lower bound", "99 % / median", "wrong"]
        rows = [["instance", "rewards", *heads]]
        for duel in self.duels:
            if duel.delta == delta:
                told = f"{'~ ' if duel.cut else ''}{mean_ratio([duel])}"
                row = [duel.champion.instance, WORLDS[duel.world], told]
                sides = zip((duel.challenger, duel.champion), _tails([duel]), strict=True)
                for cell, tail in sides:
                    mean, error, ratio, _ = cell.as_cells()
                    row += [f"{mean} ± {error}", ratio, f"{tail:.2f}", str(cell.errors)]
                rows.append(row)
        return markdown_table(rows, "lllr")

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
            writer.writerow(("delta", *COLUMNS))
            cells: list[tuple[float | None, Cell]] = [
                *((DELTA, cell) for cell in (*self.confident, *self.tied)),
                *((d.delta, cell) for d in self.duels for cell in (d.challenger, d.champion)),
                *((None, cell) for _, cell in self.budget),
            ]
            for delta, cell in cells:
                writer.writerow([delta, *(getattr(cell, name) for name in COLUMNS)])
        return [page, table, *plots.save(self.draw(), folder / "leaderboard")]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "confidence": [vars(cell) for cell in self.confident],
            "tied": [vars(cell) for cell in self.tied],
            "budget": [vars(cell) | {"budget": budget} for budget, cell in self.budget],
            "duels": {
                "overall": [
                    {"delta": delta, "world": world, "instances": len(duels)} | _told(duels)
                    for delta, world, duels in self._groups()
                ],
                "instances": [
                    {
                        "delta": duel.delta,
                        "world": duel.world,
                        "instance": duel.champion.instance,
                        "cells": [vars(duel.challenger), vars(duel.champion)],
                    }
                    | _told([duel])
                    for duel in self.duels
                ],
            },
            "lost": self.lost(),
            "everywhere_better": self.everywhere_better(),
            "rounds_a_second": self.speeds,
            "refused": self.refused,
        }


def _tails(duels: list[Duel]) -> tuple[float, float]:
    """Return how long unlucky runs are, of the challenger and of the champion."""
    return (
        tail_ratio([duel.challenger_pulls for duel in duels]),
        tail_ratio([duel.champion_pulls for duel in duels]),
    )


def _told(duels: list[Duel]) -> dict[str, Any]:
    """Return the ratios of duels as JSON-able data."""
    challenger, champion = _tails(duels)
    return {
        "ratio": mean_ratio(duels)._asdict(),
        "cut": any(duel.cut for duel in duels),
        "tails": {CHALLENGER: challenger, CHAMPION: champion},
    }


def compare_all(options: BoardOptions) -> Board:
    """Run the comparison, which takes minutes.

    options: how long to compare.

    >>> from lingape.leaderboard import BoardOptions, compare_all
    >>> options = BoardOptions(quick=True)
    >>> board = compare_all(options)  # doctest: +SKIP
    >>> print(board.lost())  # doctest: +SKIP
    """
    entries, limit = [*EXPLORERS, *VARIANTS], options.max_pulls
    duels = _duels(options)
    confident, refused = _judged(entries, QUICK if options.quick else HARD, options, limit=limit)
    more = _judged(
        entries, options.data, options, limit=limit, world="signed", seeds=SEEDS_ON_DATA
    )
    told_nothing = [name for name in entries if "oracle" not in name]
    ties = TIED[:1] if options.quick else TIED
    tied, _ = _judged(told_nothing, ties, options, limit=limit // 10)
    budget: list[tuple[int, Cell]] = []
    for instance, pulls in BUDGETS[:1] if options.quick else BUDGETS:
        names = [f"{name}(budget={pulls})" for name in BUDGET_EXPLORERS]
        cells, _ = _judged(names, [instance], options, limit=pulls, seeds=10 * options.seeds)
        budget += [(pulls, cell) for cell in cells]
    speeds = _speeds(entries, options)
    return Board(options, confident + more[0], tied, budget, speeds, refused + more[1], duels)


def _duels(options: BoardOptions) -> list[Duel]:
    """Have Race and LinGapE meet at each δ, on each kind of rewards."""
    found = []
    for delta in options.deltas:
        for world, instances in _duel_instances(options).items():
            for item in instances:
                study = Study(
                    [CHALLENGER, CHAMPION],
                    [item],
                    seeds=SEEDS_ON_DATA if world == "signed" else options.duel_seeds,
                    max_pulls=options.duel_limit,
                    world=world,
                    problem={"delta": delta},
                )
                found.append(Duel.of(_run(study, options)))
    return found


def _duel_instances(options: BoardOptions) -> dict[str, Iterable[Instance | str]]:
    """Return where Race and LinGapE meet, by world."""
    return {
        "gaussian": QUICK if options.quick else HARD,
        "zero_one": CONVERSIONS[1:] if options.quick else CONVERSIONS,
        "signed": options.data,
    }


def _run(study: Study, options: BoardOptions) -> Results:
    """Run a study of one instance, saying how far it has come."""
    (name,) = study.instances

    def progress(pace: Pace) -> None:
        options.tell(f"{name}: {pace}")

    return study.run(jobs=options.jobs, progress=progress)


def _speeds(entries: Iterable[str], options: BoardOptions) -> dict[str, float]:
    """Return how many rounds per second each explorer plays, in a long run."""
    instance = soare(5, 0.1)
    problem = instance.problem(delta=SPEED_DELTA)
    found = {}
    for name in entries:
        recipe, world = specs.Recipe.read(name), instance.gaussian()
        run(recipe(problem, instance.theta), world, max_pulls=500)  # compiles
        result = run(recipe(problem, instance.theta), world, max_pulls=options.speed_limit)
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
        for name in explorers:
            study = Study(
                [name], [instance], seeds=seeds or options.seeds, max_pulls=limit, world=world
            )
            try:
                found += _run(study, options).summary()
            except LingapeError as error:
                refused.append(f"{name} on {instance.name}: {error}")
    return found, refused
