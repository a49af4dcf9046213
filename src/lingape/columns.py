"""What the columns of a table are for: names of arms, factors, numbers. Never guessed in silence.

What was taken for what is said in `Roles.notes`; what cannot be told is refused, with the way out.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .checks import glimpse
from .errors import InvalidProblem
from .printable import printable

# Headings of a column that holds names, even if these are numbers.
NAMING = ("name", "names", "id", "arm")
# Headings of one that does if they are all different, and that is no feature in any case.
IDS = re.compile(r"(?i:(.*[\s_.-])?(names?|ids?|uuid|key|nr|item|option|label))|.*[a-z]I[dD]")
UNNAMED = re.compile(r"|unnamed: \d+|index|__index_level_\d+__", re.IGNORECASE)  # as pandas calls
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
ZEROS = re.compile(r"[+-]?0\d")  # at the beginning of a code, such as 007
EXACT = 2**53  # whole numbers up to here are exact


class Roles(NamedTuple):
    """What columns are for.

    names: of the arms, if there is a column for them.
    columns: the levels or numbers in each of the others, by heading.
    numbers: the headings of those that hold numbers; the others hold levels of factors.
    notes: sentences that say so.
    """

    names: list[str] | None
    columns: dict[str, list[Any]]
    numbers: list[str]
    notes: list[str]

    @property
    def factors(self) -> list[str]:
        """The headings of columns with levels of factors."""
        return [column for column in self.columns if column not in self.numbers]


class Said(NamedTuple):
    """What the user says that columns are for, by heading; None where nothing is said."""

    name: str | None
    factors: tuple[str, ...]
    numbers: tuple[str, ...]
    ignore: tuple[str, ...]

    @classmethod
    def of(cls, name: Any, **columns: Any) -> "Said":
        """Return it from the arguments of a function, where one heading may stand for a list."""
        if name is not None and not isinstance(name, str):
            raise InvalidProblem(f"name is the heading of a column; got {glimpse(name)}.")
        return cls(name, **{what: headings(what, given) for what, given in columns.items()})


def headings(what: str, given: Any) -> tuple[str, ...]:
    """Return headings, or names of factors, as a tuple; one text stands for itself."""
    if isinstance(given, str):
        return (given,)
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(one, str) for one in found):
        raise InvalidProblem(f"{what} must be a list of names; got {glimpse(given)}.")
    return found


class _Table:
    """The cells of a table by column, and which of them are numbers.

    typed: whether texts are meant as texts, as in a data frame and unlike in a CSV file.
    first: the number of the first row, in messages.
    """

    def __init__(
        self,
        titles: Sequence[str],
        rows: Sequence[Sequence[Any]],
        what: str,
        typed: bool,
        first: int,
    ) -> None:
        self.columns = [
            title if title.strip() else f"column {i}" for i, title in enumerate(titles, start=1)
        ]
        self.what, self.typed, self.first = what, typed, first
        self.cells = {
            column: [unboxed(row[i]) for row in rows] for i, column in enumerate(self.columns)
        }
        self.count = len(rows)

    def numbers(self, column: str) -> list[float | None]:
        return [
            None if self.typed and isinstance(cell, str) else number(cell)
            for cell in self.cells[column]
        ]

    def different(self, column: str) -> bool:
        """Whether no two rows have the same cell."""
        return len(set(map(str, self.cells[column]))) == self.count

    def check_present(self, column: str) -> None:
        for row, cell in enumerate(self.cells[column], start=self.first):
            if missing(cell):
                raise InvalidProblem(
                    f"{self.quoted(column)} has no value in row {row}. Fill it in, or leave the "
                    "row out."
                )

    def quoted(self, column: str) -> str:
        return f"Column {printable(column)!r} of {self.what}"

    def ways_out(self, column: str, *roles: str) -> str:
        """Return what to say about a column."""
        words = {
            "name": f"names the arms (name={column!r})",
            "factor": f"is a factor (factors=[{column!r}])",
            "number": f"is a number that matters (numbers=[{column!r}])",
        }
        return f"Say whether it {', '.join(words[role] for role in roles)} or nothing " + (
            f"(ignore=[{column!r}])."
        )

    def numeric(self, column: str) -> bool:
        """Whether a column has numbers and not texts; raise if it has both."""
        values = self.numbers(column)
        kinds = [
            None if missing(cell) else value is not None
            for cell, value in zip(self.cells[column], values, strict=True)
        ]
        if True in kinds and False in kinds:
            one, other = kinds.index(True), kinds.index(False)
            raise InvalidProblem(
                f"{self.quoted(column)} has numbers and texts: {glimpse(self.cells[column][one])} "
                f"in row {one + self.first} and {glimpse(self.cells[column][other])} in row "
                f"{other + self.first}. Fill in a number, or leave the row out; if these are "
                f"categories, say factors=[{column!r}], and if names, name={column!r}."
            )
        if False not in kinds:
            texts = [cell for cell in self.cells[column] if isinstance(cell, str)]
            if code := next((text for text in texts if ZEROS.match(text)), None):
                raise InvalidProblem(
                    f"{self.quoted(column)} has numbers that begin with 0, such as {code}, as "
                    f"codes do. {self.ways_out(column, 'name', 'factor', 'number')}"
                )
            return True
        if self.typed and all(number(cell) is not None for cell in self.cells[column]):
            raise InvalidProblem(
                f"{self.quoted(column)} has texts that are numbers, such as "
                f"{self.cells[column][0]!r}. {self.ways_out(column, 'name', 'factor', 'number')}"
            )
        return False

    def as_numbers(self, column: str) -> list[float | int]:
        """Return a column of numbers, which are whole where they can be."""
        values = []
        for row, cell in enumerate(self.cells[column], start=self.first):
            if (value := number(cell)) is None:
                raise InvalidProblem(
                    f"{self.quoted(column)} was said to have numbers; row {row} has "
                    f"{glimpse(cell)}. If it is a category, say factors=[{column!r}]."
                )
            values.append(int(value) if value.is_integer() and abs(value) < EXACT else value)
        return values

    def as_levels(self, column: str) -> list[Any]:
        """Return a column of levels: numbers if all are and no digit is lost, else texts."""
        cells = self.cells[column]
        if not self.typed and not any(ZEROS.match(cell) for cell in cells):
            values = self.numbers(column)
            if all(value is not None and abs(value) < EXACT for value in values):
                return self.as_numbers(column)
        return [cell.isoformat() if hasattr(cell, "isoformat") else cell for cell in cells]


def roles_of(
    titles: Sequence[str],
    rows: Sequence[Sequence[Any]],
    said: Said,
    *,
    what: str,
    typed: bool = True,
    first: int = 1,
    modelled: bool = True,
) -> Roles:
    """Return what each column is for, or raise InvalidProblem.

    what: the table's name.
    typed: whether texts are meant as texts, as in a data frame and unlike in a CSV file.
    first: the number of the first row, in messages.
    modelled: whether there is a constant, also without factors.
    """
    table = _Table(titles, rows, what, typed, first)
    _check_said(table.columns, said, what)
    if not titles:
        raise InvalidProblem(f"{what} has no columns. Add some that say how arms differ.")
    if len(rows) < 2:
        raise InvalidProblem(
            f"There must be at least 2 arms to choose from; {what} has {len(rows)}. Write one row "
            "per arm."
        )
    notes = [f"Left out: {_listed(said.ignore)}."] if said.ignore else []
    told = {said.name, *said.factors, *said.numbers, *said.ignore}
    rest = [column for column in table.columns if column not in told]
    _take_index(titles, table, rest, notes)
    name = said.name if said.name is not None else _found_name(table, said, rest)
    if name in rest:
        rest.remove(name)
    names = None
    if name is not None:
        table.check_present(name)
        names = [str(cell) for cell in table.cells[name]]
        notes.append(f"Names: {printable(name)!r}.")
    numeric = [column for column in rest if _is_number(table, column)]
    others = [column for column in table.columns if column in {*said.factors, *rest}]
    factors = [column for column in others if column not in numeric]
    for column in rest:
        if column not in numeric and len(others) + len(said.numbers) > 1:
            _check_repeated(table, column)
    numbers = [column for column in table.columns if column in {*said.numbers, *numeric}]
    for column in (*factors, *numbers):
        table.check_present(column)
    constant = modelled or bool(factors or said.numbers)
    same = [c for c in (*factors, *(numbers if constant else ())) if _same(table.cells[c])]
    if same:
        notes.append(f"Left out, since all arms have the same: {_listed(same)}.")
        factors = [column for column in factors if column not in same]
        numbers = [column for column in numbers if column not in same]
    if factors:
        notes.append(f"Factors: {_listed(factors)}.")
    if numbers:
        notes.append(f"Numbers: {_listed(numbers)}.")
    if not factors and not numbers:
        raise InvalidProblem(
            f"{what} has no column that says how arms differ; its columns are "
            f"{_listed(table.columns)}. Add one with a factor or a number, or say factors=[...] "
            "for one that is there."
        )
    columns = {
        column: table.as_numbers(column) if column in numbers else table.as_levels(column)
        for column in table.columns
        if column in {*factors, *numbers}
    }
    return Roles(names, columns, numbers, notes)


def _take_index(titles: Sequence[str], table: _Table, rest: list[str], notes: list[str]) -> None:
    """Leave out a first column that numbers the rows, or raise if it may be anything else."""
    column = table.columns[0]
    if rest[:1] != [column] or len(table.columns) == 1:
        return
    values = table.numbers(column)
    whole = all(value is not None and value.is_integer() for value in values)
    if UNNAMED.fullmatch(titles[0].strip()) and whole and table.different(column):
        notes.append("The first column only numbers the rows, and was left out.")
        rest.remove(column)
    elif len(values) > 2 and consecutive(values) and not _naming(column):
        raise InvalidProblem(
            f"The first column of {table.what}, {printable(column)!r}, just counts. "
            f"{table.ways_out(column, 'name', 'number')}"
        )


def _naming(column: str) -> bool:
    title = column.strip()
    return title.lower() in NAMING or bool(IDS.fullmatch(title))


def _found_name(table: _Table, said: Said, rest: list[str]) -> str | None:
    """Return the column that holds names, if there is one."""
    for column in rest:
        if column.strip().lower() in NAMING or (_naming(column) and table.different(column)):
            return column
    first = table.columns[0]
    others = len(rest) > 1 or said.factors or said.numbers
    texts = all(value is None for value in table.numbers(first))
    return first if rest[:1] == [first] and others and texts and table.different(first) else None


def _is_number(table: _Table, column: str) -> bool:
    """Whether a column that nothing was said about holds numbers that matter."""
    found = table.numeric(column)
    if found and _naming(column):
        raise InvalidProblem(
            f"{table.quoted(column)} has numbers, and its heading says that they tell things "
            f"apart. {table.ways_out(column, 'name', 'factor', 'number')}"
        )
    return found


def _check_repeated(table: _Table, column: str) -> None:
    if table.count > 2 and table.different(column):
        cells = table.cells[column]
        units = all(re.match(r"\W?\d", str(cell)) for cell in cells)
        hint = " If these are quantities, write plain numbers, without units." if units else ""
        raise InvalidProblem(
            f"{table.quoted(column)} is different in every row, so it tells arms apart but says "
            f"nothing about other arms. {table.ways_out(column, 'name', 'factor')}{hint}"
        )


def unboxed(cell: Any) -> Any:
    """Return a number of NumPy as one of Python, and anything else as it is."""
    return cell.item() if isinstance(cell, np.generic) else cell


def number(cell: Any) -> float | None:
    """Return a cell as a finite number, or None if it is none."""
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, str) and not NUMBER.fullmatch(cell.strip()):
        return None
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def missing(cell: Any) -> bool:
    """Whether a cell has no value."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return True
    try:
        return bool(cell != cell)  # NaN
    except TypeError:  # as what pandas has for it
        return True
    except ValueError:  # an array
        return False


def consecutive(values: Sequence[float | None]) -> bool:
    """Whether there are two or more numbers that count up by one."""
    start = values[0] if values else None
    if len(values) < 2 or start is None or not start.is_integer():
        return False
    return all(value == start + i for i, value in enumerate(values))


def _check_said(columns: Sequence[str], said: Said, what: str) -> None:
    named = () if said.name is None else (said.name,)
    everything = Counter([*named, *said.factors, *said.numbers, *said.ignore])
    for column, times in everything.items():
        if column not in columns:
            raise InvalidProblem(f"{what} has no column {column!r}; there are {_listed(columns)}.")
        if times > 1:
            raise InvalidProblem(f"Column {column!r} can be only one thing; it was given twice.")
    for column, times in Counter(columns).items():
        if times > 1:
            raise InvalidProblem(
                f"Columns need different headings; {what} has {printable(column)!r} twice."
            )


def _same(cells: list[Any]) -> bool:
    return len(set(map(str, cells))) == 1


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(printable, columns))
