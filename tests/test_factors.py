"""Arms made of factors: the features that follow, whatever way they are stated."""

import json
import re
from datetime import date, datetime
from decimal import Decimal

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
        widths.append(Mixture().widths(problem, estimate, next(iter(arms)))[list(arms)])
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
        ({"a": {"x", "y"}}, "list of levels"),  # which has no order
        ({"a": {"x": 1, "y": 2}}, "list of levels"),
        ({"a": [True, 1]}, "True and 1 are the same to Python. Write them as texts"),
        ({"a": [1, 1.0]}, "1 and 1.0 are the same to Python"),
        ({"a": [True, "True"]}, "True appears twice"),
        ({"a": [0.0, -0.0]}, "0.0 and -0.0 are the same"),
        ({"a": [b"x", b"y"]}, "a has b'x'"),
        ({"a": [10**400, 1]}, "numbers up to 1e+100"),
        ({"a": [1, 2], "numbers": None}, "numbers must be a list of names; got None"),
        ({"a": [1, 2], "numbers": True}, "numbers must be a list of names; got True"),
        ({"a": [1, 2], "b": [1, 2], "interactions": None}, "got None"),
        ({"a": [1, 2], "b": [1, 2], "interactions": [(["a"], "b")]}, "a list of names"),
        ({"a": [1, 2], "b": [1, 2], "interactions": ("a", "b")}, "[('a', 'b'), ('a', 'c')]"),
        ({"a": [1, 2], "exclude": "a=1"}, "exclude has combinations such as"),
        ({"a": [1, 2], "exclude": None}, "exclude has combinations such as"),
        ({"a": ["x", None]}, "a has None"),
        ({"a": ["x", float("nan")]}, "a has nan"),
        ({"a": [1, 2], "numbers": ["b"]}, "names of factors, a; got 'b'"),
        ({"a": [1, "x"], "numbers": ["a"]}, "the level 'x'"),
        ({"a": [1, 2], "b": [1, 2], "interactions": "a:b"}, "pairs of factors"),
        ({"a": [1, 2], "b": [1, 2], "interactions": [("a", "c")]}, "different factors"),
        ({"a": [1, 2], "b": [1, 2], "interactions": ["a"]}, "different factors"),
        ({"a": [1, 2], "exclude": [{"b": 1}]}, "of the factors a"),
        ({"a": [1, 2], "exclude": [{"a": 3}]}, "levels [1, 2]; got 3"),
        ({"a": [1, 2], "exclude": [{"a": 1}]}, "at least 2 arms to choose from; got 1"),
        ({c: range(10) for c in "abcdefg"}, "10,000,000"),
    ],
)
def test_mistakes(arguments, match):
    with pytest.raises((InvalidProblem, InvalidArgument), match=re.escape(match)):
        Factors(**arguments)


def test_factors_may_be_called_anything():
    """Also as arguments of Factors and of Problem, and of what they become."""
    names = ["numbers", "interactions", "exclude", "per_arm", "levels", "self"]
    names += ["problem", "arms", "noise", "names", "control", "rows", "factors", "arm"]
    for name in names:
        factors = Factors({name: ["x", "y"], "other": [1, 2]}, numbers=["other"])
        assert factors.columns == ["constant", f"{name}=y", "other"]
        again = Problem(**json.loads(json.dumps(Problem(factors, noise=1).to_dict())))
        assert again.factors == factors
    keyword = Factors(problem=["x", "y"], levels=[1, 2], arms=["u", "v"])
    assert keyword.columns == ["constant", "problem=y", "levels=2", "arms=v"]
    with pytest.raises(InvalidProblem, match="A number is called 'constant'"):
        Factors(constant=[1, 2], numbers="constant")
    with pytest.raises(InvalidProblem, match="A factor's name is a text; got 1"):
        Factors({1: ["x", "y"]})


def test_levels_of_any_kind():
    factors = Factors(a=[False, True], b=np.array([0.5, 2.0]), c=(x for x in "uv"), d=["", "x\ny"])
    assert factors.columns == ["constant", "a=True", "b=2.0", "c=v", "d=x\ny"]
    assert factors.arm(a=True, b=2, c="v", d="") == factors.arm(a="True", b="2.0", c="v", d="")
    assert Factors.from_dict(json.loads(json.dumps(factors.to_dict()))) == factors
    with pytest.raises(InvalidArgument, match=r"levels \[False, True\]; got 'yes'"):
        factors.arm(a="yes", b=2, c="v", d="")
    mixed = Factors.of_rows([{"a": "1", "b": "x"}, {"a": "1.0", "b": "x"}], names=["p", "q"])
    assert mixed.columns == ["constant", "a=1.0"]
    with pytest.raises(InvalidProblem, match="True and 1 are the same"):
        Factors.of_rows([{"a": True}, {"a": 1}])


def test_arms_have_names_or_differ():
    rows = [{"a": "x", "b": 1}, {"a": "y", "b": 1}, {"a": "x", "b": 1}]
    with pytest.raises(InvalidProblem, match="a=x, b=1 is there more than once. Leave one out"):
        Factors.of_rows(rows)
    assert Problem(Factors.of_rows(rows, names=["A", "B", "A again"]), noise=1).rank == 2
    with pytest.raises(InvalidProblem, match="one name per arm, 3; got 2"):
        Factors.of_rows(rows, names=["A", "B"])
    with pytest.raises(InvalidProblem, match="a level of each factor, a, b; number 1 has a"):
        Factors.of_rows([rows[0], {"a": "x"}])


