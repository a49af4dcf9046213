"""CONTRIBUTING.md's recipe for a command, followed to the letter on a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lingape

ROOT = Path(__file__).parent.parent
RECIPE = (ROOT / "CONTRIBUTING.md").read_text().split("## Add a command")[1].split("\n## ")[0]
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
    text = (package / listed).read_text()
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
