"""ALBA: rounds and phases by hand, the randomised estimate, and its guarantee."""

import json
import math

import numpy as np
import pytest

from lingape import ALBA, Mixture, Problem, canonical, run, soare, sphere
from lingape.draws import uniform
from lingape.errors import InvalidArgument, InvalidBound, InvalidState
from lingape.explorers.alba import RandomDesign, drawn
from lingape.testing import Tape, errors_allowed, pulls_of


def test_phases_by_hand():
    """Three arms in three dimensions pass round 0 as they are; round 1 has to leave one."""
    explorer = ALBA(canonical(3, 1.5).problem(delta=0.05))
    assert explorer.round == (1, 1)
    pulls_of(explorer, Tape(np.zeros(3)), 1_000)
    assert [len(active) for active in explorer.history] == [3] * explorer.phase
    for s, length in enumerate(explorer.lengths, start=1):
        delta = 0.05 * 6 / (math.pi**2 * 2**2) * 6 / (math.pi**2 * s**2)
        e = 4 / 1.1**s
        nats = math.log(5 * 3**2 / (2 * delta))
        assert length == math.ceil(4 * (2 + (6 + e) * 3) / e**2 * nats)
    assert explorer.lengths[:2] == [80, 109]


def test_rounds_halve():
    """With d = 8: more than 8 arms, then up to 8, up to 4, up to 2."""
    explorer = ALBA(sphere(20, 8, seed=0).problem(norm_bound=1.0))
    places = []
    for arms in (20, 9, 8, 5, 4, 3, 1):
        explorer.history.append(list(range(arms)))
        places.append(explorer._place())
    expected = [(0, 2, 20), (0, 3, 20), (1, 1, 8), (1, 2, 8), (2, 1, 4), (2, 2, 4), (3, 1, 1)]
    assert places[:6] == expected[:6]


def test_all_shares_of_delta_sum_to_less_than_it():
    explorer = ALBA(sphere(20, 8, seed=0).problem(norm_bound=1.0, delta=0.1))
    explorer.history, spent = [], 0.0
    for arms in (20, 8, 4, 2):
        for _ in range(300):
            explorer.history.append(list(range(arms)))
            spent += explorer._phase_problem().delta
    assert 0.08 < spent < 0.1


def test_draws_are_the_keyed_numbers():
    shares = np.array([0.2, 0.0, 0.5, 0.3])
    one_by_one = np.zeros(4, dtype=int)
    for time in range(100, 400):
        number = uniform(7, time, 0)
        one_by_one[0 if number < 0.2 else 2 if number < 0.7 else 3] += 1
    assert drawn(7, 100, 300, shares).tolist() == one_by_one.tolist()
    many = drawn(0, 0, 3_000_000, shares)  # in several portions
    assert many.sum() == 3_000_000
    assert many / 3e6 == pytest.approx(shares, abs=2e-3)


def test_estimate_and_width_by_hand():
    """M = ½I, so g = ±2: noise R√(2ℓ·4n)/n, drift 2√2 S |N₁/n - ½|."""
    problem = Problem(np.eye(2), noise=0.5, norm_bound=3.0, delta=0.1)
    bound = RandomDesign(np.full(2, 0.5), 2 * np.eye(2), 2)
    estimate = bound.estimate(problem)
    for arm, reward in ((0, 1.0), (0, 2.0), (0, 0.0), (1, 4.0)):
        estimate.update(arm, reward)
    assert bound.means(estimate) == pytest.approx([2 * 3 / 4, 2 * 4 / 4])
    noise = 0.5 * math.sqrt(2 * math.log(5 * 4 / 0.2) * 4 * 4) / 4
    drift = 3 * math.sqrt(2) * 2 * 0.25
    assert bound.widths(problem, estimate, 0) == pytest.approx([0, noise + drift])


