"""LinGame does what its formulas say, in both lanes."""

import math

import numpy as np
import pytest
import scipy.optimize

from lingape import (
    FixedDesign,
    Gaussian,
    LinGame,
    LinGameC,
    Problem,
    SelfNormalized,
    canonical,
    run,
    soare,
    sphere,
)
from lingape.complexity import characteristic_time
from lingape.errors import InvalidArgument, InvalidBound
from lingape.explorers.lin_game import (
    SHARED,
    alternatives,
    hedge,
    mixability_gap,
    mixed,
    optimistic_gains,
    rivals_of,
)
from lingape.least_squares import LeastSquares
from lingape.testing import Tape, pulls_of


def _name(instance):
    return instance.name


def test_adahedge_by_hand():
    """Two arms, gains (1, 0), (0, 1): worked out on paper."""
    gains, gap = np.zeros(2), 0.01
    rate = math.log(2) / gap
    weights = hedge(gains, rate)
    assert weights.tolist() == [0.5, 0.5]
    # The mix gains 1 - log 2/η = 0.99, the mean 0.5.
    gained = np.array([1.0, 0.0])
    gap += mixability_gap(gains, weights, gained, rate)
    gains += gained
    assert gap == pytest.approx(0.5, abs=1e-12)

    rate = math.log(2) / gap  # e^η = 4
    weights = hedge(gains, rate)
    assert weights == pytest.approx([0.8, 0.2])
    # The mix gains log(0.8 + 0.2·4)/η = log 1.6/log 4, the mean 0.2.
    gained = np.array([0.0, 1.0])
    gap += mixability_gap(gains, weights, gained, rate)
    gains += gained
    assert gap == pytest.approx(0.5 + math.log(1.6) / math.log(4) - 0.2)
    assert hedge(gains, math.log(2) / gap) == pytest.approx([0.5, 0.5])


def test_adahedge_survives_weights_too_small_for_a_float():
    gains, rate = np.array([0.0, 1e6]), 10.0
    weights = hedge(gains, rate)
    assert weights.tolist() == [0.0, 1.0]
    assert mixability_gap(gains, weights, np.array([5.0, 0.0]), rate) == 0.0
    # The arm without weight overtakes: the mix gains what it is ahead by.
    found = mixability_gap(gains, weights, np.array([2e6, 0.0]), rate)
    assert found == pytest.approx(1e6)


def test_optimistic_gains_by_hand():
    """An arm pulled 8 times out of 12: ½(|shift| + √(2 log 12/8))², at most log 12."""
    estimate = LeastSquares(np.eye(2))
    for arm in [0] * 8 + [1] * 4:
        estimate.update(arm, 0.0)
    gains = optimistic_gains(np.array([-0.5, 3.0]), estimate)
    assert gains[0] == pytest.approx(0.5 * (0.5 + math.sqrt(2 * math.log(12) / 8)) ** 2)
    assert gains[1] == math.log(12)


@pytest.mark.parametrize("seed", range(5))
def test_closest_alternative_is_the_closest(seed):
    """Against a solver that knows nothing of the closed form."""
    rng = np.random.default_rng(seed)
    problem = Problem(rng.standard_normal((6, 3)), noise=1.0)
    basis, theta = problem.orthonormal, rng.standard_normal(3)
    means, weights = basis @ theta, rng.dirichlet(np.ones(6))
    leader, epsilon = int(means.argmax()), 0.1 * (seed % 2)
    rivals = rivals_of(problem, leader, [])
    found = alternatives(basis, weights, means[leader] - means + epsilon, leader, rivals)
    v = (basis.T * weights) @ basis
    for j in np.flatnonzero(rivals):
        y = basis[leader] - basis[j]
        best = scipy.optimize.minimize(
            lambda lam: 0.5 * (theta - lam) @ v @ (theta - lam),
            theta,
            jac=lambda lam: v @ (lam - theta),
            constraints={"type": "ineq", "fun": lambda lam, y=y: -(y @ lam) - epsilon},
            options={"ftol": 1e-15},
        )
        assert found.values[j] == pytest.approx(best.fun, rel=1e-5)
        assert found.shifts(j) == pytest.approx(basis @ (theta - best.x), abs=1e-4)
    assert found.values[leader] == np.inf


def _textbook(problem, tape, rounds, *, convex):
    """LinGame (or LinGame-C) word for word: one step after the other, all from scratch."""
    x, r, count = problem.arms, problem.noise_scale, len(problem)
    n, sums, pulled = np.zeros(count), np.zeros(count), []
    for k in range(count):
        n[k], sums[k] = 1, tape.pay(k)
        pulled.append(k)
    answers = count if convex else 1
    gains, gap = np.zeros((answers, count)), 0.01
    totals, told = np.zeros((answers, count)), np.zeros((answers, count))
    while len(pulled) < rounds:
        t, v = len(pulled), (x.T * n) @ x
        theta = np.linalg.solve(v, x.T @ sums)
        i = int((x @ theta).argmax())
        rate = math.log(gains.size) / gap
        w = np.exp(rate * (gains - gains.max()))
        w /= w.sum()
        row = w[i] / w[i].sum() if convex else w[0]
        v_w = (x.T * ((1 - SHARED) * row + SHARED / count)) @ x
        options = []
        for j in range(count):
            if j != i:
                h = np.linalg.solve(v_w, x[i] - x[j])
                step = h * ((x[i] - x[j]) @ theta) / ((x[i] - x[j]) @ h)
                options.append((0.5 * step @ v_w @ step, j, step))
        step = min(options, key=lambda option: option[0])[2]
        gained = np.zeros((answers, count))
        for a in range(answers):
            for k in range(count):
                shift = x[k] @ step if not convex or a == i else 0.0
                wide = math.sqrt(2 * math.log(t) * (x[k] @ np.linalg.solve(v, x[k])))
                gained[a, k] = min(0.5 * (abs(shift) / r + wide) ** 2, math.log(t))
        mix = math.log((w * np.exp(rate * (gained - gained.max()))).sum()) / rate + gained.max()
        gap += mix - (w * gained).sum()
        gains += gained
        totals += w
        a, k = np.unravel_index((told - totals).argmin(), totals.shape)
        told[a, k] += 1
        n[k] += 1
        sums[k] += tape.pay(k)
        pulled.append(int(k))
    return pulled


