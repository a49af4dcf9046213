"""Read arms from files: tables in CSV and Parquet, arrays in NPY, and factors in TOML."""

import contextlib
import csv
import itertools
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .columns import NAMING, Said, consecutive, missing, number, roles_of
from .errors import InvalidProblem, imported, in_words
from .factors import Factors, Level
from .printable import printable
from .problem import Problem

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}((,\d{3})+(\.\d+)?|(\.\d{3})+,\d+|(\.\d{3}){2,})")
MOST_COLUMNS = 20  # named in a description
TOML_KEYS = ("factors", "numbers", "interactions", "exclude", "per_arm")


class ArmTable(NamedTuple):
    """Arms as they were read.

    names: of the arms, if there is a column for them.
    arms: their features, or the factors that they are combinations of.
    notes: sentences that say what was taken for what.

    >>> from lingape.tables import ArmTable
    >>> table = ArmTable(["plain", "picture"], [[1.0, 0.0], [1.0, 1.0]], notes=[])
    >>> table.problem(noise="binary").name(1)
    'picture'
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

    A table has one row per arm. Columns of text are factors; a first one that is different in
    every row, or one with a heading such as "name" or "user_id", holds names. Columns of numbers
    have a linear effect, beside a constant, as with Factors.from_table. What cannot be told is
    refused. Numbers without any headings are features as they are, and so is an NPY file, an array
    of shape (K, d): then an arm of zeros pays 0. A TOML file has the arguments of Factors.

    path: the file; its ending says what it is.
    name: the column that holds names.
    factors, numbers, ignore: columns that are factors, numbers that matter, or neither.
    interactions, exclude, per_arm: as for Factors.
    header: whether a CSV file begins with a row of headings; found out unless given.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from lingape.tables import read_arms
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "mails.toml")
    ...     _ = path.write_text('factors = {tone = ["warm", "dry"], length = ["short", "long"]}')
    ...     table = read_arms(path)
    >>> print(table.arms)
    4 arms, 3 features: constant, tone=dry, length=long
    """
    said = Said.of(name, factors=factors, numbers=numbers, ignore=ignore)
    modelled: dict[str, Any] = {
        "interactions": interactions,
        "exclude": exclude,
        "per_arm": per_arm,
    }
    kind = Path(path).suffix.lower()
    if kind in (".npy", ".toml"):
        _nothing_said(path, said, modelled)
    if kind == ".npy":
        array = _from_npy(path)
        return _with_features(None, array, [f"feature {i}" for i in range(len(array[0]))], [])
    if kind == ".toml":
        found = _from_toml(path)
        return ArmTable(None, found, [f"{found}."])
    parquet = kind in (".parquet", ".pq")
    raw = _from_parquet(path) if parquet else _from_csv(path, header)
    if not raw.rows:
        raise InvalidProblem(f"{path} has no arms. Write one row per arm.")
    roles = roles_of(
        raw.titles,
        raw.rows,
        said,
        what=str(path),
        typed=parquet,
        first=raw.first,
        modelled=raw.titled or any(modelled.values()),
    )
    notes = [*raw.notes, *roles.notes]
    if not (raw.titled or roles.factors or said.numbers or any(modelled.values())):
        features = [list(map(float, row)) for row in zip(*roles.columns.values(), strict=True)]
        return _with_features(roles.names, features, list(roles.columns), notes)
    made = Factors.of_table(roles, **modelled)
    return ArmTable(made.names, made, [*notes, f"{made}."])


def _with_features(
    names: list[str] | None, rows: list[list[float]], columns: list[str], notes: list[str]
) -> ArmTable:
    shown = ", ".join(printable(column) for column in columns[:MOST_COLUMNS])
    more = f" and {len(columns) - MOST_COLUMNS} more" if len(columns) > MOST_COLUMNS else ""
    features = "1 feature" if len(columns) == 1 else f"{len(columns)} features"
    return ArmTable(names, rows, [*notes, f"{len(rows)} arms, {features}: {shown}{more}."])


