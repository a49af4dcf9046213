"""Lists and tables in Markdown, which also line up in a terminal."""

from collections.abc import Iterable, Sequence


def markdown_list(items: Iterable[str]) -> str:
    """Return a list with a dash before each item."""
    return "\n".join(f"- {item}" for item in items)


def markdown_table(rows: Sequence[Sequence[str]], align: str = "l") -> str:
    """Return a table whose first row is the heading.

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
