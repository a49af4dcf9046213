"""Designs are optimal, and say so in a way that can be checked."""

from contextlib import suppress

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from lingape import (
    Problem,
    factorial,
    hypercube,
    items,
    polynomial,
    soare,
    sparse,
    sphere,
)
from lingape.designs import (
    DirectionProgram,
    differences,
    direction,
    even_xy,
    g_optimal,
    min_max,
    one_by_one,
    rounded,
    xy,
)
from lingape.errors import DesignFailed, InvalidArgument


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


def _odd_arms():
    rng = np.random.default_rng(0)
    some = rng.standard_normal((30, 4))
    return {
        "one dimension": rng.standard_normal((20, 1)),
        "whole numbers": rng.integers(-2, 3, (60, 3)).astype(float),
        "signs": rng.choice([-1.0, 1.0], (40, 6)),
        "zeros and ones": rng.choice([0.0, 1.0], (50, 5)),
        "every combination of signs": hypercube(7).arms,
        "factors": factorial().arms,
        "a polynomial": polynomial(60, 8).arms,
        "unit vectors and sums": np.vstack([np.eye(6), np.tri(6), 1.0 - np.tri(6)]),
        "few features each": sparse(100, 20, 2, 0).arms,
        "each and its opposite": np.vstack([some, -some]),
        "duplicates": np.vstack([some, some[::-1]]),
        "nearly duplicates": np.vstack([some, some + 1e-9 * rng.standard_normal(some.shape)]),
        "dependent features": some[:, [0, 1, 0, 2, 1]] * [1.0, 1.0, -3.0, 1.0, 0.5],
        "long and short": some * 10.0 ** rng.integers(-6, 6, (30, 1)),
        "random": sphere(300, 15, 0).arms,
    }


@pytest.mark.parametrize("arms", _odd_arms().values(), ids=_odd_arms())
def test_directions_against_an_independent_solver(arms):
    """The least Σ|w|; the same mix, to the last bit, whatever was solved before."""
    rng, program = np.random.default_rng(1), DirectionProgram(arms)
    basis = Problem(arms, noise=1).orthonormal
    for _ in range(20):
        i, j = rng.integers(0, len(arms), 2)
        if (arms[i] == arms[j]).all():
            continue
        mix = program.solve(arms[i] - arms[j])
        fresh = DirectionProgram(arms)
        assert (fresh.solve(arms[i] - arms[j]).weights == mix.weights).all()
        largest = np.abs(mix.weights).max()
        assert np.allclose(fresh.between(i, j).weights, mix.weights, rtol=0, atol=1e-9 * largest)
        y = basis[i] - basis[j]
        length = np.linalg.norm(y)
        found = scipy.optimize.linprog(
            np.ones(2 * len(arms)), A_eq=np.hstack([basis.T, -basis.T]), b_eq=y / length
        )
        assert np.abs(mix.weights).sum() == pytest.approx(found.fun * length, rel=1e-5)
        assert np.allclose(mix.weights @ basis / length, y / length, atol=1e-6)


def test_only_pullable_arms_are_in_a_mix():
    instance = items(4, 20, 0)
    problem = instance.problem()
    program = DirectionProgram(problem.arms, problem.can_pull)
    for i, j in [(0, 1), (0, 9), (5, 9)]:
        mix = program.between(i, j)
        assert not mix.weights[~problem.can_pull].any()
        # The arms that can be pulled are the unit vectors.
        assert np.allclose(mix.weights[:4], problem.arms[i] - problem.arms[j])


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


def longest(arms, directions, p):
    """max_y ‖y‖² in the inverse of A(p), the plain way."""
    inverse = np.linalg.pinv((arms.T * p) @ arms, hermitian=True)
    return max(y @ inverse @ y for y in directions)


