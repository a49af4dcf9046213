"""Arms made of factors: the features that follow, whatever way they are stated."""

import json
import re

import numpy as np
import pytest

from lingape import Factors, LinGapE, Mixture, Problem, Race
from lingape.errors import InvalidArgument, InvalidProblem

PROMPTS = {"tone": ["warm", "dry"], "examples": [0, 1, 3], "length": ["short", "long"]}


def test_the_arms_are_all_combinations():
    factors = Factors(PROMPTS)
    assert len(factors) == 12 and len(factors.combinations) == 12
    assert factors.combinations[0] == {"tone": "warm", "examples": 0, "length": "short"}
    assert factors.names[-1] == "tone=dry, examples=3, length=long"
    columns = ["constant", "tone=dry", "examples=1", "examples=3", "length=long"]
    assert factors.columns == columns
    assert factors.features[-1].tolist() == [1, 1, 0, 1, 1]
    assert str(factors) == f"12 arms, 5 features: {', '.join(columns)}"
    assert Factors(**PROMPTS) == factors and hash(Factors(**PROMPTS)) == hash(factors)


def test_numbers_and_interactions():
    factors = Factors(PROMPTS, numbers="examples", interactions=[("length", "tone")])
    columns = ["constant", "tone=dry", "examples", "length=long", "tone=dry:length=long"]
    assert factors.columns == columns
    assert factors.features[factors.arm(tone="dry", examples=3, length="long")].tolist() == [
        *(1, 1, 3, 1, 1)
    ]
    assert len(Factors(PROMPTS, interactions="all").columns) == 5 + 2 + 1 + 2
    three = Factors(PROMPTS, interactions=[("tone", "examples", "length")])
    assert three.columns[-1] == "tone=dry:examples=3:length=long"


def test_an_interaction_of_all_is_one_feature_per_arm():
    whole = Factors(PROMPTS, interactions="all").model(
        interactions=[
            ("tone", "examples"),
            ("tone", "length"),
            ("examples", "length"),
            ("tone", "examples", "length"),
        ]
    )
    assert Problem(whole, noise=1).rank == 12
    alone = Factors(PROMPTS, per_arm=True)
    assert np.array_equal(alone.features, np.eye(12)) and alone.columns == alone.names


def test_the_first_level_changes_nothing():
    """Which level is left out is a choice of basis, and bounds do not depend on it."""
    one = Factors(a=["x", "y", "z"], b=["p", "q"])
    other = Factors(a=["z", "y", "x"], b=["q", "p"])
    order = [other.arm(**levels) for levels in one.combinations]
    rng = np.random.default_rng(0)
    counts, sums = rng.integers(1, 50, 6), rng.normal(size=6)
    widths = []
    for factors, arms in ((one, range(6)), (other, order)):
        problem = Problem(factors, noise=1.0)
        estimate = Mixture().estimate(problem)
        placed = [np.empty(6, int), np.empty(6)]
        for values, given in zip(placed, (counts, sums), strict=True):
            values[list(arms)] = given
        estimate.load(*placed)
        widths.append(Mixture().widths(problem, estimate, list(arms)[0])[list(arms)])
    assert widths[0] == pytest.approx(widths[1], rel=1e-9)


def test_combinations_can_be_left_out():
    without = Factors(PROMPTS, exclude=[{"tone": "dry", "length": "long"}])
    assert len(without) == 9
    same = Factors(PROMPTS, exclude=lambda one: one["tone"] == "dry" and one["length"] == "long")
    assert same == without
    with pytest.raises(InvalidArgument, match="left out"):
        without.arm(tone="dry", examples=0, length="long")
    assert len(Factors(PROMPTS, exclude={"tone": "dry"})) == 6


def test_data():
    factors = Factors(PROMPTS, numbers=["examples"], interactions="all")
    assert Factors.from_dict(json.loads(json.dumps(factors.to_dict()))) == factors
    problem = Problem(factors, noise="binary", epsilon=0.1, minimize=True, control=3)
    again = Problem(**json.loads(json.dumps(problem.to_dict())))
    assert again == problem and again.factors == factors
    with pytest.raises(InvalidProblem, match="have to be those of their factors"):
        Problem(np.eye(12), noise=1, factors=factors)
    with pytest.raises(InvalidProblem, match="must be what"):
        Problem(factors.features, noise=1, factors={"rows": 3})


@pytest.mark.parametrize(
    "arguments, match",
    [
        ({}, "Say what varies"),
        ({"a": "warm"}, "list of levels"),
        ({"a": ["x"]}, "at least 2 levels"),
        ({"a": ["x", "x"]}, "x appears twice"),
        ({"a": [1, "1"]}, "1 appears twice"),
        ({"a": ["x", None]}, "a has None"),
        ({"a": ["x", float("nan")]}, "a has nan"),
        ({"a": [1, 2], "numbers": ["b"]}, "names of factors, a; got 'b'"),
        ({"a": [1, "x"], "numbers": ["a"]}, "the level 'x'"),
        ({"a": [1, 2], "b": [1, 2], "interactions": "a:b"}, "pairs of factors"),
        ({"a": [1, 2], "b": [1, 2], "interactions": [("a", "c")]}, "different factors"),
        ({"a": [1, 2], "b": [1, 2], "interactions": ["a"]}, "different factors"),
        ({"a": [1, 2], "exclude": [{"b": 1}]}, "of the factors a"),
        ({"a": [1, 2], "exclude": [{"a": 3}]}, "levels [1, 2]; got 3"),
        ({"a": [1, 2], "exclude": [{"a": 1}]}, "1 left"),
        ({c: range(10) for c in "abcdefg"}, "10,000,000"),
    ],
)
def test_mistakes(arguments, match):
    with pytest.raises((InvalidProblem, InvalidArgument), match=re.escape(match)):
        Factors(**arguments)


def test_a_problem_of_texts_says_what_to_do():
    with pytest.raises(InvalidProblem, match=r"use Factors\(\.\.\.\) or Factors\.from_table"):
        Problem([["warm", 1], ["dry", 2]], noise=1)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_data_frames_of_every_kind(kind):
    data = {"tone": ["warm", "dry", "warm", "dry"], "examples": [0, 0, 1, 3]}
    if kind == "pyarrow":
        frame = pytest.importorskip("pyarrow").table(data)
    else:
        frame = pytest.importorskip(kind).DataFrame(data)
    factors = Factors.from_table(frame)
    assert str(factors) == "4 arms, 3 features: constant, tone=dry, examples"
    assert Factors.from_table(frame, factors=["examples"]).columns[2:] == [
        "examples=1",
        "examples=3",
    ]
    assert len(Factors.from_table(frame, exclude=[{"tone": "warm", "examples": 1}])) == 3
    with pytest.raises(InvalidProblem, match="no column 'size'"):
        Factors.from_table(frame, ignore=["size"])
    with pytest.raises(InvalidProblem, match="data frame"):
        Factors.from_table([[1, 2]])


@pytest.mark.parametrize("explorer", [Race, LinGapE])
def test_the_lowest_is_found(explorer):
    factors = Factors(a=["x", "y"], b=["p", "q"])
    costs = factors.features @ np.array([3.0, -1.0, -0.5])
    rng = np.random.default_rng(0)
    found = explorer(Problem(factors, noise=(0, 10) if explorer is Race else 1.0, minimize=True))
    while not found.done:
        arm = found.ask()
        found.tell(arm, float(np.clip(costs[arm] + rng.normal(scale=0.5), 0, 10)))
    assert factors.combinations[found.recommend()] == {"a": "y", "b": "q"}
    assert found.theta[0] == pytest.approx(3.0, abs=0.5)
