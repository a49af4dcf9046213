"""Let tests import naive.py beside them, and the benchmarks; and do without a GPU."""

import os
import sys
from pathlib import Path

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import pytest  # noqa: E402

import arithmetic  # noqa: E402, F401  before NumPy


@pytest.fixture
def simulated_warps():
    """Let the threads of numba's simulator, which often wait for each other, take turns fast."""
    pytest.importorskip("numba.cuda.simulator.kernelapi")
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)
