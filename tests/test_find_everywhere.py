"""Commands that give rewards, as every system can run them: a program and its words, no shell."""

import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from lingape.cli import main
from lingape.errors import InvalidArgument
from lingape.live import command
from lingape.live.command import Command
from systems import command_line

ODD = "100 % & %PATH%"  # what cmd.exe would run and replace
MEASURE = f"""
import os
print({{"red": 0, "blue": 1, "{ODD}": 0.5}}[os.environ["LINGAPE_NAME"]])
"""
BY_NUMBER = """
import os, sys
assert sys.argv[1] == os.environ["LINGAPE_ARM"]
print("the last line counts")
print([0, 1, 0.5][int(sys.argv[1])])
"""
FAIL = """
import os, sys
print("arm", os.environ["LINGAPE_ARM"], "is out of order", file=sys.stderr)
sys.exit(3)
"""
# It starts another like it; both call the test, and wait for an answer that never comes.
WAIT = """
import socket, subprocess, sys
port, *words = sys.argv[1:]
if not words:
    subprocess.Popen([sys.executable, __file__, port, "a child"])
with socket.create_connection(("127.0.0.1", int(port))) as line:
    line.recv(1)
"""


@pytest.fixture(autouse=True)
def arms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text(f"name,x,y\nred,1,0\nblue,0,1\n{ODD},0.5,0.5\n")


def lingape(*words):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def find(code, *words, timeout=600):
    """Let `lingape find` run a script."""
    Path("a script.py").write_text(code)
    reward = command_line(sys.executable, Path("a script.py").absolute(), *words)
    return lingape(
        *("find", "arms.csv", "--noise-scale", 0.1, "--reward-cmd", reward),
        *("--retries", 0, "--timeout", timeout),
    )


def live_run(code, *words, timeout=600):
    """Let `lingape live run` run a script."""
    Path("a script.py").write_text(code)
    reward = command_line(sys.executable, Path("a script.py").absolute(), *words)
    place = "sqlite:///run.db", "ads"
    assert lingape("live", "new", *place, "arms.csv", "--noise-scale", 0.1).exit_code == 0
    return lingape(
        *("live", "run", *place, "--reward-cmd", reward),
        *("--max-failures", 1, "--timeout", timeout),
    )


@pytest.fixture(params=[find, live_run], ids=["find", "live run"])
def search(request):
    return request.param


@pytest.mark.parametrize(("code", "words"), [(MEASURE, []), (BY_NUMBER, ["{arm}"])])
def test_a_search_settles(search, code, words):
    result = search(code, *words)
    assert result.exit_code == 0, result.output
    assert "No arm is better than blue" in result.output


def test_a_command_that_fails(search):
    result = search(FAIL)
    assert result.exit_code == 4
    assert "ended with exit status 3: arm 0 is out of order" in result.output


def test_a_program_that_does_not_exist():
    options = ("--binary", "--retries", 0, "--reward-cmd", "no-such-program {arm}")
    assert lingape("find", "arms.csv", *options).exit_code == 4


def test_a_timeout_ends_all_that_was_started(search, monkeypatch):
    lines = []

    def clock():
        """Run on by more than the timeout once both processes have called."""
        with suppress(BlockingIOError):
            lines.append(listener.accept()[0])
        return time.monotonic() + (1_000 if len(lines) == 2 else 0)

    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=clock, sleep=time.sleep))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        result = search(WAIT, listener.getsockname()[1], timeout=900)
    assert result.exit_code == 4 and "took more than 900 seconds" in result.output
    for line in lines:
        assert hung_up(line)


def hung_up(line):
    """Wait until nobody is at the other end."""
    line.settimeout(120)
    with line, suppress(ConnectionError):
        return line.recv(1) == b""
    return True


# Windows, as far as other systems can tell


@pytest.fixture
def as_on_windows(monkeypatch):
    monkeypatch.setattr(command, "sys", SimpleNamespace(platform="win32"))


@pytest.mark.parametrize("word", ["name", "features"])
def test_on_windows_no_text_is_put_into_a_command(as_on_windows, word):
    with pytest.raises(InvalidArgument, match=f"cannot have {{{word}}}.*LINGAPE_{word.upper()} "):
        Command(f"measure {{arm}} {{{word}}}")


def test_on_windows_numbers_are(as_on_windows):
    assert Command('measure.exe "{arm}"').shell_text(3) == 'measure.exe "3"'


@pytest.mark.skipif(sys.platform != "win32", reason="elsewhere a shell gets it quoted")
def test_windows_refuses_names_in_a_sentence():
    result = lingape("find", "arms.csv", "--binary", "--reward-cmd", "measure {name}")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: On Windows a command cannot have {name}")


def test_on_windows_all_that_a_command_started_is_ended(as_on_windows, monkeypatch):
    """By a program of the system; where it is missing, the command itself at least."""
    asked = []
    run = subprocess.run

    def noted(words, **settings):
        asked.append([str(word) for word in words])
        return run(words, **settings)

    monkeypatch.setattr(command.subprocess, "run", noted)
    monkeypatch.setenv("SYSTEMROOT", "nowhere")
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    command._kill(process)
    assert process.returncode != 0
    assert asked == [
        [str(Path("nowhere", "System32", "taskkill.exe")), "/F", "/T", "/PID", str(process.pid)]
    ]
