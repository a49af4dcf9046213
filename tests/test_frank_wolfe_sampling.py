"""Frank-Wolfe sampling does what its formulas say, in both lanes."""

import math

import numpy as np
import pytest
import scipy.optimize

from lingape import FrankWolfeSampling, Problem, SelfNormalized, canonical, run, soare, sphere
from lingape.complexity import characteristic_time
from lingape.designs.matrix_game import maximin
from lingape.explorers.frank_wolfe_sampling import is_square
from lingape.kernels.functions import EntryPoint
from lingape.pulls.alternatives import alternatives
from lingape.testing import Tape, pulls_of
from test_lin_game import rate


def _name(instance):
    return instance.name


def test_first_steps_by_hand():
    """Two unit vectors that pay 1 and 0: f = ½/(1/x₁ + 1/x₂), steepest along the smaller x.

    ⌊t/2⌋ is a square for t = 3, 8, 9, and t = 4 is the first step that is not even.
    """
    explorer = FrankWolfeSampling(Problem(np.eye(2), noise=1.0))
    totals, told = explorer.parts.pull.memory.totals, []
    for _ in range(4):
        told.append(explorer.ask())
        explorer.tell(told[-1], [1.0, 0.0][told[-1]])
    # x(2) = (½, ½), z(3) = (½, ½), then slopes of f are equal and the first arm has it, t = 4;
    # z(5) makes up for it.
    assert told == [0, 1, 0, 1]
    assert totals.tolist() == [2.5, 2.5]
    assert explorer.ask() == 0


def test_rates_and_slopes_by_hand():
    """f and ∇f of two unit vectors at x = (¼, ¾): ‖y‖² = 4 + 4/3, ∇f_k = ½(y_k/(x_k‖y‖²))²."""
    found = alternatives(
        np.eye(2), np.array([0.25, 0.75]), np.array([0.0, 1.0]), 0, np.array([False, True])
    )
    assert found.values[1] == pytest.approx(0.5 / (16 / 3))
    slopes = 0.5 * found.shifts(1) ** 2
    assert slopes == pytest.approx([0.5 * (4 * 3 / 16) ** 2, 0.5 * (4 / 3 * 3 / 16) ** 2])
    assert slopes @ [0.25, 0.75] == pytest.approx(found.values[1])  # f is homogeneous


def test_slopes_are_derivatives():
    rng = np.random.default_rng(1)
    basis, x = np.linalg.qr(rng.standard_normal((7, 3)))[0], rng.dirichlet(np.ones(7))
    gaps, rivals = rng.random(7), np.arange(7) != 2
    found = alternatives(basis, x, gaps, 2, rivals)
    for k in range(7):
        up, down = (
            alternatives(basis, x + h * np.eye(7)[k], gaps, 2, rivals).values
            for h in (1e-6, -1e-6)
        )
        for j in np.flatnonzero(rivals):
            slope = 0.5 * found.shifts(j)[k] ** 2
            assert slope == pytest.approx((up[j] - down[j]) / 2e-6, rel=1e-5, abs=1e-9)


def _value(slopes, values, z):
    return float((slopes @ z - values).min())


def _by_linear_program(slopes, values):
    m, count = slopes.shape
    found = scipy.optimize.linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=np.hstack([-slopes, np.ones((m, 1))]),
        b_ub=-values,
        A_eq=np.append(np.ones(count), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, None)],
    )
    return found.x[:count]


def _games(draws):
    """Yield random games: rough ones, and ones full of ties and duplicates."""
    rng = np.random.default_rng(0)
    for draw in range(draws):
        m, count = int(rng.integers(1, 12)), int(rng.integers(2, 15))
        slopes = rng.random((m, count)) ** 3
        if draw % 3 == 1:
            slopes = np.round(3 * slopes) + 0.0
        if draw % 3 == 2:
            slopes = slopes[rng.integers(0, m, m)][:, rng.integers(0, count, count)]
        slopes[0, 0] = 1.0
        scale = 10.0 ** rng.integers(-8, 8)
        yield scale * slopes, scale * slopes @ rng.dirichlet(np.ones(count))


def test_games_are_solved():
    for slopes, values in _games(300):
        z = maximin(slopes, values)
        assert z.min() >= 0.0 and z.sum() == pytest.approx(1.0)
        best = _value(
            slopes, values, _by_linear_program(slopes / slopes.max(), values / slopes.max())
        )
        assert _value(slopes, values, z) >= best - 1e-7 * slopes.max()


