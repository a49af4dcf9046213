"""Numbers of any size and kind, given to the options of commands."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from lingape.cli import main
from systems import ECHO

ODD = ["nan", "inf", "-inf", "1e300", "1e-300", "-1", "0", "1e400", "1e99", "1e-99", "5e-324"]
ODD += ["1" + 29 * "0", "1.5", "x", ""]
COMMANDS = {
    "plan": (
        "arms.csv --gap 1 --noise-scale 1 --draws 1 --jobs 1 -e lingape -e xy_static "
        "--max-pulls 200",
        "gap noise-scale epsilon delta draws seed max-pulls jobs",
    ),
    "compare": (
        "--seeds 1 --jobs 1 -i canonical(3,1.0) -e lingape --max-pulls 200",
        "seeds max-pulls noise-scale epsilon delta jobs",
    ),
    "complexity": ("arms.csv --theta 1,0.5", "noise-scale norm-bound epsilon delta ridge"),
    "find": (
        "arms.csv --noise-scale 1 --max-pulls 4 --retries 0 --retry-wait 0 --reward-cmd",
        "noise-scale epsilon delta max-pulls timeout retries retry-wait",
    ),
    "plan by prior": (
        "arms.csv --noise-scale 1 --draws 1 --jobs 1 -e lingape -e xy_static --max-pulls 200",
        "prior-scale",
    ),
    "plan for noise of unknown scale": (
        "arms.csv --gap 1 --normal --noise-scale 1 --draws 1 --jobs 1 --max-pulls 200",
        "gap noise-scale epsilon delta",
    ),
    "plan for 0 and 1": (
        "arms.csv --gap 0.2 --binary --rate 0.5 --draws 1 --jobs 1 -e race --max-pulls 200",
        "gap rate",
    ),
    "plan for a range": (
        "arms.csv --gap 2 --bounded 0 10 --rate 5 --draws 1 --jobs 1 -e race --max-pulls 200",
        "gap rate epsilon",
    ),
    # These run for long, so that they are refused in any case: for their --jobs, at the latest.
    "reproduce": ("table1 --quick --jobs 0", "repeats jobs"),
    "leaderboard": ("--quick --jobs 0", "seeds max-pulls"),
}


def lingape(*words):
    """Run a command; that filterwarnings makes warnings errors is part of the test."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text("1,0\n0,1\n0.5,0.5\n")


@pytest.mark.parametrize(
    ("command", "option"),
    [(name, option) for name, (_, options) in COMMANDS.items() for option in options.split()],
)
def test_odd_numbers_give_results_or_one_sentence(here, command, option):
    words = COMMANDS[command][0].split()
    if command == "find":
        words += [ECHO]
    for value in ODD:
        log = ["--log", f"log {value}"] if command == "find" else []
        result = lingape(command.split()[0], *words, *log, f"--{option}", value)
        if result.exit_code in (1, 2):
            told = result.stderr.splitlines()[-1]
            assert told.startswith("Error: ")
            assert f"--{option}" in told or "too far apart" in told or "--jobs must" in told, told


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e300", "1e400", "x", ""])
@pytest.mark.parametrize("others", ["0", "1"])
def test_a_theta_that_is_none_is_blamed_itself(here, value, others):
    for command in (["complexity", "arms.csv"], ["compare", "--seeds", 1, "--arms", "arms.csv"]):
        result = lingape(*command, "--theta", f"{value},{others}")
        assert result.exit_code == 2 and "Invalid value for --theta" in result.stderr
        assert "norm" not in result.stderr


@pytest.mark.parametrize("theta", ["1e-99,0", "1e99,0", "0,0", "1e-300,1e-300", "5e-324,1"])
@pytest.mark.parametrize("scale", ["1e-99", "1", "1e99"])
def test_thetas_of_any_size(here, theta, scale):
    lingape("complexity", "arms.csv", "--theta", theta, "--noise-scale", scale, "--json")


@pytest.mark.parametrize("value", ODD)
def test_odd_bounds_of_rewards(here, value):
    for place, pair in enumerate([(value, 1), (0, value)]):
        words = ["find", "arms.csv", "--reward-cmd", ECHO, "--max-pulls", 4]
        lingape(*words, "--retries", 0, "--log", f"log {place}", "--bounded", *pair)


def test_odd_numbers_of_an_experiment(here):
    url = "sqlite:///run.db"
    lingape("live", "new", url, "ads", "arms.csv", "--binary")
    for value in ODD:
        for option in ("noise-scale", "epsilon", "delta", "norm-bound", "seed"):
            scale = [] if option == "noise-scale" else ["--noise-scale", 1]
            name = f"{option}{ODD.index(value)}"
            lingape("live", "new", url, name, "arms.csv", *scale, f"--{option}", value)
        lingape("live", "ask", url, "ads", "-n", value)
        lingape("live", "ask", url, "ads", "--ttl", value)
        lingape("live", "add", url, "ads", value, 1)
        lingape("live", "add", url, "ads", 0, value)
        lingape("live", "tell", url, "ads", value, value)
        for option in ("workers", "max-pulls", "max-failures", "timeout"):
            words = ["--max-pulls", 1, "--max-failures", 1, "--reward-cmd", ECHO]
            if option != "workers" or len(value) < 10:
                lingape("live", "run", url, "ads", *words, f"--{option}", value)
