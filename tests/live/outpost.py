"""A server for tests: in this process, or in one of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import warnings

with warnings.catch_warnings():  # it prefers the successor of httpx, and takes both
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

__all__ = ["Outpost", "TestClient", "reserved"]


def reserved():
    """Return a socket that keeps a port for servers that come and go, and that nobody else gets.

    As it does not listen, calls are refused while there is no server.
    """
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", 0))
    return place


class Outpost:
    """A running `lingape serve`."""

    def __init__(self, database, *options, port=0, environment=None):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lingape", "serve", "--db", database, "--json"]
            + ["--port", str(port), *map(str, options)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | (environment or {}),
            start_new_session=True,
        )
        line = self.process.stdout.readline()
        assert line, f"the server did not start: exit code {self.process.wait()}"
        self.url = json.loads(line)["url"]
        self.port = int(self.url.rsplit(":", 1)[1])

    def end(self, number=signal.SIGTERM):
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self, timeout=60):
        code = self.process.wait(timeout)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        elif not self.process.stdout.closed:
            self.process.stdout.close()
