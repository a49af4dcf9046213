"""The directive `licences`: the texts under which packages are whose files the site contains."""

from importlib.metadata import distribution
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Licences(SphinxDirective):
    """For each distribution that is named, its version and the text of its licence."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for name in self.content:
            package = distribution(name)
            texts = [
                file.read_text(encoding="utf-8").strip()
                for file in package.files or ()
                if ".dist-info" in str(file) and file.name.startswith("LICENSE")
            ]
            if not texts:
                raise self.error(f"{name} comes with no file called LICENSE.")
            found += [nodes.rubric("", f"{name} {package.version}")]
            found += [nodes.literal_block(text, text, language="none") for text in texts]
        return found


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("licences", Licences)
    return {"parallel_read_safe": True}
