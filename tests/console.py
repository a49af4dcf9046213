"""The console blocks of README.md: run their commands, and compare or rewrite what they print.

`make readme` rewrites them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```console\n\$ (.*?[^\\])\n(.*?)```", re.S)


def commands(text):
    """Return the commands in console blocks, with what is said to be printed."""
    return [match.groups() for match in BLOCK.finditer(text)]


def printed(command, folder):
    """Run a command where the examples are, and return what it prints."""
    (folder / "examples").exists() or shutil.copytree(ROOT / "examples", folder / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, command
    return done.stdout


def lasting(text):
    """Return text without what differs between machines: seconds, and a solver's last digits."""
    return re.sub(r"to \de-\d\d", "to …", re.sub(r"\(\d+(\.\d+)? s", "(… s", text))


def rewritten(text):
    """Return text with what its commands print now."""

    def block(match):
        with tempfile.TemporaryDirectory() as folder:
            output = printed(match[1], Path(folder))
        return f"```console\n$ {match[1]}\n{output}```"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(rewritten(page.read_text()))
