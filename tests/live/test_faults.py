"""Processes that share an experiment, and die."""

import os
import random
import signal
import sqlite3
import time
from collections import Counter

import crew
import pytest
from tamper import change

from lingape.live import Asked, Experiment, Told


@pytest.fixture
def url(each_url):
    return each_url


def start(context, target, *arguments):
    process = context.Process(target=target, args=arguments)
    process.start()
    return process


def test_processes_create_the_same_experiment(context, url):
    results = context.Queue()
    crowd = [start(context, crew.create, url, results) for _ in range(8)]
    assert len({results.get(timeout=60) for _ in crowd}) == 1
    for process in crowd:
        process.join()
        assert process.exitcode == 0


def test_processes_share_an_experiment(context, url):
    results = context.Queue()
    crowd = [start(context, crew.work, url, 25, results) for _ in range(8)]
    acknowledged = [pair for _ in crowd for pair in results.get(timeout=100)]
    for process in crowd:
        process.join()
        assert process.exitcode == 0
    with Experiment.open(url, "ads") as experiment:
        told = [e for e in experiment.events() if isinstance(e, Told)]
        assert Counter((e.ticket, e.reward) for e in told) == Counter(acknowledged)
        assert len(set(acknowledged)) == 200
        experiment.verify()


def test_an_experiment_survives_a_fork(url):
    with Experiment.open(url, "ads", create=crew.problem()) as experiment:
        experiment.add(0, 1.0)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                experiment.add(1, 2.0)
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        experiment.add(2, 3.0)
        assert experiment.verify().pulls == 3


def kill_often(context, url, folder, kills, workers):
    """Kill one worker after the other, and check that nothing acknowledged is lost."""
    files = [folder / f"acknowledged-{i}" for i in range(workers)]
    crowd = [start(context, crew.work_until_killed, url, file) for file in files]
    rng = random.Random(7)
    for _ in range(kills):
        time.sleep(rng.uniform(0.02, 0.3))
        i = rng.randrange(workers)
        assert crowd[i].exitcode is None
        os.kill(crowd[i].pid, signal.SIGKILL)
        crowd[i].join()
        crowd[i] = start(context, crew.work_until_killed, url, files[i])
    time.sleep(1.0)
    for process in crowd:
        assert process.exitcode is None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    acknowledged = {}
    for file in files:
        for line in file.read_text().splitlines():
            ticket, reward = line.split()
            assert ticket not in acknowledged
            acknowledged[ticket] = float(reward)
    with Experiment.open(url, "ads") as experiment:
        events = experiment.events()
        told = [(event.ticket, event.reward) for event in events if isinstance(event, Told)]
        assert len(told) == len(dict(told))
        assert acknowledged.items() <= dict(told).items()
        assert len(told) - len(acknowledged) <= kills + workers  # told, and killed before hearing
        asked = [ticket for e in events if isinstance(e, Asked) for ticket, _ in e.tickets]
        assert len(asked) == len(set(asked)) and {ticket for ticket, _ in told} <= set(asked)
        with experiment.current() as replay:
            state = replay.explorer.state()
        assert experiment.verify().pulls == len(told)
        experiment._store.close()
    change_nothing(url, state)
    return len(acknowledged)


def change_nothing(url, state):
    """The replay from zero is the state, to the last bit."""
    change(url, "DELETE FROM snapshots")
    with Experiment.open(url, "ads") as experiment, experiment.current() as replay:
        assert replay.explorer.state() == state
    if url.startswith("sqlite:"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


def test_workers_that_are_killed(context, url, tmp_path):
    assert kill_often(context, url, tmp_path, kills=8, workers=3) > 10


@pytest.mark.slow
def test_workers_that_are_killed_200_times(context, url, tmp_path):
    assert kill_often(context, url, tmp_path, kills=200, workers=4) > 1000
