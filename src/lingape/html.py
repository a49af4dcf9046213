"""What notebooks show of a result: a title, sentences and a table, in small plain HTML."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from .printable import printable

MOST = 20  # arms, in a table


def as_html(title: str, text: str, rows: Sequence[Sequence[object]] = (), *, more: int = 0) -> str:
    """Return a title, sentences and a table as HTML, with all texts escaped.

    text: lines; those that begin with a dash are a list.
    rows: of the table, the heading first.
    more: how many rows are left out.

    >>> print(as_html("Race", "Not settled.", [["arm", "pulls"], ["<b>", 7]]))
    <div><strong>Race</strong>
    <p>Not settled.</p>
    <table>
    <tr><th>arm</th><th>pulls</th></tr>
    <tr><td>&lt;b&gt;</td><td>7</td></tr>
    </table></div>
    """
    parts = [f"<div><strong>{_safe(title)}</strong>", *_sentences(text)]
    if rows:
        lines = [_line("th", rows[0]), *(_line("td", row) for row in rows[1:])]
        parts += ["<table>", *lines, "</table>"]
    if more > 0:
        parts.append(f"<p>and {more:,} more</p>")
    return "\n".join(parts) + "</div>"


def _sentences(text: str) -> Iterator[str]:
    for listed, lines in groupby(text.splitlines(), lambda line: line.startswith("- ")):
        if listed:
            yield "<ul>" + "".join(f"<li>{_safe(line[2:])}</li>" for line in lines) + "</ul>"
        else:
            yield from (f"<p>{_safe(line)}</p>" for line in lines if line)


def _line(kind: str, cells: Sequence[object]) -> str:
    return "<tr>" + "".join(f"<{kind}>{_safe(cell)}</{kind}>" for cell in cells) + "</tr>"


def _safe(text: object) -> str:
    return escape(printable(str(text)))
