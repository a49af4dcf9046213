"""Read arms from files."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InvalidProblem, imported, in_words

# Headings of a column that holds names, even if these are numbers.
NAMING = ("name", "names", "id", "arm", "item", "option", "label")


def read_arms(path: str | Path) -> tuple[list[str] | None, list[list[float]]]:
    """Return the names (if any) and the features of the arms in a CSV, Parquet or NPY file.

    One row per arm. In a CSV file a first row without any number is a header. A first column
    without any number, or with a heading such as "name" or "id", holds names. An NPY file is an
    array of shape (K, d).
    """
    kind = Path(path).suffix.lower()
    if kind == ".npy":
        return None, _from_npy(path)
    if kind in (".parquet", ".pq"):
        heading, rows, first = *_from_parquet(path), 1
    else:
        heading, rows, first = _from_csv(path)
    if not rows:
        raise InvalidProblem(f"{path} has no arms. Write one row of features per arm.")
    names = None
    named = bool(heading) and str(heading[0]).strip().lower() in NAMING
    if named or not any(_is_number(row[0]) for row in rows):
        names = [str(row[0]) for row in rows]
        rows = [row[1:] for row in rows]
    for line, row in enumerate(rows, start=first):
        if len(row) != len(rows[0]):
            raise InvalidProblem(
                f"{path} must have the same number of features in every row; row {line} has "
                f"{len(row)}, row {first} has {len(rows[0])}."
            )
        for cell in row:
            if not _is_number(cell):
                raise InvalidProblem(
                    f"{path} must hold numbers; row {line} has {cell!r}. Encode categories as "
                    "numbers and fill in missing values."
                )
    return names, [[float(cell) for cell in row] for row in rows]


def _from_csv(path: str | Path) -> tuple[list[str], list[list[Any]], int]:
    """Return the header, if any, the rows, and the number of the first."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(row)]
    except UnicodeDecodeError as reason:
        raise InvalidProblem(
            f"{path} cannot be read as CSV: it is not UTF-8. Save it as UTF-8; spreadsheets call "
            'that "CSV UTF-8".'
        ) from reason
    except (OSError, csv.Error) as reason:
        raise InvalidProblem(f"{path} cannot be read as CSV: {in_words(reason)}.") from reason
    if rows and not any(_is_number(cell) for cell in rows[0]):
        return rows[0], rows[1:], 2
    return [], rows, 1


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
    return np.asarray(array, dtype=np.float64).tolist()  # type: ignore[no-any-return]


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return not isinstance(cell, bool)
