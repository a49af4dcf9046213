"""Pages of `lingape reproduce`: links to the pages that they name, and the directive `claims`.

It makes a table of the paper's claims, from pages beside its own.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SOURCES = {
    "https://lingape.github.io/lingape/bounds.html": "[the proofs](../bounds.md)",
    "https://lingape.github.io/lingape/project/errata.html": "[errata](../project/errata.md)",
}
CLAIM = re.compile(r"^- (?P<says>.*) — \*\*(?P<verdict>.*?)\*\*: (?P<by>.*)$", re.M)


class Claims(SphinxDirective):
    """A row for each claim on pages beside this one. For pages in Markdown."""

    required_arguments = 1
    optional_arguments = 20

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.doc2path(self.env.docname)).parent
        lines = ["| | the paper says | | measured |", "|---|---|---|---|"]
        for name in self.arguments:
            page = folder / f"{name}.md"
            self.env.note_dependency(str(page))
            text = page.read_text(encoding="utf-8")
            title = text[2 : text.index(":")]
            found = list(CLAIM.finditer(text))
            if not found:
                raise self.error(
                    f"{page} has no claims in the form that `lingape reproduce` writes."
                )
            for claim in found:
                cells = (part.replace("|", r"\|") for part in claim.groups())
                says, verdict, by = cells
                lines.append(f"| [{title}]({name}.md) | {says} | **{verdict}** | {linked(by)} |")
        parsed = nodes.container()
        source, line = self.get_source_info()
        self.state.nested_parse(StringList(lines, source), line, parsed)
        return parsed.children


def linked(text: str) -> str:
    for file, link in SOURCES.items():
        text = text.replace(file, link)
    return text


def link_sources(app: Sphinx, docname: str, source: list[str]) -> None:
    """Make links of the addresses that pages of `lingape reproduce` name, in place."""
    if docname.startswith("paper/"):
        source[0] = linked(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("claims", Claims)
    app.connect("source-read", link_sources)
    return {"parallel_read_safe": True}
