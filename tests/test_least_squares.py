"""Caches agree with a solve from scratch, however many updates lie between."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lingape import LeastSquares, soare, sphere
from lingape.errors import IllConditioned, InvalidState


def from_scratch(estimate):
    """The same numbers by a plain inverse."""
    x, n = estimate.features, estimate.counts
    a = estimate.ridge * np.eye(x.shape[1]) + (x.T * n) @ x
    inverse = np.linalg.inv(a)
    return {
        "inverse": inverse,
        "means": x @ np.linalg.solve(a, x.T @ estimate.sums),
        "variances": np.einsum("kd,de,ke->k", x, inverse, x),
        "log_det": np.linalg.slogdet(a)[1],
    }


def check(estimate, leader=0, rtol=1e-9):
    for name, value in from_scratch(estimate).items():
        assert np.allclose(getattr(estimate, name), value, rtol=rtol, atol=0), name
    inverse = from_scratch(estimate)["inverse"]
    y = estimate.features - estimate.features[leader]
    variance, sensitivity = estimate.contrasts(leader)
    assert np.allclose(variance, np.einsum("kd,de,ke->k", y, inverse, y), rtol=rtol, atol=0)
    if sensitivity is not None:
        z = y @ inverse
        assert np.allclose(sensitivity, (z**2).sum(axis=1), rtol=rtol, atol=0)


@given(
    pulls=st.lists(st.tuples(st.integers(0, 7), st.floats(-9, 9)), max_size=200),
    ridge=st.sampled_from([0.0, 0.3, 20.0]),
)
@settings(max_examples=60, deadline=None)
def test_updates(pulls, ridge):
    features = sphere(8, 3, 1).arms
    estimate = LeastSquares(features, ridge=ridge, sensitivities=True)
    for arm, reward in [(0, 1.0), (1, 2.0), (2, -1.0), *pulls]:
        estimate.update(arm, reward)
    assert estimate.ready
    assert estimate.pulls == len(pulls) + 3
    scratch = from_scratch(estimate)
    assert np.allclose(estimate.means, scratch["means"], rtol=1e-8, atol=1e-8)
    assert np.allclose(estimate.inverse, scratch["inverse"], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("count", [6, 2_000])  # every gap directly, or only the close ones
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_many_updates(count, ridge):
    rng = np.random.default_rng(0)
    features = sphere(count, 5, 3).arms.copy()
    features[1] = features[0] + 1e-7 * features[2]  # nearly the same arm
    estimate = LeastSquares(features, ridge=ridge, sensitivities=True)
    for arm in range(count):
        estimate.update(arm, 1.0)
    for t in range(3_000):
        estimate.update(int(rng.integers(6)), float(rng.standard_normal()))
        if t % 500 < 3:
            estimate.contrasts(t % 2)
    check(estimate, leader=0, rtol=1e-7)
    check(estimate, leader=5, rtol=1e-7)


def test_contrasts_follow_the_leader():
    features = sphere(1_000, 6, 3).arms
    estimate = LeastSquares(features, sensitivities=True)
    for arm in range(len(features)):
        estimate.update(arm, 0.0)
    for t in range(40):
        estimate.contrasts(leader := t // 10)
        estimate.update(7 * t % 11, 1.0)
        check(estimate, leader, rtol=1e-9)


def test_steep_updates_are_solved_afresh():
    """Two nearly equal arms first: the third then divides the inverse by a huge number."""
    features = np.array([[1.0, 0.0], [1.0, 1e-6], [0.0, 1.0]])
    estimate = LeastSquares(features)
    for arm in (0, 1, 2, 2):
        estimate.update(arm, 1.0)
    check(estimate, rtol=1e-9)


def test_ready_when_the_pulls_span():
    estimate = LeastSquares(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]))
    ready = []
    for arm in (0, 0, 1, 2):
        estimate.update(arm, 1.0)
        ready.append(estimate.ready)
    assert ready == [False, False, False, True]


def test_pretending_moves_the_design_and_not_the_estimate():
    estimate = LeastSquares(np.eye(3), ridge=0.5)
    for arm in range(3):
        estimate.update(arm, arm + 1.0)
    before, variances = estimate.means.copy(), estimate.variances.copy()
    estimate.pretend(1)
    assert np.allclose(estimate.means, before, rtol=1e-14)
    assert estimate.variances[1] < variances[1]


@pytest.mark.parametrize("told", [0, 2, 40])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_pretending_many_at_once_is_pretending_one_by_one(told, ridge):
    rng = np.random.default_rng(3)
    one = LeastSquares(rng.normal(size=(30, 4)), ridge=ridge)
    for arm in rng.integers(30, size=told):
        one.update(int(arm), float(rng.normal()))
    many = one.copy()
    arms = rng.integers(30, size=500).tolist()
    for arm in arms:
        one.pretend(arm)
    many.pretend_many(arms)
    np.testing.assert_array_equal(many.counts, one.counts)
    for name in ("means", "variances", "inverse", "log_det"):
        np.testing.assert_allclose(getattr(many, name), getattr(one, name), rtol=1e-9, atol=1e-12)


def test_copies_share_nothing_that_changes():
    estimate = LeastSquares(np.eye(2), ridge=1.0)
    twin = estimate.copy()
    twin.update(0, 3.0)
    assert estimate.pulls == 0
    assert estimate.counts.sum() == 0
    assert estimate.means[0] == 0


def test_log_det_of_features_of_unequal_size():
    """Against exact arithmetic: the small eigenvalues count as much as the large one."""
    arms = np.array(
        [[2, 9, 11 * 10**8], [7, 1, 19 * 10**8], [5, 6, 14 * 10**8], [9, 4, 12 * 10**8]]
    )
    exact = [
        [sum(Fraction(500 * int(x[p]) * int(x[q])) for x in arms) + (p == q) for q in range(3)]
        for p in range(3)
    ]
    (a, b, c), (d, e, f), (g, h, i) = exact
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    for order in ([0, 1, 2], [2, 0, 1]):
        estimate = LeastSquares(arms[:, order].astype(float), ridge=1.0)
        estimate.load(np.full(4, 500), np.zeros(4))
        assert estimate.log_det == pytest.approx(math.log(determinant), abs=1e-3)


def test_log_det_ratios_are_never_too_small():
    estimate = LeastSquares(soare(4, 0.1).arms, sensitivities=True)
    scales = np.array([1.0, 50.0, 1e4])
    rng = np.random.default_rng(0)
    for arm in range(5):
        estimate.update(arm, 0.0)
    for _ in range(500):
        estimate.update(int(rng.integers(5)), 0.0)
        v = (estimate.features.T * estimate.counts) @ estimate.features
        exact = [np.linalg.slogdet(np.eye(4) + v / scale)[1] for scale in scales]
        claimed = estimate.log_det_ratios(scales)
        assert (claimed >= np.array(exact) - 1e-9).all()
        if estimate.fresh:
            assert np.allclose(claimed, exact)


def test_what_cannot_be_inverted_is_refused_without_a_trace():
    """A third feature that nearly repeats the others, all so large that the ridge is lost."""
    features = np.random.default_rng(18).standard_normal((8, 3))
    features[:, 2] = features[:, 0] + features[:, 1] + 1e-8 * features[:, 2]
    estimate = LeastSquares(3e7 * features, ridge=1.0)
    told = 0
    with pytest.raises(IllConditioned, match="closer to 1"):
        for arm in list(range(8)) * 100:
            estimate.update(arm, 1.0)
            told += 1
    assert estimate.pulls == estimate.counts.sum() == told


def saved():
    estimate = LeastSquares(sphere(300, 9, 0).arms, sensitivities=True)
    rng = np.random.default_rng(1)
    for arm in range(300):
        estimate.update(arm, float(rng.standard_normal()))
    for _ in range(100):
        estimate.contrasts(4)
        estimate.update(int(rng.integers(300)), float(rng.standard_normal()))
    return estimate


def test_state_is_exact():
    estimate = saved()
    again = LeastSquares(estimate.features, sensitivities=True)
    again.restore(estimate.state())
    for name, value in vars(estimate).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(getattr(again, name), value), name
    assert (again.growth, again.rebuild_at) == (estimate.growth, estimate.rebuild_at)


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.pop("counts"),
        lambda s: s["counts"].pop(),
        lambda s: s["counts"].__setitem__(0, -1),
        lambda s: s["counts"].__setitem__(0, 1.5),
        lambda s: s["counts"].__setitem__(0, 5_000),
        lambda s: s["sums"].__setitem__(0, "x"),
        lambda s: s["sums"].__setitem__(0, float("nan")),
        lambda s: s["sums"].__setitem__(0, 1e3),
        lambda s: s["caches"].pop("means"),
        lambda s: s["caches"]["inverse"][0].__setitem__(0, 7.0),
        lambda s: s["caches"].__setitem__("spectrum", [0.0] * 9),
        lambda s: s["caches"].__setitem__("_gap_variance", [0.0] * 300),
        lambda s: s.update(growth=-5.0),
        lambda s: s.update(growth=s["growth"] - 1, base_log_det=s["base_log_det"] + 1),
        lambda s: s.update(caches=None),
        lambda s: s.update(rebuild_at=10**300),
        lambda s: s.update(rebuild_at=0),
        lambda s: s.update(leader=900),
        lambda s: s.update(rebuild_at=None),
        lambda s: s.update(counts=[0] * 300, sums=[0.0] * 300),
    ],
)
def test_damaged_states_are_refused(damage):
    state = saved().state()
    damage(state)
    with pytest.raises(InvalidState, match="Restore an undamaged copy"):
        LeastSquares(saved().features, sensitivities=True).restore(state)


@pytest.mark.slow
def test_ten_million_updates_do_not_drift():
    """The allocation of the paper's instance: its arms 1 and 6 almost the same."""
    rng = np.random.default_rng(0)
    arms = rng.choice(6, p=[0.005, 0.9948, 5e-5, 5e-5, 5e-5, 5e-5], size=10_000_000)
    for ridge in (0.0, 1.0):
        estimate = LeastSquares(soare(5, 0.01).arms, ridge=ridge, sensitivities=True)
        for arm in range(6):
            estimate.update(arm, 1.0)
        for arm in arms.tolist():
            estimate.update(arm, 1.0)
        assert not estimate.fresh
        check(estimate, leader=0, rtol=1e-9)
