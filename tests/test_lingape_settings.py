"""LinGapE's options: a short start, elimination, several best arms."""

import json

import numpy as np
import pytest

from benchmarks import starts
from lingape import (
    FrankWolfeSampling,
    Gaussian,
    LinGapE,
    LinGapEBudget,
    LinGIFA,
    LinT3C,
    Mixture,
    Problem,
    SelfNormalized,
    Study,
    Tracking,
    canonical,
    run,
    soare_tied,
    sphere,
)
from lingape.errors import InvalidArgument, InvalidState
from lingape.scaffold import EachArm, Spanning
from lingape.testing import errors_allowed


class TestSpanning:
    def test_as_many_pulls_as_dimensions(self):
        problem = sphere(200, 6, seed=1).problem()
        explorer = LinGapE(problem, start="spanning")
        first = []
        while explorer.contest is None:
            first.append(explorer.ask())
            explorer.tell(first[-1], 0.0)
        assert first == list(problem.spanning)
        assert len(set(first)) == 6

    def test_they_span_well(self):
        """No pull could have given much more volume: each coordinate of an arm is at most 2^d."""
        for seed in range(10):
            x = sphere(50, 4, seed=seed).arms
            chosen = x[list(Problem(x, noise=1.0).spanning)]
            assert np.abs(np.linalg.solve(chosen.T, x.T)).max() < 4

    def test_units_of_features_do_not_matter(self):
        x = sphere(50, 4, seed=3).arms
        assert (
            Problem(x, noise=1.0).spanning
            == Problem(x * [1e-3, 1.0, 1e3, 7.0], noise=1.0).spanning
        )

    def test_a_hundred_thousand_arms(self):
        rng = np.random.default_rng(0)
        arms = rng.normal(size=(100_000, 5))
        theta = np.array([1.0, -0.5, 0.3, 0.8, 0.0])
        world = Gaussian(arms, theta, scale=0.5)
        problem = Problem(arms, noise=0.5, epsilon=0.5)
        for lane in ("plain", "compiled"):
            explorer = LinGapE(problem, start="spanning")
            result = run(explorer, world, seed=1, max_pulls=3_000, lane=lane)
            assert result.correct and explorer.done
            assert result.pulls < 3_000

    def test_it_can_be_saved_and_continued_at_any_time(self):
        """Also while the arms pulled are many, but neither all nor a power of two."""
        instance = sphere(60, 3, seed=2)
        for lane in ("plain", "compiled"):
            explorer = LinGapE(instance.problem(), start="spanning")
            rng = np.random.default_rng(1)
            for _ in range(40):
                run(explorer, instance.gaussian(), seed=rng, max_pulls=13, lane=lane)
                assert explorer.estimate.ready
                again = LinGapE.from_state(json.loads(json.dumps(explorer.state())))
                assert again.recommend() == explorer.recommend()
                if lane == "plain":  # exact; a compiled run leaves fresh caches behind
                    assert again.ask() == explorer.ask()
                    assert again.certificate() == explorer.certificate()
            assert not explorer.done

    def test_fewer_pulls_where_arms_are_many(self):
        instance = sphere(1_000, 3, seed=0)
        problem, world = instance.problem(epsilon=0.3), instance.gaussian(scale=1.0)
        each, spanning = (
            run(LinGapE(problem, start=start), world, seed=2).pulls
            for start in ("each", "spanning")
        )
        assert each >= 1_000 > spanning


