"""CONTRIBUTING.md's recipes, followed to the letter."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lingape
from lingape import BOUNDS, EXPLORERS, Bound, LinGapE
from lingape.lanes import compiled_lane
from lingape.testing import BOUND_LAWS, EXPLORER_LAWS, Tape
from test_kernels import play_and_compare

ROOT = Path(__file__).parent.parent


def recipe(title):
    """Return a section of CONTRIBUTING.md."""
    return (
        (ROOT / "CONTRIBUTING.md").read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    )


RECIPE = recipe("Add a command")
GENERIC = (
    "test_cli_simulations.py::test_every_command_has_json",
    "test_package.py::test_help_is_light",
    "test_vocabulary.py",
)


@pytest.fixture
def python(tmp_path):
    """Return a function that runs Python on a copy of the package with the command added."""
    package = tmp_path / "lingape"
    leave_out = shutil.ignore_patterns("__pycache__", "dashboard")
    shutil.copytree(Path(lingape.__file__).parent, package, ignore=leave_out)
    place = re.search(r"Write `src/lingape/(.*?)`", RECIPE)[1]
    (package / place).write_text(re.search(r"```python\n(.*?)```", RECIPE, re.S)[1])
    line, listed = re.search(r"Add `(.*?)` to `COMMANDS` in `(.*?)`", RECIPE).groups()
    text = (package / listed).read_text("utf-8")
    (package / listed).write_text(text.replace("COMMANDS = (\n", f"COMMANDS = (\n    {line}\n"))

    def run(*words):
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return run


def test_a_command_is_a_file_and_a_line(python, tmp_path):
    arms = tmp_path / "arms.csv"
    arms.write_text("1,0,0\n0,1,0\n1,1,0\n")
    assert "  rank " in python("-m", "lingape", "--help").stdout
    assert python("-m", "lingape", "rank", arms).stdout == "Dimensions: 2\n"
    assert json.loads(python("-m", "lingape", "rank", arms, "--json").stdout) == {"rank": 2}
    arms.write_text("1,0\n")
    refused = python("-m", "lingape", "rank", arms)
    assert refused.returncode == 1
    assert refused.stderr.startswith("Error: There must be at least 2 arms")


def test_a_new_command_passes_the_tests_of_all_commands(python):
    tests = [ROOT / "tests" / name for name in GENERIC]
    result = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert result.returncode == 0, result.stdout


def made_outside(title, registry, folder, monkeypatch, compiled=False):
    """Write the recipe's file outside of the package, and register what it defines."""
    text = recipe(title)
    place = Path(re.search(r"Write `src/lingape/(.*?)`", text)[1])
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    code = blocks[0]
    if compiled:
        rule, old = re.search(r"with `(.*?)` in place of `(.*?)` in\s+`parts`", text).groups()
        code = code.replace(f" {old},", f" {rule},") + blocks[1]
        place = place.with_stem(f"{place.stem}_compiled")
    code = code.replace("from ..", "from lingape.")
    code = code.replace("from .", f"from lingape.{place.parent}.")
    (folder / place.name).write_text(code)
    monkeypatch.syspath_prepend(folder)
    name, defined = re.search(r'Add `"(\w+)": (\w+),` to', text).groups()
    kind = getattr(importlib.import_module(place.stem), defined)
    monkeypatch.setitem(registry, name, kind)
    return name, kind


@pytest.fixture
def outsider(tmp_path, monkeypatch):
    return made_outside("Add an explorer", EXPLORERS, tmp_path, monkeypatch)


@pytest.mark.parametrize("law", EXPLORER_LAWS)
def test_an_explorer_without_a_kernel_obeys_the_laws(law, outsider):
    _, kind = outsider
    EXPLORER_LAWS[law](lambda problem, means: kind(problem))


def test_tests_of_kernels_leave_out_what_has_none(outsider):
    instance = lingape.canonical(3)
    with pytest.raises(pytest.skip.Exception, match="no kernel"):
        play_and_compare(outsider[1](instance.problem()), Tape(instance.gaussian().means))


@pytest.mark.parametrize("law", ["compiled_lane_plays_the_same", "copies_agree_to_the_end"])
def test_an_explorer_with_a_kernel_obeys_the_laws(law, tmp_path, monkeypatch):
    pytest.importorskip("numba")
    _, kind = made_outside("Add an explorer", EXPLORERS, tmp_path, monkeypatch, compiled=True)
    assert compiled_lane(kind(lingape.canonical(3).problem())) is not None
    EXPLORER_LAWS[law](lambda problem, means: kind(problem))


def test_an_explorer_without_a_kernel_says_so_once(outsider, caplog, monkeypatch):
    name, kind = outsider
    monkeypatch.setattr("lingape.lanes.compiled._said", set())
    for _ in range(2):
        assert compiled_lane(kind(lingape.canonical(3).problem())) is None
    said = "No compiled code for less_pulled: this runs in the plain lane."
    assert caplog.messages == [said]
    study = lingape.Study([f"{name}(bound=mixture)"], ["canonical(3, 1.0)"], seeds=1)
    (row,) = study.run(jobs=1).rows
    assert row.correct


@pytest.fixture
def bound(tmp_path, monkeypatch):
    return made_outside("Add a bound", BOUNDS, tmp_path, monkeypatch)[1]


@pytest.mark.parametrize("law", BOUND_LAWS)
def test_a_bound_without_a_kernel_obeys_the_laws(law, bound):
    BOUND_LAWS[law](bound)


@pytest.mark.parametrize("law", EXPLORER_LAWS)
def test_lingape_obeys_the_laws_with_a_bound_without_a_kernel(law, bound):
    found: Bound = bound()
    EXPLORER_LAWS[law](lambda problem, means: LinGapE(problem, bound=found))
