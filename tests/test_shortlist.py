"""Rounds in a shortlist play the pulls of rounds among all arms, and of ask and tell."""

import numpy as np
import pytest

from lingape import (
    Instance,
    JedraProutiere,
    LinGapE,
    Mixture,
    SelfNormalized,
    Stylised,
    Tracking,
    WorstCase,
    greedy,
    run,
    sphere,
)
from lingape.kernels import shortlist
from lingape.kernels.book import Model, rebuild, row_for
from lingape.kernels.parts import radius, write_reach
from lingape.lanes import compiled, compiled_lane
from lingape.lanes.compiled import ContestLane

BOUNDS = {
    "paper": SelfNormalized("K^2"),
    "worst case": WorstCase(),
    "stylised": Stylised(),
    "mixture": Mixture(),
    "refined": Mixture(refined=True),
}


def clustered():
    """Many arms close to the best one, which lead in turn."""
    rng = np.random.default_rng(3)
    arms = np.concatenate([[1.0, 0.0, 0.0] + 0.02 * rng.standard_normal((60, 3)), np.eye(3)])
    return Instance("clustered", arms, np.array([1.0, 0.2, -0.3]))


def repeated():
    """Each arm four times."""
    arms = np.tile(sphere(20, 3, seed=4).arms, (4, 1))
    return Instance("repeated", arms, np.array([0.6, 0.5, 0.2]))


def symmetric():
    """Arms of which many tie, exactly, as leaders, as rivals and to be pulled."""
    grid = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 4)).reshape(4, -1).T
    return Instance("grid", grid[np.abs(grid).sum(axis=1) > 0], np.array([0.2, 0.2, 0.2, 0.0]))


def unequal():
    """Arms of very different lengths."""
    rng = np.random.default_rng(5)
    arms = rng.standard_normal((70, 4)) * 10.0 ** rng.uniform(-2, 1, (70, 1))
    return Instance("unequal", arms, np.array([0.1, -0.05, 0.02, 0.0]))


INSTANCES = [sphere(80, 4, seed=1), clustered(), repeated(), symmetric(), unequal()]
LOOPS = ("advance", "advance_listed", "leave_list", "pull_each")


@pytest.fixture
def short(monkeypatch):
    """Let explorers with few arms use shortlists, of eight."""
    monkeypatch.setattr(shortlist, "MANY", 0)
    monkeypatch.setattr(shortlist, "TIMES", 0)
    monkeypatch.setattr(shortlist, "SHARE", 1.0)
    monkeypatch.setattr(compiled, "SIZE", 8)


@pytest.fixture
def interpreted(monkeypatch):
    """Let loops run as plain Python."""
    for name in LOOPS:
        monkeypatch.setattr(compiled, name, getattr(compiled, name)._function)


def lane_for(problem, bound, pull, *, listed):
    lane = compiled_lane(LinGapE(problem, bound=bound, pull=pull))
    assert lane._stage.listed == listed
    return lane


@pytest.mark.parametrize("pull", ["greedy", "tracking"])
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.name)
def test_pulls_and_contests(instance, bound, pull, short, interpreted, monkeypatch):
    problem = instance.problem(norm_bound=2.0, noise=0.3, delta=1e-9)
    bound, rule = BOUNDS[bound], greedy if pull == "greedy" else Tracking()
    world, pulls = instance.gaussian(), len(instance.arms) + 200
    few = lane_for(problem, bound, rule, listed=True)
    monkeypatch.setattr(shortlist, "SHARE", 0.0)
    every = lane_for(problem, bound, rule, listed=False)
    monkeypatch.setattr(shortlist, "SHARE", 1.0)
    streams = np.random.default_rng(2), np.random.default_rng(2)
    for until in range(len(instance.arms), pulls + 1, 5):
        for lane, rng in zip((few, every), streams, strict=True):
            lane.advance(world.kernel(), rng, until)
        assert few.counts.tolist() == every.counts.tolist()
        assert few.contest[:2] == every.contest[:2]
        assert few.contest.margin == pytest.approx(every.contest.margin, rel=1e-8, abs=1e-10)
    assert few._listed is not None
    plain = LinGapE(problem, bound=bound, pull=rule)
    result = run(plain, world, seed=2, max_pulls=pulls, lane="plain")
    assert few.counts.tolist() == result.counts.tolist()
    assert few.settled == plain.done