def test_features_have_a_limit():
    """So that a mistake is refused before the memory is full."""
    ten = {c: range(10) for c in "abcde"}
    for settings in ({"per_arm": True}, {"interactions": [tuple("abcde")]}):
        with pytest.raises(InvalidProblem, match="at most 100,000,000 numbers; 100,000 arms"):
            Factors(ten, **settings)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": [[2**70, 0]]},
        {"rows": [[0, 5], [1, 0]]},
        {"rows": [[0], [1]]},
        {"rows": "ab"},
        {"factors": [3]},
        {"factors": [{"name": "a", "levels": 5, "number": False}]},
        {"names": ["only one"]},
        {"interactions": [["a", "z"]]},
        {"interactions": 7},
    ],
)
def test_damaged_data(change):
    data = Factors(a=["x", "y"], b=[1, 2]).to_dict()
    with pytest.raises(InvalidProblem, match="must be what"):
        Factors.from_dict(data | change)


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


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize(
    "column, words",
    [
        ([1.0, None, 3.0], "Column 'x' of the table has no value in row 2"),
        ([1.0, float("nan"), 3.0], "has no value in row 2"),
        ([1.0, float("inf"), 3.0], "numbers and texts: 1.0 in row 1 and inf in row 2"),
        (["p", None, "p"], "has no value in row 2"),
        (["p", "", "p"], "has no value in row 2"),
        (["1", "2", "2"], r"texts that are numbers, such as '1'. .* \(factors=\['x'\]\)"),
        ([[1], [2], [2]], r"x has \[1\]. .* make other values texts"),
        (["p", "q", "r"], "different in every row"),
    ],
)
def test_columns_of_data_frames_that_are_refused(kind, column, words):
    frame = pytest.importorskip(kind).DataFrame({"tone": ["warm", "dry", "warm"], "x": column})
    with pytest.raises(InvalidProblem, match=words):
        Factors.from_table(frame)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize(
    "column, features",
    [
        ([True, False, False], ["x=False"]),
        ([date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 2)], ["x=2024-01-02"]),
        ([datetime(2024, 1, 1), *2 * [datetime(2024, 1, 2, 3)]], ["x=2024-01-02T03:00:00"]),
        ([Decimal(1), Decimal(2), Decimal(5)], ["x"]),
        (["wärm 🙂", "日本", "日本"], ["x=日本"]),
        ([7, 7, 7], []),  # the same for all arms
    ],
)
def test_columns_of_data_frames(kind, column, features):
    frame = pytest.importorskip(kind).DataFrame({"tone": ["warm", "dry", "plain"], "x": column})
    factors = Factors.from_table(frame, factors=["tone"])
    assert factors.columns == ["constant", "tone=dry", "tone=plain", *features]
    assert Problem(factors, noise=1).factors == factors


def test_data_frames_of_pandas_alone():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"tone": ["a", "b", "b"], "x": [1, 2, 3.5]})
    assert Factors.from_table(frame[frame.x > 1]).names == ["x=2", "x=3.5"]  # its index is 1, 2
    missing = pandas.DataFrame({"tone": ["a", "b"], "x": pandas.array([1, None], dtype="Int64")})
    with pytest.raises(InvalidProblem, match="no value in row 2"):
        Factors.from_table(missing)
    with pytest.raises(InvalidProblem, match="no value in row 2"):
        Factors.from_table(pandas.DataFrame({"tone": ["a", pandas.NA, "b"], "x": [1, 2, 3]}))
    with pytest.raises(InvalidProblem, match="numbers and texts: 1 in row 1 and 'two' in row 2"):
        Factors.from_table(pandas.DataFrame({"t": ["a", "b", "a"], "x": [1, "two", 3]}))
    with pytest.raises(InvalidProblem, match="Columns need different headings"):
        Factors.from_table(pandas.DataFrame([["a", 1, 2]] * 2, columns=["t", "x", "x"]))
    for few in (frame[:0], frame[:1]):
        with pytest.raises(InvalidProblem, match="at least 2 arms"):
            Factors.from_table(few)
    with pytest.raises(InvalidProblem, match="has no columns"):
        Factors.from_table(frame[[]])


def test_large_tables():
    """Each cell is looked at a few times, not once for each other cell."""
    polars, count = pytest.importorskip("polars"), 20_000
    columns = {"name": [f"p{i}" for i in range(count)], "a": [f"l{i % 50}" for i in range(count)]}
    frame = polars.DataFrame(columns | {"x": [float(i * i) for i in range(count)]})
    factors = Factors.from_table(frame)
    assert factors.features.shape == (count, 51) and factors.names[-1] == f"p{count - 1}"
    with pytest.raises(InvalidProblem, match="'p7' appears more than once"):
        columns["name"][-1] = "p7"
        Problem(Factors.from_table(polars.DataFrame(columns)), noise=1)


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
