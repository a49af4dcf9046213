"""Last touches to pages: a text for each picture that a cell draws, whole formulas,
and links from source code that lead to the reference.
"""

import inspect
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from lingape import plots

DRAWN = re.compile(r"\bplots\.(\w+)\(")
BACK = re.compile(r'(?<=class="viewcode-back" href=")[^"]+')
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


def link_back(app: Sphinx, page: str, template: str, context: dict[str, Any], _: object) -> None:
    """Lead links from source code to what is there called otherwise.

    Sphinx takes one name for all that a module has, but of lingape.live.client the reference has
    lingape.Client and lingape.live.RemoteExperiment.
    """
    known = app.env.domains.python_domain.objects

    def repaired(link: re.Match[str]) -> str:
        address, name = link[0].split("#")
        ends = ["." + ".".join(name.split(".")[-parts:]) for parts in (2, 1)]
        same = [one for end in ends for one in known if one.endswith(end)]
        here = [one for one in same if address.endswith(f"{known[one].docname}.html")]
        return link[0] if name in known or not here else f"{address}#{here[0]}"

    if page.startswith("_modules/"):
        context["body"] = BACK.sub(repaired, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", describe_pictures)
    app.connect("doctree-read", keep_together)
    app.connect("html-page-context", link_back)
    return {"parallel_read_safe": True}