class TestAuto:
    @pytest.mark.parametrize("level", starts.LEVELS)
    def test_what_auto_was_decided_by_runs(self, level, monkeypatch):
        monkeypatch.setattr(starts, "SEEDS", 2)
        found = starts.compared([sphere(20, 3, seed=0)], level)
        assert found["each"] >= 20 and found["spanning"] >= 3

    @pytest.mark.parametrize(("arms", "same"), [(8, "each"), (9, "spanning"), (60, "spanning")])
    @pytest.mark.parametrize("build", [LinGapE, LinGIFA, LinT3C, FrankWolfeSampling])
    def test_spans_where_arms_are_more_than_twice_as_many_as_dimensions(self, build, arms, same):
        instance = sphere(arms, 4, seed=1)
        problem, world = instance.problem(epsilon=0.5), instance.gaussian()
        for lane in ("plain", "auto"):
            explorers = [build(problem, start=start) for start in ("auto", same)]
            counts = [
                run(explorer, world, seed=3, max_pulls=90, lane=lane).counts.tolist()
                for explorer in explorers
            ]
            assert counts[0] == counts[1]
        state = json.loads(json.dumps(explorers[0].state()))
        again = build.from_state(state)
        assert again.start == explorers[0].start == "auto"
        assert again.done or again.ask() == build.from_state(explorers[1].state()).ask()

    def test_only_arms_that_can_be_pulled_count(self):
        items = sphere(100, 4, seed=0).arms
        assert isinstance(
            LinGapE(Problem.transductive(np.eye(4), items, noise=1.0), start="auto").parts.opening,
            EachArm,
        )
        assert isinstance(
            LinGapE(Problem.transductive(items, np.eye(4), noise=1.0), start="auto").parts.opening,
            Spanning,
        )

    def test_a_budget(self):
        problem = sphere(50, 10).problem()
        assert LinGapEBudget(problem, budget=20, start="auto").left == 20
        with pytest.raises(InvalidArgument, match="at least 10 pulls .*each dimension; got 9"):
            LinGapEBudget(problem, budget=9, start="auto")


class TestElimination:
    def test_never_later_and_as_right(self):
        """To stop by elimination plays the same pulls and stops no later."""
        instance = sphere(20, 5, seed=4)
        study = Study(
            {name: f"lingape(elimination={name})" for name in ("none", "stop", "sample")},
            [instance],
            seeds=40,
            max_pulls=1_000_000,
        )
        results = study.run(jobs=1)
        pulls = {
            name: np.array([row.pulls for row in results.rows if row.explorer == name])
            for name in study.explorers
        }
        assert (pulls["stop"] <= pulls["none"]).all()
        assert (pulls["stop"] < pulls["none"]).any()
        assert pulls["sample"].mean() < 1.05 * pulls["none"].mean()
        for cell in results.summary():
            assert cell.errors <= errors_allowed(40, 0.05)

    def test_what_is_dropped_was_beaten(self):
        instance = sphere(12, 3, seed=2)
        explorer = LinGapE(instance.problem(), elimination="sample")
        world, rng = instance.gaussian(), np.random.default_rng(0)
        seen = {}
        while not explorer.done:
            arm = explorer.ask()
            explorer.tell(arm, world.pull(arm, rng))
            if explorer.contest is None:
                continue
            leader = explorer.contest.leader
            means = explorer.estimate.means
            widths = explorer.bound.widths(explorer.problem, explorer.estimate, leader)
            for rival in np.flatnonzero(means + widths <= means[leader]):
                if rival != leader:
                    seen.setdefault(leader, set()).add(int(rival))
        winner = explorer.recommend()
        assert seen[winner] == set(range(12)) - {winner}

    def test_a_state_remembers_who_is_beaten(self):
        instance = sphere(12, 3, seed=2)
        explorer = LinGapE(instance.problem(), elimination="sample")
        world = instance.gaussian()
        run(explorer, world, seed=1, max_pulls=150)
        state = json.loads(json.dumps(explorer.state()))
        assert state["kept"]["stopping"]
        again = LinGapE.from_state(state)
        results = [run(e, world, seed=5, lane="plain").counts.tolist() for e in (explorer, again)]
        assert results[0] == results[1]
        state["kept"]["stopping"][0][1] = 99
        with pytest.raises(InvalidState, match="damaged"):
            LinGapE.from_state(state)

    @pytest.mark.slow
    @pytest.mark.parametrize("elimination", ["stop", "sample"])
    def test_on_tied_arms_it_errs_at_most_delta(self, elimination):
        study = Study(
            [f"lingape(elimination={elimination})"],
            [soare_tied(2, 0.01), soare_tied(5, 0.01)],
            seeds=400,
            max_pulls=100_000,
        )
        for row in (rows := study.run().rows):
            assert row.correct  # either is best; to claim a difference is the error
        claims = sum(row.settled for row in rows)
        assert claims <= errors_allowed(len(rows), 0.05)


