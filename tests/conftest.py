"""Let tests import naive.py beside them, and the benchmarks; and do without a GPU."""

import os
import sys
from pathlib import Path

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import threading  # noqa: E402

import pytest  # noqa: E402

import arithmetic  # noqa: E402, F401  before NumPy


@pytest.fixture
def simulated_warps(monkeypatch):
    """Let the threads of numba's simulator, which often wait for each other, take turns fast.

    The simulator's own way to make shared arrays is not safe then: threads may get two.
    """
    kernelapi = pytest.importorskip("numba.cuda.simulator.kernelapi")
    lock = threading.Lock()

    def array(shared, shape, dtype):
        line = sys._getframe(1).f_lineno
        with lock:
            if line not in shared._allocations:
                shared._allocations[line] = kernelapi.np.empty(shape, dtype)
            return shared._allocations[line]

    monkeypatch.setattr(kernelapi.FakeCUDAShared, "array", array)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)
