"""How the client reaches a server: without its extra, by proxies, over TLS, in child processes."""

import os
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

import pytest
from click.testing import CliRunner
from crew import problem
from outpost import Outpost, reserved

from lingape import Client
from lingape.cli import main
from lingape.errors import InvalidArgument, LingapeError, StorageFailed
from lingape.live import transport
from lingape.live.addresses import checked_url, proxy_for
from systems import posix

HEALTHY = b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"ok"}'
WITHOUT_URLLIB3 = """
import sys
sys.modules["urllib3"] = None
import lingape
from click.testing import CliRunner
from lingape.cli import main
from lingape.live import *
from lingape.live.server import create_app

url = sys.argv[1]
with Experiment.open(url, "ads", create=lingape.Problem([[1, 0], [0, 1]], noise=1)) as experiment:
    experiment.tell(experiment.ask()[0], 1.0)
create_app(url)
print([line.pulls for line in experiments(url)])
print(CliRunner().invoke(main, ["live", "status", url, "ads"]).exit_code)
try:
    lingape.Client("http://127.0.0.1:8000")
except lingape.errors.MissingExtra as error:
    print(error)
refused = CliRunner().invoke(main, ["live", "status", "http://127.0.0.1:8000", "ads"])
print(refused.exit_code, refused.stderr)
"""


def test_without_urllib3_all_but_the_client_works(url):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_URLLIB3, url], capture_output=True, text=True, check=True
    )
    said = 'Client needs urllib3, which is not installed: pip install "lingape[client]".'
    assert done.stdout.splitlines() == ["[1]", "0", said, f"1 Error: {said}", ""]


@contextmanager
def answering(answer, context=None):
    """Give the address of a server that always answers the same, and what it is asked."""
    asked = []

    def reply(caller):
        with context.wrap_socket(caller, server_side=True) if context else caller as connection:
            request = connection.recv(10_000)
            connection.sendall(answer)
            return request

    def serve():
        while True:
            caller, _ = listener.accept()
            with caller:
                if over:
                    return
                asked.append(b"")
                with suppress(OSError):  # the client hung up
                    asked[-1] = reply(caller)

    over = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}", asked
        finally:
            over.append(True)
            socket.create_connection(listener.getsockname()).close()
            thread.join()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_plain_requests_through_a_proxy(monkeypatch):
    with answering(HEALTHY) as (proxy, asked):
        monkeypatch.setenv("http_proxy", f"http://me:s%20cret@{proxy}")
        with Client("http://lab.example:8000/under", "a-token", retries=0) as client:
            assert client.health() == {"status": "ok"}
    head = asked[0].decode()
    assert head.startswith("GET http://lab.example:8000/under/api/health HTTP/1.1\r\n")
    assert "Host: lab.example:8000\r\n" in head and "Bearer a-token" in head
    assert "proxy-authorization: Basic bWU6cyBjcmV0\r\n" in head.replace("Proxy-A", "proxy-a")


def test_tunnels_through_a_proxy(monkeypatch):
    refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
    with answering(refusal) as (proxy, asked):
        monkeypatch.setenv("https_proxy", f"http://me:secret@{proxy}")
        with (
            Client("https://lab.example", retries=0) as client,
            pytest.raises(StorageFailed, match=rf"through the proxy {proxy}: .*403") as failed,
        ):
            client.health()
    assert asked[0].startswith(b"CONNECT lab.example:443 HTTP/1.")
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    ("settings", "url", "proxy"),
    [
        ({}, "http://a.example", None),
        ({"http_proxy": "proxy:3128"}, "http://a.example", "http://proxy:3128"),
        ({"http_proxy": "proxy:3128"}, "https://a.example", None),
        ({"HTTPS_PROXY": "https://proxy"}, "https://a.example", "https://proxy"),
        ({"all_proxy": "http://proxy"}, "https://a.example", "http://proxy"),
        ({"all_proxy": "http://proxy", "no_proxy": "a.example"}, "http://a.example", None),
        ({"all_proxy": "http://proxy", "no_proxy": "b.example"}, "http://a.example:8000", True),
        ({"all_proxy": "http://proxy"}, "http://127.0.0.1:8000", None),
        ({"all_proxy": "http://proxy"}, "http://localhost", None),
        ({"all_proxy": "http://proxy"}, "http://[::1]:8000", None),
    ],
)
def test_which_proxy(monkeypatch, settings, url, proxy):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(checked_url(url)) == ("http://proxy" if proxy is True else proxy)