def test_without_noise_the_draw_is_the_only_error():
    """And it is bounded for sure, by S times what the draws differ from the design."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        arms, theta = rng.standard_normal((7, 3)), rng.standard_normal(3)
        problem = Problem(arms, noise=1e-12, norm_bound=float(np.linalg.norm(theta)))
        explorer = ALBA(problem, seed=seed)
        quotas, means = explorer.plan.quotas, arms @ theta
        estimate = explorer.estimate
        estimate.load(quotas, quotas * means)
        found = explorer.bound.means(estimate)
        for k in range(7):
            errors = np.abs((found - found[k]) - (means - means[k]))
            assert (errors <= explorer.bound.widths(problem, estimate, k) + 1e-9).all()


def test_arms_in_play_are_estimated_within_their_span():
    """Soare's arms 1 and 6 span a plane; once alone, only arms of that plane are pulled."""
    instance = soare(5, 0.3)
    explorer = ALBA(instance.problem())
    result = run(explorer, instance.gaussian(), seed=0)
    assert result.correct
    assert explorer.history[-1] == [0, 5]
    after = ALBA.from_state(
        explorer.state() | {"verdict": None, "estimate": ALBA(explorer.problem).estimate.state()}
    )
    assert np.flatnonzero(after.plan.quotas).tolist() in ([0, 1], [1, 5], [0, 1, 5])


def test_seed():
    instance = sphere(9, 3, seed=5)
    pulls = [
        pulls_of(ALBA(instance.problem(), seed=seed), Tape(np.zeros(9)), 400) for seed in (0, 0, 1)
    ]
    assert pulls[0] == pulls[1] != pulls[2]
    for seed in (-1, 0.5, True, "a"):
        with pytest.raises(InvalidArgument, match="seed"):
            ALBA(instance.problem(), seed=seed)


def test_errs_no_more_often_than_promised():
    instance = canonical(4, 0.4)
    problem = instance.problem(delta=0.2)
    results = [
        run(ALBA(problem, seed=seed), instance.gaussian(), seed=seed) for seed in range(200)
    ]
    assert all(r.certificate.settled for r in results)
    assert sum(not r.correct for r in results) <= errors_allowed(200, 0.2)


@pytest.mark.parametrize("lane", ["plain", "compiled"])
def test_in_pieces(lane):
    """Pauses within phases, and saved states between, change nothing."""
    instance = soare(3, 0.8)
    whole = ALBA(instance.problem(), seed=5)
    expected = run(whole, instance.gaussian(), seed=3, lane="plain")
    explorer, rng = ALBA(instance.problem(), seed=5), np.random.default_rng(3)
    while not explorer.done:
        run(explorer, instance.gaussian(), seed=rng, max_pulls=137, lane=lane)
        explorer = ALBA.from_state(json.loads(json.dumps(explorer.state())))
    assert explorer.counts.tolist() == expected.counts.tolist()
    assert (explorer.history, explorer.lengths) == (whole.history, whole.lengths)
    assert explorer.certificate() == expected.certificate


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: (
            s["estimate"].update(counts=[0, 0, 9999, 0], sums=[0] * 4, caches=None)
            or s["kept"].update(told=[9999] * 4)
        ),
        lambda s: s["estimate"].update(s.pop("full")),
        lambda s: s["kept"].update(told=[0, 0, 0, 0]),
        lambda s: s["kept"].update(history=[[0]]),
        lambda s: s["kept"].update(lengths=[1] * len(s["kept"]["lengths"])),
    ],
)
def test_damaged_phases_are_refused(damage):
    explorer = ALBA(soare(3, 0.4).problem())
    pulls_of(explorer, Tape(np.zeros(4)), 300)
    state = json.loads(json.dumps(explorer.state()))
    quotas = explorer.plan.quotas
    explorer.estimate.load(quotas, 0.0 * quotas)
    state["full"] = explorer.estimate.state()
    damage(state)
    with pytest.raises(InvalidState):
        ALBA.from_state(state)


def test_what_it_needs():
    with pytest.raises(InvalidBound, match="norm_bound"):
        ALBA(Problem(np.eye(2), noise=1.0))
    with pytest.raises(InvalidBound, match="brings its own"):
        ALBA(Problem(np.eye(2), norm_bound=1.0, noise=1.0), bound=Mixture())
    with pytest.raises(InvalidArgument, match="RAGE"):
        ALBA(Problem(np.eye(3), norm_bound=1.0, answers=[0, 1], noise=1.0))
