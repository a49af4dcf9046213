"""The package as a newcomer meets it: imports, names, command line, README."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import lingape
from console import lasting, printed, sessions
from lingape import provenance
from systems import posix, same_figures

ROOT = Path(__file__).parent.parent


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_is_light():
    heavy = "{'numba', 'joblib', 'matplotlib', 'rich', 'click', 'scipy'}"
    code = f"import lingape, sys; print({heavy} & {{name.split('.')[0] for name in sys.modules}})"
    assert python(code).strip() == "set()"


def test_help_is_light():
    heavy = "{'numba', 'joblib', 'matplotlib', 'rich', 'scipy'}"
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
    """It is written in __init__.py; the installed package and CHANGES.md say the same."""
    assert lingape.__version__ == metadata.version("lingape")
    assert f"## {lingape.__version__} (" in (ROOT / "CHANGES.md").read_text("utf-8")


@same_figures
def test_readme_example_runs():
    """The README's example is ten lines of code, and prints what the README says it prints."""
    readme = (ROOT / "README.md").read_text("utf-8")
    code, output = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", readme, re.S).groups()
    assert len([line for line in code.splitlines() if line]) == 10
    assert python(code) == output


@posix("bash")
@same_figures
@pytest.mark.parametrize(
    "session",
    sessions((ROOT / "README.md").read_text("utf-8")),
    ids=lambda session: session[-1][0].split(" -")[0],
)
def test_readme_commands_print_what_it_says(session, tmp_path):
    outputs = printed([command for command, _ in session], tmp_path)
    for (command, said), output in zip(session, outputs, strict=True):
        assert lasting(output) == lasting(said), command


# What needs the extra "examples" and takes minutes, done in seconds.
LARGE = {
    "hyperparameters_with_optuna.py": "--epsilon 0.05 --seeds 1 --nets 20",
    "prompts_with_inspect.py": "--epsilon 0.5 --workers 2 --batch 32 --runs 1",
}
SMALL = sorted(path.name for path in (ROOT / "examples").glob("*.py") if path.name not in LARGE)


@pytest.mark.parametrize("name", SMALL)
def test_examples_run(name):
    command = [sys.executable, ROOT / "examples" / name]
    subprocess.run(command, check=True, capture_output=True, timeout=400)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_examples_run(name):
    command = [sys.executable, ROOT / "examples" / name, *LARGE[name].split()]
    subprocess.run(command, check=True, capture_output=True, timeout=400)


def test_stamps_call_a_checkout_dirty_when_its_code_differs(tmp_path, monkeypatch):
    """Not when pages do, as those that `make paper` wrote before this one."""

    def git(*words):
        author = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}  # as for anybody
        subprocess.run(
            ["git", *author, *words],
            cwd=tmp_path,
            env=os.environ | alone,
            check=True,
            capture_output=True,
        )

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


def test_no_paths_of_machines():
    """No absolute path of a developer's machine in a tracked text."""
    for path in kept_files():
        text = path.read_text("utf-8", errors="ignore") if path.is_file() else ""
        assert not re.search(r"(?<![\w.])/(home|root|work)/\w", text), path


def kept_files():
    """Return the files of the project: those that git tracks, or all of an unpacked archive."""
    if not (ROOT / ".git").exists():
        ignored = (ROOT / ".gitignore").read_text("utf-8").split()
        return [path for path in ROOT.rglob("*") if not _matches(path.relative_to(ROOT), ignored)]
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    return [ROOT / name for name in listed if name]


def _matches(path, patterns):
    return any(fnmatch(f"{part}/", pattern) for part in path.parts for pattern in patterns)


def test_the_source_archive_has_every_file(tmp_path, monkeypatch):
    build = pytest.importorskip("hatchling.build")
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / build.build_sdist(str(tmp_path))) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    files = {path.relative_to(ROOT).as_posix() for path in kept_files() if path.is_file()}
    assert files - inside == set()


def test_the_wheel_has_the_package_its_licences_and_whole_links(tmp_path, monkeypatch):
    build = pytest.importorskip("hatchling.build")
    monkeypatch.chdir(ROOT)
    with zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path))) as archive:
        inside = set(archive.namelist())
        about = f"lingape-{lingape.__version__}.dist-info"
        shown = archive.read(f"{about}/METADATA").decode()  # by PyPI, with the text of README.md
    source = ROOT / "src"
    package = {path.relative_to(source).as_posix() for path in kept_files() if _packed(path)}
    assert package - inside == set()
    assert {name.partition("/")[0] for name in inside} == {"lingape", about}
    assert re.findall(r"\]\((.*?)\)", shown)
    assert all(url.startswith("https://") for url in re.findall(r"\]\((.*?)\)", shown))
    assert "lingape/py.typed" in inside
    assert {
        f"{about}/licenses/LICENSE",
        f"{about}/licenses/src/lingape/live/dashboard/vendor/LICENSES.txt",
    } <= inside


