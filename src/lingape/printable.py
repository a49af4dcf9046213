"""Texts that others chose, made safe to print: names of arms, reasons, what a command wrote."""

import re

# Line breaks and other controls of terminals (C0, DEL, C1), those that turn the direction of
# writing or break lines and paragraphs, and halves of characters, which no encoding has.
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_HALF = re.compile("[\ud800-\udfff]")


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text on one line, with what would change how a terminal shows it escaped.

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

    It cannot if it has half of a surrogate pair, as from bytes that were not UTF-8.

    >>> encodable("θ"), encodable("\udcff")
    (True, False)
    """
    return _HALF.search(text) is None


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
