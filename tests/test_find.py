"""lingape find: real commands, real kills, real signals."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lingape import EXPLORERS, LinGapE, Problem
from lingape.cli import main
from lingape.errors import InvalidArgument, InvalidState
from lingape.finding import (
    CHOICES,
    Command,
    Ending,
    Patience,
    Rewards,
    Setup,
    Stop,
    TrialLog,
    make_explorer,
    search,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands need a POSIX shell")

# Noise that depends on the pull alone, so that an interrupted search must equal one in one go.
NOISY = (
    "awk -v n=$LINGAPE_PULL -v a={arm} "
    "'BEGIN {srand(7 * n); print (a == 1) * 0.5 + 0.8 * (rand() - 0.5)}'"
)
PLAIN = "echo {features} | awk '{print $2}'"


@pytest.fixture
def arms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text("name,x,y\nred,1,0\nblue,0,1\nred and blue,0.5,0.5\n")
    return "arms.csv"


def find(*options, arms="arms.csv"):
    result = CliRunner().invoke(main, ["find", arms, "--retry-wait", "0.01", *options])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def start(*options):
    """Start the command line as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "lingape", "find", "arms.csv", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def events(path="arms.csv.find.jsonl"):
    return [json.loads(line) for line in Path(path).read_text().splitlines()][1:]


def rewards(path="arms.csv.find.jsonl"):
    return [(e["n"], e["arm"], e["reward"]) for e in events(path) if e["event"] == "reward"]


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def read_until(stream, words):
    """Return what a process says, up to and with the line that has these words."""
    said = ""
    while words not in said:
        line = stream.readline()
        assert line, f"it ended without saying {words!r}: {said}"
        said += line
    return said


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] not in "ZX"


def pids():
    return [int(word) for word in Path("pids").read_text().split()]


def setup(problem=None, *, command=PLAIN, scale=0.1, explorer="lingape"):
    problem = problem or Problem([[1, 0], [0, 1], [0.5, 0.5]], noise_scale=scale)
    return Setup(make_explorer(explorer, problem), explorer, Rewards(scale), Command(command))


# The search


def test_finds_the_best_arm(arms):
    result = find("--reward-cmd", NOISY, "--bounded", "-0.4", "0.9", "--epsilon", "0.4")
    assert result.exit_code == 0
    assert "better than blue, with probability at least 95 %" in result.stdout
    assert "Log: arms.csv.find.jsonl" in result.stdout
    assert "leads" in result.stderr
    assert "leads" not in result.stdout
    found = rewards()
    assert [n for n, _, _ in found] == list(range(1, len(found) + 1))


