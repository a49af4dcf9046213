"""LinGIFA: leaders by gap indices, by hand and against a plain transcription."""

import numpy as np
import pytest

import naive
from lingape import (
    FixedDesign,
    LinGapE,
    LinGIFA,
    Mixture,
    Problem,
    SelfNormalized,
    Stylised,
    canonical,
    run,
    soare,
    sphere,
)
from lingape.errors import InvalidArgument, InvalidBound
from lingape.lanes import compiled_lane
from lingape.testing import Tape, pulls_of


def test_leader_by_hand():
    """Arms pulled 1, 100 and 100 times, where a pair's width is c√(1/T_i + 1/T_j).

    The index of arm 0 is B_10 = -0.1 + c√1.01, of arm 1 B_01 = 0.1 + c√1.01, of arm 2 more.
    """
    explorer = LinGIFA(Problem(np.eye(3), noise=1.0), bound=Stylised())
    explorer.tell_many([0] + [1] * 100 + [2] * 100, [1.0] + [0.9] * 100 + [0.8] * 100)
    c = Stylised().radius(explorer.problem, explorer.estimate)
    leader, rival, margin = explorer.contest
    assert (leader, rival) == (0, 1)
    assert margin == pytest.approx(-0.1 + c * np.sqrt(1.01))
    # Were arm 0's average below arm 1's, it might still be far better than arm 1.
    other = LinGIFA(Problem(np.eye(3), noise=1.0), bound=Stylised())
    other.tell_many([0] + [1] * 100 + [2] * 100, [0.85] + [0.9] * 100 + [0.8] * 100)
    assert other.contest.leader == 1
    assert other.contest.margin == pytest.approx(-0.05 + c * np.sqrt(1.01))


def naive_contest(arms, pulled, rewards, bound, m):
    """J, b, c and B_cb with loops over all pairs."""
    inverse, width = bound(arms, pulled)
    theta = inverse @ sum(arms[k] * r for k, r in zip(pulled, rewards, strict=True))
    count = len(arms)
    b = [
        [
            (arms[i] - arms[j]) @ theta + width(arms[i] - arms[j]) if i != j else -np.inf
            for i in range(count)
        ]
        for j in range(count)
    ]
    index = [sorted(b[j])[-m] for j in range(count)]
    chosen = sorted(range(count), key=lambda j: round(index[j], 9))[:m]
    rest = [i for i in range(count) if i not in chosen]
    worst = {j: max(b[j][i] for i in rest) for j in chosen}
    leader = next(j for j in chosen if worst[j] >= max(worst.values()) - 1e-9)
    rival = next(i for i in rest if b[leader][i] >= worst[leader] - 1e-9)
    return chosen, leader, rival, worst[leader]


def naive_ridge(problem):
    def bound(arms, pulled):
        return naive.self_normalized(
            arms, pulled, delta=problem.delta, noise_scale=1.0, norm_bound=2.0, ridge=1.0
        )

    return bound


@pytest.mark.parametrize("instance", [soare(3, 0.2), sphere(8, 3, seed=5)])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_plays_the_pulls_of_a_plain_transcription(instance, m):
    problem = instance.problem(norm_bound=2.0, delta=0.01)
    means, bound = instance.gaussian().means, naive_ridge(problem)
    tape, pulled, rewards = Tape(means), [], []
    while len(pulled) < 120:
        arm = len(pulled)
        if len(pulled) >= len(means):
            _, i, j, margin = naive_contest(problem.arms, pulled, rewards, bound, m)
            if margin <= 0:
                break
            a = np.eye(problem.arms.shape[1]) + sum(
                np.outer(problem.arms[k], problem.arms[k]) for k in pulled
            )
            arm = naive.greedy(problem.arms, a, problem.arms[i] - problem.arms[j])
        pulled.append(arm)
        rewards.append(tape.pay(arm))
    explorer = LinGIFA(problem, bound=SelfNormalized(), m=m)
    assert pulls_of(explorer, Tape(means), 120) == pulled


def test_finds_the_m_best():
    instance = sphere(8, 3, seed=5)
    problem, world = instance.problem(noise=0.2), instance.gaussian(scale=0.2)
    best = set(np.argsort(-world.means)[:3].tolist())
    for kind in (LinGIFA, LinGapE):
        explorer = kind(problem, m=3)
        result = run(explorer, world, seed=0, max_pulls=50_000)
        assert result.certificate.settled
        assert set(explorer.top()) == best
        assert explorer.recommend() == int(world.means.argmax())


def test_certificate_names_arms_that_none_outside_beats():
    """At the end B_ij ≤ ε for every arm i outside and j inside of the answer."""
    instance = sphere(8, 3, seed=2)
    problem, means = instance.problem(noise=0.2, epsilon=0.2), instance.gaussian().means
    explorer = LinGIFA(problem, m=2)
    pulls_of(explorer, Tape(means, scale=0.2), 20_000)
    inside = explorer.certificate().arms
    for j in inside:
        margins, _ = explorer.parts.contests.margins(explorer.estimate, j)
        assert np.delete(margins, inside).max() <= 0.2


def test_lanes():
    """m = 1 has a compiled lane, unless the bound is refined; m > 1 has none."""
    problem = canonical(4, 0.5).problem()
    assert compiled_lane(LinGIFA(problem)) is not None
    assert compiled_lane(LinGIFA(problem, m=2)) is None
    assert compiled_lane(LinGIFA(problem, bound=Mixture(refined=True))) is None


def test_refuses():
    problem = Problem(np.eye(3), noise=1.0)
    with pytest.raises(InvalidBound, match="fixed in advance"):
        LinGIFA(problem, bound=FixedDesign())
    with pytest.raises(InvalidArgument, match="from 1 to 2"):
        LinGIFA(problem, m=3)