class TestSeveral:
    @pytest.mark.parametrize("pull", ["greedy", "tracking"])
    @pytest.mark.parametrize("bound", [Mixture(), SelfNormalized()])
    def test_the_m_best(self, pull, bound):
        arms = sphere(15, 3, seed=1).arms
        theta = np.array([1.0, 0.4, -0.2])
        means = arms @ theta
        best = set(np.argsort(-means)[:4].tolist())
        rule = {"pull": Tracking()} if pull == "tracking" else {}
        explorer = LinGapE(Problem(arms, noise=0.1, norm_bound=2.0), bound=bound, m=4, **rule)
        result = run(explorer, Gaussian(arms, theta, scale=0.1), seed=0, max_pulls=200_000)
        assert explorer.done and result.correct
        assert set(explorer.top()) == set(result.certificate.arms) == best
        assert explorer.recommend() == explorer.top()[0]
        assert "any of" in str(result.certificate)

    def test_by_hand(self):
        """Three canonical arms, two wanted: the contest is between the second and the third."""
        explorer = LinGapE(Problem(np.eye(3), noise=1e-3), m=2)
        for arm, reward in [(0, 3.0), (1, 2.0), (2, 1.0)]:
            explorer.tell(arm, reward)
        assert explorer.top() == [0, 1]
        assert explorer.contest.leader == 1
        assert explorer.contest.rival == 2

    def test_correct_is_about_the_worst_of_them(self):
        arms, theta = np.eye(3), np.array([1.0, 0.9, 0.0])
        explorer = LinGapE(Problem(arms, epsilon=0.05, noise=1.0), m=2)
        for arm, reward in [(0, 1.0), (1, 0.0), (2, 5.0)]:  # looks like 2 and 0
            explorer.tell(arm, reward)
        explorer.tell(2, 5.0)
        result = run(explorer, Gaussian(arms, theta, scale=1e-9), max_pulls=1)
        assert set(result.certificate.arms) == {0, 2}
        assert result.true_gap == pytest.approx(0.9)
        assert not result.correct

    def test_before_arms_can_be_compared(self):
        explorer = LinGapE(Problem(np.eye(4), noise=1.0), m=2)
        assert explorer.top() == [0, 1]
        explorer.tell(2, 5.0)
        assert explorer.top() == [2, 0]
        assert explorer.recommend() == explorer.certificate().arm == 2

    def test_there_is_no_lower_bound_for_several(self):
        study = Study(["lingape(m=2)", "lingape"], ["canonical(4, 1.0)"], seeds=2, max_pulls=500)
        several, one = study.run(jobs=1).summary()
        assert several.ratio is None
        assert one.ratio > 1

    def test_one_arm_is_the_plain_question(self):
        instance = canonical(4, 0.8)
        one, plain = (
            run(LinGapE(instance.problem(), **extra), instance.gaussian(), seed=3, lane="plain")
            for extra in ({"m": 1}, {})
        )
        assert one.counts.tolist() == plain.counts.tolist()

    def test_where_all_are_duplicates_nothing_has_to_be_settled(self):
        explorer = LinGapE(Problem(np.ones((3, 1)), noise=1.0), m=2)
        for arm in range(3):
            explorer.tell(arm, 0.0)
        assert explorer.done
        assert explorer.contest.margin == 0.0

    def test_ties_at_the_edge_are_settled_by_epsilon(self):
        theta = np.array([1.0, 0.5, 0.5, 0.0])
        problem = Problem(np.eye(4), noise=0.2, epsilon=0.1)
        explorer = LinGapE(problem, m=2)
        result = run(explorer, Gaussian(np.eye(4), theta, scale=0.2), seed=0)
        assert explorer.done and result.correct
        assert 0 in explorer.top()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"start": "some"}, "spanning"),
        ({"elimination": True}, "sample"),
        ({"m": 0}, "from 1 to 3"),
        ({"m": 4}, "from 1 to 3"),
        ({"m": 1.5}, "whole number"),
        ({"m": 2, "elimination": "stop"}, "best arm alone"),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(InvalidArgument, match=words):
        LinGapE(canonical(4, 0.5).problem(), **settings)
