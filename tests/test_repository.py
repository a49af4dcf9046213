"""Files that repeat facts from elsewhere: they agree."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import lingape
from test_package import kept_files

ROOT = Path(__file__).parent.parent
TESTS = ROOT / ".github" / "workflows" / "tests.yml"
REGISTRIES = [  # in parts, since no file names them, and so not this one either
    f"{name}.{end}"
    for name, end in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "com"),
        ("npmjs", "org"),
        ("anaconda", "org"),
    ]
]


def test_versions_and_dates_agree():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    heading = f"## {lingape.__version__} ({cited['date-released']})"
    assert cited["version"] == lingape.__version__
    assert re.search("^## .*$", (ROOT / "CHANGES.md").read_text("utf-8"), re.M)[0] == heading


def test_pythons_that_are_promised_are_tested():
    jobs = yaml.safe_load(TESTS.read_text("utf-8"))["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    said = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    tested = jobs["linux"]["strategy"]["matrix"]["python"]
    assert said == tested
    assert set(jobs["others"]["strategy"]["matrix"]["python"]) <= set(tested)
    assert project["requires-python"] == f">={tested[0]}"


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_files_that_are_named_exist(page):
    text = (ROOT / page).read_text("utf-8")
    text = re.sub(r"```.*?```|(Write|rewards:) `.*?`", "", text, flags=re.S)  # what recipes write
    linked = re.findall(r"\]\((?!\w+:)([^)#]+)", text)
    named = re.findall(r"(?<![\w/.])((?:[\w.-]+/)*[\w-]+\.(?:md|py|toml|txt|yml))\b", text)
    assert named
    for name in {*linked, *named}:
        found = [ROOT / name, ROOT / "src" / "lingape" / name]
        assert any(path.exists() for path in found), name


def test_pages_that_the_readme_names_are_pages_of_the_site():
    """GitHub and PyPI show the files that pages are made of without what Sphinx makes of them."""
    text = (ROOT / "README.md").read_text("utf-8")
    named = re.findall(r"\]\(https://lingape\.github\.io/lingape/([^)]+)\)", text)
    assert len(named) > 10 and "](docs/" not in text.replace("](docs/images/", "")
    for page in named:
        assert (ROOT / "docs" / page.replace(".html", ".md")).exists(), page


def test_no_file_names_the_host_of_a_registry():
    for path in kept_files():
        if path.is_file():
            text = path.read_text("utf-8", errors="ignore")
            assert not any(host in text for host in REGISTRIES), path


def test_no_sentence_of_the_site_is_lost():
    """MyST leaves out lines that begin with %, as comments."""
    for path in kept_files():
        if path.suffix == ".md":
            text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.M | re.S)
            assert not re.search(r"^\s*%", text, re.M), path
