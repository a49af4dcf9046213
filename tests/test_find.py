"""lingape find: real commands, real kills, real signals."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lingape import Problem, Race
from lingape.cli import main
from lingape.live import Asked, Experiment, Told
from lingape.live.command import Command, Stop
from lingape.live.search import INTERRUPTED, Search

sys.path.insert(0, str(Path(__file__).parent / "live"))

from tamper import change

if sys.platform == "win32":
    pytest.skip("Windows has no shell for these commands", allow_module_level=True)


# Noise that depends on the pull alone, so that an interrupted search must equal one in one go.
NOISY = (
    "awk -v n=$LINGAPE_PULL -v a={arm} "
    "'BEGIN {srand(7 * n); print (a == 1) * 0.5 + 0.8 * (rand() - 0.5)}'"
)
LOG = "arms.csv.find.db"
PLAIN = "echo {features} | awk '{print $2}'"


@pytest.fixture
def arms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text("red,1,0\nblue,0,1\nred and blue,0.5,0.5\n")
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
        preexec_fn=heed_signals,
    )


def heed_signals():
    """Undo what a shell does to tests in the background, and nohup: they ignore signals."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def opened(path=LOG):
    return Experiment.open(f"sqlite:///{path}", "find")


def events(path=LOG):
    with opened(path) as experiment:
        return experiment.events()[1:]


def kinds(path=LOG):
    return [event.kind for event in events(path)]


def rewards(path=LOG):
    return [(event.arm, event.reward) for event in events(path) if isinstance(event, Told)]


def head(path=LOG):
    with opened(path) as experiment, experiment.current() as replay:
        return replay.head


def live(*words, code=0):
    result = CliRunner().invoke(main, ["live", *words])
    assert result.exit_code == code, result.output
    return result.stdout


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


# The search


def test_finds_the_best_arm(arms):
    result = find("--reward-cmd", NOISY, "--bounded", "-0.4", "0.9", "--epsilon", "0.4")
    assert result.exit_code == 0
    assert "better than blue, with probability at least 95 %" in result.stdout
    assert "Log: arms.csv.find.db" in result.stdout
    assert "leads" in result.stderr
    assert "leads" not in result.stdout