def test_log_has_a_pull_before_each_reward(arms):
    find("--reward-cmd", PLAIN, "--noise-scale", "0.1")
    lines = Path("arms.csv.find.jsonl").read_text().splitlines()
    header, log = json.loads(lines[0]), events()
    assert header["format"] == "lingape find log"
    assert Problem(**header["problem"]).names == ("red", "blue", "red and blue")
    assert header["command"] == PLAIN
    assert [e["event"] for e in log] == ["pull", "reward"] * (len(log) // 2)
    assert {e["arm"]: e["reward"] for e in log if e["event"] == "reward"} == {0: 0, 1: 1, 2: 0.5}


@pytest.mark.parametrize("name", CHOICES)
def test_every_explorer_offered(arms, name):
    options = ["--reward-cmd", PLAIN, "--noise-scale", "0.05", "--explorer", name]
    assert find(*options, "--max-pulls", "4").exit_code in (0, 3)
    data = json.loads(find(*options, "--resume", "--json").stdout)
    assert data["settled"] and data["name"] == "blue"


def test_explorers_offered_exist():
    assert set(CHOICES) <= set(EXPLORERS)
    choice = next(p for p in main.commands["find"].params if p.name == "explorer").type
    assert tuple(choice.choices) == CHOICES
    with pytest.raises(InvalidArgument, match="one of lingape"):
        make_explorer("xy_oracle", Problem(np.eye(2)))


def test_json_is_all_of_stdout(arms):
    result = find("--reward-cmd", PLAIN, "--noise-scale", "0.1", "--json")
    data = json.loads(result.stdout)
    assert (data["name"], data["ending"], data["settled"]) == ("blue", "settled", True)
    assert sum(data["counts"]) == data["pulls"] == len(rewards())
    assert data["certificate"]["settled"]


def test_limit_counts_the_whole_log(arms):
    options = ["--reward-cmd", "echo {arm} >> ran; echo 0", "--noise-scale", "1"]
    result = find(*options, "--max-pulls", "5")
    assert result.exit_code == 3
    assert "Not settled after 5 pulls" in result.stdout
    assert "--epsilon" in result.stderr
    assert find(*options, "--max-pulls", "7", "--resume", "--json").exit_code == 3
    assert len(rewards()) == len(Path("ran").read_text().split()) == 7
    assert find(*options, "--max-pulls", "2", "--resume").exit_code == 3
    assert len(rewards()) == 7


def test_resuming_a_settled_search_pulls_nothing(arms):
    options = ["--reward-cmd", PLAIN, "--noise-scale", "0.1"]
    find(*options)
    before = Path("arms.csv.find.jsonl").read_bytes()
    result = find(*options, "--resume")
    assert result.exit_code == 0 and "No arm is better than blue" in result.stdout
    assert Path("arms.csv.find.jsonl").read_bytes() == before


def test_many_arms_are_not_all_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text("".join(f"{k},1\n" for k in range(30)))
    result = find("--reward-cmd", PLAIN, "--noise-scale", "1", "--max-pulls", "1")
    assert "and 10 arms more with 0 pulls" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="terminals differ")
def test_live_display_on_a_terminal(arms):
    pytest.importorskip("rich")
    import pty

    # Brackets would be markup to rich.
    Path("arms.csv").write_text("[red],1,0\n[/blue],0,1\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lingape", "find", "arms.csv", "--noise-scale", "0.3"]
    command += ["--reward-cmd", f"sleep 0.05; {PLAIN}"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # Linux says so of a terminal whose other end is closed
            pass
        assert b"No arm is better than [/blue]" in process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    assert b"[/blue] leads [red], B(t)" in shown


# The command


def test_names_are_never_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = ["it's; touch pwned", "$(touch pwned)", '"`touch pwned`"', "{features} {arm}", "-n *  x"]
    problem = Problem(np.eye(5), noise_scale=0.1, names=odd)
    command = "printf '%s\\n' {name} >> named; printf %s\\\\n {arm}"
    log = TrialLog.open("log", setup(problem, command=command), resume=False)
    with log:
        search(log, max_pulls=5)
    assert Path("named").read_text().splitlines() == odd
    assert [arm for _, arm, _ in rewards("log")] == [reward for *_, reward in rewards("log")]
    assert not Path("pwned").exists()


def test_environment_and_placeholders(arms):
    command = 'echo {arm} {name} {features} ${X-{arms}} "$LINGAPE_ARM|$LINGAPE_NAME|'
    command += "$LINGAPE_FEATURES|$LINGAPE_PULL\" '{arm}' >> seen; echo 0"
    find("--reward-cmd", command, "--noise-scale", "1", "--max-pulls", "3")
    assert Path("seen").read_text().splitlines()[2] == (
        "2 red and blue 0.5 0.5 {arms} 2|red and blue|0.5 0.5|3 2"
    )


def test_a_script_may_look_at_the_environment(arms):
    Path("measure.sh").write_text('test "$LINGAPE_NAME" = blue; echo $((1 - $?))')
    for number, command in enumerate(["sh measure.sh", "sh measure.sh | awk '{print $1}'"]):
        options = ["--reward-cmd", command, "--noise-scale", "0.1", "--log", f"log {number}"]
        result = find(*options)
        assert result.exit_code == 0 and "No arm is better than blue" in result.stdout
        assert "has to look at LINGAPE_ARM" in result.stderr
    result = find("--reward-cmd", PLAIN, "--noise-scale", "0.1")
    assert "has to look at" not in result.stderr


@pytest.mark.parametrize("words", [["find"], ["live", "run"]])
def test_help_warns_of_second_shells(words):
    told = " ".join(CliRunner().invoke(main, [*words, "--help"]).output.split())
    assert "ssh host ./measure {name}, eval" in told and "use {arm}" in told


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("awk '{print $1}' {names}", "{names} stands for nothing"),
        ("echo '{name}'", "outside quotes"),
        ('echo "x {features}"', "LINGAPE_FEATURES"),
    ],
)
def test_commands_refused(arms, command, words):
    result = find("--reward-cmd", command, "--noise-scale", "1")
    assert result.exit_code == 1 and words in result.stderr
    assert not Path("arms.csv.find.jsonl").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo nan; : {arm}", "finite number as its last line, but printed: nan"),
        ("echo inf; : {arm}", "printed: inf"),
        ("echo 1e200; : {arm}", "printed: 1e200"),
        ("echo score: 3; : {arm}", "printed: score: 3"),
        ("echo; : {arm}", "printed nothing"),
        ("echo 1; echo worse >&2; echo no luck >&2; exit 3; {arm}", "exit status 3: no luck"),
        ("echo 1; kill -9 $$; {arm}", "signal 9: 1"),
        ("no-such-program {arm}", "exit status 127"),
    ],
)
def test_failures(arms, command, words):
    result = find("--reward-cmd", f"echo >> ran; {command}", "--noise-scale", "1")
    assert result.exit_code == 4
    assert "Pull 1 of red (arm 0) failed 3 times" in result.stderr
    assert words in result.stderr and "--resume" in result.stderr
    assert [e["event"] for e in events()] == ["pull", "failure"] * 3
    assert len(Path("ran").read_text()) == 3


