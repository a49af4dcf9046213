"""Let tests import naive.py beside them, and the benchmarks; and do without a GPU."""

import os
import signal
import sys
from pathlib import Path

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before numba

# Shells have what they start in the background ignore Ctrl-C, and nohup has it ignore SIGHUP.
# Programs that tests start would inherit that, and tests that stop them by a signal wait forever.
for name in ("SIGINT", "SIGHUP"):
    number = getattr(signal, name, None)  # Windows has no SIGHUP
    if number and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda number, frame: None)  # which nobody inherits

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import pytest  # noqa: E402

import arithmetic  # noqa: E402, F401  before NumPy


@pytest.fixture
def simulated_warps():
    """Let the threads of numba's simulator, which often wait for each other, take turns fast."""
    pytest.importorskip("numba_cuda")
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)
