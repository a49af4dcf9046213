"""What some systems do not have."""

import sys

import pytest


def posix(what):
    """Mark a test that needs what Windows does not have: skip it there, and say so."""
    return pytest.mark.skipif(sys.platform == "win32", reason=f"Windows has no {what}")
