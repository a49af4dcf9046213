"""The package as a newcomer meets it: imports, names, command line, README."""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import lingape
from console import lasting, printed, sessions
from lingape import provenance
from lingape.cli import main

ROOT = Path(__file__).parent.parent


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_is_light():
    heavy = "{'numba', 'joblib', 'matplotlib', 'rich', 'highspy', 'click', 'scipy'}"
    code = f"import lingape, sys; print({heavy} & {{name.split('.')[0] for name in sys.modules}})"
    assert python(code).strip() == "set()"


def test_help_is_light():
    heavy = "{'numba', 'joblib', 'matplotlib', 'rich', 'highspy', 'scipy'}"
    code = (
        "import sys; from click.testing import CliRunner; from lingape.cli import main; "
        "result = CliRunner().invoke(main, ['demo', '--help']); "
        f"print(result.exit_code, {heavy} & {{name.split('.')[0] for name in sys.modules}})"
    )
    assert python(code).strip() == "0 set()"


def test_public_names_exist_once():
    assert len(lingape.__all__) == len(set(lingape.__all__))
    for name in lingape.__all__:
        assert hasattr(lingape, name)


def test_version_is_the_same_everywhere():
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{lingape.__version__}"' in project
    assert f"## {lingape.__version__}" in (ROOT / "CHANGES.md").read_text()


def test_readme_example_runs():
    """The README's example is twelve lines, and prints what the README says it prints."""
    readme = (ROOT / "README.md").read_text()
    code, output = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", readme, re.S).groups()
    assert len(code.strip().splitlines()) == 12
    assert python(code) == output


@pytest.mark.parametrize(
    "session",
    sessions((ROOT / "README.md").read_text()),
    ids=lambda session: session[-1][0].split(" -")[0],
)
def test_readme_commands_print_what_it_says(session, tmp_path):
    outputs = printed([command for command, _ in session], tmp_path)
    for (command, said), output in zip(session, outputs, strict=True):
        assert lasting(output) == lasting(said), command


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path):
    subprocess.run([sys.executable, path], check=True, capture_output=True, timeout=400)


def test_demo():
    result = CliRunner().invoke(main, ["demo", "--seed", "3"])
    assert result.exit_code == 0
    assert "No arm is better than Arm 1" in result.output
    assert "428,889" in result.output  # the paper's column
    assert "Arm 1 leads Arm 6" in result.output


def test_demo_as_json():
    result = CliRunner().invoke(main, ["demo", "--json"])
    assert result.exit_code == 0
    paper, tight = json.loads(result.stdout)
    assert paper["arm"] == tight["arm"] == 0
    assert paper["pulls"] > 2 * tight["pulls"]
    assert paper["certificate"]["bound"] == "SelfNormalized(comparisons='K^2')"


def test_bad_options_give_one_sentence():
    result = CliRunner().invoke(main, ["demo", "--seed", "x"])
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_stamps_call_a_checkout_dirty_when_its_code_differs(tmp_path, monkeypatch):
    """Not when pages do, as those that `make paper` wrote before this one."""

    def git(*words):
        author = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *author, *words], cwd=tmp_path, check=True, capture_output=True)

    code, page = tmp_path / "src" / "provenance.py", tmp_path / "docs" / "page.md"
    for path in (code, page):
        path.parent.mkdir()
        path.write_text("first")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    monkeypatch.setattr(provenance, "__file__", str(code))
    page.write_text("second")
    assert re.fullmatch("[0-9a-f]{7,}", provenance.provenance()["commit"])
    code.write_text("second")
    assert provenance.provenance()["commit"].endswith("-dirty")


def test_no_wide_words_about_machines():
    """No absolute path of somebody's machine in a tracked text."""
    for path in kept_files():
        text = path.read_text(errors="ignore") if path.is_file() else ""
        assert not re.search(r"(?<![\w.])/(home|root|work)/\w", text), path


def kept_files():
    """Return the files of the project: those that git tracks, or all of an unpacked archive."""
    if not (ROOT / ".git").exists():
        parts = ("src", "tests", "benchmarks", "docs", "examples")
        found = [path for part in parts for path in (ROOT / part).rglob("*.*")]
        return [path for path in found if "__pycache__" not in path.parts]
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return [ROOT / name for name in listed]


def test_the_source_archive_has_all_that_its_tests_read(tmp_path, monkeypatch):
    build = pytest.importorskip("hatchling.build")
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / build.build_sdist(str(tmp_path))) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    left_out = [str(path.relative_to(ROOT)) for path in kept_files() if path.is_file()]
    left_out = [name for name in left_out if name not in inside]
    assert [name for name in left_out if not name.startswith(".")] == []


def test_all_of_the_extras_the_readme_needs():
    """What README.md shows works after pip install '.[all]'."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    names = re.fullmatch(r"lingape\[(.*)\]", everything)[1].split(",")
    wanted = {re.split(r"[><=\[]", entry)[0] for name in names for entry in extras[name]}
    assert {"pandas", "polars", "numba", "joblib", "matplotlib", "fastapi"} <= wanted


@pytest.fixture
def arms_file(tmp_path):
    path = tmp_path / "arms.csv"
    rows = "\n".join(",".join(map(str, row)) for row in lingape.soare(3, 0.2).arms)
    path.write_text(rows + "\n")
    return path


def test_complexity(arms_file):
    result = CliRunner().invoke(main, ["complexity", str(arms_file), "--theta", "2,0,0"])
    assert result.exit_code == 0
    assert "least samples for δ = 0.05" in result.output
    assert "arm 1: 0.9" in result.output
    as_json = CliRunner().invoke(
        main, ["complexity", str(arms_file), "--theta", "2,0,0", "--json"]
    )
    data = json.loads(as_json.output)
    assert data["best"] == 0
    assert data["lower_bound"] == pytest.approx(2.65 * data["characteristic_time"], rel=1e-3)


@pytest.mark.parametrize(
    ("text", "theta", "words"),
    [
        ("1,0\n0,1\n", "1,x", "separated by commas"),
        ("1,0\n0,1\n", "1", "one per feature"),
        ("1,0\n0,1\n", "1,1", "unique"),
        ("1,0\n0\n", "1,0", "row 2 has 1"),
        ("a,b\n1,2\n3,?\n", "1,0", "'?'"),
        ("", "1,0", "no arms"),
        ("1,2\n", "1,0", "at least 2"),
    ],
)
def test_complexity_of_bad_input_gives_one_sentence(tmp_path, text, theta, words):
    path = tmp_path / "arms.csv"
    path.write_text(text)
    result = CliRunner().invoke(main, ["complexity", str(path), "--theta", theta])
    assert result.exit_code != 0
    assert words in result.output
    assert "Traceback" not in result.output


def test_arms_with_header_and_names(tmp_path):
    from lingape.tables import read_arms

    path = tmp_path / "arms.csv"
    path.write_text("arm,size,weight\nred,1,0.5\nblue,2,-1e-3\n")
    assert read_arms(path) == (["red", "blue"], [[1, 0.5], [2, -0.001]])
