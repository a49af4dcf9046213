"""Theoretical quantities, against closed forms and the theorems they appear in."""

import numpy as np
import pytest

from benchmarks.errata import shortcuts
from lingape import Problem, XYOracle, canonical, run, soare, sphere
from lingape.complexity import (
    characteristic_time,
    complexity,
    divergence,
    gaps,
    lingape_complexity,
    theorem_2_large_ridge,
    ugape_complexity,
)
from lingape.designs import DirectionProgram
from lingape.errors import InvalidArgument
from lingape.paper import paper_lingape
from lingape.pulls import Tracking


def test_gaps():
    best, delta = gaps(canonical(3, 0.5).problem(), [0.5, 0.2, 0.0])
    assert best == 0
    assert delta == pytest.approx([0.3, 0.3, 0.5])  # the best arm's is the least of the others


def test_where_less_is_better_everything_is_turned_round():
    costs = canonical(3, 0.5).problem(minimize=True)
    best, delta = gaps(costs, [0.5, 0.2, 0.0])
    assert best == 2 and delta == pytest.approx([0.5, 0.2, 0.2])
    gains = canonical(3, 0.5).problem()
    turned = complexity(gains, [-0.5, -0.2, 0.0]).to_dict()
    assert complexity(costs, [0.5, 0.2, 0.0]).to_dict() == turned
    assert XYOracle(costs, theta=[0.5, 0.2, 0.0]).truth.argmax() == 2


@pytest.mark.parametrize("d", [2, 5, 10])
def test_lower_bound_on_the_papers_instance(d):
    """T* barely depends on d: the contest of arms 1 and d+1 is all that counts."""
    instance = soare(d, 0.01)
    time = characteristic_time(instance.problem(), instance.theta)
    known = {2: 20_200.17, 5: 20_201.67, 10: 20_204.19}[d]
    assert time.time <= known * (1 + 1e-6)
    assert time.time * (1 + time.gap) >= known * (1 - 1e-6)
    assert time.samples(0.05) == pytest.approx({2: 53_530, 5: 53_534, 10: 53_541}[d], abs=1)


@pytest.mark.parametrize("d", [2, 3, 7])
def test_lower_bound_on_canonical_arms(d):
    """T* = 2(1 + √(d-1))²/Δ² in closed form."""
    instance = canonical(d, 0.1)
    time = characteristic_time(instance.problem(noise=3.0), instance.theta)
    assert time.time == pytest.approx(9 * 2 * (1 + np.sqrt(d - 1)) ** 2 / 0.01, rel=1e-5)
    assert time.allocation[0] / time.allocation[1] == pytest.approx(np.sqrt(d - 1), rel=1e-2)


def test_canonical_arms_reduce_to_ugape():
    """Section 6.2: ρ = 4, p* = ½, and H_ε is 9/8 of UGapE's for rewards of range 2."""
    for epsilon in (0.0, 0.05):
        instance = canonical(5, 0.2)
        problem = instance.problem(epsilon=epsilon)
        h = lingape_complexity(problem, instance.theta)
        by_hand = sum(2 / max(epsilon, (epsilon + 0.2) / 3) ** 2 for _ in range(5))
        assert h == pytest.approx(by_hand)
        ugape = ugape_complexity(
            gaps(problem, instance.theta)[1], epsilon=epsilon, reward_range=2.0
        )
        assert h <= 9 / 8 * ugape * (1 + 1e-12)


def test_theorem_3_is_false_for_many_arms():
    """Row 32 of ERRATA.md: a lower bound on H_0 from some pairs is already above 72."""
    instance = shortcuts(16)
    arms = instance.arms
    program = DirectionProgram(arms)
    best, delta = gaps(instance.problem(), instance.theta)
    assert best == 0
    worst = np.zeros(len(arms))
    for i in range(17):
        for j in range(i):
            mix = program.solve(arms[i] - arms[j])
            worst = np.maximum(worst, 9 * mix.proportions * mix.rho / max(delta[i], delta[j]) ** 2)
    oracle_sum = sum(
        program.solve(arms[0] - arms[k]).rho / delta[k] ** 2 for k in range(1, len(arms))
    )
    assert 76 < worst.sum() / oracle_sum < 9 * (2 * len(arms) - 3)


