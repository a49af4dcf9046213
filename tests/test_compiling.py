"""Compilation: announced, shared, kept on disk, and done again when code changes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lingape.cli import main
from lingape.cli.showing import WITHOUT_NUMBA, simulating
from systems import posix

compiling = pytest.importorskip("lingape.kernels.compiling")

# A function that compiles in an instant, and a list of the processes that compile it.
KERNEL = """
import os, sys
from pathlib import Path
from lingape.kernels.functions import EntryPoint
from numba.core import event

class Compilations(event.Listener):
    def on_start(self, event):
        if event.data["dispatcher"].py_func.__name__ == "twice":
            with open("compilations", "a") as file:
                file.write(f"{os.getpid()}\\n")
    def on_end(self, event):
        pass

event.register("numba:compile", Compilations())

@EntryPoint
def twice(x):
    return 2 * x
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with that function in kernel.py, and nothing compiled."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "compilations").touch()
    yield tmp_path
    for process in STARTED:
        process.kill()
    STARTED.clear()


STARTED = []


def start(folder, code, *words):
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    STARTED.append(process)
    return process


def said(process):
    """Return what a process prints on standard error, and nothing on standard output."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert not out
    return err


def compilations(folder):
    return len((folder / "compilations").read_text().split())


# The process that compiles waits until another one waits for it.
SIDE_BY_SIDE = """
import fcntl, time
from pathlib import Path
lock = fcntl.lockf

def telling(file, kind, *where):
    try:
        lock(file, kind | (fcntl.LOCK_NB if kind == fcntl.LOCK_EX else 0), *where)
    except OSError:
        Path("waiting").touch()
        lock(file, kind, *where)

fcntl.lockf = telling
import kernel

class Wait(kernel.event.Listener):
    def on_start(self, event):
        while not Path("waiting").exists():
            time.sleep(0.01)
    def on_end(self, event):
        pass

kernel.event.register("numba:compile", Wait())
assert kernel.twice(2) == 4
"""


@posix("fcntl")
def test_of_two_processes_one_compiles(folder):
    for process in [start(folder, SIDE_BY_SIDE) for _ in range(2)]:
        assert said(process) == ""
    assert compilations(folder) == 1


def test_processes_that_compile_for_other_types_keep_theirs_all(folder):
    """They share an index, and a lost entry would be compiled again."""
    call = "import sys, kernel; kernel.twice(eval(sys.argv[1]))"
    kinds = ["1", "1.0", "1j", "True"]
    for process in [start(folder, call, kind) for kind in kinds]:
        said(process)
    assert compilations(folder) == len(kinds)
    said(start(folder, "import kernel; [kernel.twice(x) for x in (1, 1.0, 1j, True)]"))
    assert compilations(folder) == len(kinds)


@posix("fcntl")
def test_a_failure_to_compile_leaves_no_lock(folder):
    code = """
import fcntl, kernel
held = 0
lock = fcntl.lockf
def counted(file, kind, *where):
    global held
    held += -1 if kind == fcntl.LOCK_UN else 1
    lock(file, kind, *where)
fcntl.lockf = counted
try:
    kernel.twice(object())
except Exception as error:
    assert held == 0, held
else:
    raise AssertionError
"""
    said(start(folder, code))


def test_code_is_compiled_again_when_a_source_changes(folder):
    code = """
import sys
from lingape.kernels import compiling
compiling._digest = lambda: sys.argv[1]
import kernel
kernel.twice(1)
"""
    for digest, total in [("a", 1), ("a", 1), ("b", 2)]:
        said(start(folder, code, digest))
        assert compilations(folder) == total
    kernel = folder / "kernel.py"
    kernel.write_text(kernel.read_text().replace("2 * x", "x + x"))
    said(start(folder, code, "b"))
    assert compilations(folder) == 3


OUTSIDE = """
from typing import NamedTuple
from helper import step
from lingape.kernels.parts import choose

class FirstKernel(NamedTuple):
    arm: int

class OtherKernel(NamedTuple):
    arm: int

@choose.of(FirstKernel)
def _(pull, model, leader, rival):
    return pull.arm + step()
"""


HELPER = """
from lingape.kernels.functions import compiled

@compiled
def step():
    return 1
"""
CHOOSE = "import kernel, outside; print(kernel.twice(outside.FirstKernel(1)))"


@pytest.fixture
def choosing(folder, monkeypatch):
    """The same with a kernel in outside.py, which calls a function in helper.py."""
    # Python would not notice an edit within the second in which it has kept a file's bytecode.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    code = KERNEL.replace("2 * x", "choose(x, 0, 0, 0)")
    (folder / "kernel.py").write_text(code + "from lingape.kernels.parts import choose\n")
    (folder / "outside.py").write_text(OUTSIDE)
    (folder / "helper.py").write_text(HELPER)
    return folder


def answer(folder, code=CHOOSE):
    out, err = start(folder, code).communicate(timeout=300)
    return int(out), err


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("outside.py", "pull.arm + step", "pull.arm + 2 * step"), ("helper.py", "1", "2")],
)
def test_code_is_compiled_again_when_a_kernel_outside_of_the_package_changes(
    choosing, file, old, new
):
    for _ in range(2):
        assert answer(choosing) == (2, "")
        assert compilations(choosing) == 1
    text = (choosing / file).read_text("utf-8")
    (choosing / file).write_text(text.replace(old, new))
    assert answer(choosing) == (3, "")
    assert compilations(choosing) == 2


def test_code_from_before_an_edit_is_not_kept(choosing):
    """A process that has imported a file that is edited then compiles what it has imported."""
    edit = """