def test_the_log_is_a_live_experiment(arms):
    find("--reward-cmd", PLAIN, "--bounded", "-0.05", "1.05", "--epsilon", "0.5")
    with opened() as experiment:
        created, *log = experiment.events()
        assert created.problem["names"] == ["red", "blue", "red and blue"]
        assert created.problem["noise"] == [-0.05, 1.05]
        assert [e.kind for e in log] == ["asked", "told"] * (len(log) // 2) + ["settled"]
        assert {e.arm: e.reward for e in log if isinstance(e, Told)} == {0: 0, 1: 1, 2: 0.5}
        assert log[0].worker == f"find: {PLAIN}"
        certificate = experiment.verify().certificate
    place = ["sqlite:///" + LOG, "find"]
    assert certificate.statement in live("status", *place)
    assert "The log is whole" in live("verify", *place)
    assert "find\t3 arms" in live("list", place[0])
    live("export", *place, "log.jsonl")
    assert "The log is whole" in live("verify", "log.jsonl")
    live("import", "log.jsonl", "sqlite:///copy.db")
    options = ["--bounded", "-0.05", "1.05", "--epsilon", "0.5", "--resume"]
    again = find("--reward-cmd", PLAIN, *options, "--log", "copy.db", "--json")
    assert json.loads(again.stdout)["certificate"] == certificate.to_dict()


def test_workers_share_the_log_of_a_search(arms):
    options = ["--reward-cmd", PLAIN, "--noise-scale", "0.5"]
    find(*options, "--max-pulls", "2")
    live("run", "sqlite:///" + LOG, "find", "--reward-cmd", PLAIN, "--max-pulls", "2", code=3)
    result = find(*options, "--max-pulls", "6", "--resume", "--json")
    assert json.loads(result.stdout)["pulls"] == 6


@pytest.mark.parametrize("name", ["lingape", "xy_static", "uniform", "ugape", "xy_adaptive"])
def test_explorers(arms, name):
    options = ["--reward-cmd", PLAIN, "--noise-scale", "0.05", "--explorer", name]
    assert find(*options, "--max-pulls", "4").exit_code in (0, 3)
    data = json.loads(find(*options, "--resume", "--json").stdout)
    assert data["settled"] and data["name"] == "blue"
    assert "The log is whole" in live("verify", "sqlite:///" + LOG, "find")


def test_explorers_that_cannot_search(arms):
    for name, words in (("xy_oracle", "needs to know θ"), ("nobody", "nobody")):
        result = find("--reward-cmd", PLAIN, "--binary", "--explorer", name)
        assert result.exit_code == 1 and words in result.stderr
        assert not Path(LOG).exists()


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
    before = head()
    result = find(*options, "--resume")
    assert result.exit_code == 0 and "No arm is better than blue" in result.stdout
    assert head() == before


def test_many_arms_are_not_all_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text("".join(f"{k},1\n" for k in range(2, 62, 2)))
    result = find("--reward-cmd", PLAIN, "--noise-scale", "1", "--max-pulls", "1")
    assert "\n  and 10 more\n" in result.stdout


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
    assert b"[/blue] leads [red], 0 ruled out" in shown


# The command


def search_for(problem, command, *, max_pulls=None, wait=0.0, note=lambda sentence: None):
    """Search in a new log, and return how it ended."""
    with Experiment.open("sqlite:///log", "find", create=problem) as experiment:
        search = Search(experiment, Command(command), Stop(), lambda pulls, ticket: None, note)
        return search.run(max_pulls, 2, wait)


def test_names_are_never_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = ["it's; touch pwned", "$(touch pwned)", '"`touch pwned`"', "{features} {arm}", "-n *  x"]
    problem = Problem(np.eye(5), noise=0.1, names=odd)
    command = "printf '%s\\n' {name} >> named; printf %s\\\\n {arm}"
    search_for(problem, command, max_pulls=5)
    assert Path("named").read_text().splitlines() == odd
    assert [arm for arm, _ in rewards("log")] == [reward for _, reward in rewards("log")]
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
        assert "as LINGAPE_ARM" in result.stderr
    result = find("--reward-cmd", PLAIN, "--noise-scale", "0.1")
    assert "LINGAPE_ARM" not in result.stderr


@pytest.mark.parametrize("words", [["find"], ["live", "run"]])
def test_help_warns_of_second_shells(words):
    told = " ".join(CliRunner().invoke(main, [*words, "--help"]).output.split())
    assert "ssh host ./measure {name}, eval" in told and "use {arm}" in told


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("awk '{print $1}' {names}", "{names} is not a placeholder"),
        ("echo '{name}'", "outside quotes"),
        ('echo "x {features}"', "LINGAPE_FEATURES"),
    ],
)
def test_commands_refused(arms, command, words):
    result = find("--reward-cmd", command, "--noise-scale", "1")
    assert result.exit_code == 1 and words in result.stderr
    assert not Path(LOG).exists()


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
    assert kinds() == ["asked", "voided"] * 3
    assert words.split(":")[0] in events()[-1].reason
    assert len(Path("ran").read_text()) == 3


def test_number_is_the_last_line_that_is_not_blank(arms):
    command = "seq 20000; echo oddities >&2; printf '  2.5  \\n\\n \\n'; : {arm}"
    find("--reward-cmd", command, "--noise-scale", "1", "--max-pulls", "1")
    assert rewards() == [(0, 2.5)]


def test_retry_then_go_on(arms):
    flaky = "echo >> ran; test $(wc -l < ran) -ne 2 && " + PLAIN
    result = find("--reward-cmd", flaky, "--noise-scale", "0.1")
    assert result.exit_code == 0
    assert "Pull 2 of blue (arm 1) failed: the command ended with exit status 1" in result.stderr
    assert kinds()[2:6] == ["asked", "voided", "asked", "told"]
    assert len(rewards()) == len(Path("ran").read_text()) - 1