def test_theorem_3_holds_with_a_factor_k():
    for n in (1, 2, 5):
        instance = shortcuts(n)
        found = complexity(instance.problem(), instance.theta)
        assert found.theorem_3 == pytest.approx(4.5 * (n + 1), rel=2e-3)
        assert found.theorem_3 <= found.theorem_3_limit == 9 * (2 * len(instance.arms) - 3)


def test_theorem_3_on_random_instances():
    """H_0 ≤ 9(2K-3) H'_oracle, with much room, and H_oracle ≤ H'_oracle ≤ (K-1) H_oracle."""
    worst = 0.0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        instance = sphere(int(rng.integers(3, 8)), int(rng.integers(2, 5)), seed)
        found = complexity(instance.problem(), instance.theta)
        count = len(instance.arms)
        assert found.oracle <= found.oracle_sum <= (count - 1) * found.oracle * (1 + 1e-12)
        # The oracle design does at least as well as the hardest direction alone allows.
        assert 2 * found.oracle <= found.characteristic.time * (1 + 2e-6)
        assert found.theorem_3 <= found.theorem_3_limit
        worst = max(worst, found.theorem_3)
    assert worst <= 72  # which holds for K ≤ 5, and here


def test_theorem_2_bounds_the_samples():
    instance = soare(3, 0.3)
    problem = instance.problem(norm_bound=2.0)
    found = complexity(problem, instance.theta)
    assert found.theorem_2 is not None
    pulls = [
        run(paper_lingape(problem, pull=Tracking()), instance.gaussian(), seed=seed).pulls
        for seed in range(20)
    ]
    assert max(pulls) <= found.theorem_2
    assert min(pulls) >= 0.1 * found.lower_bound


def test_theorem_2_needs_its_conditions():
    instance = soare(3, 0.3)
    unknown = Problem(instance.arms, noise=1.0)
    assert complexity(unknown, instance.theta).theorem_2 is None
    problem = instance.problem(norm_bound=2.0)
    h = lingape_complexity(problem, instance.theta)
    assert complexity(problem, instance.theta, ridge=100.0).theorem_2 is None
    assert theorem_2_large_ridge(problem, h, ridge=1.0) is None
    ridge = 4.01 * h
    bound = theorem_2_large_ridge(problem, h, ridge=ridge)
    assert bound == pytest.approx(8 * h * np.log(16 / 0.05) + 16 * h * ridge + 8)


def test_duplicates_and_flat_features():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    plain = complexity(Problem(arms[:2], noise=1.0), [1.0, 0.0])
    doubled = complexity(Problem(arms, noise=1.0), [1.0, 0.0])
    flat = complexity(Problem(np.hstack([arms[:2], arms[:2]]), noise=1.0), [0.5, 0.0, 0.5, 0.0])
    assert doubled.lower_bound == pytest.approx(plain.lower_bound, rel=1e-5)
    assert flat.lower_bound == pytest.approx(plain.lower_bound, rel=1e-5)
    assert flat.lingape == pytest.approx(plain.lingape)


def test_no_lower_bound_for_other_questions():
    problem = canonical(3, 0.5).problem(epsilon=1.0)
    assert complexity(problem, [0.5, 0, 0]).lower_bound is None


@pytest.mark.parametrize("ridge", [0, -1, np.nan])
def test_bad_ridge(ridge):
    with pytest.raises(InvalidArgument, match="ridge"):
        complexity(Problem(np.eye(2), noise=1.0), [1.0, 0.0], ridge=ridge)


@pytest.mark.parametrize(
    ("theta", "words"),
    [
        ([1.0], "one per feature"),
        ("abc", "one per feature"),
        ([1e-170, 0], "other units"),
        ([np.nan, 1.0], "finite"),
        ([1.0, 1.0], "unique"),
    ],
)
def test_bad_theta(theta, words):
    with pytest.raises(InvalidArgument, match=words):
        complexity(Problem(np.eye(2), noise=1.0), theta)


def test_divergence():
    assert divergence(0.05) == pytest.approx(2.65, abs=1e-3)
    assert divergence(0.5) == divergence(0.9) == 0
    with pytest.raises(InvalidArgument):
        divergence(0.0)
