"""What tests of experiments share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/run.db"


class Clock:
    """A clock that goes as told."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()
