"""Designs are optimal, and say so in a way that can be checked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from lingape import soare, sphere
from lingape.designs import DirectionProgram, direction, g_optimal
from lingape.errors import DesignFailed


def test_direction_on_canonical_arms():
    mix = direction(np.eye(4), np.array([1.0, 0.0, -1.0, 0.0]))
    assert mix.weights.tolist() == [1, 0, -1, 0]
    assert mix.proportions.tolist() == [0.5, 0, 0.5, 0]
    assert mix.rho == 4  # the paper's own example


def test_direction_on_the_papers_instance():
    arms = soare(5, 0.01).arms
    mix = direction(arms, arms[0] - arms[5])
    assert np.flatnonzero(mix.weights).tolist() == [0, 1]
    ratio = (1 - np.cos(0.01)) / np.sin(0.01)
    assert mix.proportions[0] / mix.proportions[1] == pytest.approx(ratio, rel=1e-9)


@given(seed=st.integers(0, 10_000), count=st.integers(3, 6), d=st.integers(2, 3))
@settings(max_examples=60, deadline=None)
def test_direction_is_optimal(seed, count, d):
    arms = sphere(max(count, d + 1), d, seed).arms
    y = arms[0] - arms[1]
    mix = direction(arms, y)
    assert np.allclose(mix.weights @ arms, y, atol=1e-12)
    assert np.count_nonzero(mix.weights) <= d
    least = np.abs(naive.best_mix(arms, y)[0]).sum()
    assert mix.rho == pytest.approx(least**2, rel=1e-5)


def test_ties_do_not_depend_on_history_or_basis():
    """Several ways to write the same direction; the same one wins, whatever was solved before."""
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]])
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    found = []
    for features in (arms, arms @ rotation):
        program = DirectionProgram(features)
        pairs = [(i, j) for i in range(5) for j in range(i) if (features[i] != features[j]).any()]
        fresh = {p: direction(features, features[p[0]] - features[p[1]]) for p in pairs}
        for p in rng.permutation(pairs * 3):
            mix = program.solve(features[p[0]] - features[p[1]])
            assert np.allclose(mix.weights, fresh[tuple(p)].weights, atol=1e-12)
        found.append(np.array([fresh[p].weights for p in pairs]))
    assert np.allclose(found[0], found[1], atol=1e-12)
    assert not found[0][:, 4].any()  # a duplicate of arm 0


def test_ties_on_grids():
    """Whole-number features have ties of every kind."""
    rng = np.random.default_rng(0)
    features = rng.integers(-2, 3, (60, 3)).astype(float)
    program = DirectionProgram(features)
    for _ in range(200):
        i, j = rng.integers(0, 60, 2)
        program.solve(features[rng.integers(60)] - features[rng.integers(60)])
        again = program.solve(features[i] - features[j])
        fresh = direction(features, features[i] - features[j])
        assert np.allclose(again.weights, fresh.weights, atol=1e-12)


@pytest.mark.parametrize("size", [1e-90, 1e-9, 1.0, 1e16])
def test_features_of_any_size(size):
    arms = sphere(7, 3, 0).arms
    y = arms[0] - arms[1]
    scale = np.array([size, 1.0, 1.0 / size])
    expected = direction(arms, y).weights
    assert np.allclose(direction(size * arms, size * y).weights, expected, atol=1e-9)
    assert np.allclose(direction(scale * arms, scale * y).weights, expected, atol=1e-9)


def test_directions_of_any_length():
    arms = sphere(5, 3, 0).arms
    y = arms[0] - arms[1]
    for length in (1e-9, 1.0, 1e9):
        assert np.allclose(
            direction(arms, length * y).weights, length * direction(arms, y).weights
        )
    assert direction(arms, np.zeros(3)).rho == 0


def test_direction_outside_the_span_is_refused():
    with pytest.raises(DesignFailed, match="combination of the arms"):
        direction(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([0.0, 1.0]))


@given(seed=st.integers(0, 10_000), count=st.integers(2, 30), d=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_g_optimal_certifies_itself(seed, count, d):
    arms = sphere(max(count, d), d, seed).arms
    design = g_optimal(arms, tolerance=0.02)
    assert design.proportions.sum() == pytest.approx(1)
    assert (design.proportions >= 0).all()
    matrix = (arms.T * design.proportions) @ arms
    worst = max(x @ np.linalg.solve(matrix, x) for x in arms)
    assert worst <= d * 1.02 * (1 + 1e-9)  # Kiefer and Wolfowitz: d is optimal
    assert design.efficiency == pytest.approx(d / worst)


def test_g_optimal_is_uniform_on_canonical_arms_and_commutes_with_linear_maps():
    assert g_optimal(np.eye(4)).proportions == pytest.approx([0.25] * 4)
    rng = np.random.default_rng(1)
    arms, warp = rng.standard_normal((12, 3)), rng.standard_normal((3, 3))
    plain, warped = g_optimal(arms).proportions, g_optimal(arms @ warp).proportions
    assert np.allclose(plain, warped, rtol=1e-6)


def test_g_optimal_gives_up_with_a_sentence():
    with pytest.raises(DesignFailed, match="max_steps"):
        g_optimal(sphere(20, 5, 0).arms, tolerance=1e-9, max_steps=10)
