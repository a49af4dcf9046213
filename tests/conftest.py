"""Let tests import naive.py, and warn of nothing but ourselves."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