def _nothing_said(path: str | Path, said: Said, modelled: dict[str, Any]) -> None:
    if any(said) or any(modelled.values()):
        raise InvalidProblem(
            f"{path} is no table with columns to choose from. For factors write a CSV file, or "
            "say all of it in the TOML file."
        )


class _Raw(NamedTuple):
    """A table as it is in a file.

    titled: whether it has headings; else titles only count columns.
    first: the number of the first row of cells.
    notes: what is worth saying about how they were read.
    """

    titled: bool
    titles: list[str]
    rows: list[list[Any]]
    first: int
    notes: list[str]


def _from_csv(path: str | Path, header: bool | None) -> _Raw:
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
        return _Raw(False, [], [], 1, notes)
    for line, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InvalidProblem(
                f"{path} must have the same number of cells in every row; row {line} has "
                f"{len(row)}, row 1 has {len(rows[0])}. Write decimals with points, and cells "
                f"that contain {SEPARATORS[separator]} in quotes."
            )
    used = [any(row[i] for row in rows) for i in range(len(rows[0]))]
    if not all(used):  # as spreadsheets leave them at the end of rows
        notes.append("Columns without any cell were left out.")
        rows = [list(itertools.compress(row, used)) for row in rows]
    if header is None:
        header = _has_header(rows, separator, path, notes)
    titles = rows[0] if header else [f"column {i}" for i in range(1, len(rows[0]) + 1)]
    rows = rows[1:] if header else rows
    cells = _with_points(rows, titles, separator, path, notes)
    return _Raw(header, titles, cells, 2 if header else 1, notes)


def _separated(text: str) -> tuple[str, list[list[str]]]:
    """Return what separates cells, and the rows of cells.

    Where more than one separator gives a table, it is the one with the larger share of numbers.
    """

    def parsed(separator: str) -> list[list[str]]:
        lines = csv.reader(StringIO(text, newline=""), delimiter=separator)
        rows = [[cell.strip() for cell in row] for row in lines]
        return [row for row in rows if any(row)]

    def numbers(separator: str) -> float:
        cells = [cell for row in tables[separator] for cell in row]
        found = [number(cell) is not None or _decimal(cell, separator) for cell in cells]
        return sum(found) / len(found)

    tables = {",": parsed(",")}
    for separator in itertools.islice(SEPARATORS, 1, None):
        if separator in text:
            with contextlib.suppress(csv.Error):
                tables[separator] = parsed(separator)
    whole = [
        separator
        for separator, rows in tables.items()
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    ]
    best = max(whole, key=numbers) if len(whole) > 1 else (whole or [","])[0]
    return best, tables[best]


def _decimal(cell: str, separator: str) -> bool:
    return separator != "," and DECIMAL_COMMA.fullmatch(cell) is not None


def _has_header(rows: list[list[str]], separator: str, path: str | Path, notes: list[str]) -> bool:
    """Whether the first row has headings; raise if that cannot be told."""

    def value(cell: str) -> float | None:
        return number(cell.replace(",", ".") if _decimal(cell, separator) else cell)

    if len(rows) == 1:
        return all(value(cell) is None for cell in rows[0])
    first, columns = rows[0], list(zip(*rows[1:], strict=True))
    values = list(map(value, first))
    below = [list(map(value, column)) for column in columns]
    if all(value is None for value in values):
        for i, column in enumerate(columns):
            if first[i] and first[i] in column:
                raise InvalidProblem(
                    f"The first row of {path} may be an arm or headings: {first[i]!r} is also in "
                    f"row {column.index(first[i]) + 2}. Say header=True or header=False."
                )
        return True
    if missing(first[0]) or first[0].lower() in NAMING:
        notes.append("The first row has headings, some of which are numbers.")
        return True
    counted = [i for i, value in enumerate(values) if value is not None]
    above = any(  # a text above numbers
        value is None and numbers and None not in numbers
        for value, numbers in zip(values, below, strict=True)
    )
    lone = len(values) == 1  # a list of numbers, which needs no heading
    if above or (
        not lone
        and (
            _counting([values[i] for i in counted], [below[i] for i in counted])
            or _apart([first[i] for i in counted], [columns[i] for i in counted], value)
        )
    ):
        shown = ", ".join(first[:4]) + (", ..." if len(first) > 4 else "")
        raise InvalidProblem(
            f"The first row of {path}, {shown}, may be headings or an arm. Say header=True or "
            "header=False."
        )
    return False


