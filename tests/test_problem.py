"""Good input is taken in any form; bad input is refused with the rule, the value, the way out."""

import copy
import pickle

import numpy as np
import pytest

from lingape import Problem
from lingape.errors import InvalidArm, InvalidProblem, LingapeError

SQUARE = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    "arms", [SQUARE, ((1, 0), (0, 1)), np.eye(2, dtype=np.float32), np.eye(2, dtype=bool)]
)
def test_array_likes(arms):
    problem = Problem(arms, noise=1.0)
    assert problem.arms.dtype == np.float64
    assert problem.arms.tolist() == SQUARE
    assert not problem.arms.flags.writeable


def test_arms_are_copied():
    arms = np.eye(2)
    problem = Problem(arms, noise=1.0)
    arms[0, 0] = 7
    assert problem.arms[0, 0] == 1


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        ([[1, np.nan], [0, 1]], ["finite", "arm 0", "nan", "column 1"]),
        ([[1, 0], [np.inf, 1]], ["finite", "arm 1", "inf"]),
        ([1, 2, 3], ["(K, d)", "(3,)", "(K, 1)"]),
        (np.zeros((2, 2, 2)), ["(K, d)", "(2, 2, 2)"]),
        (np.zeros((3, 0)), ["(K, d)", "(3, 0)"]),
        ([[1, 2]], ["at least 2", "got 1"]),
        ([], ["(K, d)"]),
        (np.zeros((3, 2)), ["all be zero", "one feature per arm"]),
        ([[1, 2], [3]], ["table", "same features"]),
        ([["red", "blue"], ["green", "grey"]], ["real numbers", "red"]),
        (None, ["(K, d)"]),
        (1e-200 * np.eye(2), ["1e-200", "units"]),
        (1e200 * np.eye(2), ["1e+200", "units"]),
        (np.eye(2) * 1j, ["real"]),
        ([["1", "2"], ["3", "4"]], ["real numbers"]),
        (np.array([["2020-01-01", "2021-01-01"]] * 2, dtype="M8[D]"), ["real numbers"]),
        (np.ma.array(np.eye(2), mask=np.eye(2)), ["masked"]),
        ([[10**400, 1], [1, 2]], ["real numbers"]),
    ],
)
def test_bad_arms(arms, words):
    with pytest.raises(InvalidProblem) as error:
        Problem(arms, noise=1.0)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"delta": 0.0}, ["δ", "0.0", "0.05"]),
        ({"delta": 1.0}, ["between 0 and 1", "1.0"]),
        ({"delta": np.nan}, ["nan"]),
        ({"delta": "low"}, ["'low'"]),
        ({"epsilon": -0.1}, ["ε", "at least 0", "-0.1"]),
        ({"epsilon": np.inf}, ["inf"]),
        ({"norm_bound": 0}, ["S", "above 0"]),
        ({"norm_bound": -2.0}, ["-2.0", "Mixture"]),
        ({"names": ["a"]}, ["one name per arm", "2", "got 1"]),
        ({"names": ["a", "a"]}, ["'a'", "more than once"]),
        ({"names": "ab"}, ["'ab'"]),
        ({"names": 5}, ["5"]),
        ({"delta": 10**400}, ["between 0 and 1"]),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(InvalidProblem) as error:
        Problem(SQUARE, noise=1.0, **settings)
    assert isinstance(error.value, LingapeError)
    assert isinstance(error.value, ValueError)
    for word in words:
        assert word in str(error.value)


def test_settings_are_keywords():
    with pytest.raises(TypeError):
        Problem(SQUARE, 1.0)


def test_twins_are_exact_duplicates():
    arms = [[1, 0], [0, 1], [1, 0], [1, 1e-12], [0, 1], [0.0, -0.0]]
    assert Problem(arms, noise=1.0).twins.tolist() == [0, 1, 0, 3, 1, 5]


def test_span():
    flat = Problem([[1, 2, 0], [2, 4, 0], [0, 0, 3]], noise=1.0)
    assert flat.rank == 2
    assert np.allclose(flat.coordinates @ flat.coordinates.T, flat.arms @ flat.arms.T)
    whole = Problem(SQUARE, noise=1.0)
    assert whole.coordinates is whole.arms


def test_span_does_not_depend_on_the_units_of_a_feature():
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((6, 3)) * [1e12, 1.0, 1e-12]
    assert Problem(arms, noise=1.0).rank == 3
    assert Problem(np.hstack([arms, arms[:, :1]]), noise=1.0).rank == 3


def test_coordinates_keep_features_of_any_size():
    """A dependent column added to features of very different sizes loses none of them."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((8, 3)) * [1e8, 1.0, 1e-8]
    flat = Problem(np.hstack([arms, arms[:, 1:2]]), noise=1.0)
    assert flat.rank == 3
    fit = np.linalg.lstsq(
        flat.coordinates / np.abs(flat.coordinates).max(axis=0), arms[:, 2], rcond=None
    )
    assert np.allclose(
        flat.coordinates / np.abs(flat.coordinates).max(axis=0) @ fit[0],
        arms[:, 2],
        rtol=1e-3,
        atol=1e-11,
    )


def test_zeros_have_no_sign():
    assert hash(Problem([[0.0, 1.0], [1.0, 0.0]], noise=1.0)) == hash(
        Problem([[-0.0, 1.0], [1.0, -0.0]], noise=1.0)
    )


def test_nearly_dependent_features_are_refused():
    arms = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0 + 1e-13]])
    with pytest.raises(InvalidProblem, match="too thin"):
        Problem(arms, noise=1.0).rank  # noqa: B018


def test_equality_copies_and_data():
    problem = Problem(SQUARE, norm_bound=2, epsilon=0.1, names=["a", "b"], noise=1.0)
    for again in (
        Problem(**problem.to_dict()),
        pickle.loads(pickle.dumps(problem)),
        copy.deepcopy(problem),
    ):
        assert again == problem
        assert hash(again) == hash(problem)
    assert problem != Problem(SQUARE, noise=1.0)
    assert problem != "problem"
    assert "2 arms in 2 dimensions" in repr(problem)


def test_check_arm():
    problem = Problem(SQUARE, noise=1.0)
    assert problem.check_arm(np.int32(1)) == 1
    for bad in (2, -1, 0.0, "0", None):
        with pytest.raises(InvalidArm, match="from 0 to 1"):
            problem.check_arm(bad)
    with pytest.raises(InvalidArm, match="'b'. That is the name of arm 1"):
        problem.replace(names=["a", "b"]).check_arm("b")


def test_dependent_up_to_the_rounding_of_a_product():
    """Arms that were rotated into other coordinates still span what they spanned before."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        arms = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 36)) @ rng.normal(size=(36, 25))
        assert Problem(arms * 10.0 ** rng.integers(-3, 3, size=25), noise=1.0).rank == 3
