"""No request gives a 5xx: requests generated from the OpenAPI document.

Schemathesis also checks that answers are as the document says. It must not check that whatever
matches the document is accepted: it cannot say that all rows of features have the same length.
"""

import json
import subprocess
import sys
from urllib.request import urlopen

import pytest
from outpost import Outpost

from lingape import Client, Problem

pytest.importorskip("schemathesis")


@pytest.mark.parametrize("there", [True, False])
def test_generated_requests(url, tmp_path, there):
    """About an experiment that exists, and about any."""
    settings = '[checks.negative_data_rejection]\nexpected-statuses = ["4xx"]\n'  # also 413
    if there:
        settings += '[parameters]\n"path.name" = "ads"\n'
    (tmp_path / "schemathesis.toml").write_text(settings)
    with Outpost(url) as server, Client(server.url) as client:
        client.create("ads", Problem([[1, 0], [0, 1]], delta=1e-6, noise=1.0))
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
        found = subprocess.run(
            [
                *command,
                "--seed=1",
                "--max-examples=12",
                "--request-timeout=120",
                "--exclude-path-regex=stream$",  # which does not end
                "--checks=all",
                "--exclude-checks=positive_data_acceptance",
                "--generation-database=none",
                "--no-color",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert found.returncode == 0, (
            found.stdout[:3000] + found.stdout[-3000:] + found.stderr[-2000:]
        )
        with urlopen(f"{server.url}/openapi.json") as document:
            paths = json.load(document)["paths"]
        tested = sum(len(verbs) for path, verbs in paths.items() if not path.endswith("stream"))
        assert tested >= 12 and f"Tested: {tested}\n" in found.stdout
        assert client.health()["status"] == "ok"
        client.experiment("ads").verify()
