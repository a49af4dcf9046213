"""Explorers and bounds that treat each arm alone: UGapE, LinUGapE, Uniform, Unstructured."""

from functools import partial

import numpy as np
import pytest

from lingape import (
    FrankWolfeSampling,
    Gaussian,
    LazyTrackAndStop,
    LinGame,
    LinGapE,
    LinT3C,
    LinUGapE,
    Problem,
    SelfNormalized,
    SequentialHalving,
    UGapE,
    Uniform,
    Unstructured,
    XYStatic,
    canonical,
    run,
    shared_doubt,
)
from lingape.errors import InvalidBound
from lingape.testing import Tape, pulls_of


def test_ugape_and_lingape_behave_alike_on_canonical_arms():
    """Section 6.2: with the same intervals they stop together, within a few per cent."""
    instance = canonical(5, 0.5)
    means = {}
    for name, build in {
        "ugape": lambda: UGapE(instance.problem()),
        "lingape": lambda: LinGapE(instance.problem(), bound=Unstructured()),
    }.items():
        results = [run(build(), instance.gaussian(), seed=seed) for seed in range(40)]
        assert all(r.correct for r in results)
        means[name] = np.mean([r.pulls for r in results])
        shares = sum(r.counts for r in results) / sum(r.pulls for r in results)
        assert shares[0] == shares.max()
    assert means["ugape"] == pytest.approx(means["lingape"], rel=0.1)


def test_ugape_by_hand():
    """Two arms, equal counts: β = R√(2 log(4K n³/δ)/T), B = difference + 2β."""
    explorer = UGapE(Problem(np.eye(2), noise=0.5))
    for reward in (1.0, 0.0):
        explorer.tell(0, reward + 0.25)
        explorer.tell(1, reward)
    beta = 0.5 * np.sqrt(2 * np.log(4 * 2 * 4**3 / 0.05) / 2)
    assert explorer.contest == (0, 1, pytest.approx(-0.25 + 2 * beta))


def test_intervals_on_arms_choose_the_wrong_rival():
    """Section 5.2: LinUGapE doubts arm 2, which cannot win; LinGapE doubts arm 3."""
    instance = shared_doubt()
    rivals = {}
    for build in (LinUGapE, LinGapE):
        problem = instance.problem(norm_bound=1.5, noise=2.7)
        explorer = build(problem, bound=SelfNormalized())
        for arm, times in ((0, 1), (1, 1), (2, 3_000)):
            for _ in range(times):
                explorer.tell(arm, float(instance.gaussian().means[arm]))
        assert explorer.contest.leader == 0
        rivals[build] = explorer.contest.rival
    assert rivals == {LinUGapE: 1, LinGapE: 2}


def test_uniform_pulls_in_turn():
    explorer = Uniform(canonical(3, 1.0).problem())
    assert pulls_of(explorer, Tape(np.zeros(3)), 7) == [0, 1, 2, 0, 1, 2, 0]


class TestEqualFeatures:
    """Without features nothing says that two arms with the same features pay the same."""

    arms = ((1.0, 0.0), (1.0, 0.0), (0.0, 1.0))
    means = np.array([0.5, 0.0, -1.0])

    @pytest.mark.parametrize("lane", ["plain", "compiled"])
    @pytest.mark.parametrize(
        "build", [UGapE, partial(LinGapE, bound=Unstructured())], ids=["ugape", "lingape"]
    )
    def test_they_are_told_apart(self, build, lane):
        wrong = 0
        for seed in range(40):
            explorer = build(Problem(self.arms, noise=1.0))
            run(explorer, _Featureless(self.means), seed=seed, lane=lane)
            wrong += explorer.recommend() != 0
        assert wrong <= 4  # of which δ allows 2

    def test_at_the_end_of_a_budget(self):
        explorer = SequentialHalving(Problem(self.arms[:2], noise=1.0), budget=20)
        run(explorer, _Featureless(self.means[:2]))
        assert explorer.certificate().gap_bound > 1  # ten pulls each prove no more

    def test_samplers_that_pull_by_features_refuse(self):
        for build in (LinGame, LazyTrackAndStop, FrankWolfeSampling, LinT3C):
            with pytest.raises(InvalidBound, match="arm 0 and arm 1 have the same"):
                build(Problem(self.arms, noise=1.0), bound=Unstructured())
            build(Problem(np.eye(3), noise=1.0), bound=Unstructured())

    def test_nor_does_a_design_for_features_go_with_it(self):
        with pytest.raises(InvalidBound, match="Use UGapE or Uniform"):
            XYStatic(Problem(self.arms, noise=1.0), bound=Unstructured())
        with pytest.raises(InvalidBound, match="from its own pulls alone"):
            LinGapE(Problem(np.eye(3), pullable=[0, 1], noise=1.0), bound=Unstructured())


class _Featureless:
    """A world in which each arm has a mean of its own."""

    def __init__(self, means):
        world = Gaussian(np.eye(len(means)), means)
        self.means, self.pull, self.kernel = means, world.pull, world.kernel