def test_failed_search_continues_with_a_fixed_command(arms):
    result = find("--reward-cmd", "exit {arm}", "--noise-scale", "0.1", "--retries", "0")
    assert result.exit_code == 4
    result = find("--reward-cmd", PLAIN, "--noise-scale", "0.1", "--resume")
    assert result.exit_code == 0 and "not the one used before" in result.stderr
    workers = [event.worker for event in events() if isinstance(event, Asked)]
    assert workers[0] == "find: exit {arm}" and workers[-1] == f"find: {PLAIN}"
    again = find("--reward-cmd", PLAIN, "--noise-scale", "0.1", "--resume")
    assert again.exit_code == 0 and "not the one used before" not in again.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--bounded", "0", "1"], "from 0.0 to 1.0"), (["--binary"], "0 or 1")],
)
def test_rewards_outside_the_promise_end_the_search(arms, options, words):
    command = "echo >> ran; echo $(({arm} * 2))"
    result = find("--reward-cmd", command, *options)
    assert result.exit_code == 4 and words in result.stderr
    assert len(Path("ran").read_text()) == 2  # not tried again
    before = head()
    result = find("--reward-cmd", command, *options, "--resume")
    assert result.exit_code == 1 and "Event 5" in result.stderr and "--log PATH" in result.stderr
    assert head() == before


def test_noise_must_be_given_once(arms):
    for options in ([], ["--binary", "--noise-scale", "1"]):
        result = find("--reward-cmd", PLAIN, *options)
        assert result.exit_code == 2 and "--bounded LOW HIGH" in result.stderr
    for options in (["--bounded", "1", "1"], ["--bounded", "nan", "1"], ["--noise-scale", "0"]):
        assert find("--reward-cmd", PLAIN, *options).exit_code == 1
    for option in ("--timeout", "--retry-wait"):
        assert find("--reward-cmd", PLAIN, "--binary", option, "nan").exit_code in (1, 2)


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


def test_a_changed_log_is_refused(arms):
    options = ["--reward-cmd", NOISY, "--noise-scale", "0.4", "--json"]
    find(*options, "--max-pulls", "6")
    whole = Path(LOG).read_bytes()
    for statement in (
        "UPDATE entries SET text = replace(text, 'reward\":', 'reward\":1') WHERE seq = 13",
        "UPDATE entries SET digest = 'x' WHERE seq = 2",
        "DELETE FROM entries WHERE seq = 5",
        "DELETE FROM entries WHERE seq = 13",
    ):
        Path(LOG).write_bytes(whole)
        change(f"sqlite:///{LOG}", statement)
        result = find(*options, "--resume", "--max-pulls", "7")
        assert result.exit_code == 1 and "damaged" in result.stderr
    Path(LOG).write_bytes(whole)
    assert find(*options, "--resume", "--max-pulls", "7").exit_code == 3
    assert len(rewards()) == 7


@pytest.mark.parametrize("data", [b"precious", b"precious\n" * 999, b"{}\n"])
def test_other_files_are_not_taken_for_logs(arms, data):
    Path("log").write_bytes(data)
    options = ["--reward-cmd", PLAIN, "--noise-scale", "0.1", "--log", "log"]
    assert find(*options).exit_code == 1
    result = find(*options, "--resume")
    assert result.exit_code == 1 and "not a database" in result.stderr
    assert Path("log").read_bytes() == data


def test_existing_log_is_never_overwritten(arms):
    options = ["--reward-cmd", PLAIN, "--noise-scale", "0.1"]
    find(*options)
    before = head()
    result = find(*options)
    assert result.exit_code == 1 and "--resume" in result.stderr
    assert head() == before
    assert find(*options, "--log", "other").exit_code == 0


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("red,1,0\nblue,0,1\n", [], "arms (3 there, 2 now)"),
        ("red,1,0\nblue,0,2\nred and blue,0.5,0.5\n", [], "arms (number 1 is [0.0, 1.0] there"),
        ("red,1,0\nblau,0,1\nred and blue,0.5,0.5\n", [], "names (number 1 is 'blue' there"),
        (None, ["--delta", "0.1"], "--delta (0.05 there, 0.1 now)"),
        (None, ["--epsilon", "0.1"], "--epsilon (0.0 there, 0.1 now)"),
        (None, ["--noise-scale", "2"], "noise (0.1 there, 2.0 now)"),
        (None, ["--explorer", "ugape"], "('race' there, 'ugape' now)"),
    ],
)
def test_log_of_another_search_is_refused(arms, table, options, words):
    common = ["--reward-cmd", PLAIN, "--noise-scale", "0.1"]
    find(*common)
    before = head()
    if table:
        Path(arms).write_text(table)
    result = find(*common, "--resume", *options)
    assert result.exit_code == 1 and words in result.stderr
    assert "the settings that it was begun with" in result.stderr
    assert head() == before


