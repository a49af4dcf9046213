"""The result of each run, and files of them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidState, in_words
from ..runs import Ending

FORMAT, VERSION = "lingape study", 1


@dataclass(frozen=True)
class Row:
    """The result of one run."""

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
