"""Forecasts of the pulls that are still needed; `python -m benchmarks.remaining` has more."""

import copy
import math

import numpy as np
import pytest

from lingape import (
    LinGapE,
    LinGapEBudget,
    Problem,
    Race,
    SelfNormalized,
    UGapE,
    canonical,
    factorial,
    items,
    run,
    soare,
    soare_tied,
    specs,
    sphere,
)
from lingape.environments import Instance
from lingape.remaining import Remaining, remaining

SMALL = soare(3, 0.3)
COSTS = Instance("costs", np.eye(4), np.array([1.0, 0.2, 0.6, 0.8]))
CLICKS = factorial(0.3, [0.2], [0.2])


def after(explorer, world, pulls, seed=0):
    """Return the explorer after some simulated pulls."""
    run(explorer, world, seed=seed, max_pulls=pulls, lane="plain")
    return explorer


def looks(build, world, moments, seeds):
    """Return forecasts of runs at some numbers of pulls, and how many pulls followed."""
    found = []
    for seed in range(seeds):
        seen = []

        def see(explorer, pulls, seen=seen):
            if pulls in moments and not explorer.done:
                seen.append((pulls, remaining(explorer)))

        total = run(build(), world, seed=seed, progress=see, moments=moments).pulls
        found += [(forecast, total - pulls) for pulls, forecast in seen]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "world", "moments"),
    [
        (lambda: Race(SMALL.problem()), SMALL.gaussian(), [40, 80, 140]),
        (lambda: Race(CLICKS.problem(noise="binary")), CLICKS.zero_one(), [100, 200, 400]),
        (lambda: Race(SMALL.problem(noise="normal")), SMALL.gaussian(), [60, 120]),
        (lambda: Race(sphere(30, 6, 1).problem(epsilon=0.2)), sphere(30, 6, 1).gaussian(), [900]),
        (lambda: LinGapE(SMALL.problem()), SMALL.gaussian(), [60, 120, 200]),
        (lambda: LinGapE(canonical(10, 0.5).problem()), canonical(10, 0.5).gaussian(), [1000]),
        (
            lambda: LinGapE(SMALL.problem(), bound=SelfNormalized()),
            SMALL.gaussian(),
            [100, 300],
        ),
    ],
    ids=["race", "0 and 1", "unknown σ", "ε", "lingape", "canonical", "self-normalized"],
)
def test_forecasts_are_about_right(build, world, moments):
    """Margins are wide, for runs are few; the benchmark has the numbers."""
    found = looks(build, world, moments, seeds=20)
    took = np.array([more for _, more in found])
    levels = np.array([[math.inf if n is None else n for n in one] for one, _ in found])
    assert len(found) >= 15
    over = (took[:, None] > levels).mean(axis=0)
    assert over[0] >= 0.6 and over[2] <= 0.4, over
    assert 0.4 <= np.median(levels[:, 1]) / np.median(took) <= 2.5


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_less_is_better(kind):
    """Costs are gains with their signs changed."""
    more, less = (
        kind(Problem(np.eye(4), noise=1.0, minimize=minimize)) for minimize in (False, True)
    )
    rng = np.random.default_rng(0)
    for _ in range(60):
        arm = more.ask()
        assert less.ask() == arm
        gain = -COSTS.theta[arm] + rng.standard_normal()
        more.tell(arm, gain)
        less.tell(arm, -gain)
    assert remaining(more) == remaining(less) is not None


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_units_do_not_matter(kind):
    one, other = kind(COSTS.problem(noise=1.0)), kind(COSTS.problem(noise=1000.0))
    rng = np.random.default_rng(0)
    for _ in range(60):
        arm, reward = one.ask(), rng.standard_normal()
        one.tell(arm, reward)
        other.tell(arm, 1000 * reward)
    np.testing.assert_allclose(remaining(one)[:2], remaining(other)[:2], rtol=1e-6)


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_it_comes_down_as_the_end_comes_near(kind):
    """Without noise the run is known, and the forecast nears it."""
    problem = Problem(np.eye(3), noise=1.0)
    explorer, seen = kind(problem), []
    while not explorer.done:
        arm = explorer.ask()
        explorer.tell(arm, [1.0, 0.5, 0.0][arm])
        if explorer.counts.sum() % 10 == 0:
            seen.append(remaining(explorer))
    total = int(explorer.counts.sum())
    late = [one for one in seen[len(seen) // 2 :] if one is not None]
    assert all(one.median < 2 * total for one in late)
    assert late[-1].median < 0.2 * total and late[0].median > late[-1].median
    assert remaining(explorer) is None  # done


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_asking_changes_nothing(kind):
    explorer = after(kind(SMALL.problem(epsilon=0.1)), SMALL.gaussian(), 30)
    before = explorer.state()
    first = remaining(explorer)
    assert first == remaining(explorer) == remaining(copy.deepcopy(explorer))
    assert explorer.state() == before
    assert first.low <= first.median <= first.high


def test_many_dimensions():
    found = remaining(after(Race(canonical(35).problem()), canonical(35).gaussian(), 200))
    assert found is not None and found.low > 10


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_items_that_cannot_be_pulled(kind):
    other = items(3, 8, 0)
    found = remaining(after(kind(other.problem()), other.gaussian(), 60))
    assert found is not None and found.median < 5_000


def test_ties():
    """Arms that tie have no end; with ε there is one."""
    equal, tied = canonical(5, 0.0), soare_tied(4, 0.5)
    for seed in range(3):
        endless = remaining(after(Race(equal.problem()), equal.gaussian(), 500, seed))
        assert endless.high is None or endless.high > 10 * 500
        soon = remaining(after(Race(tied.problem(epsilon=0.3)), tied.gaussian(), 40, seed))
        assert soon is None or soon.high < 2_000


def test_a_budget_is_known():
    explorer = LinGapEBudget(Problem(np.eye(2), noise=1.0), budget=50)
    assert remaining(explorer) == (50, 50, 50)
    explorer = after(explorer, canonical(2).gaussian(), 20)
    assert remaining(explorer) == (30, 30, 30)
    assert remaining(after(explorer, canonical(2).gaussian(), 30)) is None


def test_what_cannot_be_told():
    problem = Problem(np.eye(3), noise=1.0)
    assert remaining(Race(problem)) is None  # nothing is known
    assert remaining(LinGapE(problem)) is None
    assert remaining(after(LinGapE(problem, m=2), canonical(3).gaussian(), 10)) is None
    assert remaining(after(UGapE(problem), canonical(3).gaussian(), 10)) is None
    many = canonical(101, 1.0)
    assert remaining(after(Race(many.problem()), many.gaussian(), 300)) is None  # takes too long
    alike = Problem([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], noise=1.0, answers=[0, 1])
    for kind in (Race, LinGapE):
        explorer = kind(alike)
        while not explorer.done and explorer.counts.sum() < 20:
            explorer.tell(explorer.ask(), 0.5)
            assert remaining(explorer) is None


ODD = {
    "two arms": Problem([[1.0], [-1.0]], noise=1.0, norm_bound=2.0),
    "duplicates": Problem([[1.0, 0], [1.0, 0], [0, 1.0]], noise=1.0, norm_bound=2.0),
    "not spanning": Problem([[1.0, 1, 0], [2.0, 2, 0], [0, 0, 1]], noise=1.0, norm_bound=2.0),
    "tiny": Problem(1e-90 * np.eye(3), noise=1e-90, norm_bound=1.0),
    "huge": Problem(1e90 * np.eye(3), noise=1e90, norm_bound=1.0),
    "far apart": Problem([[1e-6, 0], [0, 1e6], [1, 1]], noise=1.0, norm_bound=2.0),
    "clicks": Problem(np.eye(3), noise="binary", norm_bound=2.0, epsilon=0.01),
    "costs in a range": Problem(np.eye(3), noise=(1, 2), norm_bound=4.0, minimize=True),
    "small δ": Problem(np.eye(3), noise=1.0, norm_bound=2.0, delta=1e-300),
    "large ε": Problem(np.eye(3), noise=1.0, norm_bound=2.0, epsilon=1e90),
}
REWARDS = {
    "two arms": (0.0, 1.0, -1e100),
    "tiny": (0.0, 1e-90),
    "huge": (0.0, 1e90),
    "clicks": (0, 1),
    "costs in a range": (1.0, 1.5, 2.0),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "name",
    ["race", "lingape", "lingape(bound=self_normalized)", "uniform"],
)
def test_it_never_raises(name, odd):
    """Whatever rewards are: all the same, or anything."""
    problem, values = ODD[odd], REWARDS.get(odd, (0.0, 1.0))
    for some in [*((value,) for value in values), values]:
        explorer = specs.Recipe.read(name)(problem, None)
        rng = np.random.default_rng(0)
        for pull in range(30):
            if not explorer.done:
                explorer.tell(explorer.ask(), float(rng.choice(some)))
                if pull in (5, 29):
                    checked(remaining(explorer))


@pytest.mark.parametrize("rewards", [(0.0,), (0.0, 1.0), (0.0, 1e-12), (1e90, 1e90 + 1e80)])
def test_noise_that_does_not_show(rewards):
    explorer = Race(Problem(np.eye(3), noise="normal"))
    rng = np.random.default_rng(0)
    for _ in range(40):
        if not explorer.done:
            explorer.tell(explorer.ask(), float(rng.choice(rewards)))
            checked(remaining(explorer))


def checked(found):
    """Check that a forecast can be one."""
    if found is not None:
        levels = [math.inf if n is None else n for n in found]
        assert levels == sorted(levels) and levels[0] >= 0 and str(found)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Remaining(512.3, 1234.5, 3100), "about 1,200 more pulls (510 to 3,100 in 80 % of cases)"),
        (Remaining(1, 4.4, 17), "about 4 more pulls (1 to 17 in 80 % of cases)"),
        (Remaining(9, 90, None), "about 90 more pulls, or no end in sight: the best arms may be"),
        (Remaining(9, None, None), "no end in sight: the best arms may be tied; epsilon above 0"),
        (Remaining(None, None, None), "no end in sight"),
    ],
)
def test_in_words(found, says):
    assert str(found).startswith(says)
