"""Tables handled a block at a time give what they give all at once."""

import numpy as np
import pytest

from lingape import LinGapE, Mixture, Problem, tall
from lingape.designs import g_optimal
from lingape.errors import InvalidProblem


@pytest.fixture
def blockwise(monkeypatch):
    """Make every table tall."""
    monkeypatch.setattr(tall, "MOST", 0)
    monkeypatch.setattr(tall, "BLOCK", 64)


def table(kind):
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((500, 5))
    if kind == "scales":
        rows *= [1e-6, 1.0, 1e5, 1e-3, 30.0]
    if kind == "thin":
        rows[:, 4] = rows[:, 0] + 1e-6 * rows[:, 4]
    if kind in ("dependent", "thin and dependent"):
        rows[:, 3] = rows[:, 0] - 2 * rows[:, 1]
    if kind == "thin and dependent":
        rows[:, 4] = rows[:, 0] + 1e-7 * rows[:, 4]
    if kind == "twins":
        rows = rows[rng.integers(40, size=500)]
        rows[7] = 0.0
    return rows


KINDS = ("plain", "scales", "thin", "dependent", "thin and dependent", "twins")


@pytest.mark.parametrize("kind", KINDS)
def test_problems_are_the_same(kind, monkeypatch):
    whole, blocks = Problem(table(kind), noise=1.0), Problem(table(kind), noise=1.0)
    rank, basis, spanning = whole.rank, whole.orthonormal, whole.spanning
    coordinates = whole.coordinates
    monkeypatch.setattr(tall, "MOST", 0)
    monkeypatch.setattr(tall, "BLOCK", 64)
    assert blocks.rank == rank
    assert blocks.spanning == spanning
    # Bases may differ by a rotation, so that projections are what has to agree.
    found = blocks.orthonormal
    np.testing.assert_allclose(found @ found.T, basis @ basis.T, atol=1e-8)
    np.testing.assert_array_equal(found, found[blocks.twins])
    lengths = blocks.coordinates @ blocks.coordinates.T
    np.testing.assert_allclose(lengths, coordinates @ coordinates.T, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_designs_are_certified(kind, blockwise):
    x = table(kind)
    design = g_optimal(x, tolerance=0.05)
    used = design.proportions > 0
    assert design.proportions.sum() == pytest.approx(1.0)
    basis = Problem(x, noise=1.0).orthonormal
    inverse = np.linalg.inv((basis[used].T * design.proportions[used]) @ basis[used])
    worst = np.einsum("kd,de,ke->k", basis, inverse, basis).max()
    assert worst <= 1.05 * basis.shape[1]
    assert design.efficiency == pytest.approx(basis.shape[1] / worst, rel=1e-6)


def test_symmetric_arms_have_equal_shares(blockwise):
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * 7)).reshape(7, -1).T
    np.testing.assert_array_equal(g_optimal(cube, tolerance=0.05).proportions, 1 / 128)


@pytest.mark.parametrize("kind", KINDS)
def test_the_estimate_is_the_same(kind, monkeypatch):
    """But for the design, which is one of many good ones."""
    whole = Mixture().estimate(Problem(table(kind), noise=1.0))
    monkeypatch.setattr(tall, "MOST", 0)
    blocks = Mixture().estimate(Problem(table(kind), noise=1.0))
    for arm in range(60):
        whole.update(arm, float(arm % 7))
        blocks.update(arm, float(arm % 7))
    np.testing.assert_allclose(blocks.means, whole.means, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(blocks.variances, whole.variances, rtol=1e-6)
    np.testing.assert_array_equal(blocks.features, blocks.features[blocks.twins])


@pytest.mark.parametrize("colliding", [False, True])
def test_first_alike(colliding, monkeypatch):
    rng = np.random.default_rng(0)
    for rows in (rng.integers(3, size=(300, 2)) - 1.0, rng.standard_normal((300, 3))):
        if colliding:  # marks that say nothing: only the features decide
            monkeypatch.setattr(tall, "_marks", lambda rows: np.zeros(len(rows)))
        expected = [int((rows == row).all(axis=1).argmax()) for row in rows]
        assert tall.first_alike(rows).tolist() == expected


def test_negative_zeros_are_zeros():
    assert tall.first_alike(np.array([[0.0, 1.0], [-0.0, 1.0]])).tolist() == [0, 0]


def test_arms_that_can_be_pulled_have_to_span(blockwise):
    rows = np.vstack([np.tile(np.eye(2, 3), (20, 1)), np.eye(3)])
    problem = Problem(rows, noise=1.0, pullable=range(40))
    with pytest.raises(InvalidProblem, match="must span the others"):
        LinGapE(problem)


def test_directions_too_thin_are_refused(blockwise):
    rows = table("plain")
    rows[:, 4] = rows[:, 0] + 1e-11 * rows[:, 4]
    with pytest.raises(InvalidProblem, match="too thin"):
        LinGapE(Problem(rows, noise=1.0))
