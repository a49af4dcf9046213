"""Text for terminals and pages: safe to print, and in lists and tables."""

import re
from collections.abc import Iterable, Sequence

# Control characters (C0, DEL, C1), marks that change the writing direction, line and paragraph
# separators, and unpaired surrogates, which cannot be encoded.
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_HALF = re.compile("[\ud800-\udfff]")


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text on one line, with escapes for what would change how a terminal shows it.

    For text from users: names of arms, reasons, output of commands.

    keep: characters to leave as they are, such as the line breaks of a text with several lines.

    >>> print(printable("red\n\x1b[2Jblue"))
    red\n\x1b[2Jblue
    """
    return _UNFIT.sub(
        lambda found: found[0] if found[0] in keep else _escaped(found[0]),
        text,
    )


def encodable(text: str) -> bool:
    r"""Whether a text can be written to files, databases and terminals.

    It cannot if it has an unpaired surrogate, as from bytes that were not UTF-8.

    >>> encodable("θ"), encodable("\udcff")
    (True, False)
    """
    return _HALF.search(text) is None


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def stated(plain: str, exact: str) -> str:
    """Return an assumption: a sentence for everyone, and the exact statement behind it."""
    return f"{plain} Precisely: {exact}"


def markdown_list(items: Iterable[str]) -> str:
    """Return a list with a dash before each item."""
    return "\n".join(f"- {item}" for item in items)


def columns_of(rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first row is the heading, for a terminal.

    The first column has names; numbers in the others line up on the right.

    >>> print(columns_of([["arm", "pulls"], ["arm 9", "7"], ["arm 10", "1,234"]]))
      arm     pulls
      arm 9       7
      arm 10  1,234
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [
        place > 0 and all(cell[-1:].isdigit() for cell in column)
        for place, column in enumerate(zip(*rows[1:], strict=True))
    ]
    return "\n".join(
        "  "
        + "  ".join(
            cell.rjust(width) if end else cell.ljust(width)
            for cell, width, end in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )


def markdown_table(rows: Sequence[Sequence[str]], align: str = "l") -> str:
    """Return a table whose first row is the heading, which also lines up in a terminal.

    align: a letter per column, l or r; the last one is also that of all further columns.

    >>> print(markdown_table([["arm", "pulls"], ["plain", "7"], ["a|b", "1,234"]], "lr"))
    | arm   | pulls |
    | ----- | ----: |
    | plain |     7 |
    | a\\|b  | 1,234 |
    """
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(3, *map(len, column)) for column in zip(*escaped, strict=True)]
    right = [letter == "r" for letter in align.ljust(len(widths), align[-1])]
    marks = ["-" * (width - 1) + "-:"[end] for width, end in zip(widths, right, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, right, strict=True)
        padded = [cell.rjust(width) if end else cell.ljust(width) for cell, width, end in cells]
        return f"| {' | '.join(padded)} |"

    return "\n".join(map(line, [escaped[0], marks, *escaped[1:]]))
