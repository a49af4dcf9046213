"""The XY explorers do what the paper reports of them, and what their formulas say."""

import json

import numpy as np
import pytest

from lingape import (
    FixedDesign,
    Gaussian,
    LinUGapE,
    Mixture,
    Problem,
    UGapE,
    XYAdaptive,
    XYOracle,
    XYStatic,
    canonical,
    run,
    soare,
    sphere,
)
from lingape.errors import InvalidArgument, InvalidArm, InvalidBound, InvalidState
from lingape.lanes.phases import NoRewards, follow
from lingape.least_squares import LeastSquares
from lingape.paper import TABLE_1, synthetic_problem
from lingape.paper.settings import PRINTED
from lingape.plans import Proportions
from lingape.testing import Tape, pulls_of


def test_oracle_takes_the_pulls_of_table_1():
    """With the authors' choices it is deterministic, and it reproduces Table 1's column."""
    instance = soare(5, 0.01)
    explorer = XYOracle(
        synthetic_problem(instance),
        theta=instance.theta,
        bound=FixedDesign("printed", comparisons="K"),
        ridge=1.0,
    )
    results = [
        run(explorer.from_state(explorer.state()), instance.gaussian(), seed=seed)
        for seed in (0, 1)
    ]
    assert results[0].pulls == results[1].pulls
    assert results[0].pulls == pytest.approx(2_742_457, abs=5)
    assert results[0].counts == pytest.approx(np.array(TABLE_1["XY-oracle"]), abs=5)


@pytest.mark.parametrize(("constants", "pulls"), [("halved", 625_924), ("corrected", 647_000)])
def test_oracle_without_the_needless_factor(constants, pulls):
    """The factor 2 of Proposition 1 is what let LinGapE beat its oracle."""
    instance = soare(5, 0.01)
    explorer = XYOracle(
        synthetic_problem(instance),
        theta=instance.theta,
        bound=FixedDesign(constants, comparisons="K"),
    )
    assert run(explorer, instance.gaussian()).pulls == pytest.approx(pulls, rel=1e-3)


def test_static_spends_equally_and_the_twins_share():
    """Table 1: arms 2 to 5 equally often, arms 1 and 6, almost the same, half as often each."""
    instance = soare(5, 0.01)
    explorer = XYStatic(synthetic_problem(instance), bound=PRINTED)
    result = run(explorer, instance.gaussian(), max_pulls=100_000)
    share = result.counts / result.pulls
    assert share[1:5] == pytest.approx([0.2] * 4, rel=0.02)
    assert share[[0, 5]] == pytest.approx([0.1, 0.1], rel=0.02)


@pytest.mark.slow
def test_static_on_the_papers_instance():
    """15.6 million pulls on average with the authors' constants and K²."""
    instance = soare(5, 0.01)
    pulls = []
    for seed in range(60):
        explorer = XYStatic(synthetic_problem(instance), bound=PRINTED)
        result = run(explorer, instance.gaussian(), seed=seed, max_pulls=60_000_000)
        assert result.correct
        assert result.counts[1:5] / result.pulls == pytest.approx([0.2] * 4, rel=0.02)
        assert result.counts[[0, 5]] / result.pulls == pytest.approx([0.1] * 2, rel=0.02)
        pulls.append(result.pulls)
    print(f"XY-static: {np.mean(pulls):,.0f} ± {np.std(pulls) / len(pulls) ** 0.5:,.0f}")
    assert np.mean(pulls) == pytest.approx(15_600_000, rel=0.03)


def test_adaptive_finds_the_two_arms_and_forgets():
    """Section 7.1: {1, d+1} in early phases, then all arms again; no better than XY-static."""
    instance = soare(5, 0.05)
    problem = synthetic_problem(instance)
    explorer = XYAdaptive(problem, bound=PRINTED, monotone=False)
    result = run(explorer, instance.gaussian(), seed=0, max_pulls=50_000_000)
    assert result.correct
    assert [0, 5] in explorer.history
    after = explorer.history.index([0, 5]) + 1
    assert explorer.history[after] == list(range(6))
    static = run(XYStatic(problem, bound=PRINTED), instance.gaussian(), max_pulls=50_000_000)
    assert result.pulls >= static.pulls
    kept = XYAdaptive(problem, bound=PRINTED)
    assert run(kept, instance.gaussian(), seed=0).pulls < static.pulls