def test_number_is_the_last_line_that_is_not_blank(arms):
    command = "seq 20000; echo oddities >&2; printf '  2.5  \\n\\n \\n'; : {arm}"
    find("--reward-cmd", command, "--noise-scale", "1", "--max-pulls", "1")
    assert rewards() == [(1, 0, 2.5)]


def test_retry_then_go_on(arms):
    flaky = "echo >> ran; test $(wc -l < ran) -ne 2 && " + PLAIN
    result = find("--reward-cmd", flaky, "--noise-scale", "0.1")
    assert result.exit_code == 0
    assert "Pull 2 of blue (arm 1) failed: the command ended with exit status 1" in result.stderr
    second = [e["event"] for e in events() if e["n"] == 2]
    assert second == ["pull", "failure", "pull", "reward"]
    assert len(rewards()) == len(Path("ran").read_text()) - 1


def test_failed_search_goes_on_with_a_mended_command(arms):
    result = find("--reward-cmd", "exit {arm}", "--noise-scale", "0.1", "--retries", "0")
    assert result.exit_code == 4
    result = find("--reward-cmd", PLAIN, "--noise-scale", "0.1", "--resume")
    assert result.exit_code == 0 and "another than before" in result.stderr
    assert [e["command"] for e in events() if e["event"] == "command"] == [PLAIN]
    again = find("--reward-cmd", PLAIN, "--noise-scale", "0.1", "--resume")
    assert again.exit_code == 0 and "another than before" not in again.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--bounded", "0", "1"], "from 0.0 to 1.0"), (["--binary"], "0 or 1")],
)
def test_rewards_outside_the_promise_end_the_search(arms, options, words):
    command = "echo >> ran; echo $(({arm} * 2))"
    result = find("--reward-cmd", command, *options)
    assert result.exit_code == 4 and words in result.stderr
    assert len(Path("ran").read_text()) == 2  # not tried again
    before = Path("arms.csv.find.jsonl").read_bytes()
    result = find("--reward-cmd", command, *options, "--resume")
    assert result.exit_code == 1 and "Line 5" in result.stderr
    assert Path("arms.csv.find.jsonl").read_bytes() == before
    # What the message offers, if the command was at fault: it is the last line.
    Path("arms.csv.find.jsonl").write_bytes(before[: before[:-1].rindex(b"\n") + 1])
    again = find(
        "--reward-cmd", "echo {arm} | head -c 1", *options, "--resume", "--max-pulls", "3"
    )
    assert again.exit_code in (3, 4) and len(rewards()) >= 2


