"""lingape live, as users type it."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from outpost import Outpost

from lingape.cli import main
from lingape.cli.live import open_experiment
from lingape.live import Experiment
from systems import posix

BEST = "Settled. No arm is better than blue"


def invoke(*words, code=0):
    """Return what a command prints."""
    result = CliRunner().invoke(main, ["live", *map(str, words)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


@pytest.fixture
def arms(tmp_path):
    path = tmp_path / "arms.csv"
    path.write_text("name,x,y\nred,1,0\nblue,0,1\n")
    return path


@pytest.fixture(params=["file", "server"])
def place(request, url):
    """Where experiments are: in a file, or on a server."""
    if request.param == "file":
        yield url
        return
    with Outpost(url) as outpost:
        yield outpost.url


def test_an_experiment_from_the_shell(place, arms, tmp_path):
    def call(command, *rest, code=0):
        return invoke(command, place, "ads", *rest, code=code)

    begin = ["new", arms, "--noise-scale", 0.1, "--explorer", "lingape"]
    notes = "Names: 'name'. Numbers: x, y. 2 arms, 3 features: constant, x, y.\n"
    assert call(*begin) == call(*begin) == f"{notes}ads: 2 arms, 0 rewards.\n"
    first, second = (line.split("\t") for line in call("ask", "-n", 2).splitlines())
    assert first[1:] == ["0", "red"] and second[1:] == ["1", "blue"]
    assert call("tell", first[0], "-0.5") == "1 reward.\n"
    assert call("tell", first[0], "-0.5") == "1 reward.\n"
    told = json.loads(call("tell", first[0], "-0.5", "--json"))
    assert told == {"ticket": first[0], "reward": -0.5, "pulls": 1, "settled": False}
    assert "told -0.5" in call("tell", first[0], "0.5", code=1)
    assert call("void", second[0], "--reason", "node lost") == "1 reward.\n"
    assert "1 reward for 2 arms; 0 awaited, 0 overdue, 1 voided" in call("status")
    assert json.loads(call("status", "--json"))["pulls"] == 1
    (ticket,) = json.loads(call("ask", "--json", "--ttl", "never", "--key", "k"))
    assert ticket["deadline"] is None
    assert json.loads(call("ask", "--json", "--ttl", "never", "--key", "k")) == [ticket]
    assert invoke("list", place) == "ads\t2 arms\t1 reward\trunning\n"
    assert call("add", 1, "1.5", "--key", "row 1").startswith(f"2 rewards. {BEST}")
    assert json.loads(call("add", 1, "1.5", "--key", "row 1", "--json"))["settled"]
    assert BEST in call("certificate")
    assert json.loads(call("certificate", "--json"))["arm"] == 1
    assert BEST in call("ask", code=3)
    assert json.loads(invoke("list", place, "--json")) == [
        {"name": "ads", "arms": 2, "pulls": 2, "settled": True, "archived": False, "warnings": []}
    ]
    assert "The log is whole" in call("verify")
    path = tmp_path / "run.jsonl"
    assert call("export", path) == f"{path}: 7 events\n"
    assert "exists. Remove it first" in call("export", path, code=1)
    assert "The log is whole: 7 events" in invoke("verify", path)
    assert json.loads(invoke("verify", path, "--json"))["events"] == 7


def test_a_report_is_written_to_a_file_or_printed(place, arms, tmp_path):
    invoke("new", place, "ads", arms, "--noise-scale", 0.1, "--question", "Which ad?")

    def report(*options):
        result = CliRunner().invoke(main, ["report", place, "ads", *map(str, options)])
        assert result.exit_code == 0, result.output
        return result.output

    path = tmp_path / "ads.html"
    said = report("--out", path)
    written = path.read_text("utf-8")
    assert said == f"{path}: {len(written) // 1000} kB\n"
    assert json.loads(report("--out", path, "--json")) == {"path": str(path)}
    printed = report("--out", "-")
    for text in (written, printed):
        assert text.startswith("<!doctype html>") and "Which ad?" in text


def test_what_it_is_about(place, arms):
    about = ["--question", "Which ad?", "--notes", "Until May.", "--owner", "Ada"]
    invoke("new", place, "ads", arms, "--binary", *about)
    invoke("new", place, "ads", arms, "--binary")
    with open_experiment(place, "ads") as experiment:
        (created,) = experiment.events()
    assert (created.question, created.notes, created.owner) == ("Which ad?", "Until May.", "Ada")
    other = invoke("new", place, "ads", arms, "--binary", "--owner", "Bob", code=1)
    assert "owner ('Ada' there, 'Bob' now)" in other


def test_an_export_is_imported(arms, url, tmp_path):
    invoke("new", url, "ads", arms, "--binary")
    invoke("add", url, "ads", 1, 1)
    path, other = tmp_path / "run.jsonl", f"sqlite:///{tmp_path}/other.db"
    invoke("export", url, "ads", path)
    assert invoke("import", path, other) == "ads: 2 arms, 1 reward.\n"
    assert invoke("verify", other, "ads") == invoke("verify", url, "ads")
    assert "already" in invoke("import", path, other, code=1)
    assert "its database" in invoke("import", path, "http://127.0.0.1:1", code=2)
    path.write_text(path.read_text("utf-8").replace('"reward": 1.0', '"reward": 0.0'))
    assert "hash differs" in invoke("verify", path, code=1)
    assert "hash differs" in invoke("import", path, f"sqlite:///{tmp_path}/third.db", code=1)
    assert not (tmp_path / "third.db").exists()


def test_mistakes_give_one_sentence(arms, url, tmp_path):
    def call(command, *rest, code=0):
        return invoke(command, url, "ads", *rest, code=code)

    assert "no file" in call("status", code=1)
    assert "no file" in invoke("list", url, code=1)
    assert "given as" in invoke("list", "run.db", code=1)
    assert "one of --noise-scale" in call("new", arms, code=2)
    assert "one of --noise-scale" in call("new", arms, "--binary", "--bounded", 0, 1, code=2)
    assert "then the highest" in call("new", arms, "--bounded", 1, 0, code=1)
    assert "xy_oracle needs" in call("new", arms, "--binary", "--explorer", "xy_oracle", code=1)
    call("new", arms, "--bounded", 0, 10)
    assert "noise ([0.0, 10.0] there, 'binary' now)" in call("new", arms, "--binary", code=1)
    assert "there are: ads" in invoke("status", url, "others", code=1)
    assert "No ticket" in call("tell", "x", "1", code=1)
    assert "finite number" in call("tell", "x", "nan", code=1)
    assert "finite number" in call("add", 0, "-inf", code=1)
    assert "0 to 1" in call("add", 2, 1, code=1)
    assert "'-n': 0 is not in the range" in call("ask", "-n", 0, code=2)
    assert "--ttl must be a time such as" in call("ask", "--ttl", "soon", code=1)
    assert "Which experiment" in invoke("verify", url, code=2)
    assert "cannot be used" in invoke("verify", "nowhere.jsonl", code=1)
    assert "{names} is not a placeholder" in call("run", "--reward-cmd", "x {names}", code=1)


def test_what_may_work_later_has_an_exit_code_of_its_own(arms, url, tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    told = invoke("list", "http://127.0.0.1:1", code=5)
    assert re.search(r"cannot be reached \(.*refused", told)
    assert "cannot be reached" in invoke("tell", "http://127.0.0.1:1", "ads", "x", 1, code=5)


@posix("shell")
def test_workers_that_run_a_command(place, arms):
    invoke("new", place, "ads", arms, "--noise-scale", 0.5)
    command = 'test "$LINGAPE_PULL" -gt 1 && test {name} = blue && echo 1 || echo 0'
    told = invoke(
        "run", place, "ads", "--reward-cmd", command, "--workers", 2, "--max-pulls", 2, code=3
    )
    assert "Nothing is proven yet" in told and "run it again" in told
    assert BEST in invoke("run", place, "ads", "--reward-cmd", command, "--workers", 3)
    again = invoke("run", place, "ads", "--reward-cmd", command, "--ttl", "never", "--json")
    assert json.loads(again)["settled"]
    assert "0 voided" in invoke("status", place, "ads")


@posix("shell")
def test_a_script_may_look_at_the_environment(arms, url, tmp_path):
    invoke("new", url, "ads", arms, "--noise-scale", 0.1)
    script = tmp_path / "measure.sh"
    script.write_text('test "$LINGAPE_NAME$LINGAPE_ARM" = blue1; echo $((1 - $?))')
    told = invoke("run", url, "ads", "--reward-cmd", f"sh '{script}'")
    assert BEST in told and "in its environment, as LINGAPE_ARM" in told


@posix("shell")
def test_commands_that_fail_void_their_tickets(arms, url):
    invoke("new", url, "ads", arms, "--binary")
    failing = "echo {arm} is out of order >&2; false"
    told = invoke("run", url, "ads", "--reward-cmd", failing, "--max-failures", 3, code=4)
    assert "red failed: the command ended with exit status 1: 0 is out of order." in told
    assert "3 commands in a row failed" in told
    assert "0 awaited, 0 overdue, 3 voided" in invoke("status", url, "ads")
    slow = ["run", url, "ads", "--reward-cmd", "sleep 60; echo {arm}", "--max-failures", 1]
    assert "took more than" in invoke(*slow, "--timeout", 0.1, code=4)


@posix("shell")
def test_what_failing_commands_mean_is_said(arms, url, tmp_path):
    """Voiding the failures of an arm makes it look better; telling the worst does not."""
    command = (
        f"f='{tmp_path}'/{{arm}}; echo >> $f; n=$(wc -l < $f); "
        "if test {name} = red; then test $((n % 2)) = 1 && echo 1; else echo $((n % 4 < 3)); fi"
    )  # red: 1 or nothing, half the time; blue: 1 in three of four
    invoke("new", url, "voids", arms, "--binary", "--epsilon", 0.1)
    told = invoke("run", url, "voids", "--reward-cmd", command, "--timeout", 60)
    assert "red failed: the command ended with exit status 1. Its ticket is voided." in told
    assert "voided because the command failed (red" in told
    assert "use --worst" in told and "Warning: Tickets of red are voided more often" in told
    invoke("new", url, "worst", arms, "--binary", "--epsilon", 0.1)
    told = invoke("run", url, "worst", "--reward-cmd", command, "--worst", 0)
    assert "red failed: the command ended with exit status 1. Told 0." in told
    assert "Warning" not in told and "voided" not in told.replace("it is voided", "")
    assert "0 voided" in invoke("status", url, "worst")
    assert json.loads(invoke("certificate", url, "worst", "--json"))["name"] == "blue"


@posix("shell")
def test_the_worst_is_not_told_of_commands_that_cannot_be_run(arms, url):
    invoke("new", url, "ads", arms, "--binary")
    options = ("run", url, "ads", "--worst", 0, "--max-failures", 3, "--reward-cmd")
    told = invoke(*options, "./no-such-command {arm}", code=4)
    assert "\nThe command ended with exit status 127" in told
    assert "1 voided because the command failed (red 1).\n" in told and "use --worst" not in told
    assert "1 voided" in invoke("status", url, "ads")
    told = invoke(*options, "false {arm}", code=4)
    assert "3 commands in a row failed" in told
    assert "2 rewards" in (status := invoke("status", url, "ads")) and "2 voided" in status
    told = invoke(*options[:3], "--worst", "nan", *options[5:], "x", code=2)
    assert "--worst: must be a finite number" in told and "LINGAPE_ARM" not in told


@posix("shell")
def test_an_arm_that_always_fails_does_not_go_on_for_ever(arms, url):
    invoke("new", url, "ads", arms, "--binary")
    told = invoke("run", url, "ads", "--reward-cmd", "test {name} = blue && echo 1", code=4)
    assert "10 commands in a row failed" in told and "use --worst" in told
    invoke("new", url, "once", arms, "--binary")
    told = invoke("run", url, "once", "--reward-cmd", "./none {arm}", "--max-failures", 1, code=4)
    assert "use --worst" not in told  # which would not help


def test_lists_leave_out_what_is_archived(place, arms):
    for name in ("ads", "old"):
        invoke("new", place, name, arms, "--binary")
    assert invoke("archive", place, "old") == "old: taken off the list.\n"
    shown = invoke("list", place)
    assert "ads\t2 arms\t0 rewards\trunning\n" in shown and "old" not in shown
    assert "1 archived, not shown; --all shows all." in shown
    everything = invoke("list", place, "--all")
    assert "old\t2 arms\t0 rewards\trunning, archived\n" in everything
    assert "not shown" not in everything
    assert json.loads(invoke("archive", place, "old", "--undo", "--json"))["archived"] is False
    assert "old\t2 arms\t0 rewards\trunning\n" in invoke("list", place)


def test_lists_say_which_experiments_are_doubtful(place, arms):
    invoke("new", place, "ads", arms, "--noise-scale", 0.1)
    for arm in (0, 1) * 10:
        invoke("add", place, "ads", arm, 1 - arm)
    assert "\t20 rewards\tsettled\n" in invoke("list", place)
    assert json.loads(invoke("list", place, "--json"))[0]["warnings"] == []
    for _ in range(3):
        invoke("add", place, "ads", 0, 5)
    assert "\t23 rewards\tsettled, but doubtful\n" in invoke("list", place)
    (one,) = json.loads(invoke("list", place, "--json"))
    assert one["settled"] and "vary with a standard deviation" in one["warnings"][0]
    assert "Warning: Rewards of the same arm vary" in invoke("certificate", place, "ads")


@posix("signals that a process can answer")
@pytest.mark.parametrize(
    "signals", [[signal.SIGINT], [signal.SIGINT, signal.SIGINT], [signal.SIGTERM]]
)
def test_workers_stop_when_asked(arms, url, tmp_path, signals):
    """One Ctrl-C waits for the commands, a second one or SIGTERM kills them: nobody is awaited."""
    invoke("new", url, "ads", arms, "--binary")
    begun, go_on = tmp_path / "begun", tmp_path / "go on"
    command = f"echo {{arm}} >> '{begun}'; until test -e '{go_on}'; do sleep 0.05; done; echo 1"
    process = subprocess.Popen(
        [sys.executable, "-m", "lingape", "live", "run", url, "ads", "--workers", "2"]
        + ["--reward-cmd", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: begun.exists() and len(begun.read_text("utf-8").split()) == 2)
    process.send_signal(signals[0])
    if signals[0] == signal.SIGINT:
        assert process.stderr.readline() == "\n"
        assert "again kills it" in process.stderr.readline()
    for number in signals[1:]:
        process.send_signal(number)
    finished = signals == [signal.SIGINT]
    if finished:
        go_on.touch()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signals[-1], errors
    assert "Interrupted. All rewards told are safe" in errors
    with Experiment.open(url, "ads") as experiment:
        status = experiment.status()
    assert (status.pulls, status.voided) == ((2, 0) if finished else (0, 2))
    assert status.pending == 0


def wait_for(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@posix("signals that a process can answer")
def test_a_server_says_what_to_do(url):
    process = subprocess.Popen(
        [sys.executable, "-m", "lingape", "serve", "--db", url, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"LINGAPE_WRITE_TOKEN": "", "LINGAPE_READ_TOKEN": ""},
    )
    lines = [process.stdout.readline() for _ in range(5)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    text = "".join(lines)
    for words in ("at http://127.0.0.1:", "in a browser", "lingape live", "Ctrl-C", "No token"):
        assert words in text


def test_an_export_to_standard_output(arms, url, tmp_path):
    invoke("new", url, "ads", arms, "--binary")
    invoke("add", url, "ads", 0, 1)
    path = tmp_path / "run.jsonl"
    invoke("export", url, "ads", path)
    for extra in ((), ("--json",)):
        assert invoke("export", url, "ads", "-", *extra) == path.read_text("utf-8")
    assert not (tmp_path / "-").exists()


THREADS = """
import os, sys
from lingape.cli import main
from lingape.cli.live import open_experiment
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code
print(len(os.listdir("/proc/self/task")), sorted(k for k in os.environ if k.endswith("_THREADS")))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are counted on Linux")
@pytest.mark.parametrize("variable", [None, "OMP_NUM_THREADS"])
def test_commands_do_not_have_blas_spin_on_every_core(arms, url, variable):
    """One thread, if nobody set how many; commands that are run do not inherit that."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    environment |= {} if variable is None else {variable: "2"}

    def call(*words):
        found = subprocess.run(
            [sys.executable, "-c", THREADS, *map(str, words)],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert found.returncode == 0, found.stderr
        return found.stdout.splitlines()[-1]

    # How many there are else depends on the machine.
    alone = "1 []" if variable is None else f"['{variable}']"
    assert call("live", "new", url, "ads", arms, "--noise-scale", 0.1).endswith(alone)
    assert call("live", "list", url).endswith(alone)
    command = 'echo {arm}; test -z "$OPENBLAS_NUM_THREADS"'
    log = arms.with_suffix(".log")
    assert call(
        "find", arms, "--noise-scale", 0.1, "--log", log, "--reward-cmd", command
    ).endswith(alone)
    assert call("live", "run", url, "ads", "--reward-cmd", command).endswith(alone)


def test_an_export_goes_through_a_pipe(arms, url, tmp_path):
    def lingape(*words, typed=None):
        command = [sys.executable, "-m", "lingape", "live", *map(str, words)]
        return subprocess.run(command, input=typed, check=True, capture_output=True).stdout

    invoke("new", url, "ads", arms, "--binary")
    exported = lingape("export", url, "ads", "-")
    assert b"The log is whole: 1 event" in lingape("verify", "-", typed=exported)
    copy = f"sqlite:///{tmp_path}/copy.db"
    assert lingape("import", "-", copy, typed=exported) == b"ads: 2 arms, 0 rewards.\n"