@pytest.mark.parametrize("lane", ["plain", "compiled"])
def test_adaptive_in_pieces(lane):
    """Pauses within phases, and saved states between, change nothing."""
    instance = soare(3, 0.4)
    whole = XYAdaptive(instance.problem())
    expected = run(whole, instance.gaussian(), seed=3, lane="plain")
    explorer, rng = XYAdaptive(instance.problem()), np.random.default_rng(3)
    while not explorer.done:
        run(explorer, instance.gaussian(), seed=rng, max_pulls=37, lane=lane)
        explorer = XYAdaptive.from_state(json.loads(json.dumps(explorer.state())))
    assert explorer.counts.tolist() == expected.counts.tolist()
    assert explorer.history == whole.history
    assert explorer.certificate() == expected.certificate


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.pop("told"),
        lambda s: s.update(told=[0, 0, 0, 0]),
        lambda s: s.update(history=[]),
        lambda s: s.update(history=[[9]]),
        lambda s: s.update(longest=-1),
        lambda s: s.update(favourite="x"),
    ],
)
def test_damaged_phases_are_refused(damage):
    explorer = XYAdaptive(soare(3, 0.4).problem())
    pulls_of(explorer, Tape(soare(3, 0.4).gaussian().means), 30)
    state = json.loads(json.dumps(explorer.state()))
    damage(state["kept"])
    with pytest.raises(InvalidState):
        XYAdaptive.from_state(state)


def test_fixed_pulls_refuse_others():
    explorer = XYStatic(soare(3, 0.4).problem())
    pulls_of(explorer, Tape(soare(3, 0.4).gaussian().means), 10)
    due = explorer.ask()
    for _ in range(10):
        explorer.tell(due, 1.0)  # early, and still within the plan's reach
    with pytest.raises(InvalidArm, match="fixed in advance"):
        for _ in range(3_000):
            explorer.tell(due, 1.0)


def test_oracle_keeps_the_arms_it_needs():
    """Arms a thousand times easier get a share too small to see, and are needed all the same."""
    instance = soare(5, 0.001)
    explorer = XYOracle(instance.problem(), theta=instance.theta)
    result = run(explorer, instance.gaussian(), max_pulls=200_000)
    assert np.isfinite(result.certificate.gap_bound)


