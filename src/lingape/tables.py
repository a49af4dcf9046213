"""Read arms from files: tables in CSV and Parquet, arrays in NPY, and factors in TOML."""

import csv
import itertools
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .columns import NAMING, Said, missing, number, roles_of
from .errors import InvalidProblem, imported, in_words
from .factors import Factors, Level
from .printable import printable
from .problem import Problem

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
MOST_COLUMNS = 20  # named in a description
TOML_KEYS = ("factors", "numbers", "interactions", "exclude", "per_arm")


class ArmTable(NamedTuple):
    """Arms as they were read.

    arms: their features, or the factors that they are combinations of.
    notes: sentences that say what was taken for what.
    """

    names: list[str] | None
    arms: list[list[float]] | Factors
    notes: list[str]

    @property
    def features(self) -> Any:
        """The features, one row per arm."""
        return self.arms.features if isinstance(self.arms, Factors) else self.arms

    def problem(self, **settings: Any) -> Problem:
        """Return the problem of finding the best of these arms."""
        return Problem(self.arms, names=self.names, **settings)


def read_arms(
    path: str | Path,
    *,
    name: str | None = None,
    factors: Iterable[str] = (),
    numbers: Iterable[str] = (),
    ignore: Iterable[str] = (),
    interactions: str | Iterable[Sequence[str]] = (),
    exclude: Iterable[Mapping[str, Level]] = (),
    per_arm: bool = False,
    header: bool | None = None,
) -> ArmTable:
    """Return the arms in a CSV, Parquet, NPY or TOML file.

    A table has one row per arm. Columns of text are factors, and a first one that is different in
    every row, or has a heading such as "name" or "id", holds names. Columns of numbers are
    features as they are; beside factors, or if `numbers` names them, there is a constant too. An
    NPY file is an array of shape (K, d). A TOML file has the arguments of Factors.
    name: the column that holds names.
    factors, numbers, ignore: columns that are factors, numbers that matter, or neither.
    interactions, exclude, per_arm: as for Factors.
    header: whether a CSV file begins with a row of headings; found out unless given.
    """
    said = Said(name, tuple(factors), tuple(numbers), tuple(ignore))
    modelled: dict[str, Any] = {
        "interactions": interactions,
        "exclude": exclude,
        "per_arm": per_arm,
    }
    kind = Path(path).suffix.lower()
    if kind in (".npy", ".toml"):
        _nothing_said(path, said, {} if kind == ".npy" else modelled)
    if kind == ".npy":
        array = _from_npy(path)
        return _with_features(None, array, [f"feature {i}" for i in range(len(array[0]))], [])
    if kind == ".toml":
        found = _from_toml(path)
        return ArmTable(None, found, [f"{found}."])
    notes: list[str] = []
    if kind in (".parquet", ".pq"):
        columns, rows = _from_parquet(path)
    else:
        columns, rows, notes = _from_csv(path, header)
    if not rows:
        raise InvalidProblem(f"{path} has no arms. Write one row per arm.")
    roles = roles_of(columns, rows, said, what=str(path))
    names = None if roles.name is None else [str(row[roles.name]) for row in rows]
    notes += roles.notes
    if not roles.factors and not said.numbers and not any(modelled.values()):
        values = [[float(number(row[i]) or 0.0) for i in roles.numbers] for row in rows]
        return _with_features(names, values, [columns[i] for i in roles.numbers], notes)
    made = Factors.of_table(columns, rows, roles, **modelled)
    return ArmTable(made.names if names is None else names, made, [*notes, f"{made}."])


def _with_features(
    names: list[str] | None, rows: list[list[float]], columns: list[str], notes: list[str]
) -> ArmTable:
    shown = ", ".join(printable(column) for column in columns[:MOST_COLUMNS])
    more = f" and {len(columns) - MOST_COLUMNS} more" if len(columns) > MOST_COLUMNS else ""
    return ArmTable(
        names, rows, [*notes, f"{len(rows)} arms, {len(columns)} features: {shown}{more}."]
    )


def _nothing_said(path: str | Path, said: Said, modelled: dict[str, Any]) -> None:
    if any(said) or any(modelled.values()):
        raise InvalidProblem(
            f"{path} is no table with columns to choose from. For factors write a CSV file, or "
            "say all of it in the TOML file."
        )


