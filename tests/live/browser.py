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

from lingape import Factors, Problem

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

    def play(self, name, means, *, pulls, noise=0.0, worker="gpu-1", seed=0, binary=False):
        """Ask and tell so often, or until it is settled; return whether it is."""
        rng = np.random.default_rng(seed)
        for _ in range(pulls):
            (ticket,) = self.post(f"/{name}/ask", {"worker": worker})["tickets"]
            reward = float(means[ticket["arm"]] + noise * rng.standard_normal())
            if binary:
                reward = float(rng.random() < means[ticket["arm"]])
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


TONES, OFFERS, LENGTHS = ("warm", "dry", "playful"), ("no offer", "discount"), ("short", "long")


def mails():
    """Return mails made of three factors: the problem as JSON, and true rates."""
    factors = Factors({"tone": TONES, "offer": OFFERS, "length": LENGTHS})
    problem = Problem(factors, noise="binary", epsilon=0.1, control=0)
    levels = [factors.levels(arm) for arm in range(len(problem))]
    rates = [
        0.2
        + 0.1 * (one["tone"] == "dry")
        + 0.25 * (one["offer"] == "discount")
        + 0.05 * (one["length"] == "short")
        for one in levels
    ]
    return problem.to_dict(), rates


def picture(folder: Path) -> None:
    """Take the pictures of the documentation."""
    names, arms, means = prompts()
    with tempfile.TemporaryDirectory() as place, serving(f"sqlite:///{place}/run.db") as server:
        about = {"question": "Which prompt answers best?", "owner": "Evaluation team"}
        problem = {"arms": arms, "names": names, "noise": 0.5, "epsilon": 0.1}
        server.post("", {"name": "prompts", "problem": problem, **about})
        problem = {"arms": np.eye(4).tolist(), "noise": 0.5, "epsilon": 0.05}
        server.post("", {"name": "subject-lines", "problem": problem})
        problem, rates = mails()
        about = {
            "question": "Which mail brings people back?",
            "notes": "We believe that a discount helps, and that short mails are read.",
            "owner": "Growth team",
        }
        server.post("", {"name": "mails", "problem": problem, **about})
        server.play("subject-lines", [0.1, 0.2, 0.15, 0.12], pulls=40, noise=0.5)
        server.play("prompts", means, pulls=400, noise=0.4)
        server.post("/prompts/ask", {"n": 4, "worker": "gpu-2", "ttl": "6h"})
        server.post("/prompts/ask", {"n": 1, "worker": "gpu-3", "ttl": 0.1})  # soon overdue
        while not server.play("mails", rates, pulls=500, binary=True, seed=1):
            pass
        with chromium() as browser:
            shoot(browser, server, folder / "page-list.png", "", 1000, 560, "light")
            shoot(browser, server, folder / "page-running.png", "prompts", 1000, 1300, "dark")
            shoot(browser, server, folder / "page-phone.png", "mails", 360, 740, "light")
            shoot(browser, server, folder / "page-settled.png", "mails", 1000, 1300, "light")
            shoot(browser, server, folder / "page-verdict.png", "mails", 1000, 506, "light")


def shoot(browser, server, path, route, width, height, scheme):
    """Take one picture of the page."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(f"{server.url}/#/{route}")
    page.wait_for_selector("svg.chart" if route else "table.list a")
    page.wait_for_selector("[data-state=live]" if route else "[data-state=polling]")
    page.screenshot(path=str(path))
    context.close()


if __name__ == "__main__":
    picture(Path(sys.argv[1]))