def test_reach_of_sensitivities():
    """They stay below what is allowed for, however A grows; without the allowance they do not."""
    problem = sphere(80, 4, seed=1).problem()
    explorer = LinGapE(problem)
    for arm in [*range(80), *[3] * 500]:
        explorer.tell(arm, 0.0)
    estimate, lane, exceeded = explorer.estimate, ContestLane.of(explorer), 0
    bound, book = lane._kernels.bound, lane._book
    model = Model(lane._arena, book, bound)
    rebuild(model, lane._kernels.pull)
    factor, row = radius(bound, lane._arena, book), row_for(model, 3)
    for arm in range(80):
        growth = 10 * float(book.variances[arm])
        write_reach(bound, book, book.means, factor, 3, row, growth)
        later = estimate.copy()
        later.pretend_many([arm] * 10)
        y = later.features - later.features[3]
        exact = ((y @ later.inverse) ** 2).sum(axis=1)
        assert (exact <= bound.b * (1 + 1e-9)).all()
        exceeded += (exact > bound.sensitivity[row]).any()
    assert exceeded


def test_without_a_shortlist_once_it_would_have_to_be_too_long(short, interpreted, monkeypatch):
    instance = sphere(80, 4, seed=1)
    problem, world = instance.problem(noise=0.3, delta=1e-60), instance.gaussian()
    lane = lane_for(problem, Mixture(), greedy, listed=True)
    lane.advance(world.kernel(), rng := np.random.default_rng(2), 85)
    lane._listed.shortlist.clock[shortlist.WANTED] = 100
    lane._resize(lane._listed)
    assert lane._listed is None
    lane.advance(world.kernel(), rng, 150)
    assert lane._listed is None
    plain = run(LinGapE(problem), world, seed=2, max_pulls=150, lane="plain")
    assert lane.counts.tolist() == plain.counts.tolist()
    again = lane._again
    lane.advance(world.kernel(), rng, 400)  # another try, when caches are new
    assert lane._listed is not None or lane._again > again
    plain = run(LinGapE(problem), world, seed=2, max_pulls=400, lane="plain")
    assert lane.counts.tolist() == plain.counts.tolist()


@pytest.mark.parametrize("bound", ["paper", "mixture"])
def test_none_while_pulls_are_few(bound, short, interpreted):
    instance = sphere(80, 4, seed=1)
    problem, world = instance.problem(norm_bound=2.0, noise=0.3, delta=1e-9), instance.gaussian()
    settings = {"bound": BOUNDS[bound], "start": "spanning"}
    lane, rng = compiled_lane(LinGapE(problem, **settings)), np.random.default_rng(2)
    lane.advance(world.kernel(), rng, 50)
    assert lane._listed is None
    lane.advance(world.kernel(), rng, 250)
    assert lane._listed is not None
    plain = LinGapE(problem, **settings)
    run(plain, world, seed=2, max_pulls=250, lane="plain")
    assert lane.counts.tolist() == plain.counts.tolist()


@pytest.mark.parametrize("bound", ["paper", "mixture"])
def test_compiled(bound, short):
    """Gaussian and ±1 rewards; the explorer goes on from what the lane hands over."""
    instance = sphere(300, 5, seed=3)
    problem = instance.problem(norm_bound=2.0)
    for world in instance.gaussian(), instance.signed():
        plain, fast = (LinGapE(problem, bound=BOUNDS[bound]) for _ in range(2))
        run(plain, world, seed=1, max_pulls=1_500, lane="plain")
        run(fast, world, seed=1, max_pulls=1_500, lane="compiled")
        assert plain.counts.tolist() == fast.counts.tolist()
        assert plain.ask() == fast.ask()
        assert fast.estimate.means == pytest.approx(plain.estimate.means, abs=1e-9)


def test_very_many_arms():
    """As it is, without a fixture."""
    instance = sphere(3_000, 10, seed=1)
    problem = instance.problem(norm_bound=2.0)
    plain = run(LinGapE(problem), instance.gaussian(), max_pulls=3_300, lane="plain")
    fast = run(LinGapE(problem), instance.gaussian(), max_pulls=3_300, lane="compiled")
    assert plain.counts.tolist() == fast.counts.tolist()


def test_parts_that_need_all_arms(short):
    problem = sphere(80, 4, seed=1).problem(norm_bound=2.0)
    for settings in {"elimination": "stop"}, {"bound": JedraProutiere()}:
        assert compiled_lane(LinGapE(problem, **settings))._listed is None
