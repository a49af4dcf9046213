"""LinT3C: draws with the right law, and the same pulls as a plain transcription."""

import math

import numpy as np
import pytest

from lingape import LinT3C, Problem, canonical, soare, sphere
from lingape.draws import normal
from lingape.errors import InvalidArgument
from lingape.testing import Tape, pulls_of


def test_drawn_means_have_the_posterior_covariance():
    """R²XV⁻¹Xᵀ, around the estimate."""
    instance = sphere(5, 3, seed=1)
    problem = instance.problem(noise=0.5)
    draws = []
    for seed in range(4_000):
        explorer = LinT3C(problem, seed=seed)
        if not draws:
            explorer.tell_many([0, 1, 2, 3, 4, 0, 0], [0.1, 0.2, 0.3, 0.1, 0.0, 0.2, 0.1])
            estimate = explorer.estimate
        draws.append(explorer.parts.pull._drawn(estimate))
    v = (problem.arms.T * estimate.counts) @ problem.arms
    covariance = 0.25 * problem.arms @ np.linalg.inv(v) @ problem.arms.T
    assert np.allclose(np.mean(draws, axis=0), estimate.means, atol=0.04)
    assert np.allclose(np.cov(np.transpose(draws)), covariance, atol=0.03)


def test_challenger_by_hand():
    """Arms with means 1, 0.9 and 0.5, pulled 1, 1 and 100 times: in standard deviations the
    second is 0.1/√2 behind and the third 0.5/√1.01."""
    explorer = LinT3C(Problem(np.eye(3), noise=1.0))
    explorer.tell_many([0, 1] + [2] * 100, [1.0, 0.9] + [0.5] * 100)
    assert explorer.parts.pull._challenger(explorer.estimate, 0) == 1
    explorer.tell_many([1] * 99, [0.4] * 99)  # now it is 0.595/√1.01 behind
    assert explorer.parts.pull._challenger(explorer.estimate, 0) == 2
    # A leader that looks worse is challenged by the arm that is furthest ahead.
    assert explorer.parts.pull._challenger(explorer.estimate, 1) == 2


def naive_pulls(problem, tape, rounds, seed):
    """The algorithm word for word, with an inverse a round and loops over arms."""
    arms, count = problem.arms, len(problem)
    pulled, rewards = list(range(count)), []
    rewards = [tape.pay(k) for k in pulled]
    while len(pulled) < rounds:
        t = len(pulled)
        counts = np.bincount(pulled, minlength=count)
        v = sum(np.outer(arms[k], arms[k]) for k in pulled)
        b = sum(arms[k] * r for k, r in zip(pulled, rewards, strict=True))
        noise = sum(arms[k] * math.sqrt(counts[k]) * normal(seed, t, k) for k in range(count))
        theta, drawn = np.linalg.solve(v, b), np.linalg.solve(v, b + problem.noise_scale * noise)
        i = max(range(count), key=lambda k: arms[k] @ drawn)
        inverse = np.linalg.inv(v)
        ratios = {}
        for j in range(count):
            if j != i:
                y = arms[i] - arms[j]
                ratios[j] = y @ theta / math.sqrt(y @ inverse @ y)
        j = next(j for j in ratios if ratios[j] <= min(ratios.values()) + 1e-9)
        y = arms[i] - arms[j]
        after = [y @ np.linalg.inv(v + np.outer(x, x)) @ y for x in arms]
        gain = y @ inverse @ y - min(after)
        arm = next(k for k in range(count) if y @ inverse @ y - after[k] >= gain * (1 - 1e-7))
        pulled.append(arm)
        rewards.append(tape.pay(arm))
    return pulled


@pytest.mark.parametrize("instance", [soare(3, 0.2), sphere(9, 3, seed=5), canonical(4, 0.5)])
@pytest.mark.parametrize("seed", [0, 7])
def test_plays_the_pulls_of_a_plain_transcription(instance, seed):
    problem, means = instance.problem(delta=1e-30), instance.gaussian().means
    expected = naive_pulls(problem, Tape(means), 200, seed)
    assert pulls_of(LinT3C(problem, seed=seed), Tape(means), 200) == expected


def test_seeds_that_compiled_code_cannot_hold_are_refused():
    problem = Problem(np.eye(2), noise=1.0)
    with pytest.raises(InvalidArgument, match="seed"):
        LinT3C(problem, seed=2**63)
    LinT3C(problem, seed=2**63 - 1)


def test_seeds_differ_and_repeat():
    instance = sphere(9, 3, seed=5)
    problem, means = instance.problem(delta=1e-30), instance.gaussian().means
    first, again, other = (
        pulls_of(LinT3C(problem, seed=seed), Tape(means), 100) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_asking_changes_nothing_with_many_arms():
    """Also where the estimate keeps the contrasts that it was last asked for."""
    instance = sphere(300, 10, seed=0)
    explorer = LinT3C(instance.problem(), start="spanning")
    pulls_of(explorer, Tape(instance.gaussian().means), 40)
    before = explorer.state()
    explorer.ask()
    assert explorer.state() == before
