"""Last touches to pages: a text for each picture that a cell draws, and whole formulas."""

import inspect
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from lingape import plots

DRAWN = re.compile(r"\bplots\.(\w+)\(")
OPENING, CLOSING = re.compile(r"[^\s\w]*$"), re.compile(r"[^\s\w]*")


def describe_pictures(app: Sphinx, document: nodes.document) -> None:
    """Say of pictures what the function does that drew them, without its verb, Draw."""
    for cell in document.findall(nodes.container):
        drawn = DRAWN.findall(cell.astext()) if cell.get("nb_element") == "cell_code" else []
        for picture in cell.findall(nodes.image) if drawn else ():
            does = inspect.getdoc(getattr(plots, drawn[-1])) or ""
            shows = " ".join(does.partition("\n\n")[0].split()).removeprefix("Draw ")
            picture["alt"] = shows[0].upper() + shows[1:]


def keep_together(app: Sphinx, document: nodes.document) -> None:
    """Put formulas and the punctuation around them into nodes that site.css keeps on one line."""
    for formula in list(document.findall(nodes.math)):
        before, after = formula.previous_sibling(), formula.next_node(descend=False, siblings=True)
        opening = OPENING.search(before)[0] if isinstance(before, nodes.Text) else ""
        closing = CLOSING.match(after)[0] if isinstance(after, nodes.Text) else ""
        if opening:
            before.parent.replace(before, nodes.Text(before.removesuffix(opening)))
        if closing:
            after.parent.replace(after, nodes.Text(after.removeprefix(closing)))
        if opening or closing:
            whole = nodes.inline("", opening, classes=["whole"])
            formula.replace_self(whole)
            whole += [formula, nodes.Text(closing)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", describe_pictures)
    app.connect("doctree-read", keep_together)
    return {"parallel_read_safe": True}