def test_noise_must_be_given_once(arms):
    for options in ([], ["--binary", "--noise-scale", "1"]):
        result = find("--reward-cmd", PLAIN, *options)
        assert result.exit_code == 2 and "--bounded LOW HIGH" in result.stderr
    for options in (["--bounded", "1", "1"], ["--bounded", "nan", "1"], ["--noise-scale", "0"]):
        assert find("--reward-cmd", PLAIN, *options).exit_code == 1
    for option in ("--timeout", "--retry-wait"):
        assert find("--reward-cmd", PLAIN, "--binary", option, "nan").exit_code == 1
    assert Rewards.zero_or_one().scale == 0.5


@pytest.mark.parametrize("polite", [True, False])
def test_timeout_kills_all_that_was_started(arms, polite):
    trap = "" if polite else "trap '' TERM; "
    command = f"{trap}sleep 300 & echo $$ $! > pids; echo {{arm}}; sleep 301"
    options = ["--reward-cmd", command, "--binary", "--retries", "0"]
    for seconds in ("0.2", "2.0", "20.0"):  # a busy machine may not start a shell in the first
        result = find(*options, "--timeout", seconds, "--log", seconds)
        assert result.exit_code == 4 and f"took more than {seconds} seconds" in result.stderr
        if Path("pids").exists():
            break
    assert len(pids()) == 2
    wait_for(lambda: not any(map(alive, pids())))


def test_what_the_command_leaves_running_does_not_hold_it_up(arms):
    command = "sleep 1000 & echo $! >> pids; " + PLAIN
    find("--reward-cmd", command, "--noise-scale", "1", "--max-pulls", "2")
    assert all(map(alive, pids())) and len(pids()) == 2
    for pid in pids():
        os.kill(pid, signal.SIGKILL)


# The log


def finished_log(path="log"):
    with TrialLog.open(path, setup(command=NOISY, scale=0.4), resume=False) as log:
        search(log, max_pulls=6)
    return Path(path).read_bytes()


def without_hashes(data):
    """Return a log as the first version wrote it."""
    data = re.sub(rb', "hash": "[0-9a-f]{64}"\}$', b"}", data, flags=re.M)
    return data.replace(b'"version": 2', b'"version": 1', 1)


def opened(path="log"):
    with TrialLog.open(path, setup(command=NOISY, scale=0.4), resume=True) as log:
        return log


def test_log_cut_anywhere_counts_its_whole_rewards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = finished_log()
    near_the_end = range(len(data) - 250, len(data) + 1)  # two lines and a bit, byte by byte
    for cut in [*range(0, near_the_end[0], 7), *near_the_end]:
        Path("log").write_bytes(data[:cut])
        log = opened()
        whole = data[:cut].rpartition(b"\n")[0].split(b"\n")
        told = [json.loads(line) for line in whole if b'"event": "reward"' in line]
        assert log.pulls == log.setup.explorer.counts.sum() == len(told)
        assert log.torn == (cut > 0 and data[cut - 1 : cut] != b"\n")
        assert Path("log").read_bytes().endswith(b"\n")
        assert opened().pulls == len(told)


def test_explorer_is_a_fold_over_the_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finished_log()
    resumed = opened().setup.explorer
    told = LinGapE(resumed.problem)
    for _, arm, reward in rewards("log"):
        told.tell(arm, reward)
    assert resumed.state() == told.state()