def test_registries_would_take_the_archives(tmp_path, monkeypatch):
    build = pytest.importorskip("hatchling.build")
    pytest.importorskip("twine")
    monkeypatch.chdir(ROOT)
    made = [build.build_sdist(str(tmp_path)), build.build_wheel(str(tmp_path))]
    check = [sys.executable, "-m", "twine", "check", "--strict", *made]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _packed(path):
    return path.is_file() and path.is_relative_to(ROOT / "src")


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def requirements(*extras):
    """Return what the package needs with these extras, its own extras spelt out."""
    entries = list(project()["dependencies"])
    for extra in extras:
        for entry in map(Requirement, project()["optional-dependencies"][extra]):
            if entry.name == "lingape":
                entries += map(str, requirements(*entry.extras))
            else:
                entries.append(str(entry))
    return [Requirement(entry) for entry in entries]


def test_all_of_the_extras_the_readme_needs():
    """What README.md shows works after pip install ".[all]"."""
    names = {entry.name for entry in requirements("all")}
    assert {"pandas", "polars", "numba", "joblib", "matplotlib", "fastapi"} <= names


def test_start_says_which_versions_are_needed():
    text = (ROOT / "docs" / "start.md").read_text("utf-8")
    said = dict(re.findall(r"^\| `lingape(?:\[(\w+)\])?` \| (.*?) \|", text, re.M))
    needed = {"": project()["dependencies"], **project()["optional-dependencies"]}
    assert needed.keys() - said.keys() == {"all", "examples", "docs", "dev"}
    for extra, brings in said.items():
        floors = re.findall(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", "\n".join(needed[extra]))
        assert brings.lower() == ", ".join(" ".join(floor) for floor in floors), extra


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_constraints_allow_what_the_project_needs(python, platform):
    """`make constraints` has to follow a change of pyproject.toml."""
    about = {"python_version": python, "python_full_version": f"{python}.0"}
    about["sys_platform"] = platform
    pins = {}
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        pin = Requirement(line)
        if not pin.marker or pin.marker.evaluate(about):
            assert pin.name not in pins
            pins[pin.name] = str(pin.specifier).removeprefix("==")
    for entry in requirements(*project()["optional-dependencies"]):
        if not entry.marker or entry.marker.evaluate(about):
            assert pins[entry.name.lower()] in entry.specifier, entry


def test_floors_are_tested():
    """`make constraints` has to follow a change of pyproject.toml."""
    lines = (ROOT / "floors.txt").read_text(encoding="utf-8").splitlines()
    pins = {name: Version(pin) for name, _, pin in (line.partition("==") for line in lines)}
    for entry in requirements("all", "dask"):
        (floor,) = [part.version for part in entry.specifier if part.operator == ">="]
        assert pins[entry.name] == Version(floor), entry


# What needs a package that may be missing: that package, and a line that cannot do without.
WITHOUT = {
    "numba": "lingape.run(explorer, world, lane='compiled')",
    "joblib": "lingape.Study(['race'], ['canonical(3, 1)']).run(jobs=2)",
    "matplotlib": "from lingape import plots; plots.distribution({'a': [1.0, 2.0]}, xlabel='x')",
    "pandas": "study.run().to_pandas()",
    "polars": "study.run().to_polars()",
    "urllib3": "lingape.Client('http://127.0.0.1:1')",
    "uvicorn": "from lingape.live.serving import *; serve(Service('sqlite:///x.db'), ready=print)",
    "fastapi": "from lingape.live.serving import *; serve(Service('sqlite:///x.db'), ready=print)",
    "psycopg": "lingape.Experiment.open('postgresql://me@127.0.0.1:1/x', 'x')",
}


@pytest.mark.parametrize("package", WITHOUT)
def test_errors_name_an_extra_that_helps(package, tmp_path):
    code = f"""
import sys
sys.modules[{package!r}] = None
import lingape
instance = lingape.canonical(3, gap=1.0)
study = lingape.Study(["race"], ["canonical(3, 1)"], seeds=1)
explorer, world = lingape.LinGapE(instance.problem()), instance.gaussian()
try:
    {WITHOUT[package]}
except lingape.errors.MissingExtra as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    extra = re.search(r'"lingape\[(\w+)\]\\?"', done.stdout)[1]
    assert package in {entry.name for entry in requirements(extra)}


def test_extras_named_in_messages_exist():
    texts = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = {name for text in texts for name in re.findall(r'"lingape\[(\w+)\]\\?"', text)}
    assert named <= set(project()["optional-dependencies"])
