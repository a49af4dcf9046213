"""The library plays the pulls of the plain transcription in naive.py."""

import functools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from lingape import LinGapE, Mixture, Problem, SelfNormalized, Tracking, WorstCase, greedy, sphere
from lingape.designs import g_optimal
from lingape.least_squares import next_rebuild
from lingape.testing import Tape

ROUNDS = 120


def play(explorer, pay, rounds=ROUNDS):
    pulled = []
    while not explorer.done and len(pulled) < rounds:
        arm = explorer.ask()
        pulled.append(arm)
        explorer.tell(arm, pay(arm))
    return pulled, explorer.recommend() if explorer.done else None


def rebuilt_at(count, pulls):
    """How many pulls the determinants of the library knew of after so many pulls."""
    at = count
    while next_rebuild(at, count) <= pulls:
        at = next_rebuild(at, count)
    return at


def naive_mixture(problem):
    design = g_optimal(problem.orthonormal, tolerance=0.05).proportions

    def bound(arms, pulled):
        return naive.mixture(
            arms,
            pulled,
            delta=problem.delta,
            noise_scale=problem.noise_scale,
            design=design,
            known=rebuilt_at(len(arms), len(pulled)),
        )

    return bound


def naive_ridge(function, problem, kappa, ridge):
    return functools.partial(
        function,
        delta=problem.delta,
        noise_scale=problem.noise_scale,
        norm_bound=problem.norm_bound,
        ridge=ridge,
        kappa=kappa,
    )


@pytest.mark.parametrize("pull", ["greedy", "tracking"])
@pytest.mark.parametrize("bound", ["self_normalized", "K^2", "worst_case", "mixture"])
@pytest.mark.parametrize("seed", range(3))
def test_pulls(bound, pull, seed):
    instance = sphere(6, 3, seed)
    problem = instance.problem(norm_bound=1.5, noise=0.7, epsilon=0.2, delta=0.1)
    means = instance.gaussian().means
    ridge = 0.0 if bound == "mixture" else 0.5
    reference = {
        "self_normalized": naive_ridge(naive.self_normalized, problem, 1, 0.5),
        "K^2": naive_ridge(naive.self_normalized, problem, 36, 0.5),
        "worst_case": naive_ridge(naive.worst_case, problem, 1, 0.5),
        "mixture": naive_mixture(problem),
    }[bound]
    ours = {
        "self_normalized": SelfNormalized(),
        "K^2": SelfNormalized(comparisons="K^2"),
        "worst_case": WorstCase(),
        "mixture": Mixture(),
    }[bound]
    explorer = LinGapE(
        problem, bound=ours, pull=Tracking() if pull == "tracking" else greedy, ridge=ridge or None
    )
    expected = naive.lingape(
        problem.arms,
        Tape(means, scale=0.7, seed=seed).pay,
        reference,
        ridge=ridge,
        epsilon=problem.epsilon,
        rounds=ROUNDS,
        pull=pull,
    )
    assert play(explorer, Tape(means, scale=0.7, seed=seed).pay) == expected


@given(
    arms=st.lists(
        st.lists(st.integers(-4, 4), min_size=2, max_size=2),
        min_size=3,
        max_size=5,
        unique_by=tuple,
    ),
    seed=st.integers(0, 99),
)
@settings(max_examples=25, deadline=None)
def test_pulls_on_grids(arms, seed):
    """Small whole-number features: dependent, opposite, proportional and tied in many ways."""
    arms = np.array(arms, dtype=float)
    assume(np.linalg.matrix_rank(arms) == 2)
    problem = Problem(arms, norm_bound=2.0, noise=1.0)
    means = arms @ [0.3, -0.2]
    bound = naive_ridge(naive.self_normalized, problem, 1, 1.0)
    expected = naive.lingape(arms, Tape(means, seed=seed).pay, bound, ridge=1.0, rounds=40)
    explorer = LinGapE(problem, bound=SelfNormalized())
    assert play(explorer, Tape(means, seed=seed).pay, rounds=40) == expected
