"""What commands print: names on one line, with nothing that controls a terminal."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lingape import Gaussian, Instance, LinGapE, LinGapEBudget, Problem, Study, Stylised, run
from lingape.cli import main
from lingape.errors import InvalidArgument, InvalidProblem
from lingape.live import Experiment
from lingape.printable import encodable, printable
from systems import linux, posix

UNFIT = [chr(code) for code in [*range(0x20), *range(0x7F, 0xA0)]]  # C0, DEL and C1
UNFIT += list("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e")  # bidi, separators
UNFIT += list("\u2066\u2067\u2068\u2069")
ODD = "a\x1b]0;title\x07b\x1b[2J\u202ec\nd\u2028e\x9bf\rg"
SEEN = r"a\x1b]0;title\x07b\x1b[2J\u202ec\nd\u2028e\x9bf\rg"


def lingape(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def assert_fit(text, allowed="\n\t"):
    assert not [character for character in text if character in UNFIT and character not in allowed]
    assert encodable(text)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text(f'plain,1,0\n"{ODD}",0,1\n', newline="")
    return tmp_path


def test_what_is_escaped():
    for character in [*UNFIT, "\ud800", "\udfff"]:
        assert_fit(printable(f"a{character}b"), allowed="")
    for text in ("naïve θ 猫 👩‍👧 (3, '4')", r"C:\new\x1b", ""):
        assert printable(text) == text
    assert printable(ODD) == printable(printable(ODD)) == SEEN
    assert printable("a\nb\tc\rd", keep="\n\t") == "a\nb\tc\\rd"


def test_certificates_keep_their_lines_and_show_names_on_one():
    problem = Problem(np.eye(2), names=[ODD, "two\nlines"], noise=0.1)
    for settings in ({}, {"bound": Stylised()}, {"m": 1}):
        explorer = LinGapE(problem, **settings)
        explorer.tell_many([0, 1], [1.0, 0.0])
        text = str(explorer.certificate())
        assert_fit(text)
        assert SEEN in text.splitlines()[0]
        assert explorer.certificate().to_dict()["name"] == ODD
    budget = LinGapEBudget(problem, budget=40)
    assert SEEN in str(budget.certificate())
    run(budget, Gaussian(np.eye(2), np.array([1.0, 0.0]), scale=0.1), seed=0)
    assert SEEN in str(budget.certificate())


@posix("shell")
def test_find_shows_names_on_one_line(here):
    command = "printf '0.\\033[1m%s\\n' {arm} >&2; test {arm} = 1 || exit 3; echo 1"
    result = lingape(
        *("find", "arms.csv", "--noise-scale", 1, "--reward-cmd", command),
        *("--max-pulls", 2, "--retries", 1, "--retry-wait", 0),
    )
    assert result.exit_code == 4
    assert_fit(result.output)
    assert r"exit status 3: 0.\x1b[1m0" in result.output
    good = ["find", "arms.csv", "--noise-scale", 1, "--reward-cmd", "echo {arm}"]
    result = lingape(*good, "--max-pulls", 8, "--log", "other\x1b[1m")
    assert f"  {SEEN} " in result.stdout and f"{SEEN} leads plain" in result.stderr
    assert_fit(result.output)
    data = json.loads(lingape(*good, "--json", "--log", "third", "--max-pulls", 20).stdout)
    assert data["name"] == ODD


@posix("names of files with control characters")
def test_simulations_show_names_on_one_line(here):
    result = lingape("complexity", "arms.csv", "--theta", "0,1")
    assert f"  {SEEN}\n" in result.output
    assert_fit(result.output)
    Path(ODD).write_text("1,0\n0,1\n")
    study = ["compare", "--arms", ODD, "--theta", "3,0", "-e", "lingape(\n)", "--seeds", 1]
    result = lingape(*study, "--jobs", 1, "--out", "rows\x1b.jsonl", "--plot", "plot\x1b")
    assert result.exit_code == 0, result.output
    assert f"| lingape(\\n) | {SEEN} | 1 |" in " ".join(result.output.split())
    assert_fit(result.output)
    result = lingape(
        *(
            "plan",
            "arms.csv",
            "--gap",
            3,
            "--noise-scale",
            1,
            "--draws",
            1,
            "--jobs",
            1,
            "-e",
            "lingape(\r)",
        ),
        *("--plot", "plan\x1b"),
    )
    assert result.exit_code == 0, result.output
    assert_fit(result.output)


def test_live_shows_names_on_one_line(here):
    url = f"sqlite:///{here}/run.db"

    def live(command, *rest):
        result = lingape("live", command, url, "ads", *rest)
        assert_fit(result.output)
        return result

    live("new", "arms.csv", "--noise-scale", 0.1, "--explorer", "lingape")
    lines = live("ask", "-n", 2, "--worker", ODD, "--key", ODD).output.splitlines()
    first, second = (line.split("\t") for line in lines)
    assert second[2] == SEEN
    (_, ticket) = json.loads(live("ask", "-n", 2, "--worker", ODD, "--key", ODD, "--json").output)
    assert ticket["name"] == ODD
    assert SEEN[:20] in live("ask", "--key", ODD).output  # another request with that key
    live("void", first[0], "--reason", ODD)
    assert SEEN.replace(r"\n", " ") in live("tell", first[0], 1).output
    live("tell", second[0], 1)
    assert SEEN in live("add", 0, 0).output
    for command in ("status", "certificate", "verify", "ask"):
        assert SEEN in live(command).output
    for words in (["status", url, ODD], ["list", f"sqlite:///{ODD}"], ["verify", ODD]):
        result = lingape("live", *words)
        assert result.exit_code == 1
        assert_fit(result.output)


@pytest.mark.parametrize(
    "words",
    [
        [ODD],
        [f"--{ODD}"],
        ["find", ODD, "--reward-cmd", "x"],
        ["find", "arms.csv", "--noise-scale", ODD, "--reward-cmd", "x {arm}"],
        ["find", "arms.csv", "--binary", "--reward-cmd", f"echo '{{name}} {ODD}'"],
        ["compare", "-e", ODD],
        ["compare", "-i", ODD],
        ["compare", "--arms", "arms.csv", "--theta", ODD],
        ["reproduce", ODD],
        ["serve", "--db", ODD],
        ["live", ODD],
    ],
)
def test_mistakes_are_quoted_safely(here, words):
    result = lingape(*words)
    assert result.exit_code in (1, 2)
    assert isinstance(result.exception, SystemExit)
    assert_fit(result.output)


def test_half_a_character_in_a_name_is_refused(here, tmp_path):
    half = "a\udcff"
    with pytest.raises(InvalidProblem, match=r"'a\\udcff' has an unpaired surrogate"):
        Problem(np.eye(2), names=["b", half], noise=1.0)
    url = f"sqlite:///{tmp_path}/run.db"
    with Experiment.open(url, "ads", create=Problem(np.eye(2), noise=1.0)) as experiment:
        for name, call in {
            "worker": lambda: experiment.ask(worker=half),
            "key": lambda: experiment.ask(key=half),
            "reason": lambda: experiment.void("2-0-aaaaaaaa", half),
        }.items():
            with pytest.raises(InvalidArgument, match=f"{name} must be a text that can be"):
                call()
        assert len(experiment.events()) == 1


@linux("names of files that may be any bytes")
@pytest.mark.parametrize(
    "words",
    [
        ["find", "arms.csv", "--binary", "--reward-cmd", "echo {arm} \udcff", "--log", "\udcff"],
        ["compare", "--arms", "\udcff.csv", "--theta", "1,0", "--seeds", "1", "--jobs", "1"],
        ["live", "new", "sqlite:///\udcff.db", "ads", "arms.csv", "--binary"],
        ["live", "list", "sqlite:///run.db"],
        ["live", "ask", "sqlite:///run.db", "\udcff"],
        ["live", "ask", "sqlite:///run.db", "ads", "--worker", "\udcff"],
        ["live", "tell", "sqlite:///run.db", "ads", "\udcff", "1"],
        ["live", "void", "sqlite:///run.db", "ads", "\udcff", "--reason", "\udcff"],
        ["live", "export", "sqlite:///run.db", "ads", "\udcff"],
        ["live", "verify", "\udcff.csv"],
        ["live", "new", "sqlite:///run.db", "b", "arms.csv", "--binary", "--explorer", "\udcff"],
        ["live", "status", "http://\udcff", "ads"],
        [
            "plan",
            "\udcff.csv",
            "--gap",
            "1",
            "--noise-scale",
            "1",
            "--draws",
            "1",
            "--jobs",
            "1",
            "-e",
            "lingape",
        ],
    ],
)
def test_bytes_that_are_not_utf8_give_no_traceback(here, words):
    """Arguments that are not UTF-8 have halves of characters in Python."""
    Path("\udcff.csv").write_text("1,0\n0,1\n")
    lingape("live", "new", "sqlite:///run.db", "ads", "arms.csv", "--binary")
    result = lingape(*words)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert_fit(result.output)


def test_labels_of_studies_may_be_odd(tmp_path):
    instance = Instance("\udcff", np.eye(2), np.array([3.0, 0.0]))
    study = Study({"\udcff\n": "lingape"}, [instance], seeds=2)
    results = study.run(jobs=1, path=tmp_path / "rows")
    assert r"| \udcff\n | \udcff |" in " ".join(results.table().split())
    assert study.read(tmp_path / "rows").rows == results.rows


# Where files go


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--seeds", 1, "--jobs", 1, "--out", "new/rows"],
        ["compare", "--seeds", 1, "--jobs", 1, "--plot", "new/plot"],
        ["simulate", "arms.csv", "--plot", "new/plot"],
        ["plan", "arms.csv", "--gap", 1, "--noise-scale", 1, "--plot", "new/plot"],
        ["find", "arms.csv", "--binary", "--reward-cmd", "echo {arm}", "--log", "new/log"],
        ["live", "export", "sqlite:///run.db", "ads", "new/log"],
        ["reproduce", "table1", "--out", "new/pages"],
        ["leaderboard", "--out", "new/pages"],
    ],
)
def test_no_command_makes_the_folder_that_a_file_goes_to(here, words):
    result = lingape(*words)
    assert result.exit_code == 2
    assert "there is no folder 'new'" in result.stderr
    assert not Path("new").exists()
