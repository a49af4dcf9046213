"""What a server does about clients that connect and send nothing, or half of something."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest
import uvicorn
from uvicorn.server import ServerState

import lingape
from lingape.live.server import Limits
from lingape.live.server.connections import FEW, FULL, most_connections, protocol
from systems import posix

PROBLEM = lingape.Problem([[1, 0], [0, 1]], noise=1.0)
HALF = b"GET / HTTP/1.1\r\nHost: local"
HALF_BODY = (
    b"POST /api/experiments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n{"name"'
)
STREAM = b"GET /api/experiments/ads/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
SERVE = """
import sys
from lingape.live.server import Limits
from lingape.live.serving import Service, serve

url, files, limits = sys.argv[1], int(sys.argv[2]), eval(sys.argv[3])
if files:
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
serve(Service(url, port=0, limits=limits), ready=lambda url: print(url, flush=True))
"""


class Stalled:
    """A server, and connections to it."""

    def __init__(self, url, folder, limits, files):
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVE, url, str(files), repr(limits)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.log.read_text()
        self.sockets = []

    def connect(self, text=b""):
        """Connect, and send a text."""
        place = "127.0.0.1", int(self.url.rsplit(":", 1)[1])
        connection = socket.create_connection(place, timeout=60)
        self.sockets.append(connection)
        connection.sendall(text)
        return connection

    def answered(self, request, word):
        """Send a whole request, until it arrives within the limits and is answered with a word."""
        for _ in range(20):
            connection = self.connect(request)
            if heard(connection, word):
                return connection
        raise AssertionError(f"the server hung up each time, without {word}")

    def health(self, retries=0):
        with lingape.Client(self.url, retries=retries) as client:
            return client.health()["status"]


@pytest.fixture
def stalled(url, tmp_path):
    servers = []

    def start(limits, files=0):
        servers.append(Stalled(url, tmp_path, limits, files))
        return servers[-1]

    yield start
    for server in servers:
        server.process.kill()
        server.process.wait()
        server.process.stdout.close()
        for connection in server.sockets:
            connection.close()


def ended(connection):
    """Wait until the server has hung up."""
    try:
        while connection.recv(1000):
            pass
    except ConnectionError:  # which kind depends on the system
        pass
    return True


def heard(connection, word):
    """Read until a word arrives, or the server hangs up."""
    text = b""
    while word not in text:
        piece = connection.recv(1000)
        if not piece:
            return False
        text += piece
    return True


@contextmanager
def open_files(most):
    """Let this process, and those that it starts, have so many files open."""
    import resource  # not on Windows

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def room():
    """Files for more connections than macOS allows a process to begin with."""
    with open_files(1_000):
        yield


@posix("limit on open files")
def test_half_a_head_on_more_sockets_than_there_may_be_files(room, stalled):
    server = stalled(Limits(), files=300)
    crowd = [server.connect(HALF) for _ in range(400)]
    assert server.health() == "ok"
    assert all(ended(connection) for connection in crowd[:250])  # these made room for others
    assert server.health() == "ok"
    assert server.log.read_text() == ""


@pytest.mark.parametrize("text", [b"", HALF, HALF_BODY])
def test_clients_that_send_half_a_request_are_disconnected(stalled, text):
    server = stalled(Limits(head=0.3, body=0.3))
    assert all(ended(server.connect(text)) for _ in range(3))
    whole = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    connection = server.answered(whole, b"version")
    connection.sendall(HALF)  # after a whole one
    assert ended(connection)
    assert server.health(retries=8) == "ok" and server.log.read_text() == ""


def test_streams_stay_open_and_have_their_room(stalled):
    server = stalled(Limits(connections=2, head=0.3, body=0.3))
    with lingape.Client(server.url) as client:
        experiment = client.create("ads", PROBLEM)
        client.hang_up()
        first = server.answered(STREAM, b'"pulls": 0')
        for text in (HALF, HALF_BODY):
            assert ended(server.connect(text))  # much later
        experiment.add(0, 1.0)
        assert heard(first, b'"pulls": 1')
        client.hang_up()
        server.answered(STREAM, b'"pulls": 1')
        server.answered(STREAM, b"no connection to spare")  # none can be spared


@pytest.mark.parametrize("text", [HALF, HALF_BODY])
def test_the_connection_that_waited_longest_makes_room(stalled, text):
    server = stalled(Limits(connections=3, head=1e6, body=1e6))
    crowd = []
    for _ in range(6):
        crowd.append(server.connect(text))
        assert text is HALF or heard(crowd[-1], b"100 Continue")  # it waits for the rest
    assert all(ended(connection) for connection in crowd[:3])
    assert server.health() == "ok"
    assert ended(crowd[3])
    crowd[5].settimeout(0.0)
    with pytest.raises(BlockingIOError):
        crowd[5].recv(1)


def test_nonsense_does_not_fill_the_log(stalled):
    server = stalled(Limits())
    for _ in range(5 * FEW):
        assert ended(server.connect(b"nonsense\r\n\r\n"))
    assert server.log.read_text().count("Invalid HTTP request") == FEW


def test_clients_that_do_not_read_their_answer_are_disconnected():
    class Transport:
        aborted = False

        def get_extra_info(self, name):
            return None

        def is_closing(self):
            return self.aborted

        def abort(self):
            self.aborted = True

    async def stall(writes):
        limits = Limits(stall=0.01)
        config = uvicorn.Config(lambda: None, http=protocol(limits))
        config.load()
        connection = config.http_protocol_class(config, ServerState(), {})
        transport = Transport()
        connection.connection_made(transport)
        connection.pause_writing()
        if writes:
            connection.resume_writing()
        later = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(10 * limits.stall, later.set_result, None)
        await later  # what was to happen before has happened
        return transport.aborted

    assert asyncio.run(stall(writes=False))
    assert not asyncio.run(stall(writes=True))


def test_clients_that_read_no_answer_make_room_for_others(stalled):
    server = stalled(Limits(connections=3, stall=600.0))
    for _ in range(3):
        connection = server.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        with suppress(BlockingIOError):  # until there is no room for more answers
            while True:
                connection.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
    for _ in range(600):
        try:
            assert server.health() == "ok"
            return
        except lingape.errors.StorageFailed:  # it has not noticed yet that they take nothing
            time.sleep(0.1)
    raise AssertionError("there was never any room")


@posix("limit on open files")
def test_there_are_fewer_connections_than_files():
    for number, most in ((10_000, 1_000), (1_024, 832), (200, 50)):
        with open_files(number):
            assert most_connections(Limits()) == most


def test_the_answer_of_a_full_server_is_whole():
    head, body = FULL.split(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert json.loads(body)["error"]