def independent_optimum(arms, directions):
    """The same minimum by a general-purpose solver: min t, ‖y‖² ≤ t, on softened proportions."""
    count = len(arms)

    def lengths(v):
        inverse = np.linalg.inv(
            (arms.T * np.abs(v[:count])) @ arms + 1e-12 * np.eye(arms.shape[1])
        )
        return np.einsum("md,de,me->m", directions, inverse, directions)

    start = np.append(np.full(count, 1 / count), 0.0)
    start[-1] = lengths(start).max()
    found = scipy.optimize.minimize(
        lambda v: v[-1],
        start,
        jac=lambda v: np.append(np.zeros(count), 1.0),
        constraints=[
            {"type": "eq", "fun": lambda v: v[:count].sum() - 1},
            {"type": "ineq", "fun": lambda v: v[-1] - lengths(v)},
        ],
        bounds=[(1e-9, 1)] * count + [(0, None)],
        method="SLSQP",
        options={"maxiter": 1_000, "ftol": 1e-12},
    )
    return found.x[-1]


@pytest.mark.parametrize("seed", range(12))
def test_min_max_designs_against_an_independent_solver(seed):
    """Static, oracle and G-optimal: the certified interval contains the other solver's optimum."""
    rng = np.random.default_rng(seed)
    arms = rng.standard_normal((int(rng.integers(3, 8)), int(rng.integers(2, 4))))
    best = int((arms @ np.ones(arms.shape[1])).argmax())
    gaps = (arms[best] - arms) @ np.ones(arms.shape[1])
    rivals = np.arange(len(arms)) != best
    for directions, weights in [
        (differences(arms), None),
        ((arms[best] - arms)[rivals], gaps[rivals]),
        (arms, None),
    ]:
        design = xy(arms, directions, gaps=weights)
        scaled = directions if weights is None else directions / weights[:, None]
        assert design.gap <= 1e-6
        assert design.proportions.sum() == pytest.approx(1)
        assert design.value == pytest.approx(longest(arms, scaled, design.proportions), rel=1e-6)
        other = independent_optimum(arms, scaled)
        assert design.lower_bound <= other * (1 + 1e-4)
        assert other <= design.value * (1 + 1e-4)


@given(
    arms=st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=2, max_size=9),
)
@settings(max_examples=80, deadline=None)
def test_min_max_designs_of_awkward_arms(arms):
    """Duplicates, zeros, arms that do not span: certified all the same."""
    arms = np.array(arms, dtype=float)
    directions = differences(arms)
    if not directions.any():
        with pytest.raises(InvalidArgument):
            xy(arms, directions)
        return
    design = xy(arms, directions)
    assert 0 <= design.gap <= 1e-6
    assert (design.proportions >= 0).all()


def test_min_max_on_the_papers_instance():
    """XY-static spends a fifth on each of five arms, 1 and 6 sharing one; the value is 2d."""
    arms = soare(5, 0.01).arms
    static = xy(arms, differences(arms))
    assert static.value == pytest.approx(10, rel=1e-4)
    assert static.proportions[1:5] == pytest.approx([0.2] * 4, abs=1e-3)
    gaps = 2 * (1 - arms[:, 0])
    oracle = xy(arms, (arms[0] - arms)[1:], gaps=gaps[1:])
    assert oracle.proportions[1] == pytest.approx(0.99495, abs=1e-4)
    assert 2 * oracle.value == pytest.approx(20_201.67, rel=1e-5)


def test_large_min_max_designs():
    """124,750 directions; and 2,000 arms with as many directions."""
    arms = sphere(500, 20, 1).arms
    assert xy(arms, differences(arms)).gap <= 1e-6
    instance = sphere(2_000, 10, 1)
    means = instance.gaussian().means
    best = int(means.argmax())
    rivals = np.arange(2_000) != best
    design = xy(
        instance.arms,
        (instance.arms[best] - instance.arms)[rivals],
        gaps=(means[best] - means)[rivals],
    )
    assert design.gap <= 1e-6


def test_g_optimal_of_arms_that_do_not_span():
    arms = sphere(9, 3, 0).arms
    flat = np.hstack([arms, arms[:, :1]])
    assert g_optimal(flat).efficiency >= 1 - 1e-6
    with pytest.raises(InvalidArgument):
        g_optimal(np.zeros((3, 2)))


def test_tight_g_optimal():
    design = g_optimal(sphere(60, 6, 0).arms)
    assert design.efficiency >= 1 - 1e-6