def test_the_range_of_rewards_is_part_of_the_settings(arms):
    find("--reward-cmd", PLAIN, "--binary", "--max-pulls", "1")
    result = find("--reward-cmd", PLAIN, "--noise-scale", "0.5", "--resume")
    assert result.exit_code == 1 and "noise ('binary' there, 0.5 now)" in result.stderr


def test_two_searches_on_one_log(arms):
    """A pull that both make counts once."""
    first = ": > asked; until test -e go; do sleep 0.02; done; echo {arm} | head -c 1; : > told"
    process = start("--reward-cmd", first, "--noise-scale", "0.3", "--max-pulls", "1")
    wait_for(lambda: Path("asked").exists())
    assert kinds() == ["asked"]
    options = ["--noise-scale", "0.3", "--resume", "--json", "--max-pulls", "3"]
    result = find("--reward-cmd", "echo 1; : {arm}", *options)
    assert "was under way" in result.stderr
    Path("go").touch()
    _, err = process.communicate()
    assert process.returncode == 3 and "was told 1.0; now it is 0.0" in err
    assert len(rewards()) == json.loads(result.stdout)["pulls"]


def test_log_that_cannot_be_made(arms):
    result = find("--reward-cmd", PLAIN, "--binary", "--log", "no/such/folder/log")
    assert result.exit_code == 2 and "no folder 'no/such/folder'" in result.stderr


def test_full_disk_loses_nothing(arms, monkeypatch):
    """A log that cannot grow ends the search; what was acknowledged is there."""
    options = ["--reward-cmd", NOISY, "--noise-scale", "0.4"]
    find(*options, "--max-pulls", "3")
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from lingape.cli import main\n"
        "main()\n"
    )
    words = [sys.executable, "-c", code, "find", arms, *options, "--resume"]
    full = subprocess.run(words, capture_output=True, text=True)
    assert full.returncode == 5 and "Make room" in full.stderr
    found = rewards()
    assert len(found) > 3
    result = find(*options, "--resume", "--json")
    assert result.exit_code == 0 and rewards()[: len(found)] == found


# Kills and signals


def test_killed_at_random_moments(arms):
    """Rewards depend on the pull alone, so the log must have those of a search in one go."""
    # It takes 67 pulls, and eight lives may begin seven each: all of them end too early.
    wait = "until test $(wc -l < ran) -le $(cat allowed); do sleep 0.01; done"
    command = ["--reward-cmd", f"echo >> ran; {wait}; {NOISY}", "--noise-scale", "0.5"]
    rng = random.Random(1)
    ran, allowed = Path("ran"), Path("allowed")
    ran.touch()
    for _ in range(8):
        begun = ran.stat().st_size
        allowed.write_text(f"{begun + 7}")
        process = start(*command, "--resume")
        wanted = begun + rng.randint(1, 7)
        wait_for(lambda wanted=wanted: ran.stat().st_size >= wanted)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    allowed.write_text("1000")
    result = find(*command, "--resume", "--json")
    assert result.exit_code == 0, result.output
    data, found = json.loads(result.stdout), rewards()
    assert len(found) == data["pulls"]
    with opened() as experiment:
        explorer = Race(experiment.problem)
        assert experiment.verify().certificate.to_dict() == data["certificate"]
    for arm, reward in found:
        assert not explorer.done and explorer.ask() == arm
        explorer.tell(arm, reward)
    assert list(explorer.certificate().p_values) == data["certificate"]["p_values"]
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
    assert kinds() == ["asked", "told", "asked"]
    result = find(*options, "--resume")
    assert result.exit_code == 0
    assert "Pull 2 of blue (arm 1) was under way" in result.stderr
    assert kinds()[:4] == ["asked", "told", "asked", "told"]


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
    assert rewards() == [(0, 0.25)]


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
    assert kinds() == ["asked", "voided"]
    wait_for(lambda: not any(map(alive, pids())))


def test_interrupt_while_waiting_to_try_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stop, problem = Stop(), Problem(np.eye(2), noise=0.1)

    def interrupt(sentence):
        stop.level = 1

    with Experiment.open("sqlite:///log", "find", create=problem) as experiment:
        command = Command("exit 1; {arm}")
        search = Search(experiment, command, stop, lambda pulls, ticket: None, interrupt)
        assert search.run(None, 2, 60.0).words == INTERRUPTED
