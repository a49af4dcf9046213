"""LazyTrackAndStop: numbers by hand, and the same pulls as a plain transcription."""

import math

import numpy as np
import pytest

from lingape import (
    JedraProutiere,
    LazyTrackAndStop,
    Problem,
    SelfNormalized,
    canonical,
    run,
    soare,
    sphere,
)
from lingape.complexity import characteristic_time
from lingape.explorers.lazy_track_and_stop import best_shares
from lingape.testing import Tape, pulls_of


def test_shares_of_a_plain_bandit_by_hand():
    """With K equal rivals, minimise 1/w + 1/v for w + (K - 1)v = 1: w/v = √(K - 1)."""
    instance = canonical(5, 0.4)
    explorer = LazyTrackAndStop(instance.problem())
    shares = explorer.parts.pull.shares(instance.gaussian().means)
    assert shares == pytest.approx([1 / 3] + [1 / 6] * 4, rel=1e-5)


@pytest.mark.parametrize("instance", [soare(5, 0.1), soare(2, 0.01), sphere(30, 6, seed=1)])
def test_shares_are_those_of_the_lower_bound(instance):
    """With the true means, no design is better by more than 2 %."""
    problem = instance.problem()
    x, means = problem.orthonormal, instance.gaussian().means
    best = int(means.argmax())
    rivals = np.delete(np.arange(len(means)), best)
    directions = (x[best] - x[rivals]) / (means[best] - means[rivals])[:, None]
    shares = best_shares(x, directions)
    inverse = np.linalg.inv((x.T * shares / shares.sum()) @ x)
    value = 2 * np.einsum("md,de,me->m", directions, inverse, directions).max()
    time = characteristic_time(problem, instance.theta, tolerance=1e-3).time
    assert time <= value * (1 + 1e-6)
    assert value <= 1.021 * time


def test_ties_get_the_even_design():
    problem = Problem(np.eye(4), noise=1.0)
    explorer = LazyTrackAndStop(problem)
    assert explorer.parts.pull.shares(np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx([0.25] * 4)
    with_margin = LazyTrackAndStop(Problem(np.eye(4), epsilon=0.1, noise=1.0))
    assert with_margin.parts.pull.shares(np.array([1.0, 1.0, -9.0, -9.0]))[1] > 0.4


def test_designs_are_solved_for_at_powers_of_two(monkeypatch):
    instance = soare(3, 0.1)
    times = []
    explorer = LazyTrackAndStop(instance.problem(delta=1e-30))
    solve = explorer.parts.pull.shares

    def watched(means):
        times.append(explorer.estimate.pulls)
        return solve(means)

    monkeypatch.setattr(explorer.parts.pull, "shares", watched)
    pulls_of(explorer, Tape(instance.gaussian().means), 300)
    assert times == [4, 8, 16, 32, 64, 128, 256]


def test_no_direction_is_neglected():
    """The smallest eigenvalue of V, in units of the spanning set, keeps up with √(t/d)."""
    instance = soare(5, 0.1)
    problem = instance.problem(delta=1e-30)
    explorer = LazyTrackAndStop(problem)
    tape = Tape(instance.gaussian().means)
    x = np.linalg.solve(problem.arms[list(problem.spanning)].T, problem.arms.T).T
    for _ in range(20):
        pulls_of(explorer, tape, 50)
        v = (x.T * explorer.counts) @ x
        pulls = explorer.counts.sum()
        assert np.linalg.eigvalsh(v)[0] >= math.sqrt((pulls - 5) / 5) - 1e-9


def naive_pulls(explorer, tape, rounds):
    """The algorithm word for word, with an inverse a round and sums over all rounds."""
    arms = explorer.problem.arms
    spanning = list(explorer.problem.spanning)
    pulled, rewards, weights = [], [], []
    current = LazyTrackAndStop(explorer.problem).parts.pull.memory.shares
    while len(pulled) < rounds:
        t = len(pulled)
        counts = np.bincount(pulled, minlength=len(arms))
        if t < len(spanning):
            arm = spanning[t]
        else:
            v = sum(np.outer(arms[k], arms[k]) for k in pulled)
            a0 = sum(np.outer(arms[k], arms[k]) for k in spanning)
            root = np.linalg.inv(np.linalg.cholesky(a0))
            theta = np.linalg.solve(
                v, sum(arms[k] * r for k, r in zip(pulled, rewards, strict=True))
            )
            weights.append(current)
            if math.log2(t).is_integer():
                current = explorer.parts.pull.shares(arms @ theta)
            total = sum(weights)
            if np.linalg.eigvalsh(root @ v @ root.T)[0] < math.sqrt(t / len(spanning)) - 1e-9:
                arm = min(spanning, key=lambda k: counts[k])
            else:
                lag = [
                    total[k] - counts[k] if total[k] > 0 else -math.inf for k in range(len(arms))
                ]
                arm = next(k for k in range(len(arms)) if lag[k] >= max(lag) - 1e-7 * t)
        pulled.append(arm)
        rewards.append(tape.pay(arm))
    return pulled


@pytest.mark.parametrize(
    "instance", [soare(3, 0.2), sphere(9, 3, seed=5), sphere(15, 4, seed=3), canonical(4, 0.5)]
)
def test_plays_the_pulls_of_a_plain_transcription(instance):
    problem, means = instance.problem(delta=1e-30), instance.gaussian().means
    expected = naive_pulls(LazyTrackAndStop(problem), Tape(means), 200)
    assert pulls_of(LazyTrackAndStop(problem), Tape(means), 200) == expected


def test_its_own_bound_and_others():
    instance = canonical(3, 1.5)
    problem = instance.problem(norm_bound=2.0)
    for bound in (JedraProutiere(), SelfNormalized()):
        for start in ("each", "spanning"):
            explorer = LazyTrackAndStop(problem, bound=bound, start=start, elimination="stop")
            result = run(explorer, instance.gaussian(), seed=1, max_pulls=20_000)
            assert result.certificate.settled
            assert result.correct


def test_a_compiled_run_goes_on_plainly():
    """Handing over halfway loses nothing that is kept beside the estimate."""
    instance = sphere(9, 3, seed=5)
    problem, world = instance.problem(delta=1e-30), instance.gaussian()
    explorer, again = LazyTrackAndStop(problem), LazyTrackAndStop(problem)
    run(explorer, world, seed=3, max_pulls=500, lane="compiled")
    run(again, world, seed=3, max_pulls=500, lane="plain")
    memory, other = explorer.parts.pull.memory, again.parts.pull.memory
    assert np.allclose(memory.shares, other.shares, atol=1e-6)
    assert np.allclose(memory.totals, other.totals, atol=1e-6)
    assert memory.totals.sum() == pytest.approx(500 - 3 + 1, rel=1e-4)
    assert explorer.ask() == again.ask()
