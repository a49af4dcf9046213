"""Processes that stand in line for a file."""

import threading

import crew
import pytest

from lingape.errors import StorageFailed
from lingape.live import Experiment
from lingape.live import journal as journals


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


def test_nobody_waits_longer_than_that(ads, first):
    ads._store._patience = 0.05
    with pytest.raises(StorageFailed, match="too long; try again"):
        ads.add(0, 1.0)
    assert ads.status().pulls == 0  # reading needs no line
    first.kill()
    first.join()
    ads._store._patience = 60.0
    assert ads.add(0, 1.0).pulls == 1


def test_who_dies_in_line_is_not_waited_for(ads, first):
    waiting = threading.Thread(target=ads.add, args=(0, 1.0))
    waiting.start()
    first.kill()
    waiting.join(120)
    assert not waiting.is_alive() and ads.verify().pulls == 1


def test_an_interrupt_in_line(ads, first, monkeypatch):
    """Whoever gives up keeps nobody waiting, also if the turn comes later."""

    def interrupted(place, patience):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(journals._Place, "reached", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ads.add(0, 1.0)
    first.kill()
    first.join()
    assert ads.add(1, 1.0).pulls == 1


def test_a_place_that_was_reached_too_late_is_left(ads):
    journal = ads._store._open_journal()
    place = journals._Place(journal)
    assert place.reached(120) and not place.give_up()
    assert ads.add(0, 1.0).pulls == 1


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
