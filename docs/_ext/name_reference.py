"""The directive `names`: the reference of names of a module, from docstrings and types.

    ```{names} lingape
    LinGapE :inherited:
    soare
    ```

makes a table of contents and an entry for each, whatever kind of object it is. `:inherited:` also
shows the methods that a class has from its bases, which are otherwise left to their entries.
Docstrings describe parameters and fields as `name: what it is`, and fields may have a comment
beside them instead; both become lists. Where they name a page of the site, as docs/live.md, they
link to it.
"""

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from enum import Enum
from importlib import import_module
from types import SimpleNamespace
from typing import Any, get_type_hints

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

import lingape
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
PAGE = re.compile(r"\b(?:docs/(?P<page>[\w/-]+)|(?:paper/)?ERRATA)\.md\b")
# Members that have no underscore only because other modules of the library use them: left out. Its
# users have other ways to the same, and most of them harm an object when called out of turn.
INTERNAL = {
    *("anew", "apply", "current", "end_phase", "features_of", "foreseeable", "hang_up", "help"),
    *("lengthening", "new_orthonormal", "of_table", "or_better", "phase_over", "places"),
    *("pretend", "pretend_many", "progress", "resumed", "scale_for", "take_over", "thresholds"),
    *("widths_of", "LeastSquares.restore", "LeastSquares.state", "Mixture.factors"),
}
# What those who write parts may define, and nobody else calls: shown to them alone.
FOR_AUTHORS = {"adopt", "continue_from", "kernel"}
AUTHORS_PAGE = "reference/parts"
# By `open` and by ALBA: nobody needs to know how these are made.
MADE_BY_OTHERS = {"Experiment", "RandomDesign"}
NAMELESS = re.compile("<|lambda")  # <factory>, <function f.<lambda>>, lambda: 0
LABELS = {"bounds": "the page on bounds", None: "errata"}  # of pages with long titles


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
        internal = INTERNAL if self.env.docname == AUTHORS_PAGE else INTERNAL | FOR_AUTHORS
        for name, *options in entries:
            rst += ["", *entry(module, name, internal, inherited=":inherited:" in options)]
        parsed = nodes.container()
        source, line = self.get_source_info()
        block = ["```{eval-rst}", *rst, "```"]
        self.state.nested_parse(StringList(block, source), line, parsed)
        return parsed.children


def entry(module: str, name: str, internal: set[str], *, inherited: bool) -> list[str]:
    """Return the directive for a name, by what it is, without what is internal."""
    found: Any = getattr(import_module(module), name)
    path = f"{module}.{name}"
    if inspect.isclass(found) and issubclass(found, BaseException):
        return [f".. autoexception:: {path}"]
    if inspect.isclass(found):
        left_out = [one.removeprefix(f"{name}.") for one in sorted(internal)]
        lines = [f".. autoclass:: {path}", "   :members:"]
        lines += [f"   :exclude-members: {', '.join(left_out)}"]
        if is_protocol(found):
            lines += ["   :special-members: __call__"]
        if inherited:
            lines += ["   :inherited-members: object, Protocol, Generic, ABC, dict, list, tuple"]
        return lines
    if inspect.isfunction(found):
        return [f".. autofunction:: {path}"]
    lines = [*comment_on(found, name), "", *keys_of(found, module)]
    return [f".. py:data:: {path}", "", *(f"   {line}" for line in lines)]


def keys_of(registry: Any, module: str) -> list[str]:
    """Return the names in a registry of classes or functions, with links to these."""
    if not isinstance(registry, dict) or not all(map(callable, registry.values())):
        return []
    links = []
    for key, value in registry.items():
        name = getattr(value, "__name__", key)
        links.append(f":obj:`{key} <{'lingape' if hasattr(lingape, name) else module}.{name}>`")
    return [f"Names: {', '.join(links)}."]


def is_protocol(found: Any) -> bool:
    return getattr(found, "_is_protocol", False)


def summary(module: str, name: str) -> str:
    """Return the first paragraph of what is said of a name."""
    found: Any = getattr(import_module(module), name)
    documented = inspect.isclass(found) or inspect.isfunction(found)
    lines = (inspect.getdoc(found) or "").splitlines() if documented else comment_on(found, name)
    return linked(" ".join("\n".join(lines).partition("\n\n")[0].split()))


def linked(text: str) -> str:
    """Return a text with links where it names pages of the site by their files."""

    def link(found: re.Match[str]) -> str:
        page = found["page"]
        label = LABELS.get(page)
        return f":doc:`{label} </{page or 'project/errata'}>`" if label else f":doc:`/{page}`"

    return PAGE.sub(link, text)


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
    """Make lists of parameters and fields, and links to pages, in place."""
    lines[:] = map(linked, lines)
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


class Unnamed:
    """Stands for a default that has no name."""

    def __repr__(self) -> str:
        return "..."


def simplify(app: Sphinx, function: Any, bound: bool) -> None:
    """Leave out of a signature how values are read, and defaults that have no name, in place."""
    if not inspect.isfunction(function):
        return
    hints = function.__annotations__
    function.__annotations__ = {name: plain_type(hint) for name, hint in hints.items()}
    signature = inspect.signature(function)
    shown = [
        one
        if one.default is one.empty or not NAMELESS.match(repr(one.default))
        else one.replace(default=Unnamed())
        for one in signature.parameters.values()
    ]
    function.__signature__ = signature.replace(parameters=shown)


def plain_type(hint: Any) -> Any:
    """Return a type without what is annotated beside it."""
    if isinstance(hint, str) or "Annotated[" not in str(hint):
        return hint
    return get_type_hints(SimpleNamespace(__annotations__={"it": hint}))["it"]


def shorten(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, given: str | None, back: str | None
) -> tuple[str | None, str | None]:
    """Give types their short names back in signatures, and leave out signatures of no use."""
    if what == "class" and (
        is_protocol(obj) or issubclass(obj, Enum) or obj.__name__ in MADE_BY_OTHERS
    ):
        return "", None
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


def set_lists(app: Sphinx, document: nodes.document) -> None:
    """Set "a, b – what they are" in lists of parameters, where Sphinx has "a,b -- what"."""
    for entry in document.findall(addnodes.desc_content):
        for text in list(entry.findall(nodes.Text)):
            if text == " -- ":
                text.parent.replace(text, nodes.Text(" – "))
            elif isinstance(text.parent, addnodes.literal_strong):
                text.parent.replace(text, nodes.Text(text.replace(",", ", ")))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("names", Names)
    app.connect("autodoc-process-docstring", list_what_is_described)
    app.connect("autodoc-before-process-signature", simplify)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("object-description-transform", shorten_type)
    app.connect("doctree-read", set_lists)
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label, field.rolename = "Fields", ""
    return {"parallel_read_safe": True}
