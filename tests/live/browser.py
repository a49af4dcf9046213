"""A server and a browser, for tests of the dashboard and for its pictures in docs/images.

    python tests/live/browser.py docs/images

takes the pictures.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from outpost import reserved

CHROMIUM = Path("/usr/bin/chromium")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Missing(Exception):
    """There is no browser here; says what to install."""


@contextmanager
def chromium():
    """Give Debian's chromium, driven by Playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as reason:
        raise Missing("Playwright is not installed (pip install playwright)") from reason
    if not CHROMIUM.exists():
        raise Missing(f"there is no {CHROMIUM} (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=SWITCHES, timeout=120_000
        )
        yield browser
        browser.close()


class Server:
    """`lingape serve` as a process of its own, and a way to call it."""

    def __init__(self, db: str, *, read_token: str | None = None, write_token: str | None = None):
        self.db, self._token = db, write_token
        self._place = reserved()
        self.port = self._place.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        tokens = {"LINGAPE_READ_TOKEN": read_token, "LINGAPE_WRITE_TOKEN": write_token}
        self._environment = os.environ | {k: v for k, v in tokens.items() if v is not None}
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "lingape", "serve", "--db", self.db]
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port)], env=self._environment
        )
        end = time.monotonic() + 60
        while True:
            try:
                self.get("/api/health")
                return
            except (urllib.error.URLError, ConnectionError):
                if self._process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise
                time.sleep(0.1)

    def stop(self) -> None:
        """End it as if the power had failed."""
        self._process.kill()
        self._process.wait()

    def get(self, path):
        return self._call(urllib.request.Request(self.url + path))

    def post(self, path, body):
        return self._call(
            urllib.request.Request(
                f"{self.url}/api/experiments{path}",
                data=json.dumps(body).encode(),
                headers={"Content-Type": "application/json"},
            )
        )

    def _call(self, request):
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def create(self, name, arms, *, explorer="race", **problem):
        problem = {"arms": arms, **problem}
        return self.post("", {"name": name, "problem": problem, "explorer": explorer})

    def play(self, name, means, *, pulls, noise=0.0, worker="gpu-1", seed=0):
        """Ask and tell so often, or until it is settled; return whether it is."""
        rng = np.random.default_rng(seed)
        for _ in range(pulls):
            (ticket,) = self.post(f"/{name}/ask", {"worker": worker})["tickets"]
            reward = float(means[ticket["arm"]] + noise * rng.standard_normal())
            if self.post(f"/{name}/tell", {"ticket": ticket["id"], "reward": reward})["settled"]:
                return True
        return False


@contextmanager
def serving(db: str, **tokens: str) -> Iterator[Server]:
    """Give a server, and end it afterwards."""
    server = Server(db, **tokens)
    try:
        yield server
    finally:
        server.stop()
        server._place.close()


PARTS = ["step by step", "three examples", "a role", "the rules twice", "a checklist"]
PAIRS = [(i, j) for i in range(5) for j in range(i)]


def prompts():
    """Return prompts of one or two parts: names, features (1 and the parts), and true means."""
    chosen = [(i,) for i in range(5)] + PAIRS
    names = [" and ".join(PARTS[i] for i in sorted(some)) for some in chosen]
    arms = [[1.0] + [float(i in some) for i in range(5)] for some in chosen]
    return names, arms, np.array(arms) @ [0.3, 0.2, 0.12, 0.05, 0.02, -0.1]


def picture(folder: Path) -> None:
    """Take the pictures of the documentation."""
    names, arms, means = prompts()
    with tempfile.TemporaryDirectory() as place, serving(f"sqlite:///{place}/run.db") as server:
        server.create("prompts", arms, names=names, noise=0.5, epsilon=0.1)
        server.create("subject-lines", np.eye(4).tolist(), noise=0.5, epsilon=0.05)
        server.play("subject-lines", [0.1, 0.2, 0.15, 0.12], pulls=40, noise=0.5)
        server.play("prompts", means, pulls=700, noise=0.4)
        server.post("/prompts/ask", {"n": 4, "worker": "gpu-2", "ttl": "6h"})
        server.post("/prompts/ask", {"n": 1, "worker": "gpu-3", "ttl": 0.1})  # soon overdue
        with chromium() as browser:
            shoot(browser, server, folder / "dashboard-running.png", 1000, 1150, "light")
            shoot(browser, server, folder / "dashboard-phone.png", 360, 740, "light")
            while not server.play("prompts", means, pulls=500, noise=0.4, seed=1):
                pass
            shoot(browser, server, folder / "dashboard-settled.png", 1000, 1150, "dark")


def shoot(browser, server, path, width, height, scheme):
    """Take one picture of the experiment."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(f"{server.url}/#/prompts")
    page.wait_for_selector("[data-state=live]")
    page.wait_for_selector("#log tbody tr")
    page.screenshot(path=str(path))
    context.close()


if __name__ == "__main__":
    picture(Path(sys.argv[1]))
