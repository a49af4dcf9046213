"""The reference of the site: every public name is there, with an example that runs."""

import ast
import builtins
import doctest
import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import lingape

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted((DOCS / "reference").glob("*.md"))
NAMES = re.compile(r"```\{names\} (\S+)\n(.*?)```", re.S)
# What is there for the rest of the library, and not for those who use it.
INTERNAL = {"lingape.kernels", "lingape.lanes"}


def listed():
    """Return the names on the pages of the reference: (module, name) and the text of the page."""
    return {
        (module, line.split()[0]): page.read_text(encoding="utf-8")
        for page in PAGES
        for module, lines in NAMES.findall(page.read_text(encoding="utf-8"))
        for line in lines.splitlines()
    }


def public():
    """Return what the library's modules export, by identity: where it is called what."""
    found = {}
    modules = [info.name for info in pkgutil.walk_packages(lingape.__path__, "lingape.")]
    for module in ["lingape", *modules]:
        if module.startswith(("lingape.cli", "lingape.__main__")):
            continue
        loaded = import_module(module)
        if module in INTERNAL or not hasattr(loaded, "__all__"):
            continue
        for name in loaded.__all__:
            thing = getattr(loaded, name)
            if not inspect.ismodule(thing):
                found.setdefault(id(thing), []).append((module, name))
    return found


def test_every_public_name_is_in_the_reference_once():
    entries = listed()
    for calls in public().values():
        pages = [call for call in calls if call in entries]
        assert len(pages) == 1, f"{calls[0]} is in the reference {len(pages)} times"


@pytest.mark.parametrize(("module", "name"), listed(), ids=lambda text: text.rpartition(".")[2])
def test_every_name_has_an_example(module, name):
    """In its docstring, or on the page: of constants and of what takes minutes."""
    thing = getattr(import_module(module), name)
    documented = inspect.isclass(thing) or inspect.isfunction(thing)
    if not (documented and ">>> " in (inspect.getdoc(thing) or "")):
        examples = re.findall(r"^>>> .*$", listed()[module, name], re.M)
        assert any(re.search(rf"\b{name}\b", line) for line in examples)


def undefined(code):
    """Return the names that code uses, but neither imports nor defines."""
    known, used = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(name, ast.Load()):
                used.add(name)
            case ast.Name(name) | ast.arg(name) | ast.ExceptHandler(_, name):
                known.add(name)
            case ast.ClassDef(name) | ast.FunctionDef(name):
                known.add(name)
            case ast.alias(name, alias):
                known.add(alias or name)
    return used - known


@pytest.mark.parametrize(("module", "name"), listed(), ids=lambda text: text.rpartition(".")[2])
def test_examples_import_what_they_use(module, name):
    """So that they can be copied. Doctest would not tell: it knows what the module knows."""
    thing = getattr(import_module(module), name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        for test in doctest.DocTestFinder().find(thing, name, globs={}):
            assert not undefined("".join(each.source for each in test.examples)), test.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_on_pages_run(page):
    names = {}
    for block in re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
        said = []
        doctest.DocTestRunner().run(test, out=said.append, clear_globs=False)
        assert not said, "".join(said)
        names = test.globs


def test_the_gallery_has_every_plot():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    drawn = set(re.findall(r"^plots\.(\w+)\(", text, re.M))
    assert drawn == set(import_module("lingape.plots").__all__) - {"save"}
