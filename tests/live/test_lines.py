"""Processes that stand in line for a file."""

import threading
from contextlib import contextmanager

import crew
import pytest

from lingape.live import Experiment
from lingape.live import files as journals
from systems import posix


@pytest.fixture
def ads(sqlite_url, monkeypatch):
    monkeypatch.setattr(journals, "LINES", 1)
    with Experiment.open(sqlite_url, "ads", create=crew.problem()) as experiment:
        yield experiment


@pytest.fixture
def first(ads, sqlite_url, context):
    """Another process, which stands before us."""
    ready = context.Event()
    process = context.Process(target=crew.hold_the_line, args=(sqlite_url, ready))
    process.start()
    assert ready.wait(120)
    yield process
    process.kill()
    process.join()


def test_who_was_stopped_first_in_line_keeps_nobody_from_writing(ads, first, monkeypatch):
    monkeypatch.setattr(journals, "COURTESY", 0.01)
    assert ads.add(0, 1.0).pulls == 1
    threads = threading.active_count()  # one of which stands in line still
    assert ads.add(0, 1.0).pulls == 2 and threading.active_count() == threads
    first.kill()
    first.join()
    monkeypatch.setattr(journals, "COURTESY", 600.0)
    assert ads.add(0, 1.0).pulls == 3


def test_who_dies_in_line_is_not_waited_for(ads, first, monkeypatch):
    monkeypatch.setattr(journals, "COURTESY", 600.0)
    waiting = threading.Thread(target=ads.add, args=(0, 1.0))
    waiting.start()
    first.kill()
    waiting.join(120)
    assert not waiting.is_alive() and ads.verify().pulls == 1


@posix("fcntl")
def test_an_interrupt_in_line(ads, first, monkeypatch):
    """Whoever gives up keeps nobody waiting, also if the turn comes later."""

    def interrupted(turn, seconds):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(journals.Future, "result", interrupted)
        ads._store._open_journal().enter()
    first.kill()
    first.join()
    assert ads.add(1, 1.0).pulls == 1


def test_who_is_slow_to_load_does_not_stand_in_line_for_it(ads, monkeypatch):
    """A child after a fork, for one, knows nothing yet."""
    lines = []
    store = ads._store
    line, view = store.line, store.view

    @contextmanager
    def watched_line():
        with line():
            lines.append("in")
            yield
            lines.append("out")

    @contextmanager
    def watched_view(name):
        if ads._memory is None:
            lines.append("load")
        with view(name) as found:
            yield found

    monkeypatch.setattr(store, "line", watched_line)
    monkeypatch.setattr(store, "view", watched_view)
    ads._memory = None
    ads.add(0, 1.0)
    assert lines == ["load", "in", "out"]


@posix("fcntl")
def test_systems_without_locks(ads, monkeypatch):
    def none(*arguments):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(journals.fcntl, "lockf", none)
    assert ads.add(0, 1.0).pulls == 1
    monkeypatch.setattr(journals, "fcntl", None)
    assert ads.add(0, 1.0).pulls == 2


def test_many_processes_share_a_file(sqlite_url, context, ads):
    """Each gets its turn, and none gives up."""
    results = context.Queue()
    crowd = [context.Process(target=crew.work, args=(sqlite_url, 4, results)) for _ in range(24)]
    for process in crowd:
        process.start()
    told = [pair for _ in crowd for pair in results.get(timeout=300)]
    for process in crowd:
        process.join()
    assert [process.exitcode for process in crowd] == [0] * 24
    assert len(dict(told)) == 96 == ads.verify().pulls
