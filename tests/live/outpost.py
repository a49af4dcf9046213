"""Servers for tests, and a proxy that makes trouble."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings

with warnings.catch_warnings():  # it prefers the successor of httpx, and takes both
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

__all__ = ["ENDED", "Flaky", "Outpost", "TestClient", "reserved"]


ENDED = 1 if sys.platform == "win32" else 0  # after SIGTERM, by which Windows kills


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
            self.process.kill()
            self.wait()
        elif not self.process.stdout.closed:
            self.process.stdout.close()


class Flaky:
    """A proxy that answers some requests with trouble, before or after passing them on."""

    def __init__(self, target):
        self.target, self.tricks, self.over = target, [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            with client:
                if self.over:
                    return
                trick = self.tricks.pop(0) if self.tricks else "pass"
                request = self.request(client)
                if trick == "drop":
                    continue
                if trick == "refuse":
                    client.sendall(
                        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n"
                        b"Connection: close\r\n\r\n"
                    )
                    continue
                if trick == "hang up":
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                    continue
                if trick == "busy":
                    client.sendall(
                        b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n"
                        b"Connection: close\r\n\r\n"
                    )
                    continue
                with socket.create_connection(("127.0.0.1", self.target)) as server:
                    server.sendall(request)
                    answer = b""
                    while piece := server.recv(65536):
                        answer += piece
                client.sendall(answer[: len(answer) // 2] if trick == "cut" else answer)

    def request(self, client):
        text = b""
        while b"\r\n\r\n" not in text:
            text += client.recv(65536)
        head, body = text.split(b"\r\n\r\n", 1)
        size = [
            int(line[15:])
            for line in head.lower().split(b"\r\n")
            if line[:15] == b"content-length:"
        ]
        while len(body) < sum(size):
            body += client.recv(65536)
        return head + b"\r\nConnection: close\r\n\r\n" + body

    def close(self):
        self.over = True
        socket.create_connection(self.listener.getsockname()).close()
        self.thread.join()
        self.listener.close()
