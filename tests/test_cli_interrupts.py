"""Ctrl-C ends each command with one line and status 130."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lingape.cli import main
from systems import posix


def lingape(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text("1,0\n0,1\n")
    return tmp_path


def interrupted(module, *words):
    """Run a command that meets Ctrl-C when it imports a module."""
    code = f"""
import runpy, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
runpy.run_module("lingape", run_name="__main__", alter_sys=True)
"""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("click", ["--help"]),
        ("lingape.cli.group", ["demo"]),
        ("numpy", ["demo"]),
        ("numpy", ["find", "arms.csv", "--binary", "--reward-cmd", "echo {arm}"]),
        ("numpy", ["plan", "arms.csv", "--gap", "1"]),
        ("numpy", ["compare"]),
        ("numpy", ["simulate", "arms.csv"]),
        ("numpy", ["reproduce", "table1"]),
        ("numpy", ["leaderboard"]),
        ("numpy", ["complexity", "arms.csv", "--theta", "1,0"]),
        ("numpy", ["serve", "--db", "sqlite:///run.db"]),
        ("numpy", ["live", "list", "sqlite:///run.db"]),
        ("numpy", ["live", "run", "sqlite:///run.db", "ads", "--reward-cmd", "echo {arm}"]),
        ("joblib", ["compare", "--jobs", "1"]),
    ],
)
def test_interrupted_while_loading(here, module, words):
    result = interrupted(module, *words)
    assert result.returncode == 130
    assert re.fullmatch(r"Stopped[\w ]*\.", result.stderr.strip())


def test_demo_interrupted(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("lingape.paper.demo.play_demo", interrupt)
    result = lingape("demo")
    assert result.exit_code == 130
    assert result.stderr.strip() == "Stopped."


@posix("signal.pthread_sigmask")
def test_processes_of_a_study_do_not_hear_it():
    """A terminal sends Ctrl-C to all of them, and each would print a traceback."""
    code = """
import signal
from lingape import LinGapE, Study

def deaf():
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

def build(problem):
    assert deaf()
    return LinGapE(problem)

Study({"a": build}, ["canonical(3, 1.0)"], seeds=4).run(jobs=2)
assert not deaf()
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # joblib's processes are shared


def test_reproduce_interrupted_says_what_there_is(here, monkeypatch):
    from lingape.paper import EXPERIMENTS

    def interrupt(options):
        raise KeyboardInterrupt

    monkeypatch.setitem(EXPERIMENTS, "figure1", interrupt)
    result = lingape("reproduce", "figure1", "--out", "pages")
    assert result.exit_code == 130
    assert "Stopped in figure1. Written before that: nothing." in result.stderr
    assert not Path("pages").exists()
    result = lingape("reproduce", "all", "--quick", "--out", "pages")
    assert result.exit_code == 130
    assert "Stopped in figure1. Written before that: table1 in pages." in result.stderr
