"""What child processes inherit, and what happens to it when it is no longer used."""

import gc
import os
import weakref

from crew import problem

from lingape.live import Experiment
from lingape.live.forks import Living, after_fork
from systems import posix


class Thing:
    def __init__(self):
        self.renewals = 0

    def _renew(self):
        self.renewals += 1


def test_nothing_in_python_runs_when_an_experiment_is_dropped(each_url):
    """Callbacks of WeakMethod and WeakSet could meet a signal and lose it."""
    with Experiment.open(each_url, "ads", create=problem()) as experiment:
        for thing in (experiment, experiment._store):
            found = weakref.getweakrefs(thing)
            assert found and [each.__callback__ for each in found] == [None] * len(found)


def test_things_are_forgotten_once_they_are_gone():
    things, living = [Thing() for _ in range(3)], Living()
    for thing in things:
        living.add(thing)
    assert list(living) == things
    del things[0], thing
    gc.collect()
    assert list(living) == things
    living.add(things[0])
    assert len(living._refs) == 3


@posix("os.fork")
def test_children_renew_what_there_is():
    kept, dropped = Thing(), Thing()
    for thing in (kept, dropped):
        after_fork(thing)
    del dropped, thing
    child = os.fork()
    if child == 0:
        os._exit(kept.renewals)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert kept.renewals == 0
