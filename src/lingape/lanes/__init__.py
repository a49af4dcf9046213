"""Who drives explorers: asking and telling in Python (runs.play), or compiled code.

A lane drives the parts of an explorer and knows no algorithm.
"""

from .compiled import CompiledLane, compiled_lane

__all__ = ["CompiledLane", "compiled_lane"]
