"""Summaries of a study's rows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..complexity import characteristic_time
from ..environments import Instance
from ..errors import DesignFailed, InvalidArgument, imported
from ..markdown import markdown_table
from ..printable import printable
from ..rates import clopper_pearson
from .rows import Row

if TYPE_CHECKING:
    import pandas
    import polars

    from .study import Study

SUMMARY_HEADS = ("mean pulls", "± s.e.", "× lower bound")  # heads of columns


@dataclass(frozen=True)
class Cell:
    """The runs of one explorer on one instance, summarised."""

    explorer: str
    instance: str
    runs: int
    unfinished: int  # runs that the limit ended: the mean is then too small
    mean: float  # pulls
    standard_error: float | None  # of the mean; None for a single run
    errors: int  # runs that ended with an arm worse than the best by more than ε
    error_rate: float
    error_low: float  # Clopper–Pearson, 95 %
    error_high: float
    lower_bound: float | None  # no algorithm needs fewer on average; Gaussian noise, ε = 0
    ratio: float | None  # mean / lower_bound

    def as_cells(self) -> list[str]:
        """Return the cells of a table under SUMMARY_HEADS and, last, the errors."""
        least = "≥ " if self.unfinished else ""
        return [
            f"{least}{self.mean:,.0f}",
            "" if self.standard_error is None else f"{self.standard_error:,.0f}",
            "" if self.ratio is None else f"{least}{self.ratio:.2f}",
            f"{self.errors} ({self.error_low:.1%} – {self.error_high:.1%})",
        ]


@dataclass(frozen=True, eq=False)
class Results:
    """The rows of a study."""

    study: "Study"
    rows: list[Row]

    def summary(self) -> list[Cell]:
        """Return one Cell for each explorer on each instance."""
        cells: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            cells.setdefault((row.explorer, row.instance), []).append(row)
        return [self._summarised(*cell, rows) for cell, rows in cells.items()]

    def _summarised(self, explorer: str, instance: str, rows: list[Row]) -> Cell:
        pulls = np.array([row.pulls for row in rows], dtype=np.float64)
        errors = sum(row.finished and not row.correct for row in rows)
        low, high = clopper_pearson(errors, len(rows))
        least = self.lower_bounds[instance] if not self._asks_for_several(explorer) else None
        several = len(rows) > 1
        return Cell(
            explorer=explorer,
            instance=instance,
            runs=len(rows),
            unfinished=sum(not row.finished for row in rows),
            mean=float(pulls.mean()),
            standard_error=float(pulls.std(ddof=1) / np.sqrt(len(rows))) if several else None,
            errors=errors,
            error_rate=errors / len(rows),
            error_low=low,
            error_high=high,
            lower_bound=least,
            ratio=float(pulls.mean()) / least if least else None,
        )

    def _asks_for_several(self, explorer: str) -> bool:
        """Whether an explorer looks for the m best arms, for which there is no lower bound."""
        build = self.study.explorers[explorer]
        settings = getattr(build, "settings", None) or getattr(build, "keywords", None) or {}
        return isinstance(settings, Mapping) and settings.get("m", 1) > 1

    @cached_property
    def lower_bounds(self) -> dict[str, float | None]:
        """The samples that every algorithm needs on average, where a bound is known."""
        return {name: self._lower_bound(value) for name, value in self.study.instances.items()}

    def _lower_bound(self, instance: Instance) -> float | None:
        problem = self.study.posed(instance)
        if self.study.world != "gaussian" or problem.epsilon > 0:
            return None
        try:
            time = characteristic_time(problem, instance.theta, tolerance=1e-4)
        except (InvalidArgument, DesignFailed):  # ties: no algorithm can stop
            return None
        return time.samples(problem.delta) or None  # with δ ≥ 1/2 a guess is good enough

    def table(self) -> str:
        """Return the summary as a Markdown table."""
        cells = self.summary()
        heading = ["explorer", "instance", "runs", *SUMMARY_HEADS, "errors (95 %)"]
        rows = [
            [printable(cell.explorer), printable(cell.instance), str(cell.runs), *cell.as_cells()]
            for cell in cells
        ]
        table = markdown_table([heading, *rows], "llrrrrl")
        cut = sum(cell.unfinished for cell in cells)
        if not cut:
            return table
        runs = "1 run was" if cut == 1 else f"{cut} runs were"
        return f"{table}\n\n{runs} stopped at {self.study.max_pulls:,} pulls (≥)."

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the rows as a pandas table."""
        return imported("pandas", "This table needs", extra="tables").DataFrame(
            [asdict(row) for row in self.rows]
        )

    def to_polars(self) -> "polars.DataFrame":
        """Return the rows as a polars table."""
        rows = [asdict(row) | {"counts": list(row.counts)} for row in self.rows]
        return imported("polars", "This table needs", extra="tables").DataFrame(rows)
