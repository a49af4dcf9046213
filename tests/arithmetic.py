"""Have all machines add up in the same order, so that what guides print is the same everywhere.

OpenBLAS, which NumPy brings along, has kernels for each kind of processor, and these round
differently. Where several plans are equally good, the last digit decides between them, and with it
what happens afterwards. Import this before NumPy.
"""

import os
from pathlib import Path

try:
    _processor = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
except OSError:
    _processor = ""
if " avx2 " in _processor:
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
