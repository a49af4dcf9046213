"""Have all machines add up in the same order, so that what guides print is the same everywhere.

OpenBLAS, which NumPy brings along, has kernels for each kind of processor, and these round
differently. Where several plans are equally good, the last digit decides between them, and with it
what happens afterwards. Import this before NumPy. It can only do so on Linux and x86-64 with
AVX2, and NumPy from 2.5 on adds up in other ways. FIXED says whether sums are those of the guides.
"""

import os
from importlib.metadata import version
from pathlib import Path

try:
    _processor = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
except OSError:
    _processor = ""
FIXED = False
if " avx2 " in _processor:
    FIXED = os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell") == "Haswell"
if tuple(map(int, version("numpy").split(".")[:2])) >= (2, 5):
    FIXED = False
