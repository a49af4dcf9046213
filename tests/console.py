"""The console blocks of README.md: run their commands, and compare or rewrite what they print.

A block is one session of bash: commands after "$ ", each with what it prints. `make readme`
rewrites them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import arithmetic  # noqa: F401  before NumPy

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```console\n(\$ .*?)```", re.S)
STEP = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
END = "\x1e"  # printed after each command


def sessions(text):
    """Return the commands in each console block, with what they are said to print."""
    return [STEP.findall(block) for block in BLOCK.findall(text)]


def printed(commands, folder):
    """Run commands where the examples are, in one shell, and return what each prints."""
    (folder / "examples").exists() or shutil.copytree(ROOT / "examples", folder / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = "\n".join(f"{command}\nprintf '{END}'" for command in commands)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, commands
    return done.stdout.split(END)[:-1]


def lasting(text):
    """Return text without what differs between runs and machines.

    That is seconds, a solver's last digits, the letters of tickets, hashes of logs, and how long
    an experiment will take.
    """
    for varying in (
        r"(?<=\()\d+(\.\d+)?(?= s)",
        r"(?<=to )\de-\d\d",
        r"(?<=\d-)[a-z2-7]{8}\b",
        r"\b[0-9a-f]{64}\b",
        r"(?<=pace that is ).*",
    ):
        text = re.sub(varying, "…", text)
    return text


def rewritten(text):
    """Return text with what its commands print now."""

    def block(match):
        commands = [command for command, _ in STEP.findall(match[1])]
        with tempfile.TemporaryDirectory() as folder:
            outputs = printed(commands, Path(folder))
        steps = zip(commands, outputs, strict=True)
        return "```console\n" + "".join(f"$ {step}\n{output}" for step, output in steps) + "```"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(rewritten(page.read_text("utf-8")), "utf-8")
