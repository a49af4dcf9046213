"""What tests of experiments share."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import browser
import postgres


def lacking(what, reason):
    """Skip a test; in CI, where everything is installed, fail."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(f"This needs {what}: {reason}.")


@pytest.fixture
def sqlite_url(tmp_path):
    """A file of SQLite that is not there yet."""
    return f"sqlite:///{tmp_path}/run.db"


@pytest.fixture(scope="session")
def postgres_server():
    """A server of PostgreSQL."""
    try:
        server = postgres.Server()
    except postgres.Missing as reason:
        lacking("PostgreSQL", reason)
    yield server
    server.remove()


@pytest.fixture(scope="module")
def chromium():
    """A browser. Not for the session: as long as it runs, other loops of asyncio cannot."""
    try:
        with browser.chromium() as found:
            yield found
    except browser.Missing as reason:
        lacking("a browser", reason)


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that no authority signed."""
    path = tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", "-", "-out", "-", "-days", "30", "-subj", "/CN=lab.example"]
    try:
        made = subprocess.run(
            [*command, "-addext", "subjectAltName=IP:127.0.0.1"], capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as reason:
        lacking("openssl", reason)
    path.write_bytes(made.stdout)
    return path


@pytest.fixture
def postgres_url(postgres_server):
    """A new database of PostgreSQL."""
    postgres_server.empty()
    return postgres_server.url


@pytest.fixture(params=["sqlite", "postgres"])
def each_url(request):
    """A new database of each kind."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def url(sqlite_url):
    """A new database; modules that make it each_url are tested on each kind."""
    return sqlite_url


@pytest.fixture(scope="session")
def context():
    """Processes that start fast, whatever threads this one has."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crew", "lingape.live"])
    return context


class Clock:
    """A clock that goes as told."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()
