"""Many runs: explorers × instances × seeds, in parallel, as rows."""

from .clock import Pace
from .files import read_instance, read_study
from .results import Cell, Results, Row
from .study import Builder, Study

__all__ = ["Builder", "Results", "Row", "Study", "Cell", "Pace", "read_instance", "read_study"]