import kernel, outside, os, time
from pathlib import Path
Path("helper.py").write_text(Path("helper.py").read_text().replace("return 1", "return 2"))
os.utime("helper.py", (time.time() + 1, time.time() + 1))
print(kernel.twice(outside.FirstKernel(1)))
"""
    assert answer(choosing, edit)[0] == 2
    os.utime(choosing / "helper.py")
    assert answer(choosing)[0] == 3


def test_a_kernel_that_lacks_a_function_says_so(choosing):
    lacking = "import kernel, outside; kernel.twice(outside.OtherKernel(1))"
    _, err = start(choosing, lacking).communicate(timeout=300)
    assert "OtherKernel does not implement choose: use @choose.of." in err
    plain = lacking.replace("kernel.twice(outside.OtherKernel(1))", "kernel.choose(1, 0, 0, 0)")
    _, err = start(choosing, plain).communicate(timeout=300)
    assert "int does not implement choose" in err


def test_sources_are_all_that_compiled_code_is_made_from():
    root = Path(compiling.__file__).parents[1]
    found = set(compiling.sources())
    makes_code = re.compile(r"@(compiled|inlined|EntryPoint|part_function|required|\w+\.of\()")
    for file in root.rglob("*.py"):
        assert file in found or not makes_code.search(file.read_text("utf-8")), file
    for name in ("ties.py", "least_squares.py", "bounds/mixture.py"):
        assert root / name in found
    assert not any("cli" in file.parts or "live" in file.parts for file in found)


def test_sources_are_found_wherever_the_package_is(tmp_path):
    package = tmp_path / "scaffold" / "lingape"
    leave_out = shutil.ignore_patterns("__pycache__", "dashboard")
    shutil.copytree(Path(compiling.__file__).parents[1], package, ignore=leave_out)
    code = "from lingape.kernels.compiling import sources; print(len(sources()))"
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert int(found.stdout) == len(compiling.sources())


def test_nothing_is_compiled_while_functions_are_declared(monkeypatch):
    """Else a thread could compile a function that calls one which is not declared yet."""
    locked = []

    def overload(function, **settings):
        locked.append(compiling.global_compiler_lock.is_locked())
        return lambda chosen: None

    monkeypatch.setattr(compiling, "overload", overload)
    monkeypatch.setattr(compiling, "DECLARED", [(len, len, False)] * 3)
    monkeypatch.setattr(compiling, "_told", 0)
    compiling._declare()
    assert locked == [True, True, True] and compiling._told == 3


ANNOUNCED = """
import sys
from lingape.cli.showing import simulating
import kernel

with simulating():
    assert kernel.twice(2) == 4
    assert kernel.twice(2.0) == 4.0
"""
IN_WORKERS = """
import joblib
from lingape.cli.showing import simulating

def work(x):
    import kernel
    return kernel.twice(x)

with simulating():
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(work)(x) for x in (2, 2.0)) == [4, 4.0]
"""


@pytest.mark.parametrize("code", [ANNOUNCED, IN_WORKERS])
def test_compilation_is_announced_once_and_loading_is_not(folder, code):
    first, second = said(start(folder, code)).splitlines()
    assert first == compiling.KEPT
    assert re.fullmatch(r"Compiling took \d+\.\d s\.", second)
    assert said(start(folder, code)) == ""
    assert compilations(folder) == 2


@pytest.fixture
def nowhere(folder, monkeypatch):
    """The same, without a home and a package that can be written: root may write anywhere else."""
    (folder / "__pycache__").touch()
    for variable in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.setenv(variable, str(folder / "__pycache__" / "nowhere"))
    return folder


@posix("home that a variable moves")
def test_where_nothing_can_be_kept_a_command_says_how(nowhere):
    first, _ = said(start(nowhere, ANNOUNCED)).splitlines()
    assert first == compiling.NOT_KEPT and "NUMBA_CACHE_DIR" in first


@posix("home that a variable moves")
def test_where_nothing_can_be_kept_a_program_is_warned_once(nowhere):
    told = said(start(nowhere, "import kernel; kernel.twice(2); kernel.twice(2.0)"))
    assert told.count("set NUMBA_CACHE_DIR") == 1


def test_a_process_that_outlives_its_command_compiles_in_silence(folder, monkeypatch):
    monkeypatch.setenv("LINGAPE_ANNOUNCE_IN", str(folder / "gone" / "times"))
    assert said(start(folder, "import kernel; kernel.twice(2)")) == ""
    assert compilations(folder) == 1


def test_commands_run_where_nothing_can_be_written(monkeypatch):
    def refuse():
        raise FileNotFoundError

    monkeypatch.setattr("tempfile.TemporaryDirectory", refuse)
    with simulating():
        pass


@pytest.mark.parametrize(
    ("simulates", "words"),
    [
        ("lingape.paper.demo.play_demo", ["demo"]),
        ("lingape.forecast.forecast", ["plan", "arms.csv", "--gap", "1", "--noise-scale", "1"]),
        ("lingape.study.Study.run", ["reproduce", "table1"]),
        ("lingape.study.Study.run", ["compare"]),
        ("lingape.study.Study.run", ["leaderboard", "--no-data"]),
    ],
)
def test_commands_say_what_makes_them_faster(tmp_path, monkeypatch, simulates, words):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    Path("arms.csv").write_text("1,0\n0,1\n")
    monkeypatch.setattr(simulates, interrupt)
    monkeypatch.setattr("lingape.cli.showing.find_spec", lambda name: None)
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 130
    assert WITHOUT_NUMBA + "\n" in result.stderr
    assert 'pip install "lingape[sim]"' in WITHOUT_NUMBA
