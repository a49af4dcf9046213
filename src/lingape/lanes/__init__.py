"""Run explorers in compiled code; runs.play does it in Python, one ask and tell at a time.

A lane drives the parts of an explorer, or its plans, and makes no algorithm's decisions.
"""

from .compiled import CompiledLane, compiled_lane

__all__ = ["CompiledLane", "compiled_lane"]
