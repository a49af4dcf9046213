"""Help of commands as it is printed, with examples as blocks of code and links to pages.

Click prints examples as they are, and sphinx-click makes lines of text of them.
"""

import textwrap
from itertools import groupby
from typing import Any

import click
from name_reference import linked
from sphinx.application import Sphinx

LINE = "| "


def show_as_printed(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Make blocks of code of lines that are printed as they are, and text of others, in place."""
    shown: list[str] = []
    for kept, block in groupby(lines, key=lambda line: line.startswith(LINE)):
        if not kept:
            shown += [linked(line.replace("\\", r"\\")) for line in block]
            continue
        code = [line.removeprefix(LINE) for line in block]
        if code[0] == "Example:":
            shown += [code.pop(0), ""]
        language = "sh" if code[0].lstrip().startswith("lingape") else "toml"
        shown += [f".. code-block:: {language}", ""]
        shown += textwrap.indent(textwrap.dedent("\n".join(code)), "   ").split("\n")
    lines[:] = shown


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx_click")
    app.connect("sphinx-click-process-description", show_as_printed)
    return {"parallel_read_safe": True}
