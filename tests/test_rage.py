"""RAGE: phase lengths and eliminations by hand, items that cannot be pulled, and its guarantee."""

import json
import math

import numpy as np
import pytest

from lingape import RAGE, Gaussian, Mixture, Problem, canonical, run, soare, sphere
from lingape.errors import InvalidArm, InvalidBound, InvalidProblem, InvalidState
from lingape.testing import Tape, errors_allowed, pulls_of


def test_first_phase_by_hand():
    """n₁ = 2·4·1.1·ρ log((|Z|-1)/(δ/2)); ρ = 4 for two unit vectors, 6 for three."""
    for d, rho in ((2, 4), (3, 6)):
        explorer = RAGE(canonical(d).problem(delta=0.05))
        pulls = math.ceil(8 * 1.1 * rho * math.log((d - 1) / 0.025))
        assert explorer.lengths == [pulls] == [{2: 130, 3: 232}[d]]
        assert explorer.plan.quotas.max() - explorer.plan.quotas.min() <= 1


@pytest.mark.parametrize("gap", [0.47, 0.48])
def test_elimination_by_hand(gap):
    """65 pulls of each: the gap has to reach √(2 log 40 · 2/65) = 0.4765."""
    explorer = RAGE(Problem(np.eye(2), noise=1.0))
    for _ in range(130):
        arm = explorer.ask()
        explorer.tell(arm, gap * (arm == 0))
    assert explorer.counts.tolist() == [65, 65]
    width = math.sqrt(2 * math.log(40) * 2 / 65)
    if gap > width:
        assert explorer.certificate().gap_bound == 0
        assert explorer.certificate().settled
    else:
        assert explorer.certificate().gap_bound == pytest.approx(width - gap)
        assert explorer.history == [[0, 1], [0, 1]]
        second = math.ceil(32 * 1.1 * 4 * math.log(1 / (0.05 / 6)))  # δ₂ = δ/(2·3)
        assert explorer.lengths == [130, second]
    assert explorer.recommend() == 0


def test_accuracy_doubles():
    """The widths at the end of phase t are at most 2⁻ᵗR, whatever the units."""
    for noise_scale in (1.0, 1e-3):
        problem = sphere(20, 4, seed=1).problem(noise=noise_scale)
        explorer = RAGE(problem)
        for t in range(1, 4):
            estimate, due = explorer.estimate.copy(), explorer.plan.quotas
            estimate.load(due, np.zeros(len(problem)))
            estimate.rebuild()
            longest = max(
                explorer.bound.widths(explorer._phase_problem(), estimate, k).max()
                for k in range(len(problem))
            )
            assert 0.9 * 2**-t <= longest / noise_scale <= 2**-t
            explorer.tell_many(np.repeat(np.arange(len(due)), due), np.zeros(due.sum()))
        assert [len(active) for active in explorer.history] == [20] * 4


def test_number_of_phases():
    """Outside an event of probability δ an item with gap Δ is out after ⌈log₂(2R/Δ)⌉ phases."""
    instance = soare(5, 0.1)
    most = math.ceil(math.log2(2 / (2 * (1 - math.cos(0.1)))))
    late = 0
    for seed in range(40):
        explorer = RAGE(instance.problem(delta=0.1))
        run(explorer, instance.gaussian(), seed=seed)
        late += explorer.phase > most
    assert late <= errors_allowed(40, 0.1)


def test_shares_of_delta_sum_to_it():
    explorer = RAGE(Problem(np.eye(2), delta=0.2, noise=1.0))
    spent = 0.0
    for t in range(1, 1000):
        explorer.history = [[0, 1]] * t
        spent += explorer._phase_problem().delta
    assert spent == pytest.approx(0.2 * (1 - 1 / 1000))


def test_errs_no_more_often_than_promised():
    """Items that almost tie, where a wrong answer is easy to come by."""
    instance = canonical(4, 0.4)
    problem = instance.problem(delta=0.2)
    results = [run(RAGE(problem), instance.gaussian(), seed=seed) for seed in range(200)]
    assert all(r.certificate.settled for r in results)
    assert sum(not r.correct for r in results) <= errors_allowed(200, 0.2)


def test_the_best_item_is_rarely_out_where_all_tie():
    """The worst case: K - 1 others, each as good, of which any may beat it in any phase."""
    instance, delta, runs = canonical(5, 1e-9), 0.5, 300
    out = 0
    for seed in range(runs):
        explorer = RAGE(instance.problem(delta=delta))
        run(explorer, instance.gaussian(), seed=seed, max_pulls=30_000)
        assert explorer.phase >= 4 or explorer.done
        out += any(0 not in active for active in explorer.history) or (
            explorer.done and explorer.recommend() != 0
        )
    assert 0 < out <= errors_allowed(runs, delta)


def near_items(arms):
    """Two items at an angle of 0.1, of which the first is better by 0.01."""
    items = [[1.0, 0.0], [math.cos(0.1), math.sin(0.1)]]
    problem = Problem.transductive(arms, items, delta=0.05, noise=1.0)
    return problem, Gaussian(problem.arms, [2.0, 0.0])


