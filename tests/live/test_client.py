"""The client, and the shell, against a server."""

import inspect
import json
import select
import socket
import threading
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from crew import problem, pull
from outpost import Flaky, Outpost, reserved
from tamper import change as tamper

from lingape import Client, Experiment, Problem
from lingape.cli import main
from lingape.errors import (
    Conflict,
    ExplorationOver,
    InvalidArgument,
    InvalidProblem,
    InvalidState,
    LingapeError,
    NotFound,
    StorageFailed,
)
from lingape.live import RemoteExperiment, Settled, Unreadable, experiments

EASY = Problem([[1, 0], [0, 1]], noise=0.5, names=["red", "blue"])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with Outpost(f"sqlite:///{folder}/run.db") as server:
        server.database = f"sqlite:///{folder}/run.db"
        yield server


@pytest.fixture
def client(server):
    with Client(server.url) as client:
        yield client


@pytest.fixture
def name(request):
    """A name for an experiment that no other test uses."""
    return request.node.name[:100]


def test_the_same_as_an_experiment(server, client, name, tmp_path):
    remote = client.create(name, EASY, explorer="lin_t3c", seed=3)
    with Experiment.open(server.database, name) as local:
        assert local.problem == EASY
        for _ in range(3):
            first, second = remote.ask(2, worker="me", ttl="6h")
            assert first.features == tuple(EASY.arms[first.arm]) and first.deadline is not None
            remote.tell(first.id, np.float64([1.0, 0.0][first.arm]))
            remote.tell(first.id, [1.0, 0.0][first.arm])
            remote.void(second.id, "node lost")
        remote.add(np.int64(1), 0.0, key="k")
        remote.add(1, 0.0, key="k")
        assert remote.status() == local.status() and len(remote.status().standings) == 2
        assert remote.status().to_dict() == local.status().to_dict()
        assert str(remote.status()) == str(local.status())
        assert str(remote.certificate()) == str(local.certificate())
        assert remote.certificate() == local.certificate()
        assert remote.check() == local.check()
        assert remote.problem == local.problem
        assert remote.events() == local.events()
        assert remote.events(2, limit=3) == local.events(2, limit=3)
        while not remote.status().settled:
            remote.add(0, 1.0)
            remote.add(1, 0.0)
        assert remote.certificate() == local.certificate() and remote.certificate().settled
        assert remote.verify() == local.verify()
        assert remote.status() == local.status()
        assert remote.history() == local.history() and len(local.history(2)) == 2
        assert isinstance(remote.events()[-1], Settled)
        remote.export(tmp_path / "remote.jsonl")
        local.export(tmp_path / "local.jsonl")
        assert (tmp_path / "remote.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
        with pytest.raises(ExplorationOver, match="No arm is better than red"):
            remote.ask()
        assert [now.settled for now in remote.watch()] == [True]
        line = next(line for line in client.experiments() if line.name == name)
        assert (line.arms, line.settled, line.answer_name, line.leader) == (2, True, "red", 0)
        assert client.experiments() == experiments(server.url) == experiments(server.database)


def test_a_program_can_move_to_a_server():
    """Every method of Experiment exists for one on a server, with the same parameters."""
    here = {"open", "from_export", "current"}  # about databases
    for name in (name for name in vars(Experiment) if name[0] != "_" and name not in here):
        ours, theirs = getattr(Experiment, name), getattr(RemoteExperiment, name)
        if callable(ours):
            assert inspect.signature(ours) == inspect.signature(theirs), name


def test_errors_are_those_of_experiments(client, name):
    remote = client.create(name, EASY)
    assert client.health()["status"] == "ok"
    with pytest.raises(Conflict, match="another name"):
        client.create(name, EASY, seed=1)
    with pytest.raises(InvalidArgument, match="No explorer"):
        client.create("new", EASY, explorer="nobody")
    with pytest.raises(InvalidProblem, match="too thin"):
        client.create("new", Problem([[1, 1], [1, 1 + 1e-13]], noise=1.0))
    with pytest.raises(NotFound, match="no experiment"):
        client.experiment("nobody").status()
    with pytest.raises(NotFound, match="No ticket"):
        remote.tell("x", 1.0)
    for wrong in (float("nan"), float("inf"), "1", None, object()):
        with pytest.raises(InvalidArgument):
            remote.tell("x", wrong)
    for strange in ("", "a b", "../x", "?", "\ud800", "x/y"):
        with pytest.raises((InvalidArgument, NotFound)):
            client.experiment(strange).certificate()
    (ticket,) = remote.ask()
    remote.tell(ticket.id, 1.0)
    with pytest.raises(Conflict, match="told 1.0"):
        remote.tell(ticket.id, 2.0)
    assert len(remote.events()) == 3


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:8000", "ftp://x", "http://", "http://a:b@c", "http://a?b", "http://a:x", None]
    + ["http://[::1", "http://a..b", "http://a b", "http://a/b c", "http://a/ä", b"http://a", 5],
)
def test_urls(url):
    with pytest.raises(InvalidArgument):
        Client(url)
    with pytest.raises(InvalidArgument):
        Client("http://127.0.0.1", "tok\nen")
    for settings in ({"retries": -1}, {"retries": 1.5}, {"timeout": 0}, {"timeout": "soon"}):
        with pytest.raises(InvalidArgument):
            Client("http://127.0.0.1", **settings)
    assert "secret" not in repr(Client("http://127.0.0.1", "secret-token"))