def test_games_are_solved_the_same_in_both_lanes():
    pytest.importorskip("numba")
    compiled = EntryPoint(maximin)
    for slopes, values in _games(300):
        assert compiled(slopes, values) == pytest.approx(maximin(slopes, values), abs=1e-9)


def test_one_piece_takes_its_steepest_arm_the_first_of_several():
    assert maximin(np.array([[1.0, 3.0, 3.0, 2.0]]), np.array([2.0])).tolist() == [0, 1, 0, 0]


def test_squares():
    assert [n for n in range(30) if is_square(n)] == [0, 1, 4, 9, 16, 25]
    assert all(is_square(n) == (math.isqrt(n) ** 2 == n) for n in range(10_000))
    assert is_square(10**14) and not is_square(10**14 + 1)


def _textbook(problem, tape, rounds):
    """Frank-Wolfe sampling word for word, each game a linear program."""
    arms, count = problem.arms, len(problem)
    n, sums, pulled, several = np.zeros(count), np.zeros(count), [], 0
    for k in range(count):
        n[k], sums[k] = 1, tape.pay(k)
        pulled.append(k)
    x = np.full(count, 1 / count)
    while len(pulled) < rounds:
        t = len(pulled) + 1
        theta = np.linalg.solve((arms.T * n) @ arms, arms.T @ sums)
        i = int((arms @ theta).argmax())
        z = np.full(count, 1 / count)
        if math.isqrt(t // count) ** 2 != t // count:
            v_x = (arms.T * x) @ arms
            rates, slopes = [], []
            for j in range(count):
                if j != i:
                    h = np.linalg.solve(v_x, arms[i] - arms[j])
                    gap, length = (arms[i] - arms[j]) @ theta, (arms[i] - arms[j]) @ h
                    rates.append(0.5 * gap**2 / length / problem.noise_scale**2)
                    slopes.append(0.5 * (arms @ h * gap / length) ** 2 / problem.noise_scale**2)
            near = [j for j in range(count - 1) if rates[j] < min(rates) + t**-0.9 / count]
            several += len(near) > 1
            z = _by_linear_program(np.array(slopes)[near], np.array(rates)[near])
        x = ((t - 1) * x + z) / t
        k = int((x / n).argmax())
        n[k] += 1
        sums[k] += tape.pay(k)
        pulled.append(k)
    return pulled, several


@pytest.mark.parametrize("instance", [sphere(9, 3, seed=5), canonical(4, 0.9)], ids=_name)
def test_pulls_are_those_of_the_textbook(instance):
    problem = instance.problem(noise=0.7, delta=1e-100)
    means = instance.gaussian().means
    expected, several = _textbook(problem, Tape(means, scale=0.7), 300)
    assert several > 10  # games, not only steepest arms
    assert pulls_of(FrankWolfeSampling(problem), Tape(means, scale=0.7), 300) == expected


@pytest.mark.parametrize("instance", [canonical(3, 1.0), sphere(8, 3, seed=1)], ids=_name)
def test_proportions_become_the_best_there_are(instance):
    problem = instance.problem(delta=1e-300)
    best = characteristic_time(problem, instance.theta)
    result = run(FrankWolfeSampling(problem), instance.gaussian(), seed=3, max_pulls=50_000)
    assert rate(instance, result.counts / result.pulls) > 0.96 / best.time


@pytest.mark.parametrize(
    "settings",
    [
        {"elimination": "stop"},
        {"elimination": "sample"},
        {"start": "spanning"},
        {"start": "spanning", "bound": SelfNormalized(), "elimination": "sample"},
    ],
    ids=str,
)
def test_lanes_agree_with_settings(settings):
    for instance in (soare(3, 0.2), sphere(12, 4, seed=2), canonical(5, 0.6)):
        problem = instance.problem(epsilon=0.05)
        plain, compiled = (
            run(
                FrankWolfeSampling(problem, **settings),
                instance.gaussian(),
                seed=4,
                max_pulls=900,
                lane=lane,
            )
            for lane in ("plain", "compiled")
        )
        assert plain.counts.tolist() == compiled.counts.tolist()
        assert plain.ending is compiled.ending


def test_spanning_start_leaves_arms_alone_that_do_not_help():
    instance = sphere(300, 3, seed=4)
    result = run(
        FrankWolfeSampling(instance.problem(), start="spanning"),
        instance.gaussian(),
        seed=0,
        max_pulls=250,
    )
    assert (result.counts > 0).sum() < 60
