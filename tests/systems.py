"""What some systems do not have, and how they want commands to be written."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import arithmetic


def posix(what):
    """Mark a test that needs what Windows does not have: skip it there, and say so."""
    return pytest.mark.skipif(sys.platform == "win32", reason=f"Windows has no {what}")


def linux(what):
    """Mark a test that needs what only Linux has."""
    return pytest.mark.skipif(sys.platform != "linux", reason=f"only Linux has {what}")


lists_open_files = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="this system does not list open files in /proc"
)
same_figures = pytest.mark.skipif(
    not arithmetic.FIXED,
    reason="what is printed was made with kernels of OpenBLAS that are not in use here",
)


def command_line(*words):
    """Return a command as a text that the system takes apart into these words again."""
    texts = [str(word) for word in words]
    return subprocess.list2cmdline(texts) if sys.platform == "win32" else shlex.join(texts)


ECHO = "echo {arm}"  # a command whose reward is the number of the arm
if sys.platform == "win32":  # where no program is called echo
    ECHO = command_line(sys.executable, "-S", "-c", "print({arm})")
