"""Write results together with the commit, machine and versions."""

import json
from pathlib import Path
from typing import Any

from lingape.provenance import provenance

RESULTS = Path(__file__).parent / "results"


def write(name: str, rows: list[dict[str, Any]]) -> Path:
    """Write rows to results/NAME.json and return where."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(provenance() | {"rows": rows}, indent=1) + "\n")
    return path


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    )
