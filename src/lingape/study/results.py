"""The result of each run of a study, files of them, and summaries."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..complexity import characteristic_time
from ..environments import Instance
from ..errors import DesignFailed, InvalidArgument, InvalidState, imported, in_words
from ..html import as_html
from ..printable import markdown_table, printable
from ..rates import clopper_pearson
from ..runs import Ending

if TYPE_CHECKING:
    import pandas
    import polars

    from .study import Study

FORMAT, VERSION = "lingape study", 1
SUMMARY_HEADS = ("mean pulls", "± s.e.", "× lower bound")  # heads of columns


@dataclass(frozen=True)
class Row:
    """The result of one run.

    explorer, instance, seed: which run of the study it is.
    arm: the answer.
    correct: whether no arm is better than it by more than ε.
    pulls: how many there were.
    counts: how many of each arm.
    ending: why it ended, in words.
    seconds: how long it took.

    >>> from lingape import Row
    >>> row = Row("race", "soare(2, 0.5)", 7, 0, True, 12, (4, 2, 6), "settled", 0.01)
    >>> row.settled, row.key
    (True, ('race', 'soare(2, 0.5)', 7))
    """

    explorer: str
    instance: str
    seed: int
    arm: int
    correct: bool
    pulls: int
    counts: tuple[int, ...]
    ending: str
    seconds: float

    @property
    def settled(self) -> bool:
        """Whether the answer was proven."""
        return self.ending == Ending.SETTLED.value

    @property
    def finished(self) -> bool:
        """Whether it ended by itself, settled or with its budget spent, and not at the limit."""
        return self.settled or self.ending == Ending.SPENT.value

    @property
    def key(self) -> tuple[str, str, int]:
        """Which run of a study this is."""
        return self.explorer, self.instance, self.seed


def _row(data: dict[str, Any]) -> Row:
    """Return a row from a line of a file, or raise ValueError, TypeError or KeyError."""
    row = Row(**data | {"counts": tuple(data["counts"])})
    texts = (row.explorer, row.instance, row.ending)
    numbers = (row.seed, row.arm, row.pulls, *row.counts)
    if not (
        all(isinstance(text, str) for text in texts)
        and all(type(number) is int and number >= 0 for number in numbers)
        and isinstance(row.correct, bool)
        and isinstance(row.seconds, float | int)
        and sum(row.counts) == row.pulls
    ):
        raise ValueError("a value has the wrong type")
    return row


def _differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return how two studies differ, apart from their seeds.

    Runs with different seeds are independent, so a study may continue with more seeds, or show
    fewer.
    """
    return [
        f"it has {name} {json.dumps(old.get(name))}, now {json.dumps(value)}"
        for name, value in new.items()
        if name != "seeds" and old.get(name) != value
    ]


def _torn(path: Path) -> bool:
    """Whether a file holds nothing but the beginning of a header."""
    begin = f'{{"format": "{FORMAT}"'.encode()
    data = path.read_bytes()[:1_000_000]
    return b"\n" not in data and (data.startswith(begin) or begin.startswith(data))


class RowLog:
    """A file of rows: a header and then one row per line, written when its run ends."""

    def __init__(self, path: Path, header: dict[str, Any], *, resume: bool) -> None:
        self.rows: list[Row] = []
        self._header: dict[str, Any] | None = header  # until it is written, with the first row
        if path.exists() and path.stat().st_size and not _torn(path):
            if not resume:
                raise InvalidState(
                    f"{path} exists. Continue it (resume=True), or write to another file."
                )
            self._header = None
            self.rows, whole = self.read(path, header)
            with path.open("r+b") as file:
                file.truncate(whole)  # a line cut short by a crash
        self._file = path.open("ab" if self._header is None else "wb")

    @staticmethod
    def read(path: Path, header: dict[str, Any]) -> tuple[list[Row], int]:
        """Return the rows of a file and the number of bytes that are whole lines."""
        try:
            data = path.read_bytes()
        except OSError as reason:
            raise InvalidState(f"{path} cannot be read: {reason.strerror}.") from reason
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        try:
            first = json.loads(lines[0])
            if (first["format"], first["version"]) != (FORMAT, VERSION):
                raise InvalidState(
                    f"{path} must be a file of {FORMAT} {VERSION}; got {first['format']!r} "
                    f"{first['version']!r}."
                )
            if differences := _differences(dict(first["study"]), header["study"]):
                raise InvalidState(
                    f"{path} holds another study: {'; '.join(differences)}. Continue the study "
                    "that wrote it, or write to another file."
                )
        except (IndexError, KeyError, TypeError, ValueError) as reason:
            if isinstance(reason, InvalidState):
                raise
            raise InvalidState(f"{path} is not a file of study rows.") from reason
        rows = []
        for number, line in enumerate(lines[1:], start=2):
            try:
                rows.append(_row(json.loads(line)))
            except (KeyError, TypeError, ValueError) as reason:
                raise InvalidState(
                    f"Line {number} of {path} is damaged: {in_words(reason)}. Restore an "
                    "undamaged copy, or remove that line to repeat its run."
                ) from reason
        return rows, whole

    def append(self, row: Row) -> None:
        """Write a row."""
        if self._header is not None:
            self._write(self._header)
            self._header = None
        self._write(asdict(row))

    def _write(self, data: dict[str, Any]) -> None:
        self._file.write(json.dumps(data).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True)
