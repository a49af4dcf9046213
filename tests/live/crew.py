"""Worker processes for tests: functions that another process can import."""

import os
import random
import tempfile
import time
import uuid

import numpy as np

from lingape import Client, Problem
from lingape.errors import StorageFailed
from lingape.live import Experiment, experiments, files

ARMS = np.vstack([np.eye(3), [[0.6, 0.6, 0.1], [0.2, 0.7, 0.7], [0.9, 0.1, 0.3]]])
THETA = np.array([0.5, 0.45, 0.4])


def problem():
    """A question that is not answered within a test."""
    return Problem(ARMS, delta=1e-200, noise=1.0)


def pull(arm):
    """Return a reward as a number without rounding, so that it is found again in files."""
    return float(ARMS[arm] @ THETA + random.gauss(0, 1))


def create(url, results):
    with Experiment.open(url, "ads", create=problem()) as experiment:
        results.put(experiment.events(limit=1)[0].time)


def work(url, pairs, results):
    """Ask and tell so often, and say what was acknowledged."""
    random.seed()
    done = []
    with Experiment.open(url, "ads", create=problem()) as experiment:
        for _ in range(pairs):
            (ticket,) = experiment.ask(worker=str(os.getpid()))
            reward = pull(ticket.arm)
            experiment.tell(ticket.id, reward)
            done.append((ticket.id, reward))
    results.put(done)


def work_until_killed(url, path):
    """Ask and tell without end; each acknowledged reward becomes a line of a file."""
    random.seed()
    file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    with Experiment.open(url, "ads", create=problem()) as experiment:
        while True:
            for ticket in experiment.ask(random.choice([1, 1, 3]), ttl=random.choice([None, 1])):
                reward = pull(ticket.arm)
                if random.random() < 0.1:
                    experiment.void(ticket.id, "bad luck")
                    continue
                experiment.tell(ticket.id, reward)
                os.write(file, f"{ticket.id} {reward!r}\n".encode())
                if random.random() < 0.1:
                    experiment.tell(ticket.id, reward)


def work_patiently(url, path, over):
    """Ask and tell until it is over, repeating what fails; acknowledged rewards become lines."""
    random.seed()

    def repeat(act, *arguments):
        while True:
            try:
                return act(*arguments)
            except StorageFailed:
                time.sleep(0.02)

    experiment = repeat(Experiment.open, url, "ads")
    with open(path, "a", buffering=1) as file:
        while not over.is_set():
            (ticket,) = repeat(experiment.ask)
            reward = pull(ticket.arm)
            repeat(experiment.tell, ticket.id, reward)
            file.write(f"{ticket.id} {reward!r}\n")
    experiment.close()


def work_by_servers(urls, path, over):
    """Ask and tell until it is over, each time by any server that answers.

    Each acknowledged reward becomes a line.
    """
    random.seed()
    experiments = [Client(url, retries=1).experiment("ads") for url in urls]

    def repeat(act):
        while True:
            try:
                return act(random.choice(experiments))
            except StorageFailed:
                time.sleep(0.02)

    def ask(n, key):
        return repeat(lambda experiment: experiment.ask(n, ttl=1, key=key))

    def tell(ticket, reward):
        return repeat(lambda experiment: experiment.tell(ticket, reward))

    with open(path, "a", buffering=1) as file:
        while not over.is_set():
            for ticket in ask(random.choice([1, 1, 3]), uuid.uuid4().hex):
                if random.random() < 0.1:
                    repeat(lambda experiment, id=ticket.id: experiment.void(id, "bad luck"))
                    continue
                reward = pull(ticket.arm)
                tell(ticket.id, reward)
                file.write(f"{ticket.id} {reward!r}\n")


def read_as_somebody(url, results):
    """Read an experiment as a user without rights, and say what came of it."""
    with tempfile.TemporaryDirectory() as folder:  # import all of it while that is allowed
        elsewhere = f"sqlite:///{folder}/run.db"
        Experiment.open(elsewhere, "ads", create=problem()).close()
        _read(elsewhere)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        results.put(_read(url))
    except Exception as reason:
        results.put({"error": repr(reason)})


def _read(url):
    with Experiment.open(url, "ads") as experiment:
        found = {
            "pulls": experiment.status().pulls,
            "verified": experiment.verify().pulls,
            "exported": len(list(experiment.export_lines())),
            "listed": [one.name for one in experiments(url)],
        }
        try:
            experiment.add(0, 1.0)
        except StorageFailed as reason:
            found["refused"] = repr(reason)
    return found


def hold_the_line(url, ready):
    """Stand first in line, and stay there."""
    files.LINES = 1
    with Experiment.open(url, "ads") as experiment, experiment._store.line():
        ready.set()
        time.sleep(600)
