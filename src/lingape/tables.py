"""Read arms from files."""

import csv
from pathlib import Path

from .errors import InvalidProblem


def read_arms(path: str | Path) -> tuple[list[str] | None, list[list[float]]]:
    """Return the names (if any) and the features of the arms in a CSV file.

    One row per arm. A first row without any number is a header; a first column without any number
    holds names.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as reason:
        raise InvalidProblem(f"{path} cannot be read as CSV: {reason}.") from reason
    first = 1
    if rows and not any(_is_number(cell) for cell in rows[0]):
        rows, first = rows[1:], 2
    if not rows:
        raise InvalidProblem(f"{path} has no arms. Write one row of features per arm.")
    names = None
    if not any(_is_number(row[0]) for row in rows):
        names = [row[0] for row in rows]
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


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