@pytest.mark.parametrize(
    ("line", "old", "new", "words"),
    [
        (1, b"find log", b"other log", "Line 1"),
        (1, b'"version": 1', b'"version": 3', "reads logs of version 1 and 2"),
        (1, b'"problem"', b'"riddle"', "no problem"),
        (1, b'"command"', b'"order"', "no command"),
        (4, b"{", b"", "Line 4 of log is damaged"),
        (4, b'"pull"', b'"pu\xff"', "Line 4 of log is damaged"),
        (4, b'"pull"', b'"push"', "Line 4 of log has the unknown event 'push'"),
        (4, b'"n": 2', b'"n": 1', "Line 4 of log has n = 1 where pull 2 is due"),
        (4, b'"n": 2', b'"n": 3', "Line 4"),
        (4, b'"n": 2', b'"n": true', "Line 4"),
        (4, b'"arm": 1', b'"arm": 3', "Line 4 of log has the unknown arm 3"),
        (4, b'"arm": 1', b'"arm": -1', "Line 4"),
        (5, b'"arm": 1', b'"arm": 0', "Line 5 of log has a reward of arm 0"),
        (5, b'"reward": ', b'"reward": NaN, "x": ', "Line 5"),
        (5, b'"reward": ', b'"reward": true, "x": ', "Line 5"),
        (5, b'"reward": ', b'"reward": 1e999, "x": ', "Line 5"),
        (5, b'"reward": ', b'"reward": "1", "x": ', "Line 5"),
    ],
)
def test_damaged_log_is_refused_and_left_alone(tmp_path, monkeypatch, line, old, new, words):
    monkeypatch.chdir(tmp_path)
    lines = without_hashes(finished_log()).splitlines(keepends=True)
    changed = lines[line - 1].replace(old, new, 1)
    assert changed != lines[line - 1]
    data = b"".join([*lines[: line - 1], changed, *lines[line:], b'{"torn'])
    Path("log").write_bytes(data)
    with pytest.raises(InvalidState, match=words):
        opened()
    assert Path("log").read_bytes() == data


def test_a_line_that_was_edited_is_refused(arms):
    options = ["--reward-cmd", NOISY, "--noise-scale", "0.4", "--log", "log", "--json"]
    find(*options, "--max-pulls", "6")
    lines = Path("log").read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        for old, new in (
            (rb'"reward": [-0-9.]+', b'"reward": 0.25'),
            (rb'"time": "....', b'"time": "1999'),
            (rb'"hash": ".', b'"hash": "x'),
            (rb'"hash": "[0-9a-f]{64}"', b'"hash": "' + b"0" * 64 + b'"'),
            (rb', "hash": "[0-9a-f]{64}"', b""),
            (rb'"version": 2', b'"version": 1'),
            (rb", ", b",  "),
        ):
            changed = re.sub(old, new, line, count=1)
            if changed == line:
                continue
            data = b"".join([*lines[: number - 1], changed, *lines[number:]])
            Path("log").write_bytes(data)
            result = find(*options, "--resume", "--max-pulls", "6")
            assert result.exit_code == 1 and f"Line {number} of log is not what" in result.stderr
            assert Path("log").read_bytes() == data
    Path("log").write_bytes(b"".join(lines))
    assert find(*options, "--resume", "--max-pulls", "7").exit_code == 3
    assert len(rewards("log")) == 7


def test_a_log_without_hashes_is_gone_on_with(arms):
    options = ["--reward-cmd", NOISY, "--noise-scale", "0.4", "--log", "log"]
    find(*options, "--max-pulls", "6")
    Path("log").write_bytes(without_hashes(Path("log").read_bytes()))
    result = find(*options, "--resume", "--max-pulls", "8")
    assert result.exit_code == 3 and "has no hashes" in result.stderr
    assert b"hash" not in Path("log").read_bytes()
    assert len(rewards("log")) == 8


