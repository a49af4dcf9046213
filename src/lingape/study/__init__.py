"""Many runs: explorers × instances × seeds, side by side, as rows."""

from .clock import Tally
from .files import read_instance, read_study
from .results import Results, Summary
from .rows import Row
from .study import Builder, Study

__all__ = ["Builder", "Results", "Row", "Study", "Summary", "Tally", "read_instance", "read_study"]