def test_oracle_takes_what_the_solver_reaches():
    """The last digits of the allocation are out of reach on some problems; that ends no study."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        arms = rng.normal(size=(int(rng.integers(3, 9)), int(rng.integers(2, 5))))
        explorer = XYOracle(Problem(arms, noise=1.0), theta=rng.normal(size=arms.shape[1]))
        assert explorer.plan.shares.sum() == pytest.approx(1.0, abs=1e-4)


def test_adaptive_stops_at_epsilon():
    """Arms discarded long ago do not keep a tie within ε from being an answer."""
    instance = canonical(3, 1.0)
    problem = instance.problem(epsilon=0.3)
    explorer = XYAdaptive(problem)
    world = Gaussian(problem.arms, [1.0, 1.0, 0.0])
    result = run(explorer, world, max_pulls=100_000)
    assert result.certificate.settled
    assert result.arm in (0, 1)


def test_adaptive_never_returns_to_a_discarded_arm():
    explorer = XYAdaptive(Problem(np.eye(4), noise=1.0))
    first = True
    for _ in range(3_000):
        if explorer.done:
            break
        arm = explorer.ask()
        first = first and explorer.phase == 1
        explorer.tell(arm, [1.0, 1.0, -100.0, -100.0][arm] if first else [1, 1, 1e3, 1e3][arm])
        if not first:
            assert explorer.recommend() in (0, 1)


def test_adaptive_batches_cross_phases():
    """What a new phase has no use for is counted and forgotten; refusals leave no trace."""
    explorer = XYAdaptive(Problem(np.eye(4), noise=1.0))
    means = [5.0, 5.0, -5.0, -5.0]
    for _ in range(20):
        if explorer.done:
            break
        arms = explorer.ask_many(64)
        before = json.dumps(explorer.state())
        with pytest.raises(InvalidArm):
            explorer.tell_many([*arms, 9], [0.0] * 65)
        assert json.dumps(explorer.state()) == before
        explorer.tell_many(arms, [means[arm] for arm in arms])
    assert explorer.phase > 1
    assert explorer.counts.sum() % 64 == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda p: XYStatic(p, design="random"),
        lambda p: XYAdaptive(p, design="random"),
        lambda p: XYAdaptive(p, alpha=1.0),
        lambda p: XYAdaptive(p, alpha="a"),
        lambda p: XYOracle(p, theta="abc"),
        lambda p: XYOracle(p, theta=[1.0]),
        lambda p: XYOracle(p, theta=[1.0, 1.0]),
        lambda p: XYOracle(p, theta=[1.0, 0.0], test="maybe"),
    ],
)
def test_bad_arguments(make):
    with pytest.raises(InvalidArgument):
        make(Problem(np.eye(2), noise=1.0))


def test_bounds_of_the_wrong_kind():
    with pytest.raises(InvalidBound, match="ridge"):
        XYStatic(Problem(np.eye(2), noise=1.0), ridge=1.0)
    for build in (UGapE, LinUGapE):
        for bound in (FixedDesign(), Mixture()):
            with pytest.raises(InvalidBound, match="does not serve"):
                build(Problem(np.eye(2), noise=1.0), bound=bound)
    with pytest.raises(InvalidBound, match="LinGapE"):
        XYAdaptive(Problem(np.eye(2), noise=1.0), bound=Mixture())
    with pytest.raises(InvalidBound, match="at most"):
        UGapE(Problem(np.ones((5_000, 1)), noise=1.0))


@pytest.mark.parametrize("adaptive", [False, True])
def test_greedy_designs_play_the_same_in_both_lanes(adaptive):
    instance = sphere(25, 4, seed=3)  # more arms than the compiled loop keeps rows for elsewhere
    make = XYAdaptive if adaptive else XYStatic
    plain, compiled = (
        run(make(instance.problem(), design="greedy"), instance.gaussian(), seed=5, lane=lane)
        for lane in ("plain", "compiled")
    )
    assert plain.counts.tolist() == compiled.counts.tolist()
    assert (plain.arm, plain.ending) == (compiled.arm, compiled.ending)


@pytest.mark.parametrize("bound", [Mixture(), FixedDesign()])
def test_untested_pulls_never_hide_a_stop(bound):
    """The compiled lane skips tests that cannot stop; it stops where testing each pull does."""
    rng = np.random.default_rng(8)
    for seed in range(20):
        arms = rng.normal(size=(6, 3))
        world = Gaussian(arms, rng.normal(size=3), scale=1.0)
        problem = Problem(arms, epsilon=0.2 * (seed % 2), noise=1.0)
        plain, compiled = (
            run(XYStatic(problem, bound=bound), world, seed=seed, max_pulls=8_000, lane=lane)
            for lane in ("plain", "compiled")
        )
        assert plain.counts.tolist() == compiled.counts.tolist()
        assert plain.ending == compiled.ending


def test_several_rewards_of_which_one_is_refused_leave_no_trace():
    explorer = XYStatic(canonical(3, 1.0).problem())
    with pytest.raises(InvalidArm, match="not due"):
        explorer.tell_many([0, 1, 2] + [0] * 500, [0.0] * 503)
    assert explorer.counts.sum() == 0 and explorer.contest is None
    assert "Nothing is proven yet" in str(explorer.certificate())


@pytest.mark.parametrize("each_first", [True, False])
def test_a_plan_is_followed_the_same_in_compiled_code(each_first):
    pytest.importorskip("numba")
    shares, pulls = np.array([0.5, 0.3, 0.0, 0.2]), 37
    plan, estimate = Proportions(shares, each_first=each_first), LeastSquares(np.eye(4))
    for _ in range(pulls):
        estimate.pretend(plan.pick(estimate))
    counts, rng = np.zeros(4, dtype=np.int64), np.random.default_rng(0)
    follow(counts, np.zeros(4), shares, NoRewards(), rng, pulls, each_first)
    assert counts.tolist() == estimate.counts.tolist()
