"""What commands say when they refuse: in the words of the shell, about what was typed."""

import sys
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
    told = refused("plan", name, "--gap", 1, "--noise-scale", 1)
    assert name in told and f"--{name[:5]}" not in told.replace("_", "-")


def test_a_file_that_exists_is_called_as_it_was_given(here):
    Path("out.jsonl").write_text("{}\n")
    told = refused("compare", "--seeds", 1, "-e", "lingape", "--jobs", 1, "--out", "out.jsonl")
    assert told.startswith("Error: out.jsonl exists")


def test_a_folder_may_end_in_a_slash(here):
    for folder, blamed in (("new/", "--repeats"), ("no/new/", "there is no folder 'no'")):
        told = refused("reproduce", "table1", "--out", folder, "--repeats", 0, code=2)
        assert blamed in told


def test_experiments_are_told_of_in_options_and_commands(here):
    url = "sqlite:///run.db"
    new = ["live", "new", url, "ads", "arms.csv"]
    CliRunner().invoke(main, [*new, "--binary"])
    told = refused(*new, "--noise-scale", 2, "--delta", 0.2, "--seed", 3, "--epsilon", 1)
    assert "noise ('binary' there, 2.0 now)" in told
    for setting in ("delta (0.05", "epsilon (0.0", "seed (0"):
        assert f"--{setting} there" in told
    told = refused(*new, "--binary", "--norm-bound", 2)
    assert "(none there, 2.0 now). Use it as it is" in told
    assert told.count("create") == 0
    told = refused("live", "ask", url, "nosuch")
    assert told.endswith("there are: ads. To begin one, use lingape live new.")
    told = refused(*new, "--binary", "--explorer", "lingape(bound=worst_case)")
    assert "bound=worst_case needs" in told and "pass --norm-bound (S)" in told
    told = refused("live", "ask", url, "ads", "--ttl", "3x")
    assert told.endswith("never for no deadline. Got '3x'.") and "timedelta" not in told
    Path("log.jsonl").touch()
    told = refused("live", "export", url, "ads", "log.jsonl")
    assert told == "Error: log.jsonl exists. Remove it first, or write to another file."


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("-e lingape(bound=fixed_design)", "bound=fixed_design holds only for pulls fixed"),
        ("--arms arms.csv --theta 1,0,0", "Error: --theta (θ) must be 2 numbers"),
        ("-e lingape -e lingape", "or give them labels, in a file for lingape simulate."),
        ("--seeds 0", "--seeds must be a whole number from 1 to 1,000,000; got 0."),
    ],
)
def test_studies_are_told_of_in_options(here, words, told):
    assert told in refused("compare", "--seeds", 1, "--jobs", 1, *words.split())


def test_theta_is_blamed_for_its_length(here):
    assert "Error: --theta (θ) must be 2" in refused("complexity", "arms.csv", "--theta", 1)


def test_files_of_another_kind(here):
    Path("latin.csv").write_bytes("name,x,y\ncafé,1,0\nthé,0,1\n".encode("latin-1"))
    told = refused("plan", "latin.csv", "--gap", 1, "--noise-scale", 1)
    assert "it is not UTF-8. Save it as UTF-8" in told and "codec" not in told
    Path("no.log").write_text("hello\nthere\n")
    told = refused("live", "import", "no.log", "sqlite:///run.db")
    assert "is not an event of an exported log (it is not JSON)" in told
    find = ["find", "arms.csv", "--binary", "--reward-cmd", "echo {arm}"]
    assert "not a database" in refused(*find, "--log", "no.log", "--resume")


STUDY = 'explorers = ["race"]\ninstances = ["canonical(3, 1)"]\nseeds = 1\n'
DRAWING = {
    "compare": "compare -i canonical(3,1) -e race --seeds 1 --plot drawn --out rows.jsonl",
    "simulate": "simulate study.toml --plot drawn --out rows.jsonl",
    "reproduce": "reproduce figure3 --synthetic --quick --out drawn",
    "leaderboard": "leaderboard --quick --out drawn",
    "plan": "plan arms.csv --gap 1 --noise-scale 1 --draws 1 --plot drawn",
    "effects": "live effects sqlite:///none.db ads --plot drawn",
}


@pytest.mark.parametrize("name", DRAWING)
def test_commands_that_draw_ask_for_matplotlib_before_they_do_anything(name, here, monkeypatch):
    Path("study.toml").write_text(STUDY, "utf-8")
    before = set(here.iterdir())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = CliRunner().invoke(main, DRAWING[name].split())
    assert result.exit_code == 1 and result.stdout == ""
    assert result.stderr == (
        'Error: Drawing needs matplotlib, which is not installed: pip install "lingape[plot]".\n'
    )
    assert set(here.iterdir()) == before


def test_a_plan_without_matplotlib_has_no_plot_unless_asked_for(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    command = "plan arms.csv --gap 1 --noise-scale 1 --draws 1 -e race --jobs 1"
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 0 and "race" in result.stdout
    assert "No plot: Drawing needs matplotlib" in result.stderr
