"""Texts that users choose: names of experiments and workers, keys and reasons."""

import re
from typing import Any

from ..errors import InvalidArgument
from ..printable import encodable

LONGEST = 200  # letters
LONGEST_NOTES = 100 * LONGEST
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def checked_name(name: Any) -> str:
    """Return the name of an experiment, or raise InvalidArgument."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidArgument(
            "The name of an experiment has 1 to 100 letters (a to z), digits, dots, dashes "
            f"and underscores, and begins with a letter or digit; got {name!r}."
        )
    return name


def checked_text(name: str, value: Any, *, most: int = LONGEST) -> str | None:
    """Return a text of at most so many letters, or None if there is none."""
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > most:
        raise InvalidArgument(
            f"{name} must be a text of at most {most} letters; got {shortened(repr(value))}."
        )
    if not encodable(value):
        raise InvalidArgument(
            f"{name} must be a text that can be written as UTF-8; {value!r} contains half of a "
            "character, as bytes do that are not UTF-8."
        )
    return value


def shortened(text: str) -> str:
    """Return as much of a text as can be kept."""
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
