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