def _counting(first: list[Any], below: list[list[float | None]]) -> bool:
    """Whether numbers count up, as headings do, above some that are not like that."""
    if not consecutive(first):
        return False
    others = [value for column in below for value in column if value is not None]
    fractions = any(not value.is_integer() for value in others)
    indicators = {*first, *others} <= {0.0, 1.0}
    return len(first) > 2 or fractions or (first[0] == 0.0 and not indicators)


def _apart(
    first: list[str], below: list[tuple[str, ...]], value: Callable[[str], float | None]
) -> bool:
    """Whether numbers may be headings as all differ, and each is none like those below it.

    Those with a point are hardly headings, unless none below has one. And headings are above two
    arms or more.
    """
    headings = [value(cell) for cell in first]
    if len(set(headings)) < len(first) or set(headings) <= {-1.0, 0.0, 1.0} or len(below[0]) < 2:
        return False
    if not all(map(_whole, first)) and not all(_whole(cell) for cells in below for cell in cells):
        return False
    for heading, cells in zip(headings, below, strict=True):
        found = [other for other in map(value, cells) if other is not None]
        if heading is None or not found or min(found) <= heading <= max(found):
            return False
    return True


def _whole(cell: str) -> bool:
    """Whether a number is written as a whole one."""
    return cell.lstrip("+-").isdecimal()


def _with_points(
    rows: list[list[str]], titles: list[str], separator: str, path: str | Path, notes: list[str]
) -> list[list[Any]]:
    """Return rows in which decimals have points, where they had commas."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    changed = []
    for i, cells in enumerate(columns):
        commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
        thousands = [cell for cell in cells if THOUSANDS.fullmatch(cell)]
        if not all(
            number(cell) is not None or DECIMAL_COMMA.fullmatch(cell) or THOUSANDS.fullmatch(cell)
            for cell in cells
        ):
            continue
        here = f"Column {printable(titles[i])!r} of {path}"
        if thousands and (set(commas) <= set(thousands) or not set(thousands) <= set(commas)):
            raise InvalidProblem(
                f"{here} has numbers such as {thousands[0]}, which are thousands to some and "
                "decimals to others. Save it without separators of thousands, and decimals with "
                "points."
            )
        if commas and separator == ",":
            raise InvalidProblem(
                f"{here} has decimals with commas, such as {commas[0]}. Save it with points, or "
                "with semicolons between cells."
            )
        if commas:
            changed.append(titles[i])
            columns[i] = [cell.replace(",", ".") for cell in cells]
    if changed:
        notes.append(f"Decimals have commas in {', '.join(map(printable, changed))}.")
    return [list(row) for row in zip(*columns, strict=True)]


def _from_parquet(path: str | Path) -> _Raw:
    polars = imported("polars", "Parquet files need", extra="tables")
    try:
        table = polars.read_parquet(path)
        return _Raw(True, list(table.columns), [list(row) for row in table.iter_rows()], 1, [])
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
        got = f"; got {', '.join(map(repr, unknown))}" if unknown else ""
        raise InvalidProblem(
            f"{path} needs a table [factors] with the levels of each, such as tone = "
            f'["warm", "dry"], and before it may have {", ".join(map(repr, TOML_KEYS[1:]))}{got}.'
        )
    if misplaced := [key for key in TOML_KEYS if key in data["factors"]]:
        raise InvalidProblem(
            f"{path} has {misplaced[0]!r} below [factors], where everything is a factor. Write it "
            "above [factors], or call the factor something else."
        )
    return Factors(data.pop("factors"), **data)