@pytest.mark.parametrize("missing", [2, 3, 5])
def test_log_with_a_line_missing_or_twice_is_refused(tmp_path, monkeypatch, missing):
    monkeypatch.chdir(tmp_path)
    lines = finished_log().splitlines(keepends=True)
    Path("log").write_bytes(b"".join(lines[: missing - 1] + lines[missing:]))
    with pytest.raises(InvalidState, match="Line"):
        opened()
    if missing % 2:  # a reward; a pull may be there twice, after a crash
        Path("log").write_bytes(b"".join(lines[:missing] + lines[missing - 1 :]))
        with pytest.raises(InvalidState, match="Line"):
            opened()


@pytest.mark.parametrize("data", [b"precious", b"precious\n", b"{}\n", b"[1]\n"])
def test_other_files_are_not_taken_for_logs(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    Path("log").write_bytes(data)
    with pytest.raises(InvalidState, match="Line 1"):
        opened()
    assert Path("log").read_bytes() == data


def test_existing_log_is_never_overwritten(arms):
    options = ["--reward-cmd", PLAIN, "--noise-scale", "0.1"]
    find(*options)
    before = Path("arms.csv.find.jsonl").read_bytes()
    result = find(*options)
    assert result.exit_code == 1 and "--resume" in result.stderr
    assert Path("arms.csv.find.jsonl").read_bytes() == before
    assert find(*options, "--log", "other").exit_code == 0


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("red,1,0\nblue,0,1\n", [], "it has 3 arms, now there are 2"),
        ("red,1,0\nblue,0,2\nred and blue,0.5,0.5\n", [], "features of arm 1"),
        ("red,1,0\nblau,0,1\nred and blue,0.5,0.5\n", [], "names"),
        (None, ["--delta", "0.1"], "delta 0.05, now 0.1"),
        (None, ["--epsilon", "0.1"], "epsilon 0.0, now 0.1"),
        (None, ["--noise-scale", "2"], "--noise-scale 0.1, now 2"),
        (None, ["--explorer", "ugape"], "explorer is lingape, now ugape"),
    ],
)
def test_log_of_another_search_is_refused(arms, table, options, words):
    common = ["--reward-cmd", PLAIN, "--noise-scale", "0.1"]
    find(*common)
    before = Path("arms.csv.find.jsonl").read_bytes()
    if table:
        Path(arms).write_text(table)
    result = find(*common, "--resume", *options)
    assert result.exit_code == 1 and words in result.stderr
    assert Path("arms.csv.find.jsonl").read_bytes() == before


def test_log_in_use_is_refused(arms, monkeypatch):
    monkeypatch.setattr("lingape.finding.log.PATIENCE", 0.05)
    with TrialLog.open("log", setup(), resume=False):
        result = find("--reward-cmd", PLAIN, "--noise-scale", "0.1", "--log", "log", "--resume")
        assert result.exit_code == 1 and "in use" in result.stderr


