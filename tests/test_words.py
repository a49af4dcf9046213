"""What commands say when they refuse: in the words of the shell, about what was typed."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lingape.cli import main
from lingape.cli.group import in_options


def refused(*words, code=1):
    """Run a command that is to fail with one sentence; return the sentence."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.stderr.splitlines()[-1]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text("1,0\n0,1\n0.5,0.5\n")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "out.jsonl exists.",
        "out/x.jsonl exists.",
        "delta.csv: line 2 has 1 feature.",
        "noise_scale/x.csv: line 2 has 1 feature.",
        "data/noise_scale.csv: line 2 has 1 feature.",
        "../noise_scale/x.csv: line 2 has 1 feature.",
        "runs/noise_scale=1.csv: line 2 has 1 feature.",
        "There is no arm 'ask()'.",
        "sqlite:///ask().db is no database.",
        "task() is not known.",
    ],
)
def test_names_of_files_and_what_is_quoted_stay_as_they_are(text):
    options = [click.Option([f"--{name}"]) for name in ("out", "delta", "noise-scale")]
    words = {r"(?<![\w./])ask\(\)": "lingape live ask"}
    assert in_options(text, options, words) == text
    assert in_options("noise_scale must be above 0.", options) == "--noise-scale must be above 0."
    assert in_options("delta must be below 1.", options) == "--delta must be below 1."
    assert in_options("(noise_scale=3). ask() goes on.", options, words) == (
        "(--noise-scale 3). lingape live ask goes on."
    )


@pytest.mark.parametrize("name", ["delta.csv", "noise_scale/x.csv", "max_pulls/x.csv"])
def test_a_table_is_called_as_it_was_given(here, name):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("1,0\n0\n")
    told = refused("plan", name, "--gap", 1)
    assert name in told and f"--{name[:5]}" not in told.replace("_", "-")


def test_a_file_that_exists_is_called_as_it_was_given(here):
    Path("out.jsonl").write_text("{}\n")
    told = refused("compare", "--seeds", 1, "-e", "lingape", "--jobs", 1, "--out", "out.jsonl")
    assert told.startswith("Error: out.jsonl exists")


def test_a_folder_may_end_in_a_slash(here):
    for folder, blamed in (("new/", "--repeats"), ("no/new/", "there is no folder 'no'")):
        told = refused("reproduce", "table1", "--out", folder, "--repeats", 0, code=2)
        assert blamed in told
