"""Make text from users safe to print: names of arms, reasons, output of commands."""

import re

# Control characters (C0, DEL, C1), marks that change the writing direction, line and paragraph
# separators, and unpaired surrogates, which cannot be encoded.
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_HALF = re.compile("[\ud800-\udfff]")


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text on one line, with escapes for what would change how a terminal shows it.

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