def test_log_is_waited_for_until_a_killed_search_lets_go(tmp_path, monkeypatch):
    """A search killed between fork and exec leaves a child that holds the lock for an instant."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lingape.finding.log.PATIENCE", 120.0)
    log = TrialLog.open("log", setup(), resume=False)
    later = threading.Timer(0.2, log.close)
    later.start()
    with TrialLog.open("log", setup(), resume=True) as second:
        assert second.pulls == 0
    later.join()


def test_log_that_cannot_be_made(arms):
    result = find("--reward-cmd", PLAIN, "--binary", "--log", "no/such/folder/log")
    assert result.exit_code == 2 and "no folder 'no/such/folder'" in result.stderr
    with pytest.raises(InvalidState, match="No such file"):
        TrialLog.open("no/such/folder/log", setup(), resume=False)


def test_full_disk_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = TrialLog.open("log", setup(command=NOISY, scale=0.4), resume=False)
    write, room = os.write, 900

    def short(file, data):
        nonlocal room
        if file != log._file:
            return write(file, data)
        room -= (done := write(file, data[: max(0, room)]))
        return done

    monkeypatch.setattr(os, "write", short)
    with log, pytest.raises(InvalidState, match="No space left.*--resume"):
        search(log)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert opened().pulls == log.pulls == len(rewards("log")) > 0


# Kills and signals


def test_killed_at_random_moments(arms):
    """Rewards depend on the pull alone, so the log must have those of a search in one go."""
    # It takes 67 pulls, more than 2 s, and no life lasts longer than 0.6 s: three end too early.
    command = ["--reward-cmd", f"sleep 0.03; {NOISY}", "--noise-scale", "0.5"]
    rng = random.Random(1)
    kills = 0
    for _ in range(8):
        process = start(*command, "--resume")
        try:
            process.communicate(timeout=rng.uniform(0.2, 0.6))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
    result = find(*command, "--resume", "--json")
    assert result.exit_code == 0, result.output
    data, found = json.loads(result.stdout), rewards()
    assert kills >= 3
    assert [n for n, _, _ in found] == list(range(1, data["pulls"] + 1))
    header = json.loads(Path("arms.csv.find.jsonl").read_text().splitlines()[0])
    explorer = LinGapE(Problem(**header["problem"]))
    for _, arm, reward in found:
        assert not explorer.done and explorer.ask() == arm
        explorer.tell(arm, reward)
    assert explorer.certificate().to_dict() == data["certificate"]
    find("--reward-cmd", NOISY, "--noise-scale", "0.5", "--log", "in one go")
    assert rewards("in one go") == found


def test_killed_in_a_command(arms):
    slow = f"echo $$ >> ran; test $(wc -l < ran) -eq 2 && sleep 1000; {PLAIN}"
    options = ["--reward-cmd", slow, "--noise-scale", "0.1"]
    process = start(*options)
    wait_for(lambda: Path("ran").exists() and Path("ran").read_text().count("\n") == 2)
    process.kill()
    process.communicate()
    os.killpg(int(Path("ran").read_text().split()[1]), signal.SIGKILL)  # nobody else does now
    assert [e["event"] for e in events()] == ["pull", "reward", "pull"]
    result = find(*options, "--resume")
    assert result.exit_code == 0
    assert "Pull 2 of blue (arm 1) was under way" in result.stderr
    assert [n for n, _, _ in rewards()] == list(range(1, len(rewards()) + 1))


def test_first_interrupt_finishes_the_pull(arms):
    command = "echo > ran; until test -e go; do sleep 0.02; done; echo 0.25; : {arm}"
    process = start("--reward-cmd", command, "--noise-scale", "1", "--json")
    wait_for(Path("ran").exists)
    process.send_signal(signal.SIGINT)
    read_until(process.stderr, "Stopping when what runs now")
    Path("go").touch()
    out, err = process.communicate()
    assert process.returncode == 130
    assert "--resume" in err
    assert json.loads(out)["ending"] == "interrupted"
    assert rewards() == [(1, 0, 0.25)]


@pytest.mark.parametrize(
    ("signals", "code"),
    [((signal.SIGINT, signal.SIGINT), 130), ((signal.SIGTERM,), 143), ((signal.SIGHUP,), 129)],
)
def test_second_interrupt_and_termination_kill_the_command(arms, signals, code):
    command = "sleep 300 & echo $$ $! > pids; sleep 301; : {arm}"
    process = start("--reward-cmd", command, "--noise-scale", "1")
    wait_for(lambda: Path("pids").exists() and len(pids()) == 2)
    for number in signals[:-1]:
        process.send_signal(number)
        read_until(process.stderr, "Stopping when what runs now")
    process.send_signal(signals[-1])
    _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Interrupted" in err
    assert [e["event"] for e in events()] == ["pull", "failure"]
    wait_for(lambda: not any(map(alive, pids())))


def test_interrupt_while_waiting_to_try_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stop = Stop()

    def interrupt(arm, failure, wait):
        stop.level = 1

    with TrialLog.open("log", setup(command="exit 1; {arm}"), resume=False) as log:
        outcome = search(log, stop=stop, patience=Patience(wait=60), on_failure=interrupt)
    assert outcome.ending is Ending.INTERRUPTED
