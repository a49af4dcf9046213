"""How long does the page take to appear, with few arms and with many?

    python -m benchmarks.page [--arms 10000] [--times 7]

From opening an experiment's address in chromium until the verdict and the first chart are drawn:
medians, in ms, and how much longer than with ten arms. The server has just started, and has the
experiment open.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from lingape import Client, Problem
from lingape.errors import StorageFailed

CHROMIUM = "/usr/bin/chromium"
PORT = 8739


def begin(client: Client, arms: int) -> str:
    """Begin an experiment and tell a few rewards; return its name."""
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, (arms, 8)).round(3)
    name = f"arms-{arms}"
    experiment = client.create(name, Problem(features, noise=0.5, epsilon=0.05))
    for _ in range(40):
        (ticket,) = experiment.ask()
        mean = 0.1 * features[ticket.arm].sum()
        experiment.tell(ticket.id, float(mean + 0.4 * rng.standard_normal()))
    return name


def opening(browser: Browser, url: str, times: int) -> float:
    """Return how long a page takes to appear, in seconds."""
    taken = []
    for _ in range(times):
        context = browser.new_context()
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url)
        page.wait_for_selector(".verdict:not(:empty)")
        page.wait_for_selector("svg.chart")
        taken.append(time.perf_counter() - start)
        context.close()
    return statistics.median(taken)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--arms", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = f"sqlite:///{Path(folder)}/run.db"
        serve = [sys.executable, "-m", "lingape", "serve", "--db", db, "--port", str(PORT)]
        server = subprocess.Popen(serve, stdout=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{PORT}"
            with Client(url) as client, sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=CHROMIUM, args=["--no-sandbox"]
                )
                _wait(client)
                names = [begin(client, arms) for arms in (10, options.arms)]
                few, many = (opening(browser, f"{url}/#/{one}", options.times) for one in names)
                browser.close()
            print("| arms | ms | ratio |\n|---:|---:|---:|")
            print(f"| 10 | {1e3 * few:.0f} | 1 |")
            print(f"| {options.arms:,} | {1e3 * many:.0f} | {many / few:.2f} |")
        finally:
            server.terminate()
            server.wait()


def _wait(client: Client) -> None:
    """Wait until the server answers."""
    for _ in range(60):
        try:
            client.health()
            return
        except StorageFailed:
            time.sleep(0.5)
    raise SystemExit("The server does not answer.")


if __name__ == "__main__":
    main()