def test_a_problem_that_is_too_large_is_refused(client, name):
    """Also if the server decides that long before everything is sent."""
    with pytest.raises(InvalidArgument, match="at most 1000000 numbers"):
        client.create(
            name, Problem(np.random.default_rng(0).integers(9, size=(3_000, 500)), noise=1.0)
        )
    assert name not in [line.name for line in client.experiments()]


def test_giving_up():
    with (
        reserved() as nobody,
        Client(f"http://127.0.0.1:{nobody.getsockname()[1]}", retries=1) as client,
        pytest.raises(StorageFailed, match=r"cannot be reached.*nothing is recorded twice"),
    ):
        client.experiments()


@pytest.mark.parametrize(
    "answer",
    [
        b"200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b'200 OK\r\nContent-Length: 12\r\n\r\n{"events":5}',
        b"200 OK\r\nContent-Length: 5000\r\n\r\n" + b"[" * 5000,
        b"302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        b"502 Bad Gateway\r\nRetry-After: \xb2\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_answers_of_other_servers(answer):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            while True:
                caller, _ = listener.accept()
                with caller:
                    if not caller.recv(10_000):
                        return
                    caller.sendall(b"HTTP/1.1 " + answer)

        thread = threading.Thread(target=serve)
        thread.start()
        place = listener.getsockname()
        try:
            with (
                Client(f"http://127.0.0.1:{place[1]}", retries=1) as client,
                pytest.raises(LingapeError, match="Check its URL"),
            ):
                client.experiment("ads").events()
        finally:
            socket.create_connection(place).close()
            thread.join()


def test_retries_are_safe(server, name):
    proxy = Flaky(server.port)
    try:
        with Client(proxy.url) as client:
            remote = client.create(name, problem())
            for trick in ("drop", "busy", "cut"):  # the last: recorded, and nobody heard
                proxy.tricks = [trick, trick]
                (ticket,) = remote.ask()
                proxy.tricks = [trick]
                remote.tell(ticket.id, pull(ticket.arm))
                proxy.tricks = [trick]
                remote.add(0, 0.5)
                proxy.tricks = [trick]
                (lost,) = remote.ask()
                proxy.tricks = [trick]
                remote.void(lost.id, "bad luck")
            kinds = [event.kind for event in remote.events()]
            assert kinds == ["created", *["asked", "told", "added", "asked", "voided"] * 3]
            proxy.tricks = ["refuse", "never reached"]
            with pytest.raises(InvalidArgument, match="status 400"):
                remote.ask()  # what is wrong stays wrong: no retry
            assert proxy.tricks == ["never reached"]
            proxy.tricks = ["hang up"]
            with pytest.raises(StorageFailed, match="does not answer like a server of lingape"):
                remote.status()
            proxy.tricks = ["drop"] * 3
            impatient = Client(proxy.url, retries=2).experiment(name)
            with pytest.raises(StorageFailed):
                impatient.ask()
    finally:
        proxy.close()


def test_a_connection_that_the_server_closed_is_replaced(server):
    """Servers close connections that are idle; that costs the next request nothing."""
    proxy = Flaky(server.port)
    try:
        with Client(proxy.url, retries=0) as client:
            for _ in range(3):
                proxy.tricks = ["hang up"]
                with pytest.raises(StorageFailed, match="does not answer like"):
                    client.experiments()
                (idle,) = filter(None, client._transport._idle.queue)
                assert idle.sock is not None
                assert select.select([idle.sock], [], [], 30)[0]  # its end has come
            assert client.health()["status"] == "ok"
    finally:
        proxy.close()


def test_a_damaged_log_is_listed_as_such(url):
    with Outpost(url) as server, Client(server.url) as client:
        client.create("ads", EASY)
        client.create("other", EASY)
        tamper(url, "UPDATE logs SET seq = 7 WHERE name = 'other'")
        for place in (url, server.url):
            ads, other = experiments(place)
            assert (ads.name, ads.pulls) == ("ads", 0)
            assert isinstance(other, Unreadable) and other.name == "other"
            assert "is damaged" in other.error and "Restore a copy" in other.error
        assert client.experiment("ads").status().pulls == 0


def test_threads_share_a_client(client, name):
    remote = client.create(name, problem())
    told = []

    def work():
        for _ in range(10):
            (ticket,) = remote.ask()
            remote.tell(ticket.id, pull(ticket.arm))
            told.append(ticket.id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(told)) == 40 and remote.status().pulls == 40
    remote.verify()


def test_the_shell(server, name, tmp_path):
    (tmp_path / "arms.csv").write_text("name,x,y\nred,1,0\nblue,0,1\n")

    def call(command, *arguments, code=0, place=server.url):
        result = CliRunner().invoke(main, ["live", command, place, name, *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.stdout if "--json" in arguments else result.output

    arms = tmp_path / "arms.csv"
    begin = ["new", arms, "--explorer", "lingape"]
    notes = "Names: 'name'. Numbers: x, y. 2 arms, 3 features: constant, x, y.\n"
    assert call(*begin, "--noise-scale", 0.1) == f"{notes}{name}: 2 arms, 0 rewards.\n"
    assert json.loads(call(*begin, "--noise-scale", 0.1, "--json"))["arms"] == 2
    assert "noise (0.1 there, 'binary' now)" in call(*begin, "--binary", code=1)
    first, second = (line.split("\t") for line in call("ask", "-n", 2).splitlines())
    assert first[1:] == ["0", "red"]
    assert call("tell", first[0], "-0.5") == "1 reward.\n"
    assert "told -0.5" in call("tell", first[0], "0.5", code=1)
    call("void", second[0], "--reason", "node lost")
    assert "1 reward for 2 arms; 0 awaited, 0 overdue, 1 voided" in call("status")
    assert json.loads(call("status", "--json"))["pulls"] == 1
    call("add", 1, "1.5", "--key", "row 1")
    assert "No arm is better than blue" in call("certificate")
    assert "No arm is better than blue" in call("ask", code=3)
    assert "The log is whole" in call("verify")
    for command in ("status", "certificate", "verify"):  # the same of the file
        assert call(command, "--json") == call(command, "--json", place=server.database)
        assert call(command) == call(command, place=server.database)
    path = tmp_path / "run.jsonl"
    assert call("export", path) == f"{path}: 6 events\n"
    assert "as http://HOST:PORT" in call("status", code=1, place="http://")
    assert "no experiment" in CliRunner().invoke(main, ["live", "status", server.url, "x"]).output


def test_the_shell_finds_tokens(url, tmp_path, monkeypatch):
    tokens = {"LINGAPE_WRITE_TOKEN": "all-of-it", "LINGAPE_READ_TOKEN": "look-only"}
    (tmp_path / "arms.csv").write_text("x,y\n1,0\n0,1\n")

    def call(*arguments):
        return CliRunner().invoke(main, ["live", *map(str, arguments)])

    for variable in tokens:
        monkeypatch.delenv(variable, raising=False)
    with Outpost(url, environment=tokens) as server:
        new = ("new", server.url, "ads", tmp_path / "arms.csv", "--binary")
        assert "requires a token" in call(*new).output
        monkeypatch.setenv("LINGAPE_READ_TOKEN", "look-only")
        assert "for reading" in call(*new).output
        monkeypatch.setenv("LINGAPE_WRITE_TOKEN", "all-of-it")
        assert call(*new).exit_code == 0
        monkeypatch.delenv("LINGAPE_WRITE_TOKEN")
        assert call("status", server.url, "ads").exit_code == 0


def test_tickets_and_timedeltas(client, name):
    remote = client.create(name, problem())
    first, second = remote.ask(2, ttl=timedelta(hours=2))
    assert remote.events()[1].deadline == pytest.approx(remote.events()[1].time + 7200, abs=0.01)
    assert remote.tell(first, 0.5).pulls == 1
    remote.void(second, "node lost")
    remote.run(lambda ticket: 0.5, workers=1, max_pulls=1, ttl=timedelta(minutes=5))
    asked = [event for event in remote.events() if event.kind == "asked"][-1]
    assert asked.deadline == pytest.approx(asked.time + 300, abs=0.01)
    with pytest.raises(InvalidArgument, match="ttl must be"):
        remote.ask(ttl=timedelta(0))


def test_after_close_everything_says_so(server, name, tmp_path):
    client = Client(server.url)
    remote, other = client.create(name, problem()), client.experiment(name)
    (ticket,) = remote.ask()
    remote.close()
    for act in (
        lambda: remote.problem,
        remote.ask,
        lambda: remote.tell(ticket, 1.0),
        lambda: remote.void(ticket, "why"),
        lambda: remote.add(0, 1.0),
        remote.status,
        remote.certificate,
        remote.check,
        remote.events,
        remote.history,
        lambda: remote.export(tmp_path / "x.jsonl"),
        remote.verify,
        lambda: next(remote.watch()),
        lambda: remote.run(lambda ticket: 1.0),
    ):
        with pytest.raises(InvalidState, match=r"was closed\. Client.experiment opens it"):
            act()
    assert other.status().pending == 1  # the client goes on
    client.close()
    for act in (client.health, client.experiments, other.status):
        with pytest.raises(InvalidState, match="was closed. Make another"):
            act()


def test_a_conflict_says_which_setting_differs(client, name):
    client.create(name, problem())
    with pytest.raises(Conflict, match=r"settings: seed \(0 there, 7 now\)"):
        client.create(name, problem(), seed=7)


def test_a_server_without_tls(server):
    url = server.url.replace("http://", "https://")
    with Client(url) as client, pytest.raises(InvalidArgument, match=r"not use https\. Try"):
        client.experiments()


def test_messages_of_a_server_name_commands_in_the_shell(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def told(*words):
        return CliRunner().invoke(main, ["live", *words]).stderr

    Path("arms.csv").write_text("1,0\n0,1\n")
    new = told("new", server.url, "a", "arms.csv", "--binary", "--seed", "-1")
    assert "--seed: Input should be greater than or equal to 0; got -1.\n" in new
    assert "lingape live new begins one" in told("ask", server.url, "nosuch")
    assert "letters (a to z), digits" in told("ask", server.url, "a b")
    assert "0 is not in the range 1<=x<=1000" in told("ask", server.url, "nosuch", "-n", "0")
