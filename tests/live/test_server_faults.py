"""Servers that are killed, and databases that fail them: what was acknowledged is there, once."""

import json
import os
import random
import signal
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import crew
import pytest
from audit import audit, wait_for_work
from outpost import Outpost, TestClient, reserved
from tamper import change

from lingape import Client
from lingape.errors import InvalidState, StorageFailed
from lingape.live import Experiment
from lingape.live.server import create_app
from lingape.live.serving import Service, serve
from systems import linux


def ask_raw(server, path, body=None):
    """Return the status, the headers and the data of one answer."""
    request = urllib.request.Request(
        f"{server.url}/api{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.status, answer.headers, json.load(answer)


def refused(answer):
    """Return the sentence of an answer that says: not now."""
    status, headers, data = answer
    assert status == 503 and headers["Retry-After"] == "1", data
    return data["error"]


class Crowd:
    """Worker processes that ask and tell by servers, and go on whatever these do."""

    def __init__(self, context, urls, folder, workers=4):
        self.files = [folder / f"acknowledged-{i}" for i in range(workers)]
        self._over = context.Event()
        self._processes = [
            context.Process(target=crew.work_by_servers, args=(urls, file, self._over))
            for file in self.files
        ]

    def __enter__(self):
        for process in self._processes:
            process.start()
        return self

    def __exit__(self, *exception):
        self._over.set()
        for process in self._processes:
            process.join(timeout=120 if exception[0] is None else 1)
            process.kill()
        if exception[0] is None:
            assert [process.exitcode for process in self._processes] == [0] * len(self.files)


def kill_servers(context, url, folder, kills):
    """Kill servers at random moments, one or both, and check that nothing is lost or doubled."""
    rng = random.Random(7)
    with ExitStack() as stack:
        ports = [stack.enter_context(reserved()).getsockname()[1] for _ in range(2)]
        servers = {i: Outpost(url, port=port) for i, port in enumerate(ports)}
        stack.callback(lambda: [server.end(signal.SIGKILL) for server in servers.values()])
        with Client(servers[0].url) as client:
            client.create("ads", crew.problem())
        crowd = stack.enter_context(
            Crowd(context, [server.url for server in servers.values()], folder)
        )
        wait_for_work(crowd.files)
        while kills > 0:
            time.sleep(rng.uniform(0.0, 0.3))
            victims = rng.choice([[0], [1], [0, 1]])
            for i in victims:
                assert servers.pop(i).end(signal.SIGKILL) == -signal.SIGKILL
                kills -= 1
            if servers:
                wait_for_work(crowd.files)  # they go on with the other one
            for i in victims:
                servers[i] = Outpost(url, port=ports[i])
        wait_for_work(crowd.files)
    audit(url, crowd.files, unheard=0)


@linux("ports that are kept for processes to come")
def test_servers_that_are_killed(context, each_url, tmp_path):
    kill_servers(context, each_url, tmp_path, kills=6)


@linux("ports that are kept for processes to come")
@pytest.mark.slow
def test_servers_that_are_killed_200_times(context, each_url, tmp_path):
    kill_servers(context, each_url, tmp_path, kills=200)


def test_a_server_that_stops_finishes_its_requests(url):
    """After SIGTERM requests are answered, and nobody is left waiting."""
    with Outpost(url) as server, Client(server.url, retries=0) as client:
        experiment = client.create("ads", crew.problem())
        (ticket,) = experiment.ask()
        experiment.tell(ticket.id, 1.0)
        server.end(signal.SIGTERM)
        with pytest.raises(StorageFailed):
            experiment.ask()
    with Experiment.open(url, "ads") as local:
        assert local.status().pulls == 1


def test_a_database_that_is_down(postgres_server, postgres_url):
    with Outpost(postgres_url) as server, Client(server.url, retries=100) as client:
        experiment = client.create("ads", crew.problem())
        one, two = experiment.ask(2)
        experiment.tell(one.id, 0.5)
        postgres_server.stop()
        try:
            calls = [
                ("/experiments/ads/tell", {"ticket": two.id, "reward": 0.25}),
                ("/experiments/ads/ask", {}),
                ("/experiments/ads", None),
                ("/experiments/ads/events", None),
                ("/experiments", None),
            ]
            with ThreadPoolExecutor() as pool:  # side by side, as each waits for a while
                for answer in pool.map(lambda call: ask_raw(server, *call), calls):
                    said = refused(answer)
                    assert said.startswith("the database cannot be used now: connection")
                    assert said.count("Is the server running") == 1 and "/" not in said
                    assert said.endswith(" Is the server running?")
            assert ask_raw(server, "/health")[0] == 200
            worker = threading.Thread(target=experiment.tell, args=(two.id, 0.25))
            worker.start()
        finally:
            postgres_server.start()
        worker.join(120)  # it tried until the database was back
        assert experiment.status().pulls == experiment.verify().pulls == 2


def test_connections_that_are_cut_under_load(context, postgres_server, postgres_url, tmp_path):
    with Outpost(postgres_url, "--workers", 2) as server:
        with Client(server.url) as client:
            client.create("ads", crew.problem())
        with Crowd(context, [server.url], tmp_path) as crowd:
            for _ in range(5):
                wait_for_work(crowd.files)
                postgres_server.hang_up()
            postgres_server.stop()
            postgres_server.start()
            wait_for_work(crowd.files)
        server.end()
    audit(postgres_url, crowd.files, unheard=0)


@linux("a way to limit another process")
def test_a_full_disk(url, tmp_path):
    """A limit on the size of files is what a server can be given without a disk of its own."""
    import resource

    with Outpost(url) as server, Client(server.url, retries=0) as client:
        experiment = client.create("ads", crew.problem())
        client.create("other", crew.problem())
        _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        room = (tmp_path / "run.db-wal").stat().st_size + 100_000
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (room, most))
        recorded = 0
        with pytest.raises(StorageFailed, match=r"Make room.*nothing is recorded twice"):
            for recorded in range(10_000):
                experiment.add(0, 1.0, key=str(recorded))
        assert recorded > 1
        body = {"arm": 0, "reward": 1.0, "key": str(recorded)}
        said = refused(ask_raw(server, "/experiments/ads/add", body))
        assert "Make room" in said and str(tmp_path) not in said
        assert experiment.status().pulls == experiment.verify().pulls == recorded
        assert client.experiment("other").status().pulls == 0
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        for key in (recorded - 1, recorded):
            experiment.add(0, 1.0, key=str(key))
        assert experiment.verify().pulls == recorded + 1


