"""What the columns of a table are for: names of arms, factors, numbers. Never guessed in silence.

What was taken for what is said in `Roles.notes`; what cannot be told is refused, with the way out.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .checks import glimpse
from .errors import InvalidProblem
from .printable import printable

# Headings of a column that holds names, even if these are numbers.
NAMING = ("name", "names", "id", "arm", "item", "option", "label")
UNNAMED = re.compile(r"|unnamed: \d+|index|__index_level_\d+__", re.IGNORECASE)  # as pandas calls
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
FEW_TEXTS = 0.2  # a column with fewer texts than this share is one of numbers, with mistakes


class Roles(NamedTuple):
    """What columns are for, by place.

    notes: sentences that say so.
    """

    name: int | None
    factors: list[int]
    numbers: list[int]
    notes: list[str]


class Said(NamedTuple):
    """What the user says that columns are for, by heading; None where nothing is said."""

    name: str | None = None
    factors: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def roles_of(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], said: Said, *, what: str
) -> Roles:
    """Return what each column is for, or raise InvalidProblem; `what` is the table's name."""
    _check_said(columns, said, what)
    place = {column: i for i, column in enumerate(columns)}
    used = {place[column] for column in (*said.factors, *said.numbers, *said.ignore)}
    notes = [f"Left out: {_listed(said.ignore)}."] if said.ignore else []
    name = None if said.name is None else place[said.name]
    if name is not None:
        used.add(name)
    rest = [i for i in range(len(columns)) if i not in used]
    cells = {i: [row[i] for row in rows] for i in range(len(columns))}
    if rest and rest[0] == 0 and len(columns) > 1 and _counts(cells[0]):
        if UNNAMED.fullmatch(columns[0].strip()):
            notes.append("The first column only numbers the rows, and was left out.")
            rest.remove(0)
        elif columns[0].strip().lower() not in NAMING:
            raise InvalidProblem(
                f"The first column of {what}, {_quoted(columns[0])}, just counts. Say whether it "
                f"names the arms (name={columns[0]!r}), is a number that matters "
                f"(numbers=[{columns[0]!r}]) or nothing (ignore=[{columns[0]!r}])."
            )
    naming = [i for i in rest if columns[i].strip().lower() in NAMING]
    if name is None and naming:
        name = naming[0]
        rest.remove(name)
    texts = [i for i in rest if not _numeric(cells[i], columns[i], what)]
    different = [i for i in texts if len({str(cell) for cell in cells[i]}) == len(rows)]
    others = [*said.factors, *said.numbers, *(i for i in rest if i != 0)]
    if name is None and different[:1] == [0] and others:
        name = different.pop(0)
        texts.remove(name)
        rest.remove(name)
    for i in different:
        if len(rows) > 2 and others:
            raise InvalidProblem(
                f"Column {_quoted(columns[i])} of {what} is different in every row, so it tells "
                "arms apart but says nothing about other arms. Say whether it names the arms "
                f"(name={columns[i]!r}), is a factor (factors=[{columns[i]!r}]) or nothing "
                f"(ignore=[{columns[i]!r}])."
            )
    if name is not None:
        notes.append(f"Names: {_quoted(columns[name])}.")
    factors = sorted([place[column] for column in said.factors] + texts)
    numbers = sorted(
        [place[column] for column in said.numbers] + [i for i in rest if i not in texts]
    )
    for i in (*factors, *numbers):
        _check_present(cells[i], columns[i], what)
    for column in said.numbers:
        _check_numbers(cells[place[column]], column, what)
    if factors:
        notes.append(f"Factors: {_listed(columns[i] for i in factors)}.")
    if numbers:
        notes.append(f"Numbers: {_listed(columns[i] for i in numbers)}.")
    if not factors and not numbers:
        raise InvalidProblem(
            f"{what} has no column that says how arms differ. Add a column with a factor or a "
            "number, or say factors=[...] for one that is there."
        )
    return Roles(name, factors, numbers, notes)


def number(cell: Any) -> float | None:
    """Return a cell as a number, or None if it is none."""
    if hasattr(cell, "item"):
        cell = cell.item()
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, str):
        return float(cell) if NUMBER.fullmatch(cell.strip()) else None
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def level(cell: Any) -> Any:
    """Return a cell as a level: a number if it is one, whole if it is, else as it is."""
    value = number(cell)
    if value is None:
        return cell.item() if hasattr(cell, "item") else cell
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def missing(cell: Any) -> bool:
    """Whether a cell has no value."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return True
    return bool(cell != cell)  # NaN, and what data frames have for it


def _check_said(columns: Sequence[str], said: Said, what: str) -> None:
    named = () if said.name is None else (said.name,)
    everything = [*named, *said.factors, *said.numbers, *said.ignore]
    for column in everything:
        if column not in columns:
            raise InvalidProblem(f"{what} has no column {column!r}; there are {_listed(columns)}.")
        if everything.count(column) > 1:
            raise InvalidProblem(f"Column {column!r} can be only one thing; it was given twice.")
    for column in columns:
        if list(columns).count(column) > 1:
            raise InvalidProblem(
                f"Columns need different headings; {what} has {_quoted(column)} twice."
            )


def _numeric(cells: list[Any], column: str, what: str) -> bool:
    """Whether a column has numbers; raise if it has, but for a few cells."""
    texts = [
        (row, cell)
        for row, cell in enumerate(cells, start=1)
        if not missing(cell) and number(cell) is None
    ]
    if texts and len(texts) < FEW_TEXTS * len(cells):
        row, cell = texts[0]
        raise InvalidProblem(
            f"Column {_quoted(column)} of {what} has numbers, but arm {row} has {glimpse(cell)}. "
            "Fill in a number, or leave the row out; if it is a category, say "
            f"factors=[{column!r}]."
        )
    return not texts


def _check_present(cells: list[Any], column: str, what: str) -> None:
    for row, cell in enumerate(cells, start=1):
        if missing(cell):
            raise InvalidProblem(
                f"Column {_quoted(column)} of {what} has no value for arm {row}. Fill it in, or "
                "leave the row out."
            )


def _check_numbers(cells: list[Any], column: str, what: str) -> None:
    for row, cell in enumerate(cells, start=1):
        if number(cell) is None:
            raise InvalidProblem(
                f"Column {_quoted(column)} of {what} was said to have numbers; arm {row} has "
                f"{glimpse(cell)}. If it is a category, say factors=[{column!r}]."
            )


def _counts(cells: list[Any]) -> bool:
    """Whether cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    values = [number(cell) for cell in cells]
    start = values[0] if values else None
    if start not in (0.0, 1.0) or len(values) < 3:
        return False
    return all(value == start + i for i, value in enumerate(values))


def _quoted(column: str) -> str:
    return repr(printable(column))


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(printable(column) or "(no heading)" for column in columns)
