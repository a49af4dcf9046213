"""The directive `names`: the reference of names of a module, from docstrings and types.

    ```{names} lingape
    LinGapE :inherited:
    soare
    ```

makes a table of contents and an entry for each, whatever kind of object it is. `:inherited:` also
shows the methods that a class has from its bases, which are otherwise left to their entries.
Docstrings describe parameters and fields as `name: what it is`, and fields may have a comment
beside them instead; both become lists.
"""

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from importlib import import_module
from typing import Any

import numpy.typing as npt
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import stringify_annotation

from lingape import arrays

LOGGER = logging.getLogger(__name__)
# Types that have a short name, which is lost when Python evaluates annotations.
SHORT = {
    stringify_annotation(kind, "smart"): name
    for name, kind in {
        "ArrayLike": npt.ArrayLike,
        "FloatArray": arrays.FloatArray,
        "IntArray": arrays.IntArray,
        "BoolArray": arrays.BoolArray,
    }.items()
}
DESCRIBED = re.compile(r"^((?:\w+, )*\w+): ")


class Names(SphinxDirective):
    """A table of names of a module, and their entries. For pages in Markdown."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        module = self.arguments[0]
        entries = [line.split() for line in self.content if line.strip()]
        rst = [".. list-table::", "   :widths: auto", ""]
        for name, *_ in entries:
            rst += [f"   * - :obj:`{name} <{module}.{name}>`", f"     - {summary(module, name)}"]
        for name, *options in entries:
            rst += ["", *entry(module, name, inherited=":inherited:" in options)]
        parsed = nodes.container()
        source, line = self.get_source_info()
        block = ["```{eval-rst}", *rst, "```"]
        self.state.nested_parse(StringList(block, source), line, parsed)
        return parsed.children


def entry(module: str, name: str, *, inherited: bool) -> list[str]:
    """Return the directive for a name, by what it is."""
    found: Any = getattr(import_module(module), name)
    path = f"{module}.{name}"
    if inspect.isclass(found) and issubclass(found, BaseException):
        return [f".. autoexception:: {path}"]
    if inspect.isclass(found):
        more = ["   :inherited-members: object, Protocol, Generic, ABC, dict, list, tuple"]
        return [f".. autoclass:: {path}", "   :members:", *(more if inherited else [])]
    if inspect.isfunction(found):
        return [f".. autofunction:: {path}"]
    return [f".. py:data:: {path}", "", *(f"   {line}" for line in comment_on(found, name))]


def summary(module: str, name: str) -> str:
    """Return the first paragraph of what is said of a name."""
    found: Any = getattr(import_module(module), name)
    documented = inspect.isclass(found) or inspect.isfunction(found)
    lines = (inspect.getdoc(found) or "").splitlines() if documented else comment_on(found, name)
    return " ".join("\n".join(lines).partition("\n\n")[0].split())


def comment_on(found: Any, name: str) -> list[str]:
    """Return the comment `#: ...` above the assignment of a constant, wherever that is."""
    for module in sorted(found for found in sys.modules if found.split(".")[0] == "lingape"):
        if module == "lingape":  # knows all names, and defines none
            continue
        comments = ModuleAnalyzer.for_module(module).find_attr_docs()
        for (_, constant), comment in comments.items():
            if getattr(sys.modules[module], constant, None) is found:
                return comment
    raise LookupError(f"{name} is a constant with no comment `#: What it is.` above it.")


def list_what_is_described(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Make lists of parameters and fields, in place."""
    if what not in ("class", "exception", "function", "method"):
        return
    fields = comments_of(obj) if inspect.isclass(obj) else {}
    role = "ivar" if fields else "param"
    known = fields.keys() | parameters_of(obj)
    done: set[str] = set()
    listing = False
    for i, line in enumerate(lines):
        described = DESCRIBED.match(line)
        if described and known >= (names := set(described[1].split(", "))):
            before = "" if listing or not i or not lines[i - 1] else "\n"
            # Without a space, since Sphinx takes the first of two words for a type.
            together = described[1].replace(" ", "")
            lines[i] = f"{before}:{role} {together}: {line[described.end() :]}"
            listing, done = True, done | names
        elif listing and line and not line.startswith(" "):
            if lines[i - 1]:
                LOGGER.warning("%s: %r is neither indented nor a field.", name, line)
            lines[i] = f"\n{line}"
            listing = False
    rest = {field: text for field, text in fields.items() if text and field not in done}
    if rest:
        lines += ["", *(f":ivar {field}: {text}" for field, text in rest.items()), ""]
    lines[:] = "\n".join(lines).split("\n")


def parameters_of(thing: Any) -> set[str]:
    try:
        return set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return set()


def comments_of(cls: type) -> dict[str, str]:
    """Return the fields of a dataclass or named tuple, with the comments beside them."""
    if not (dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")):
        return {}
    source = textwrap.dedent(inspect.getsource(cls))
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    fields = [
        part
        for part in tree.body
        if isinstance(part, ast.AnnAssign) and not ast.unparse(part.annotation).startswith("Class")
    ]
    rows = source.splitlines()
    beside = [
        rows[part.end_lineno - 1][part.end_col_offset :].partition("#")[2] for part in fields
    ]
    texts = [text.strip(" :") for text in beside]
    return {
        ast.unparse(part.target): text[:1].upper() + text[1:]
        for part, text in zip(fields, texts, strict=True)
        if not ast.unparse(part.target).startswith("_")
    }


def skip_fields(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out fields of named tuples, which are listed with their comments."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def shorten(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, given: str | None, back: str | None
) -> tuple[str | None, str | None]:
    """Give types their short names back in signatures."""
    for long, short in SHORT.items():
        given = given and given.replace(long, short)
        back = back and back.replace(long, short)
    return given, back


def shorten_type(app: Sphinx, domain: str, kind: str, content: nodes.Element) -> None:
    """Give the type of a property its short name back, too."""
    for annotation in content.parent.findall(addnodes.desc_annotation):
        text = annotation.astext()
        for long, short in SHORT.items():
            text = text.replace(re.sub(r"~[\w.]*\.", "", long), short)
        if text != annotation.astext():
            annotation.children = [nodes.Text(text)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("names", Names)
    app.connect("autodoc-process-docstring", list_what_is_described)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("object-description-transform", shorten_type)
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label, field.rolename = "Fields", ""
    return {"parallel_read_safe": True}
