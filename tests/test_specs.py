"""Explorers and instances as text."""

import numpy as np
import pytest

from lingape import Mixture, SelfNormalized, Tracking, canonical, sphere
from lingape.errors import InvalidArgument
from lingape.specs import Recipe, instance, parse


def test_parts_are_made():
    recipe = Recipe.read("lingape(bound=self_normalized(comparisons='K^2'), pull=tracking)")
    where = canonical(3, 0.5)
    explorer = recipe(where.problem(), where.theta)
    assert explorer.bound == SelfNormalized(comparisons="K^2")
    assert isinstance(explorer.pull, Tracking)
    assert isinstance(Recipe.read("lingape")(where.problem(), where.theta).bound, Mixture)
    assert Recipe.read("xy_oracle")(where.problem(), where.theta).theta_given[0] == 0.5


def test_instances_are_made():
    assert np.array_equal(instance("sphere(20, d=3, seed=4)").arms, sphere(20, 3, 4).arms)
    assert instance("outsider").name == "outsider"


def test_values():
    call = parse('f(1, 2.5, true, "a, b", word, g(x=-1e3), [1, [2]])')
    assert call.positional[:5] == [1, 2.5, True, "a, b", "word"]
    assert call.positional[5].settings == {"x": -1000.0}
    assert call.positional[6] == [1, [2]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lingape(", "never closed"),
        ("lingape(bound", "never closed"),
        ("lingape(3)", "have names"),
        ("lingape(size=3)", "Its settings are bound, pull, ridge"),
        ("lingape(bound=rope)", "No part is called 'rope'"),
        ("lingape(ridge=1 2)", "forgot a comma"),
        ("lingape(ridge=1, ridge=2)", "ridge is given twice"),
        ("lingape(**x)", r"it has \*\*"),
        ("lingape(*x)", r"\*x is not a number"),
        ("lingape) x", "unmatched"),
        ("", "invalid syntax"),
        ("3", "no name"),
        ('lingape("', "unterminated"),
        ("lingape('\\d')", "backslash"),
        ("lingape(\0)", "null byte"),
        ("(" * 999, "parenthes"),
        ("lingape(" * 999, "more than 1,000 characters"),
        ("-" * 999 + "1", "is not a number"),
        ("xy-static", "names have no hyphens: write xy_static"),
        ("lin-game-c(bound=mixture)", "write lin_game_c"),
        ("soare-tied(5, 0.1)", "write soare_tied"),
        ("lingape(bound=self-normalized(comparisons='K'))", "write self_normalized"),
        ("lingape(bound=self_normalized(comparisons=K^2))", "in quotes: 'K\\^2'"),
        ("lingape(m=1+1)", r"1\+1 is not a number"),
        ("lingape(m=1j)", "1j is not a number"),
        ("lingape(m=[1, 2])", "Only settings of instances are lists"),
        ("lingape(m=[a.b])", "is not a number"),
        ("a.b()", "is not a number"),
    ],
)
def test_mistakes(text, words):
    with pytest.raises(InvalidArgument, match=words):
        Recipe.read(text)