def serving(url):
    return TestClient(create_app(url), base_url="http://127.0.0.1")


def problem_of(answer):
    """Return the sentence of an answer to a TestClient that says: not now."""
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1", answer.text
    return answer.json()["error"]


def damage_of(answer):
    """Return the sentence of an answer that says: not until somebody restores a copy."""
    assert answer.status_code == 500 and "retry-after" not in answer.headers, answer.text
    assert answer.json()["kind"] == "InvalidState"
    return answer.json()["error"]


def test_a_full_database(postgres_server, postgres_url):
    with Experiment.open(postgres_url, "ads", create=crew.problem()) as experiment:
        experiment.add(0, 1.0)
    body = {"arm": 0, "reward": 1.0}
    with serving(postgres_url) as client:
        with postgres_server.full():
            answer = client.post("/api/experiments/ads/add", json=body)
            assert "Make room" in problem_of(answer)
            assert client.get("/api/experiments/ads").json()["pulls"] == 1
        assert client.post("/api/experiments/ads/add", json=body).json()["pulls"] == 2


@pytest.fixture
def experiments(each_url, tmp_path):
    """A database with two experiments, of which one is exported."""
    for name in ("ads", "other"):
        with Experiment.open(each_url, name, create=crew.problem()) as experiment:
            for arm in range(6):
                experiment.add(arm, crew.pull(arm))
            experiment.export(tmp_path / f"{name}.jsonl")
    return each_url


