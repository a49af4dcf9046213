"""JedraProutiere and Stylised give the numbers of their formulas and say what they are worth."""

import math

import numpy as np
import pytest

from lingape import JedraProutiere, Problem, soare, sphere
from lingape.errors import InvalidBound
from lingape.paper import TABLE_1


def test_jedra_proutiere_by_hand():
    """Two arms pulled 3 and 5 times: V is diagonal, and the spanning set are the arms."""
    problem = Problem(np.eye(2), noise=2.0, delta=0.1)
    bound = JedraProutiere()
    estimate = bound.estimate(problem)
    estimate.load(np.array([3, 5]), np.zeros(2))
    nats = math.log(math.sqrt((1 + 3 / 0.1) * (1 + 5 / 0.1)) / 0.1)
    assert bound.radius(problem, estimate) == pytest.approx(2 * math.sqrt(2 * 1.1 * nats))
    width = 2 * math.sqrt(2 * 1.1 * nats) * math.sqrt(1 / 3 + 1 / 5)
    assert bound.widths(problem, estimate, 0) == pytest.approx([0.0, width])


def test_jedra_proutiere_is_the_published_number_at_table_1():
    """β with u = 0.1 and c = 1 at the counts of Table 1, from the determinant of V + ucI."""
    instance = soare(5, 0.01)
    problem, counts = instance.problem(), np.array(TABLE_1["LinGapE"])
    bound = JedraProutiere()
    estimate = bound.estimate(problem)
    estimate.load(counts, counts * instance.gaussian().means)
    beta = bound.radius(problem, estimate) ** 2 / 2
    spanning = instance.arms[list(problem.spanning)]
    x = np.linalg.solve(spanning.T, instance.arms.T).T
    det = np.linalg.det((x.T * counts) @ x / 0.1 + np.eye(5))
    assert beta == pytest.approx(1.1 * math.log(math.sqrt(det) / 0.05), rel=1e-9)
    assert beta == pytest.approx(26.47, rel=0.01)


def test_jedra_proutiere_is_wider_while_little_is_known():
    """Before V ⪰ cI the factor is 1 + uc/g, with g the least count or the trace's inverse."""
    problem = Problem(np.eye(2), noise=1.0)
    bound = JedraProutiere(u=0.1, c=10.0)
    estimate = bound.estimate(problem)
    for counts, inverse in [([3, 5], 1 / 3), ([10, 10], 1 / 10), ([400, 10], 1 / 10)]:
        estimate.load(np.array(counts), np.zeros(2))
        assert bound.factor(problem, estimate) == pytest.approx(1 + 0.1 * 10 * inverse)
    estimate.load(np.array([400, 11]), np.zeros(2))
    assert bound.factor(problem, estimate) == pytest.approx(1.1)


def test_the_factor_covers_the_smallest_eigenvalue():
    """V + ucI ⪯ factor·V, whatever was pulled, spanning arms or others."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        problem = sphere(12, 4, seed=seed).problem()
        bound = JedraProutiere(u=0.3, c=2.0)
        estimate = bound.estimate(problem)
        counts = rng.integers(0, 4, len(problem))
        counts[rng.integers(0, 12, 3)] = 0
        v = (estimate.features.T * counts) @ estimate.features
        if np.linalg.eigvalsh(v)[0] < 1e-3:
            continue
        estimate.load(counts, np.zeros(len(problem)))
        gap = bound.factor(problem, estimate) * v - v - 0.3 * 2.0 * np.eye(4)
        assert np.linalg.eigvalsh(gap)[0] >= -1e-9


def test_jedra_proutiere_does_not_depend_on_units():
    rng = np.random.default_rng(1)
    instance = sphere(9, 3, seed=5)
    widths = []
    for change in (np.eye(3), rng.standard_normal((3, 3)), np.diag([1e-3, 1.0, 1e3])):
        problem = Problem(instance.arms @ change, noise=1.0)
        bound = JedraProutiere()
        estimate = bound.estimate(problem)
        estimate.load(np.arange(1, 10), np.zeros(9))
        widths.append(bound.widths(problem, estimate, 4))
    assert np.allclose(widths[0], widths[1], rtol=1e-8)
    assert np.allclose(widths[0], widths[2], rtol=1e-8)


@pytest.mark.parametrize("settings", [{"u": 0}, {"u": -1.0}, {"c": 0.0}, {"c": "x"}])
def test_jedra_proutiere_refuses(settings):
    with pytest.raises(InvalidBound, match="above 0"):
        JedraProutiere(**settings)
