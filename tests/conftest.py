"""Let tests import naive.py beside them, and the benchmarks; and do without a GPU."""

import os
import sys
from pathlib import Path

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import arithmetic  # noqa: E402, F401  before NumPy
