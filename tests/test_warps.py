"""The threads of a warp, which play a run together: each step is watched for races.

Each thread writes its own elements of the arrays that they share. Between a write and a read of
the same element by another thread, and between a read and a write, both have to `meet`.
"""

import sys
import threading

import numpy as np
import pytest

import lingape
from lingape import LinGapE, Problem, run, soare, sphere
from lingape.kernels.teams import of_first
from lingape.lanes import gpu_source, warps
from lingape.lanes.gpu import GpuLane
from simulated import KEY, PARTS, Fed

pytestmark = pytest.mark.usefixtures("simulated_warps")


class Watch:
    """Who has read and written which element since the last time that all met."""

    def __init__(self):
        self.lock, self.meetings, self.seen, self.races = threading.Lock(), {}, {}, set()

    def note(self, array, place, writes):
        thread = threading.current_thread()
        if not hasattr(thread, "threadIdx"):
            return
        whole = np.asarray(array)[place]
        if np.ndim(whole) and not writes:  # a row, which is looked at later
            return
        address = array.__array_interface__["data"][0]
        places = np.atleast_1d(place) if np.ndim(whole) == 0 else None
        if places is None:
            address = whole.__array_interface__["data"][0]
            addresses = [address + n * whole.itemsize for n in range(whole.size)]
        else:
            assert (places >= 0).all()  # as compilers may assume
            addresses = [address + int(places @ np.array(array.strides))]
        me, line = thread.threadIdx.x, self._line()
        with self.lock:
            for one in addresses:
                self._compare(one, me, line, writes)

    def _compare(self, address, me, line, writes):
        epoch = self.meetings.get(me, 0)
        when, writers, readers = self.seen.get(address, (-1, {}, {}))
        if when != epoch:
            writers, readers = {}, {}
            self.seen[address] = epoch, writers, readers
        others = writers | readers if writes else writers
        self.races |= {(line, where) for who, where in others.items() if who != me}
        (writers if writes else readers)[me] = line

    @staticmethod
    def _line():
        frame = sys._getframe(1)
        while frame.f_code.co_filename == __file__:
            frame = frame.f_back
        return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Watched(np.ndarray):
    """An array that says who reads and writes it."""

    watch: Watch

    def __getitem__(self, place):
        self.watch.note(self, place, False)
        return super().__getitem__(place)

    def __setitem__(self, place, value):
        self.watch.note(self, place, True)
        super().__setitem__(place, value)


@pytest.fixture
def watch(monkeypatch, simulated_warps):
    """Watch all that the threads of a warp share, and play all runs on one warp."""
    found, made = Watch(), []
    meet, tell_all = warps._meet, warps._all

    class Mine(Watched):
        watch = found

    def watched(team, value):
        if isinstance(value, np.ndarray):
            value = np.full_like(value, -77).view(Mine)
            made.append(value)  # so that no other array gets its address
        return of_first(team, value)

    def met():
        meet()
        me = threading.current_thread().threadIdx.x
        found.meetings[me] = found.meetings.get(me, 0) + 1

    def told(value):  # which orders no memory, although all wait
        me = threading.current_thread().threadIdx.x
        before = found.meetings.get(me, 0)
        values = tell_all(value)
        found.meetings[me] = before
        return values

    monkeypatch.setattr(gpu_source, "of_first", watched)
    monkeypatch.setattr(warps, "_meet", met)
    monkeypatch.setattr(warps, "_all", told)
    monkeypatch.setattr(gpu_source, "SELDOM", set())  # all arrays in shared memory
    monkeypatch.setattr(gpu_source, "SHARED", 1 << 30)
    monkeypatch.setattr(GpuLane, "_side_by_side", lambda lane: 1)
    return found


def compare(watch, make, problem, environment, max_pulls, runs=2):
    """Play one run after the other on a warp, without races, and as the plain lane does."""
    lane = GpuLane.of(make(problem))
    played = lane._launch(environment.kernel(), np.arange(runs), KEY, max_pulls)
    assert watch.races == set()
    assert len(set(watch.meetings.values())) == 1
    for number in range(runs):
        result = run(make(problem), Fed(environment, number), lane="plain", max_pulls=max_pulls)
        assert played.counts[number].tolist() == result.counts.tolist()
        assert played.settled[number] == result.certificate.settled
        margin = max(0.0, played.margins[number])
        assert margin == pytest.approx(result.certificate.gap_bound, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
def test_explorers_play_without_races(watch, make):
    """The two best arms are alike, so that differences of their rows are mostly rounding."""
    arms = np.vstack([soare(3, 0.08).arms, 0.2 * sphere(13, 3, seed=1).arms])
    problem = Problem(arms, noise=0.1, epsilon=0.001, norm_bound=2.0)
    compare(watch, make, problem, lingape.Gaussian(arms, [2.0, 0.0, 0.0], scale=0.1), 26)


def test_arms_that_are_nearly_or_quite_the_same(watch):
    arms = sphere(17, 3, seed=1).arms.copy()
    arms[15], arms[16] = arms[1], 0.99 * arms[0]
    environment = lingape.Gaussian(arms, arms[0], scale=0.3)
    compare(watch, LinGapE, Problem(arms, noise=0.3, epsilon=0.1), environment, 26)


def test_rewards_of_0_and_1_and_plans_that_go_on_for_a_while(watch, monkeypatch):
    monkeypatch.setattr("lingape.plans.WORTHWHILE", 1e-3)
    arms = np.abs(sphere(17, 2, seed=1).arms)
    environment = lingape.ZeroOne(arms, [0.6, 0.3])
    compare(watch, PARTS["uniform"], Problem(arms, noise=0.5), environment, 60, runs=1)


def test_a_missing_meeting_is_noticed(watch, monkeypatch):
    monkeypatch.setattr("lingape.kernels.philox.meet", lambda team: None)
    instance = sphere(17, 3, seed=1)
    lane = GpuLane.of(LinGapE(instance.problem()))
    lane.play(instance.gaussian().kernel(), np.arange(1), KEY, 20)
    assert watch.races
    assert all("philox.py" in where for race in watch.races for where in race)


def test_no_more_registers_than_there_are(monkeypatch):
    device = type("Device", (), {})()
    device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 233_472
    device.MAX_REGISTERS_PER_MULTIPROCESSOR = 65_536
    monkeypatch.setattr(gpu_source.cuda, "get_current_device", lambda: device)
    for reserved in (0, 1_024):
        device.RESERVED_SHARED_MEMORY_PER_BLOCK = reserved
        limits = [gpu_source._registers(shared) for shared in (0, 6_144, 15_360, 40_960)]
        assert limits == [None, None, 144 if reserved else 136, None]