@pytest.mark.parametrize(
    ("arms", "directions", "gaps"),
    [
        (np.eye(2), np.eye(3), None),
        (np.eye(2), np.zeros((1, 2)), None),
        (np.array([[1.0, 0.0], [2.0, 0.0]]), np.eye(2), None),
        (np.eye(2), np.eye(2), [1.0]),
        (np.eye(2), np.eye(2), [1.0, 0.0]),
        (np.full((2, 2), np.nan), np.eye(2), None),
        (np.zeros((0, 2)), np.eye(2), None),
    ],
)
def test_bad_min_max_problems(arms, directions, gaps):
    with pytest.raises(InvalidArgument):
        xy(arms, directions, gaps=gaps)


@given(
    weights=st.lists(st.just(0.0) | st.floats(1e-6, 1), min_size=1, max_size=12).filter(any),
    pulls=st.integers(12, 500),
)
@settings(max_examples=100, deadline=None)
def test_rounding_is_efficient(weights, pulls):
    p = np.array(weights) / sum(weights)
    used = p > 0
    counts = rounded(p, pulls)
    assert counts.sum() == pulls
    assert not counts[~used].any()
    assert (counts[used] / (pulls * p[used])).min() >= 1 - used.sum() / pulls - 1e-12


def test_bad_rounding():
    with pytest.raises(InvalidArgument, match="sum to 1"):
        rounded(np.array([0.5, 0.4]), 10)
    with pytest.raises(InvalidArgument, match="needs a pull"):
        rounded(np.array([0.5, 0.5]), 1)
    with pytest.raises(InvalidArgument, match="whole number"):
        rounded(np.array([0.5, 0.5]), 3.5)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_one_by_one_approaches_the_design(ridge):
    arms = sphere(7, 3, 2).arms
    pulled = one_by_one(arms, differences(arms), 600, ridge=ridge)
    value = longest(arms, differences(arms), np.bincount(pulled, minlength=7) / 600)
    assert value <= 1.15 * xy(arms, differences(arms)).value  # greed is not optimal, but close
    soare_pulls = np.bincount(
        one_by_one(soare(5, 0.01).arms, differences(soare(5, 0.01).arms), 1_000)
    )
    assert soare_pulls[1:5] == pytest.approx([200] * 4, abs=3)


def test_directions_that_leave_most_of_the_space_out():
    """A design is found, with an honest gap, also where the best one may be singular."""
    instance = sparse(60, 20, 2, 0)
    x, means = instance.arms, instance.arms @ instance.theta
    top = np.argsort(-means)[:10]
    rng = np.random.default_rng(0)
    for size in (2, 3, 4, 6, 9):
        active = rng.choice(top, size=size, replace=False)
        directions = differences(x[active])
        design = even_xy(x, directions)
        assert design.proportions.sum() == pytest.approx(1.0)
        reached = np.linalg.pinv((x.T * design.proportions) @ x)
        longest = max(float(y @ reached @ y) for y in directions)
        # Of the pseudo-inverse of a nearly singular matrix about six digits are certain.
        low = design.lower_bound * (1 - 1e-6)
        assert low <= longest <= 1.02 * design.lower_bound


def test_a_design_whose_last_digits_are_out_of_reach_is_given_up_early(monkeypatch):
    """An optimum that leaves a dimension out: 200 rounds used to bring it no further."""
    rounds = []
    solve = min_max._interior_point
    monkeypatch.setattr(
        min_max, "_interior_point", lambda *given: rounds.append(1) or solve(*given)
    )
    features = [(0, 0, 0), (0, 0, 1), (0.33, 0, 0), (1, 0, 0)]
    features += [(0, 1, 0), (0.33, 1, 0), (1, 1, 0), (1, 1, 1)]
    arms = np.array([(1, *row) for row in features], dtype=float)
    means = arms @ [-0.05656004, 0.03817995, 0.13768623, 0.1]
    directions, gaps = arms[-1] - arms[:-1], means[-1] - means[:-1]
    assert xy(arms, directions, gaps=gaps, tolerance=1e-5).gap <= 1e-5
    rounds.clear()
    with suppress(DesignFailed):
        xy(arms, directions, gaps=gaps, tolerance=1e-9)
    assert len(rounds) <= 40
