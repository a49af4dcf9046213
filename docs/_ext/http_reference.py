"""The directive `http-reference`: every request of the service, from its OpenAPI document.

The document itself is written beside the page, as openapi.json.
"""

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

Schema = dict[str, Any]
FIELDS = ["```{rst-class} fields", "```", ""]  # makes phones show the next table otherwise
COMMON = "/api/experiments/{name}/"  # what most paths begin with


@cache
def document() -> Schema:
    """Return the OpenAPI document of a service with tokens."""
    from lingape.live.server import create_app

    with tempfile.TemporaryDirectory() as folder:
        app = create_app(f"sqlite:///{folder}/none.db", write_token="w" * 32, read_token="r" * 32)
        found: Schema = app.openapi()
    return found


class HttpReference(SphinxDirective):
    """All requests, then all objects that they send and receive. For pages in Markdown."""

    def run(self) -> list[nodes.Node]:
        api = document()
        objects = api["components"]["schemas"]
        lines = ["## Requests", ""]
        for path, methods in api["paths"].items():
            for method, request in methods.items():
                short = path.replace(COMMON, "…/")
                lines += [f"### `{method.upper()} {short}`", ""]
                if short != path:
                    lines += [f"`{method.upper()} {path}`", ""]
                lines += told(request, objects)
        lines += ["## Objects", ""]
        for name, schema in objects.items():
            if name.endswith("Body") and name != "ProblemBody":
                continue  # shown with its request
            lines += [f"({anchor(name)})=", f"### {name}", "", *described(schema)]
        parsed = nodes.container()
        source, line = self.get_source_info()
        self.state.nested_parse(StringList(lines, source), line, parsed, match_titles=True)
        return parsed.children


def told(request: Schema, objects: Schema) -> list[str]:
    """Return the lines that describe a request."""
    lines = [request.get("description", request["summary"]), ""]
    asked = [one for one in request.get("parameters", ()) if one["in"] != "path"]
    if asked:
        lines += [*FIELDS, "| parameter | in | type | |", "|---|---|---|---|"]
        for one in asked:
            kind = kind_of(one["schema"]) + ("" if one.get("required") else ", optional")
            text = text_of(one["schema"] | one)
            lines.append(f"| `{one['name']}` | {one['in']} | {kind} | {text} |")
        lines.append("")
    if "requestBody" in request:
        (held,) = request["requestBody"]["content"].values()
        lines += table_of(objects[named(held["schema"])])
    for status, answer in request["responses"].items():
        if status.startswith("2"):
            lines += [f"Answer ({status}): {contents(answer)}.", ""]
    return lines


def contents(message: Schema) -> str:
    """Return what a body or an answer holds, with its media type."""
    parts = [
        f"{kind_of(held['schema'])}, `{media}`" if held.get("schema") else f"`{media}`"
        for media, held in message.get("content", {}).items()
    ]
    return " or ".join(parts) or "nothing"


def described(schema: Schema) -> list[str]:
    """Return the lines that describe an object."""
    lines = [schema["description"], ""] if "description" in schema else []
    if not schema.get("properties"):
        return [*lines, f"{kind_of(schema)}.", ""]
    return [*lines, *table_of(schema)]


def table_of(schema: Schema) -> list[str]:
    """Return the fields of an object as a table."""
    lines = [*FIELDS, "| field | type | |", "|---|---|---|"]
    for name, field in schema["properties"].items():
        kind = kind_of(field) + ("" if name in schema.get("required", ()) else ", optional")
        lines.append(f"| `{name}` | {kind} | {text_of(field)} |")
    return [*lines, ""]


def text_of(field: Schema) -> str:
    """Return what is said of a field and its default, on one line of a table."""
    text = field.get("description", "")
    if "$ref" in field and not text:  # it is the same
        text = document()["components"]["schemas"][named(field)]["description"]
    if field.get("default") not in (None, "", []):
        text = f"{text} Default: `{json.dumps(field['default'])}`."
    return " ".join(text.split()).replace("|", r"\|")


def kind_of(schema: Schema) -> str:
    """Return the type of a value in words, with links to objects."""
    if "$ref" in schema:
        return f"[{named(schema)}](#{anchor(named(schema))})"
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(map(kind_of, schema[word])))
    if "const" in schema or "enum" in schema:
        values = schema.get("enum") or [schema["const"]]
        return " or ".join(f"`{json.dumps(value)}`" for value in values)
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {kind_of(schema['items'])}" if schema.get("items") else "list"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object with values: {kind_of(schema['additionalProperties'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def named(schema: Schema) -> str:
    """Return the name of the object that a reference is to."""
    return str(schema["$ref"].rpartition("/")[2])


def anchor(name: str) -> str:
    return f"http-{name.lower()}"


def write_document(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        text = json.dumps(document(), indent=2, ensure_ascii=False)
        Path(app.outdir, "openapi.json").write_text(text + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("http-reference", HttpReference)
    # Before autodoc reads signatures, since it replaces their defaults in place.
    app.connect("builder-inited", lambda app: document() and None)
    app.connect("build-finished", write_document)
    return {"parallel_read_safe": True}