def _from_csv(
    path: str | Path, header: bool | None
) -> tuple[list[str], list[list[Any]], list[str]]:
    """Return headings, rows, and what is worth saying about how they were read."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
        separator, rows = _separated(text)
    except UnicodeDecodeError as reason:
        raise InvalidProblem(
            f"{path} cannot be read as CSV: it is not UTF-8. Save it as UTF-8; spreadsheets call "
            'that "CSV UTF-8".'
        ) from reason
    except (OSError, csv.Error) as reason:
        raise InvalidProblem(f"{path} cannot be read as CSV: {in_words(reason)}.") from reason
    notes = [] if separator == "," else [f"Cells are separated by {SEPARATORS[separator]}."]
    if not rows:
        return [], [], notes
    for line, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InvalidProblem(
                f"{path} must have the same number of cells in every row; row {line} has "
                f"{len(row)}, row 1 has {len(rows[0])}."
            )
    if header is None:
        header = _has_header(rows, path, notes)
    columns = rows[0] if header else [f"column {i}" for i in range(1, len(rows[0]) + 1)]
    rows = rows[1:] if header else rows
    return columns, _with_points(rows, columns, separator, path, notes), notes


def _separated(text: str) -> tuple[str, list[list[str]]]:
    """Return what separates cells, and the rows of cells."""

    def parsed(separator: str) -> list[list[str]]:
        lines = csv.reader(StringIO(text, newline=""), delimiter=separator)
        return [[cell.strip() for cell in row] for row in lines if any(row)]

    with_commas = parsed(",")
    for separator in itertools.islice(SEPARATORS, 1, None):
        if any(separator in cell for row in with_commas for cell in row):
            rows = parsed(separator)
            if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
                return separator, rows
    return ",", with_commas


def _has_header(rows: list[list[str]], path: str | Path, notes: list[str]) -> bool:
    """Whether the first row has headings; raise if that cannot be told."""
    first, others = rows[0], rows[1:]
    values = [number(cell) for cell in first]
    if not any(value is not None for value in values):
        return True
    consecutive = _consecutive(values[1:])
    if consecutive and (missing(first[0]) or first[0].lower() in NAMING or values[0] is None):
        notes.append("The first row has headings, which are numbers.")
        return True
    fractions = any(
        value is not None and not value.is_integer()
        for row in others
        for value in map(number, row)
    )
    if _consecutive(values) and (len(values) > 2 or fractions):
        shown = ", ".join(first[:4]) + (", ..." if len(first) > 4 else "")
        raise InvalidProblem(
            f"The first row of {path}, {shown}, just counts: it may be a heading or an arm. Say "
            "header=True or header=False."
        )
    return False


def _consecutive(values: list[float | None]) -> bool:
    """Whether there are two or more numbers that count up by one."""
    if len(values) < 2 or any(value is None or not value.is_integer() for value in values):
        return False
    return all(b == a + 1 for a, b in itertools.pairwise(values))  # type: ignore[operator]


def _with_points(
    rows: list[list[str]],
    columns: list[str],
    separator: str,
    path: str | Path,
    notes: list[str],
) -> list[list[Any]]:
    """Return rows in which decimals have points, where they had commas."""
    result: list[list[Any]] = [list(row) for row in rows]
    changed = []
    for i, column in enumerate(columns):
        cells = [row[i] for row in rows]
        commas = [bool(DECIMAL_COMMA.fullmatch(cell)) for cell in cells]
        if not any(commas) or not all(
            comma or number(cell) is not None for comma, cell in zip(commas, cells, strict=True)
        ):
            continue
        if separator == ",":
            raise InvalidProblem(
                f"Column {printable(column)!r} of {path} has decimals with commas, such as "
                f"{cells[commas.index(True)]}. Save it with points, or with semicolons between "
                "cells."
            )
        changed.append(column)
        for row in result:
            row[i] = row[i].replace(",", ".")
    if changed:
        notes.append(f"Decimals have commas in {', '.join(map(printable, changed))}.")
    return result


def _from_parquet(path: str | Path) -> tuple[list[str], list[list[Any]]]:
    polars = imported("polars", "Parquet files need", extra="tables")
    try:
        table = polars.read_parquet(path)
        return list(table.columns), [list(row) for row in table.iter_rows()]
    except (OSError, polars.exceptions.PolarsError) as reason:
        raise InvalidProblem(f"{path} cannot be read as Parquet: {in_words(reason)}.") from reason


def _from_npy(path: str | Path) -> list[list[float]]:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as reason:
        raise InvalidProblem(f"{path} cannot be read as NPY: {in_words(reason)}.") from reason
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "iuf":
        raise InvalidProblem(
            f"{path} must hold an array of numbers of shape (K, d); got shape "
            f"{getattr(array, 'shape', None)} and type {getattr(array, 'dtype', type(array))}."
        )
    if not array.size:
        raise InvalidProblem(f"{path} has no arms. Write one row per arm.")
    return np.asarray(array, dtype=np.float64).tolist()  # type: ignore[no-any-return]


def _from_toml(path: str | Path) -> Factors:
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
        raise InvalidProblem(f"{path} cannot be read as TOML: {in_words(reason)}.") from reason
    unknown = [key for key in data if key not in TOML_KEYS]
    if unknown or not isinstance(data.get("factors"), Mapping):
        got = f"; got {', '.join(unknown)}" if unknown else ""
        raise InvalidProblem(
            f"{path} needs a table [factors] with the levels of each, such as tone = "
            f'["warm", "dry"], and before it may have {", ".join(TOML_KEYS[1:])}{got}.'
        )
    return Factors(data.pop("factors"), **data)
