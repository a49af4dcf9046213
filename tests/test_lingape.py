"""LinGapE beyond the laws: what it pulls, what it says, what it saves."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lingape import (
    Gaussian,
    LinGapE,
    Mixture,
    Problem,
    SelfNormalized,
    Tracking,
    canonical,
    greedy,
    outsider,
    run,
    shared_doubt,
    soare,
    sphere,
)
from lingape.errors import IllConditioned, InvalidArgument, InvalidArm, InvalidReward, InvalidState
from lingape.testing import Tape, pulls_of


def started(problem=None, **parts):
    """An explorer some way into a run."""
    problem = problem or sphere(6, 3, 1).problem(norm_bound=1.0)
    explorer = LinGapE(problem, **parts)
    pulls_of(explorer, Tape(problem.arms @ np.ones(problem.arms.shape[1])), 60)
    return explorer


@pytest.mark.parametrize("pull", [greedy, Tracking()])
@pytest.mark.parametrize("bound", [Mixture(), SelfNormalized("K^2")])
def test_pulling_the_worst_arm_settles_the_best(pull, bound):
    """Section 1: arms 1 and 2 differ in what only arm 3 measures, so arm 3 gets the pulls."""
    instance = outsider()
    explorer = LinGapE(instance.problem(norm_bound=2.1), bound=bound, pull=pull)
    result = run(explorer, instance.gaussian(), seed=0, max_pulls=50_000)
    assert instance.gaussian().means.argmin() == 2
    assert result.counts[2] > 0.97 * result.pulls
    assert result.certificate.arm in (0, 1)


@pytest.mark.parametrize("bound", [Mixture(), SelfNormalized()])
def test_the_doubt_that_two_arms_share_does_not_make_them_rivals(bound):
    """Section 5.2: intervals on gaps choose arm 3, intervals on means would choose arm 2."""
    instance = shared_doubt()
    explorer = LinGapE(instance.problem(norm_bound=1.5, noise=10.0), bound=bound)
    for arm, times in ((0, 1), (1, 1), (2, 10_000)):  # θ₁ is known well, θ₂ is not
        for _ in range(times):
            explorer.tell(arm, float(instance.gaussian().means[arm]))
    assert explorer.contest.leader == 0
    assert explorer.contest.rival == 2
    upper = explorer.estimate.means + 30 * np.sqrt(explorer.estimate.variances)
    assert upper[1] > upper[2]
    assert explorer.theta == pytest.approx([-1, 0], abs=0.05)


def test_both_rules_find_the_papers_allocation():
    """Section 7.1: arm 2 is pulled most although it is far from best; N₁/N₂ = (1-cos)/sin."""
    instance = soare(5, 0.05)
    for pull in (greedy, Tracking()):
        result = run(
            LinGapE(instance.problem(), bound=SelfNormalized(), pull=pull), instance.gaussian()
        )
        assert result.correct
        assert result.counts[1] > 0.95 * result.pulls
        expected = (1 - math.cos(0.05)) / math.sin(0.05)
        assert result.counts[0] / result.counts[1] == pytest.approx(expected, rel=0.1)


def test_ask_many_spreads_over_arms_and_counts_pending():
    """On canonical arms the contested pair is pulled in turn, pending pulls included."""
    explorer = LinGapE(canonical(4, 0.0).problem(norm_bound=1.0))
    for arm, reward in enumerate([1.0, 0.9, -30.0, -30.0]):
        explorer.tell(arm, reward)
    assert sorted(explorer.ask_many(4)) == [0, 0, 1, 1]
    assert explorer.ask_many(2, pending=[0, 0]) == [1, 1]
    assert explorer.counts.tolist() == [1, 1, 1, 1]


def test_ask_many_during_the_start():
    explorer = LinGapE(sphere(5, 2, 0).problem())
    assert explorer.ask_many(4) == [0, 1, 2, 3]
    assert explorer.ask_many(4, pending=[0, 1, 2]) == [3, 4, 0, 1]
    explorer.tell(0, 1.0)
    explorer.tell(4, 1.0)
    assert explorer.ask_many(3) == [1, 2, 3]
    assert explorer.ask_many(2, pending=range(5)) == [1, 2]


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", None, True])
def test_ask_many_needs_a_number(n):
    with pytest.raises(InvalidArgument, match="from 1"):
        started().ask_many(n)


def test_ask_many_refuses_unknown_pending_arms():
    with pytest.raises(InvalidArm):
        started().ask_many(1, pending=[6])
    for pending in (0, None):
        with pytest.raises(InvalidArgument, match="sequence"):
            started().ask_many(1, pending=pending)


def test_huge_rewards_are_refused():
    explorer = started()
    for reward in (1e101, -1e308, 10**400):
        with pytest.raises(InvalidReward, match="1e\\+100"):
            explorer.tell(0, reward)


def test_tiny_delta_in_words():
    explorer = LinGapE(Problem(np.eye(2), delta=1e-12, epsilon=1.0, noise=0.01))
    explorer.tell(0, 1.0)
    explorer.tell(1, 0.0)
    assert "at least 1 - 1e-12" in str(explorer.certificate())


def test_tell_many_is_all_or_nothing():
    explorer = started()
    before = json.dumps(explorer.state())
    for arms, rewards, error in [
        ([0, 9], [1.0, 1.0], InvalidArm),
        ([0, 1], [1.0, math.nan], InvalidReward),
        ([0, 1], [1.0], InvalidArgument),
        (0, 1.0, InvalidArgument),
        ([0, 0], [1e99, 1e101], InvalidReward),
    ]:
        with pytest.raises(error):
            explorer.tell_many(arms, rewards)
        assert json.dumps(explorer.state()) == before
    one_by_one = LinGapE.from_state(json.loads(before))
    explorer.tell_many([0, 3, 0], np.array([0.5, -1.0, 2.0]))
    for arm, reward in [(0, 0.5), (3, -1.0), (0, 2.0)]:
        one_by_one.tell(arm, reward)
    assert explorer.state() == one_by_one.state()


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e3, 1e3)), max_size=60))
@settings(max_examples=50, deadline=None)
def test_any_log_can_be_replayed(log):
    """Whatever was told, in whatever order, a saved state continues exactly."""
    problem = Problem([[1, 0], [0, 1], [1, 1], [1, 0]], epsilon=0.5, names=list("abcd"), noise=1.0)
    explorer = LinGapE(problem)
    for arm, reward in log:
        explorer.tell(arm, reward)
    again = LinGapE.from_state(json.loads(json.dumps(explorer.state(), allow_nan=False)))
    assert again.state() == explorer.state()
    assert again.contest == explorer.contest
    assert again.certificate() == explorer.certificate()
    assert 0 <= explorer.recommend() < 4
    if not explorer.done:
        assert again.ask() == explorer.ask()
        explorer.tell(1, 3.25)
        again.tell(1, 3.25)
        assert again.state() == explorer.state()


def test_margin_bounds_the_gap_of_the_leader():
    explorer = started()
    leader, rival, margin = explorer.contest
    assert leader != rival
    widths = explorer.bound.widths(explorer.problem, explorer.estimate, leader)
    upper = explorer.estimate.means + widths - explorer.estimate.means[leader]
    upper[leader] = -np.inf
    assert margin == pytest.approx(upper.max())
    assert explorer.certificate().gap_bound == pytest.approx(max(0, margin))


def test_certificates_in_words():
    problem = Problem(np.eye(2), epsilon=0.1, delta=0.05, names=["red", "blue"], noise=1.0)
    explorer = LinGapE(problem)
    assert "Nothing is proven yet" in str(explorer.certificate())
    assert explorer.certificate().to_dict()["gap_bound"] is None
    explorer.tell(0, 1.0)
    assert "Nothing is proven yet, after 1 pull." in str(explorer.certificate())
    explorer.tell(1, 0.0)
    text = str(explorer.certificate())
    assert "Not settled after 2 pulls" in text
    assert "better than red" in text
    assert "95 %" in text
    assert "1-sub-Gaussian" in text
    assert "Mixture" in text
    while not explorer.done:
        arm = explorer.ask()
        explorer.tell(arm, 1.0 - arm)
    assert str(explorer.certificate()).startswith("Settled. The best arm is at most")
    data = explorer.certificate().to_dict()
    assert data["settled"]
    assert data["name"] == "red"
    assert data["gap_bound"] <= 0.1
    assert data["delta"] == 0.05
    assert data["statement"] == str(explorer.certificate())
    assert "better than red" in data["statement"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.clear(),
        lambda s: s.update(format="something else"),
        lambda s: s.update(version=99),
        lambda s: s.pop("problem"),
        lambda s: s.pop("estimate"),
        lambda s: s["problem"].update(delta=2),
        lambda s: s["problem"].update(arms=[[1, 2]]),
        lambda s: s["problem"].update(colour="red"),
        lambda s: s.update(bound={"name": "magic"}),
        lambda s: s.update(bound="mixture"),
        lambda s: s.update(bound={"name": "mixture", "scales": -1}),
        lambda s: s["settings"].update(pull={"name": "tracking", "speed": 3}),
        lambda s: s.pop("settings"),
        lambda s: s.update(ridge=2.0),
        lambda s: s.update(verdict={"arm": 0}),
        lambda s: s.update(verdict="yes"),
        lambda s: s.update(verdict=LinGapE.from_state(s).certificate().to_dict()),
        lambda s: s.update(estimate=None),
        lambda s: s["estimate"]["counts"].__setitem__(0, 10**6),
    ],
)
def test_damaged_states_are_refused(damage):
    state = json.loads(json.dumps(started().state()))
    damage(state)
    with pytest.raises(InvalidState):
        LinGapE.from_state(state)


@pytest.mark.parametrize(
    "damage",
    [
        lambda v: v.update(arm=99),
        lambda v: v.update(arm="x"),
        lambda v: v.update(arm=(v["arm"] + 1) % 3),
        lambda v: v.update(gap_bound=None),
        lambda v: v.update(gap_bound=5.0),
        lambda v: v.update(delta=1e-9),
        lambda v: v.update(settled=False),
        lambda v: v.update(pulls=10**9),
        lambda v: v.update(bound="Certainty()"),
        lambda v: v.pop("assumptions"),
    ],
)
def test_damaged_verdicts_are_refused(damage):
    explorer = LinGapE(canonical(3, 2.0).problem())
    run(explorer, canonical(3, 2.0).gaussian())
    state = json.loads(json.dumps(explorer.state()))
    assert LinGapE.from_state(state).certificate() == explorer.certificate()
    damage(state["verdict"])
    with pytest.raises(InvalidState, match="verdict"):
        LinGapE.from_state(state)


def test_states_with_means_of_zero():
    explorer = LinGapE(Problem(np.eye(2), noise=1.0))
    for reward in (1, 1, 1, -1, -1, -1):
        explorer.tell(0, reward)
        explorer.tell(1, reward)
    assert LinGapE.from_state(explorer.state()).state() == explorer.state()


@pytest.mark.parametrize(
    "arms",
    [
        [[2, -2], [2, -2], [-1, 1], [-3, 2]],
        [[0, 0], [1, 3], [2, 6], [1, 1]],
        [[1, 1, 1], [1, 1, 1 + 1e-9], [1, 2, 1], [3, 1, 4], [1, 2, 1]],
    ],
)
def test_dependent_arms_first(arms):
    """Rounding makes dependent arms look independent; the estimate waits for ones that are."""
    explorer = LinGapE(Problem(arms, epsilon=0.3, noise=1.0))
    assert len(explorer.ask_many(7)) == 7
    theta = np.full(len(arms[0]), 0.5)
    for _ in range(300):
        if explorer.done:
            break
        arm = explorer.ask()
        explorer.tell(arm, float(np.dot(arms[arm], theta)))
    assert explorer.theta @ np.array(arms[-1]) == pytest.approx(np.dot(arms[-1], theta))


def test_features_too_far_apart_are_refused_in_both_lanes():
    """The ridge is lost beside such features: no lane may turn that into an answer."""
    rng = np.random.default_rng(18)
    x = rng.standard_normal((8, 3))
    x[:, 2] = x[:, 0] + x[:, 1] + 1e-8 * rng.standard_normal(8)
    arms, theta = 3e7 * x, rng.standard_normal(3) / 3e7
    problem = Problem(arms, norm_bound=1.0, noise=10.0)
    for lane in ("plain", "compiled"):
        explorer = LinGapE(problem, bound=SelfNormalized())
        try:
            result = run(explorer, Gaussian(arms, theta, scale=10.0), lane=lane, max_pulls=2_000)
        except IllConditioned:
            continue
        assert result.correct or not result.certificate.settled
    result = run(LinGapE(problem), Gaussian(arms, theta, scale=10.0), max_pulls=2_000)
    assert result.correct or not result.certificate.settled


@pytest.mark.parametrize(
    ("problem", "parts"),
    [
        (np.eye(2), {}),
        (Problem(np.eye(2), noise=1.0), {"bound": Mixture}),
        (Problem(np.eye(2), noise=1.0), {"bound": "mixture"}),
        (Problem(np.eye(2), noise=1.0), {"bound": None}),
        (Problem(np.eye(2), noise=1.0), {"pull": Tracking}),
        (Problem(np.eye(2), noise=1.0), {"pull": "greedy"}),
    ],
)
def test_parts_of_the_wrong_kind(problem, parts):
    with pytest.raises(InvalidArgument, match=r"Problem\(arms, noise=...\)|not the class"):
        LinGapE(problem, **parts)


@pytest.mark.parametrize("state", [None, [], "{}", 3])
def test_states_of_other_kinds_are_refused(state):
    with pytest.raises(InvalidState, match="what state"):
        LinGapE.from_state(state)


def test_parts_of_ones_own():
    def mine(estimate, leader, rival):
        return greedy(estimate, leader, rival)

    explorer = started(pull=mine)
    with pytest.raises(InvalidState, match="pull=..."):
        LinGapE.from_state(explorer.state())
    again = LinGapE.from_state(explorer.state(), pull=mine)
    assert again.ask() == explorer.ask()


def test_recommend_before_the_start_is_over():
    explorer = LinGapE(sphere(4, 2, 0).problem())
    assert explorer.recommend() == 0
    explorer.tell(1, -1.0)
    explorer.tell(2, 3.0)
    assert explorer.recommend() == 2


def test_tracking_solves_each_pair_once(monkeypatch):
    from lingape.designs import DirectionProgram

    solved = []
    solve = DirectionProgram.between
    monkeypatch.setattr(
        DirectionProgram, "between", lambda self, i, j: solved.append((i, j)) or solve(self, i, j)
    )
    tracking = Tracking()
    started(pull=tracking)
    assert 0 < len(solved) == len(set(solved)) <= 15
    tracking.mix(np.eye(2), 0, 1)  # another problem starts over
    assert len(tracking._solved.mixes) == 1
    assert repr(tracking) == "Tracking()"
    assert tracking == Tracking()


def test_a_retired_arm_is_neither_pulled_nor_the_answer():
    """Although it leads when it retires."""
    truth, rng = [2.0, 0.0, 0.3], np.random.default_rng(0)
    before = LinGapE(Problem(np.eye(3), noise=1.0, epsilon=0.5))
    for arm in [0, 1, 2] * 10:
        before.tell(arm, truth[arm] + rng.normal())
    assert before.recommend() == 0
    after = LinGapE(before.problem.with_retired(0))
    after.continue_from(before)
    while not after.done:
        assert (arm := after.ask()) != 0
        after.tell(arm, truth[arm] + rng.normal())
    assert after.certificate().arm == 2
