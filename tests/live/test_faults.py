"""Processes that share an experiment, and die."""

import os
import random
import threading
import time
from collections import Counter

import crew
import pytest
from audit import audit, wait_for_work

from lingape.live import Added, Experiment, Told
from systems import posix


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
    assert len({results.get(timeout=300) for _ in crowd}) == 1
    for process in crowd:
        process.join()
        assert process.exitcode == 0


def test_processes_share_an_experiment(context, url):
    results = context.Queue()
    crowd = [start(context, crew.work, url, 25, results) for _ in range(8)]
    acknowledged = [pair for _ in crowd for pair in results.get(timeout=300)]
    for process in crowd:
        process.join()
        assert process.exitcode == 0
    with Experiment.open(url, "ads") as experiment:
        told = [e for e in experiment.events() if isinstance(e, Told)]
        assert Counter((e.ticket, e.reward) for e in told) == Counter(acknowledged)
        assert len(set(acknowledged)) == 200
        experiment.verify()


@posix("os.fork")
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


@pytest.mark.parametrize("own", [False, True])
@posix("os.fork")
def test_a_child_goes_on_when_its_parent_closes(url, own):
    experiment = Experiment.open(url, "ads", create=crew.problem())
    begun, closed = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            mine = Experiment.open(url, "ads") if own else experiment
            mine.add(0, 0.0)
            os.write(begun[1], b".")
            assert os.read(closed[0], 1)
            for reward in range(1, 6):
                mine.add(1, reward)
            code = 0
        finally:
            os._exit(code)  # as if it were killed
    assert os.read(begun[0], 1)
    experiment.close()
    with Experiment.open(url, "ads") as other:
        assert other.verify().pulls == 1
    os.write(closed[1], b".")
    assert os.waitpid(child, 0)[1] == 0
    for end in (*begun, *closed):
        os.close(end)
    with Experiment.open(url, "ads") as again:
        assert again.verify().pulls == 6


@posix("os.fork")
def test_threads_of_a_child_begin_at_once(url):
    with Experiment.open(url, "ads", create=crew.problem()) as experiment:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    start_together = threading.Barrier(6)

                    def work(arm, barrier=start_together):
                        barrier.wait()
                        experiment.add(arm, 1.0)

                    threads = [
                        threading.Thread(target=work, args=(arm,), daemon=True) for arm in range(6)
                    ]
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join(60)
                    code = int(any(thread.is_alive() for thread in threads))
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
        assert experiment.verify().pulls == 30


@posix("os.fork")
def test_forks_while_threads_work(url):
    with Experiment.open(url, "ads", create=crew.problem()) as experiment:
        over = threading.Event()

        def work():
            while not over.is_set():
                (ticket,) = experiment.ask()
                experiment.tell(ticket.id, crew.pull(ticket.arm))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for i in range(10):
                child = os.fork()
                if child == 0:
                    code = 1
                    try:
                        experiment.add(i % 6, 1.0)
                        code = 0
                    finally:
                        os._exit(code)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            over.set()
            for thread in threads:
                thread.join()
        assert sum(isinstance(event, Added) for event in experiment.events()) == 10
        experiment.verify()


def kill_often(context, url, folder, kills, workers):
    """Kill one worker after the other, and check that nothing acknowledged is lost."""
    files = [folder / f"acknowledged-{i}" for i in range(workers + kills)]  # one for each life
    crowd = [start(context, crew.work_until_killed, url, file) for file in files[:workers]]
    lives = dict(enumerate(files[:workers]))
    rng = random.Random(7)
    try:
        wait_for_work(lives.values())
        for file in files[workers:]:
            time.sleep(rng.uniform(0.02, 0.3))
            i = rng.randrange(workers)
            assert crowd[i].exitcode is None
            crowd[i].kill()
            crowd[i].join()
            crowd[i], lives[i] = start(context, crew.work_until_killed, url, file), file
        wait_for_work(lives.values())
        assert all(process.exitcode is None for process in crowd)
    finally:
        for process in crowd:
            process.kill()
            process.join()
    audit(url, files, unheard=kills + workers)


def test_workers_that_are_killed(context, url, tmp_path):
    kill_often(context, url, tmp_path, kills=8, workers=3)


@pytest.mark.slow
def test_workers_that_are_killed_200_times(context, url, tmp_path):
    kill_often(context, url, tmp_path, kills=200, workers=4)