def test_proxies_that_are_not_http(monkeypatch):
    monkeypatch.setenv("http_proxy", "socks5://me:secret@proxy")
    with pytest.raises(InvalidArgument, match=r"got socks5://\. .*no_proxy") as refused:
        Client("http://lab.example")
    assert "secret" not in str(refused.value)


@pytest.fixture
def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_certificates_that_are_not_trusted(tls):
    with answering(HEALTHY, tls) as (server, asked):
        with (
            Client(f"https://{server}") as client,
            pytest.raises(InvalidArgument, match=r"not trusted \(self.signed.*SSL_CERT_") as bad,
        ):
            client.health()
        refused = CliRunner().invoke(main, ["live", "status", f"https://{server}", "ads"])
    assert "again" not in str(bad.value) and "later" not in str(bad.value)
    assert refused.exit_code == 1
    assert len(asked) == 2  # neither was repeated


def test_certificates_that_are_trusted(tls, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with answering(HEALTHY, tls) as (server, _):
        with Client(f"https://{server}", retries=0) as client:
            assert client.health() == {"status": "ok"}
        elsewhere = server.replace("127.0.0.1", "localhost")
        with (
            Client(f"https://{elsewhere}") as client,
            pytest.raises(InvalidArgument, match="not valid for 'localhost'.*host name"),
        ):
            client.health()


@posix("quick answer of a port where nobody listens: a thousand take half an hour")
def test_trying_for_a_long_time_ends_with_the_same_words(monkeypatch):
    waits = []
    monkeypatch.setattr(transport.time, "sleep", waits.append)
    with (
        reserved() as nobody,
        Client(f"http://127.0.0.1:{nobody.getsockname()[1]}", retries=1_100) as client,
        pytest.raises(StorageFailed, match="refused.*Try again later: nothing is recorded twice"),
    ):
        client.health()
    assert len(waits) == 1_100 and 0.05 <= waits[0] <= 0.1 and 2.5 <= waits[-1] <= 5.0


def test_what_a_client_says_in_an_except_block():
    """The reason it gives is its own, not that of the exception that is being handled."""
    with reserved() as nobody:
        try:
            raise ValueError("something else")
        except ValueError:
            with pytest.raises(StorageFailed) as failed:
                Client(f"http://127.0.0.1:{nobody.getsockname()[1]}", retries=0).health()
    assert "something else" not in str(failed.value)


@posix("os.fork")
def test_child_processes_have_connections_of_their_own(url):
    with Outpost(url) as server, Client(server.url) as client:
        remote = client.create("ads", problem())
        idle = client._transport._idle
        assert len([each for each in idle.queue if each]) == 1
        with idle.mutex:  # as if another thread were about to take a connection
            child = os.fork()
        if child == 0:
            try:
                ours = [each for each in idle.queue if each]
                os._exit(len(ours) + 10 * (remote.add(0, 1.0).pulls != 1))
            except LingapeError:
                os._exit(100)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len([each for each in idle.queue if each]) == 1  # still the parent's
        assert remote.add(0, 1.0).pulls == 2


def test_connections_that_are_given_up(url):
    with Outpost(url) as server, Client(server.url) as client:
        remote = client.create("ads", problem())
        lines = remote.export_lines()
        assert next(lines)
        lines.close()  # the rest is never read
        assert remote.status().pulls == 0
        client.hang_up()
        assert [each for each in client._transport._idle.queue if each] == []
        assert remote.status().pulls == 0