def test_pulls_what_tells_the_items_apart():
    """The items differ along the second axis; pulling their own likes takes 300 times as long."""
    pulls = {}
    for name, arms in {"axes": np.eye(2), "items": near_items(np.eye(2))[0].arms[2:]}.items():
        problem, world = near_items(arms)
        results = [run(RAGE(problem), world, seed=s, max_pulls=10**8) for s in range(10)]
        assert all(r.arm == 2 and r.correct and r.counts[2:].sum() == 0 for r in results)
        assert all(r.certificate.name == "item 0" for r in results)
        pulls[name] = np.mean([r.pulls for r in results])
    assert pulls["items"] > 100 * pulls["axes"]


def test_finds_an_item_that_no_arm_is_like():
    rng = np.random.default_rng(4)
    items = rng.standard_normal((12, 3))
    problem = Problem.transductive(np.eye(3), items, noise=0.3)
    for seed in range(5):
        world = Gaussian(problem.arms, rng.standard_normal(3), scale=0.3)
        plain, compiled = (
            run(RAGE(problem), world, seed=seed, lane=lane, max_pulls=20_000)
            for lane in ("plain", "compiled")
        )
        assert plain.counts.tolist() == compiled.counts.tolist()
        assert plain.certificate == compiled.certificate
        assert plain.certificate.settled
        assert plain.arm == 3 + int((items @ world.theta).argmax())


def test_stops_at_epsilon():
    """Items that tie are an answer each, if within ε."""
    problem = Problem(np.eye(3), epsilon=0.3, noise=1.0)
    result = run(RAGE(problem), Gaussian(problem.arms, [1.0, 1.0, 0.0]), max_pulls=100_000)
    assert result.certificate.settled
    assert 0 < result.certificate.gap_bound <= 0.3
    assert result.arm in (0, 1)


@pytest.mark.parametrize("lane", ["plain", "compiled"])
def test_in_pieces(lane):
    """Pauses within phases, and saved states between, change nothing."""
    instance = soare(3, 0.4)
    whole = RAGE(instance.problem())
    expected = run(whole, instance.gaussian(), seed=3, lane="plain")
    explorer, rng = RAGE(instance.problem()), np.random.default_rng(3)
    while not explorer.done:
        run(explorer, instance.gaussian(), seed=rng, max_pulls=137, lane=lane)
        explorer = RAGE.from_state(json.loads(json.dumps(explorer.state())))
    assert explorer.counts.tolist() == expected.counts.tolist()
    assert (explorer.history, explorer.lengths) == (whole.history, whole.lengths)
    assert explorer.certificate() == expected.certificate


def test_batches_come_in_any_order_and_cross_phases():
    explorer = RAGE(Problem(np.eye(4), noise=1.0))
    rng, means = np.random.default_rng(0), [0.3, 0.3, -5.0, -5.0]
    for _ in range(20):
        arms = explorer.ask_many(64)
        before = json.dumps(explorer.state())
        with pytest.raises(InvalidArm):
            explorer.tell_many([*arms, 9], [0.0] * 65)
        assert json.dumps(explorer.state()) == before
        arms = rng.permutation(arms).tolist()
        explorer.tell_many(arms, [means[arm] for arm in arms])
    assert explorer.history[:2] == [[0, 1, 2, 3], [0, 1]]
    assert explorer.counts.sum() == 20 * 64


def test_what_is_not_due_is_counted_and_not_used():
    explorer = RAGE(Problem(np.eye(2), noise=1.0))
    for _ in range(1_000):
        explorer.tell(0, 1.0)
    assert explorer.counts.tolist() == [1_000, 0]
    assert explorer.estimate.counts.tolist() == [65, 0]
    assert explorer.ask() == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.pop("told"),
        lambda s: s.update(told=[0, 0, 0, 0]),
        lambda s: s.update(told=[0, 0]),
        lambda s: s.update(history=[]),
        lambda s: s.update(history=[[9]]),
        lambda s: s.update(lengths=[]),
        lambda s: s.update(lengths=[7]),
        lambda s: s.update(margin="x"),
        lambda s: s.update(margin=-1.0),
        lambda s: s.update(favourite="x"),
    ],
)
def test_damaged_phases_are_refused(damage):
    explorer = RAGE(soare(3, 0.4).problem())
    pulls_of(explorer, Tape(soare(3, 0.4).gaussian().means), 30)
    state = json.loads(json.dumps(explorer.state()))
    damage(state["kept"])
    with pytest.raises(InvalidState):
        RAGE.from_state(state)


def test_brings_its_own_bound():
    with pytest.raises(InvalidBound, match="brings its own"):
        RAGE(Problem(np.eye(2), noise=1.0), bound=Mixture())
    with pytest.raises(InvalidBound, match="ridge"):
        RAGE(Problem(np.eye(2), noise=1.0), ridge=1.0)


@pytest.mark.parametrize("arms, retired", [([[1, 1], [1, 0], [0, 0]], 0), (np.eye(3), 2)])
def test_arms_that_no_longer_span_the_space(arms, retired):
    problem = Problem(arms, noise=0.5).with_retired(retired)
    with pytest.raises(InvalidProblem, match=r"an arm was retired.*problem\.anew"):
        RAGE(problem)
    RAGE(problem.anew())
