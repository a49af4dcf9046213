"""What do the largest experiment on a server, a list of many, and threads of BLAS cost?

python -m benchmarks.live_costs
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import write
from lingape import Experiment, Problem
from lingape.cli.threads import VARIABLES
from lingape.live import experiments
from lingape.live.model_check import check
from lingape.printable import markdown_table

EXPLORER = "lingape(start=spanning)"
OPEN = """
import sys, time
from lingape import Experiment
begun = time.perf_counter()
Experiment.open(sys.argv[1], "many").close()
print(time.perf_counter() - begun)
"""


def created(folder: Path, arms: int, features: int, digits: int) -> dict[str, Any]:
    """Create an experiment on a server, and measure the memory that it took."""
    values = np.random.default_rng(0).random((arms, features)).round(digits)
    body = {"name": "many", "explorer": EXPLORER, "problem": {"arms": values.tolist()}}
    text = json.dumps(body, separators=(",", ":")).encode()
    server = subprocess.Popen(
        [sys.executable, "-m", "lingape", "serve", "--db", f"sqlite:///{folder}/created-{arms}.db"]
        + ["--port", "0", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    port = int(json.loads(server.stdout.readline())["url"].rsplit(":", 1)[1])
    calls = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    calls.request("GET", "/api/health")
    calls.getresponse().read()
    before = _memory(server.pid)
    begun = time.perf_counter()
    calls.request("POST", "/api/experiments", text, {"Content-Type": "application/json"})
    status = calls.getresponse().status
    taken = time.perf_counter() - begun
    row = {
        "what": f"create {arms} arms with {features} features, {len(text) / 1e6:.1f} MB",
        "status": status,
        "seconds": round(taken, 1),
        "server_MB_before": before,
        "server_MB_at_most": _memory(server.pid),
    }
    calls.close()
    server.terminate()
    server.communicate()
    return row


def _memory(process: int) -> int:
    """Return how much memory a process has had at most, in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM")]
    return round(int(line.split()[1]) / 1024)


def threads(folder: Path, arms: int, features: int) -> dict[str, Any]:
    """Open an experiment with as many threads as BLAS takes, and with one."""
    url = f"sqlite:///{folder}/threads.db"
    problem = Problem(np.random.default_rng(0).normal(size=(arms, features)), noise=1.0)
    Experiment.open(url, "many", create=problem, explorer=EXPLORER).close()
    free = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    row: dict[str, Any] = {"what": f"open {arms} arms with {features} features"}
    for name, environment in (
        ("default", free),
        ("one_thread", free | {"OPENBLAS_NUM_THREADS": "1"}),
    ):
        taken = [
            float(subprocess.check_output([sys.executable, "-c", OPEN, url], env=environment))
            for _ in range(3)
        ]
        row |= {
            f"{name}_median_s": round(sorted(taken)[1], 2),
            f"{name}_max_s": round(max(taken), 2),
        }
    return row | {"cores": os.cpu_count()}


def listed(folder: Path, count: int, rewards: int) -> dict[str, Any]:
    """List many experiments, and measure how much of the time is the model check."""
    url = f"sqlite:///{folder}/listed.db"
    for i in range(count):
        with Experiment.open(url, f"e{i}", create=Problem(np.eye(6), noise=1.0)) as experiment:
            for k in range(rewards):
                experiment.add(k % 6, 0.1 * k)
    begun = time.perf_counter()
    assert len(experiments(url)) == count
    taken = time.perf_counter() - begun
    with Experiment.open(url, "e0") as experiment, experiment.current() as replay:
        begun = time.perf_counter()
        for _ in range(100):
            check(replay, time.time())
        checking = (time.perf_counter() - begun) / 100
    return {
        "what": f"list {count} experiments with {rewards} rewards",
        "seconds": round(taken, 2),
        "ms_per_experiment": round(1e3 * taken / count, 2),
        "ms_of_which_check": round(1e3 * checking, 2),
    }


def main() -> None:
    """Print and record all of it."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in (
            created(Path(folder), 17_000, 50, 16),
            created(Path(folder), 19_999, 50, 1),
            threads(Path(folder), 10_000, 50),
            listed(Path(folder), 200, 20),
        ):
            rows.append(row | {"load_average": round(os.getloadavg()[0], 1)})
            cells = [[name, str(value)] for name, value in rows[-1].items()]
            print(markdown_table(cells), flush=True)
    print(write("live-costs", rows))


if __name__ == "__main__":
    main()
