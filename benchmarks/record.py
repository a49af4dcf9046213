"""Write results together with the commit, machine and versions, and read them again."""

import json
from pathlib import Path
from typing import Any

from lingape.provenance import provenance

RESULTS = Path(__file__).parent / "results"


def read(name: str) -> dict[str, Any]:
    """Return what was last written to results/NAME.json."""
    data: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return data


def write(name: str, rows: list[dict[str, Any]], **more: str) -> Path:
    """Write rows to results/NAME.json and return where.

    more: what else they depend on, by name.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(provenance() | more | {"rows": rows}, indent=1) + "\n")
    return path