class Cell:
    """The runs of one explorer on one instance, summarised.

    explorer, instance: which.
    runs: how many there were.
    unfinished: runs that the limit ended: the mean is then too small.
    mean: of their pulls.
    standard_error: of the mean; None for a single run.
    errors: runs that ended with an arm worse than the best by more than ε.
    error_rate: their share.
    error_low, error_high: the Clopper–Pearson interval of the error rate, 95 %.
    lower_bound: no algorithm needs fewer pulls on average (Gaussian noise, ε = 0); None if not
        known.
    ratio: mean / lower_bound.

    >>> from lingape import Results, Row, Study
    >>> study = Study(["race"], ["soare(5, 0.1)"], seeds=2)
    >>> rows = [
    ...     Row("race", "soare(5, 0.1)", seed, 0, True, pulls, (pulls, 0), "settled", 0.01)
    ...     for seed, pulls in enumerate([31, 29])
    ... ]
    >>> [cell] = Results(study, rows).summary()
    >>> cell.mean, cell.standard_error, cell.errors
    (30.0, 1.0, 0)
    """

    explorer: str
    instance: str
    runs: int
    unfinished: int
    mean: float
    standard_error: float | None
    errors: int
    error_rate: float
    error_low: float
    error_high: float
    lower_bound: float | None
    ratio: float | None

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
    """The rows of a study.

    study: which it is.
    rows: the result of each run.

    >>> from lingape import LinGapE, Study
    >>> def less_pulled(estimate, leader, rival):
    ...     return leader if estimate.counts[leader] < estimate.counts[rival] else rival
    >>> explorers = {"less pulled": lambda problem: LinGapE(problem, pull=less_pulled)}
    >>> results = Study(explorers, ["canonical(2, 2.0)"], seeds=3).run(jobs=1)
    >>> results
    Results(3 of 3 runs)
    >>> [(cell.explorer, cell.runs) for cell in results.summary()]
    [('less pulled', 3)]
    """

    study: "Study"
    rows: list[Row]

    def __repr__(self) -> str:
        return f"Results({len(self.rows)} of {len(self.study)} runs)"

    def __str__(self) -> str:
        return self.table()

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
        rows, note = self._table()
        table = markdown_table(rows, "llrrrrl")
        return f"{table}\n\n{note}" if note else table

    def _repr_html_(self) -> str:
        rows, note = self._table()
        return as_html("Study", note, rows)

    def _table(self) -> tuple[list[list[str]], str]:
        """Return the summary in rows, the heading first, and a note on it."""
        cells = self.summary()
        rows = [["explorer", "instance", "runs", *SUMMARY_HEADS, "errors (95 %)"]]
        for cell in cells:
            names = [printable(cell.explorer), printable(cell.instance)]
            rows.append([*names, str(cell.runs), *cell.as_cells()])
        cut = sum(cell.unfinished for cell in cells)
        runs = "1 run was" if cut == 1 else f"{cut} runs were"
        return rows, f"{runs} stopped at {self.study.max_pulls:,} pulls (≥)." if cut else ""

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the rows as a pandas table."""
        return imported("pandas", "This table needs", extra="tables").DataFrame(
            [asdict(row) for row in self.rows]
        )

    def to_polars(self) -> "polars.DataFrame":
        """Return the rows as a polars table."""
        rows = [asdict(row) | {"counts": list(row.counts)} for row in self.rows]
        return imported("polars", "This table needs", extra="tables").DataFrame(rows)
