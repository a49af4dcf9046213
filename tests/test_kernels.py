"""Kernels, part by part."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")


def test_each_kernel_does_what_its_part_does():
    """In plain Python, where nothing has to be compiled for each combination of parts."""
    parts = Path(__file__).parent / "kernels_as_parts.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", str(parts)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout
    assert " passed" in result.stdout