@pytest.mark.parametrize("kind", [LinGame, LinGameC])
@pytest.mark.parametrize("seed", [1, 5])
def test_pulls_are_those_of_the_textbook(kind, seed):
    instance = sphere(6, 3, seed=seed)
    problem = instance.problem(noise=0.7, delta=1e-9)
    means = instance.gaussian().means
    expected = _textbook(problem, Tape(means, scale=0.7), 250, convex=kind is LinGameC)
    assert pulls_of(kind(problem), Tape(means, scale=0.7), 250) == expected


@pytest.mark.parametrize("kind", [LinGame, LinGameC])
@pytest.mark.parametrize("instance", [canonical(3, 1.0), sphere(8, 3, seed=1)], ids=_name)
def test_proportions_become_the_best_there_are(kind, instance):
    problem = instance.problem(delta=1e-300)
    best = characteristic_time(problem, instance.theta)
    result = run(kind(problem), instance.gaussian(), seed=3, max_pulls=50_000)
    assert rate(instance, result.counts / result.pulls) > 0.96 / best.time


def rate(instance, proportions):
    """How fast these proportions tell the best arm from the closest other, in nats a pull."""
    means, inverse = (
        instance.arms @ instance.theta,
        np.linalg.inv((instance.arms.T * proportions) @ instance.arms),
    )
    y, gaps = instance.arms[means.argmax()] - instance.arms, means.max() - means
    others = gaps > 0
    lengths = np.einsum("kd,de,ke->k", y, inverse, y)
    return float((gaps[others] ** 2 / (2 * lengths[others])).min())


@pytest.mark.parametrize("kind", [LinGame, LinGameC])
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
def test_lanes_agree_with_settings(kind, settings):
    for instance in (soare(3, 0.2), sphere(12, 4, seed=2)):
        problem = instance.problem(epsilon=0.05)
        plain, compiled = (
            run(kind(problem, **settings), instance.gaussian(), seed=4, max_pulls=900, lane=lane)
            for lane in ("plain", "compiled")
        )
        assert plain.counts.tolist() == compiled.counts.tolist()
        assert plain.ending is compiled.ending


@pytest.mark.parametrize("kind", [LinGame, LinGameC])
def test_lanes_take_over_from_each_other(kind):
    """Ask and tell, then compiled, then ask and tell again: as if it had been one lane."""
    instance = sphere(7, 3, seed=2)
    problem, world = instance.problem(delta=1e-9), instance.gaussian()
    explorer, rng = kind(problem), np.random.default_rng(8)
    for until, lane in [(40, "plain"), (300, "compiled"), (400, "plain"), (500, "compiled")]:
        more = until - int(explorer.counts.sum())
        run(explorer, world, seed=rng, max_pulls=more, lane=lane)
    whole = run(kind(problem), world, seed=np.random.default_rng(8), max_pulls=500, lane="plain")
    assert explorer.counts.tolist() == whole.counts.tolist()


def test_workers_share_out_the_weights():
    """Asked for many arms at once, they come in the proportions of the day."""
    instance = soare(3, 0.3)
    explorer = LinGame(instance.problem(delta=1e-100))
    run(explorer, instance.gaussian(), seed=2, max_pulls=2_000)
    weights = explorer.parts.pull.memory.weights
    shares = np.bincount(explorer.ask_many(200), minlength=4) / 200
    assert shares == pytest.approx(weights, abs=0.02)


def test_mixed_weights_reach_every_arm():
    weights = mixed(np.array([1.0, 0.0]))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[1] == SHARED / 2


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidArgument, match="at most 1000 arms"):
        LinGameC(Problem(np.random.default_rng(0).standard_normal((1_001, 2)), noise=1.0))
    with pytest.raises(InvalidBound, match="fixed in advance"):
        LinGame(Problem(np.eye(2), noise=1.0), bound=FixedDesign())


@pytest.mark.parametrize("kind", [LinGame, LinGameC])
def test_no_noise_to_speak_of(kind):
    """Gaps a million times the noise are no reason to overflow."""
    arms, theta = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]), np.array([1e6, 0.0])
    world = Gaussian(arms, theta)
    result = run(kind(Problem(arms, noise=1.0)), world, seed=0, max_pulls=100, lane="plain")
    assert result.certificate.settled and result.correct
