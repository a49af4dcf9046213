"""One word per thing, one thing per word: no public name is defined twice in the package."""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

import lingape
from lingape import BOUNDS, BUDGET_EXPLORERS, EXPLORERS
from lingape.environments import ENVIRONMENTS, INSTANCES
from lingape.pulls import PULLS

SOURCE = Path(lingape.__file__).parent

# Functions of these rooms may have the name of one elsewhere that does the same.
ROOMS = {
    "cli/": "a command has the name of what it calls",
    "testing/budget.py": "a law is stated again for explorers with a budget",
}
SAME_THING = {"main"}  # the entry point, and the group of commands that it calls


def names_in(node):
    """Return the public names that a statement of a module defines: not constants."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        names = [node.name]
    else:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        names = [name for name in names if re.match("[A-Z].*[a-z]", name)]  # aliases of types
    return [name for name in names if not name.startswith("_")]


def definitions():
    """Return where each public class, type and function of the package is defined."""
    found = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            for name in names_in(node):
                found[name].append(path.relative_to(SOURCE).as_posix())
    return found


def test_no_public_name_is_defined_twice():
    twice = {}
    for name, places in definitions().items():
        rooms = Counter(next((r for r in ROOMS if place.startswith(r)), "") for place in places)
        times = len(places) if name[0].isupper() else max(rooms.values())
        if times > 1 and name not in SAME_THING:
            twice[name] = places
    assert twice == {}


REGISTRIES = (EXPLORERS, BUDGET_EXPLORERS, BOUNDS, PULLS, ENVIRONMENTS, INSTANCES)


def test_names_in_registries_are_identifiers_and_different():
    names = [name for registry in REGISTRIES for name in registry]
    assert all(name.isidentifier() and name == name.lower() for name in names)
    assert len(set(names)) == len(names)
