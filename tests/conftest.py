"""Let tests import naive.py beside them, and the benchmarks."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import arithmetic  # noqa: E402, F401  before NumPy
