"""Servers that are killed under load: what they acknowledged is there, once."""

import os
import random
import signal
import time
from collections import Counter

import crew
import pytest
from outpost import Outpost

from lingape import Client
from lingape.errors import StorageFailed
from lingape.live import Asked, Experiment, Told


def work_until_killed(urls, path):
    """Ask and tell for ever by servers that come and go; acknowledged rewards become lines."""
    random.seed()
    file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    experiments = [Client(url, retries=20).create("ads", crew.problem()) for url in urls]
    while True:
        experiment = random.choice(experiments)
        tickets = experiment.ask(random.choice([1, 1, 3]), ttl=random.choice([None, 1]))
        for ticket in tickets:
            reward = crew.pull(ticket.arm)
            experiment = random.choice(experiments)
            if random.random() < 0.1:
                experiment.void(ticket.id, "bad luck")
                continue
            experiment.tell(ticket.id, reward)
            os.write(file, f"{ticket.id} {reward!r}\n".encode())


def state(url):
    with Experiment.open(url, "ads") as experiment, experiment.current() as replay:
        return replay.explorer.state(), replay.head


def kill_servers(context, url, folder, kills, workers=4, count=2):
    """Kill one server after the other at random moments; return how many rewards were heard of."""
    servers = [Outpost(url) for _ in range(count)]
    files = [folder / f"acknowledged-{i}" for i in range(workers)]
    urls = [server.url for server in servers]
    crowd = [context.Process(target=work_until_killed, args=(urls, file)) for file in files]
    rng = random.Random(7)
    try:
        for process in crowd:
            process.start()
        wait_for_lines(files, 1)
        for _ in range(kills):
            time.sleep(rng.uniform(0.0, 0.5))
            i = rng.randrange(count)
            assert servers[i].end(signal.SIGKILL) == -signal.SIGKILL
            servers[i] = Outpost(url, port=servers[i].port)
        wait_for_lines(files, 1 + max(len(file.read_text().splitlines()) for file in files))
        assert all(process.exitcode is None for process in crowd)  # workers went on
    finally:
        for process in crowd:
            if process.pid is not None:
                process.kill()
                process.join()
        for server in servers:
            with server:
                pass
    heard = Counter()
    for file in files:
        for line in file.read_text().splitlines():
            ticket, reward = line.split()
            heard[ticket, float(reward)] += 1
    with Experiment.open(url, "ads") as experiment:
        events = experiment.events()
        told = Counter((event.ticket, event.reward) for event in events if isinstance(event, Told))
        assert max(told.values()) == 1 and max(heard.values()) == 1
        assert heard <= told
        assert told.total() - heard.total() <= workers  # told, and the worker was killed
        asked = [ticket for e in events if isinstance(e, Asked) for ticket, _ in e.tickets]
        assert len(asked) == len(set(asked)) and {ticket for ticket, _ in told} <= set(asked)
        assert experiment.verify().pulls == told.total()
    before = state(url)
    forget_snapshots(url)
    assert state(url) == before  # the replay from zero is the state, to the last bit
    return heard.total()


def wait_for_lines(files, count):
    end = time.monotonic() + 60
    while not all(file.exists() and len(file.read_text().splitlines()) >= count for file in files):
        assert time.monotonic() < end, "workers do not get on"
        time.sleep(0.05)


def forget_snapshots(url):
    import sqlite3

    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    with connection:
        connection.execute("DELETE FROM snapshots")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_servers_that_are_killed(context, url, tmp_path):
    assert kill_servers(context, url, tmp_path, kills=10) > 10


@pytest.mark.slow
def test_servers_that_are_killed_200_times(context, url, tmp_path):
    assert kill_servers(context, url, tmp_path, kills=200) > 1000


def test_a_server_that_ends_finishes_what_it_began(context, url, tmp_path):
    """SIGTERM: requests under way are answered, and nobody is left to wait."""
    with Outpost(url) as server, Client(server.url, retries=0) as client:
        experiment = client.create("ads", crew.problem())
        (ticket,) = experiment.ask()
        experiment.tell(ticket.id, 1.0)
        server.end(signal.SIGTERM)
        with pytest.raises(StorageFailed):
            experiment.ask()
    with Experiment.open(url, "ads") as local:
        assert local.status().pulls == 1