def test_a_database_that_can_only_be_read(experiments, monkeypatch):
    connect = sqlite3.connect

    def read_only(place, **settings):
        return connect(f"{place}?mode=ro", **settings)

    url = experiments
    if url.startswith("postgresql:"):
        url += "&options=-c%20default_transaction_read_only%3Don"
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", read_only)
        patch.setattr(os, "access", lambda path, mode: False)
        with serving(url) as client:
            answer = client.post("/api/experiments/ads/add", json={"arm": 0, "reward": 1.0})
            sentence = problem_of(answer)
            assert "Nothing was recorded" in sentence and "writ" in sentence
            assert client.get("/api/experiments/ads").json()["pulls"] == 6
            assert len(client.get("/api/experiments").json()["experiments"]) == 2
    with serving(experiments) as client:
        answer = client.post("/api/experiments/ads/add", json={"arm": 0, "reward": 1.0})
        assert answer.json()["pulls"] == 7


def test_a_damaged_log(experiments, tmp_path):
    """Its experiment waits for somebody to repair it; others do not."""
    change(experiments, "UPDATE entries SET digest = 'x' WHERE name = 'ads' AND seq = 4")
    with serving(experiments) as client:
        for _ in range(2):
            sentence = damage_of(client.get("/api/experiments/ads"))
            assert "event 4" in sentence and "Restore a copy" in sentence
            answer = client.post("/api/experiments/ads/add", json={"arm": 0, "reward": 1.0})
            assert "Restore a copy" in damage_of(answer)
        answer = client.post("/api/experiments/other/add", json={"arm": 0, "reward": 1.0})
        assert answer.json()["pulls"] == 7
        assert client.get("/api/health").status_code == 200
        lines = client.get("/api/experiments").json()["experiments"]
        assert [line["name"] for line in lines] == ["other"]
    for table in ("entries", "refs", "logs", "snapshots"):
        change(experiments, f"DELETE FROM {table} WHERE name = 'ads'")
    Experiment.from_export(tmp_path / "ads.jsonl", experiments).close()
    with serving(experiments) as client:
        assert client.get("/api/experiments/ads").json()["pulls"] == 6


def test_a_truncated_file(sqlite_url, tmp_path):
    with Experiment.open(sqlite_url, "ads", create=crew.problem()) as experiment:
        for _ in range(50):
            experiment.add(0, 1.0)
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    whole = path.read_bytes()
    with serving(sqlite_url) as client:
        path.write_bytes(whole[: len(whole) // 2])
        sentence = damage_of(client.get("/api/experiments/ads"))
        assert "damaged" in sentence and "Restore a copy" in sentence
    for rest in tmp_path.glob("run.db-*"):
        rest.unlink()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidState, match=r"damaged.*Restore a copy"):
        serve(Service(sqlite_url), ready=print)
    path.write_bytes(whole)
    with serving(sqlite_url) as client:
        assert client.get("/api/experiments/ads").json()["pulls"] == 50


def test_a_clock_that_jumps(each_url, clock, monkeypatch):
    begin = Experiment.open
    monkeypatch.setattr(
        Experiment, "open", lambda *place, **settings: begin(*place, clock=clock, **settings)
    )
    with (
        serving(each_url) as client,
        Experiment.open(each_url, "ads", create=crew.problem()) as experiment,
    ):

        def post(what, body):
            answer = client.post(f"/api/experiments/ads/{what}", json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()

        tickets = []
        for jump in (-1e8, 3e8, -2e8):
            tickets += post("ask", {"ttl": 60})["tickets"]
            clock.now += jump
        for ticket in tickets:
            post("tell", {"ticket": ticket["id"], "reward": 1.0})
        assert client.get("/api/experiments/ads").json()["pulls"] == 3
        assert experiment.verify().pulls == 3
