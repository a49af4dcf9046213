"""What notebooks show: whole, short and safe, whatever names are like."""

import html.parser

import numpy as np
import pytest

from lingape import (
    BUDGET_EXPLORERS,
    EXPLORERS,
    Client,
    Ending,
    Experiment,
    Factors,
    LinGapE,
    LinGapEBudget,
    Problem,
    Race,
    Results,
    Row,
    Study,
    Values,
    canonical,
    run,
)
from lingape.html import as_html

EVIL = "<script>alert(1)</script>&\u202e\x1b"
WORLD = canonical(3, 1.0)


class Page(html.parser.HTMLParser):
    """What a browser makes of it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = set(), [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open.append(tag)
        assert not attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(thing):
    """Return the text of a thing's HTML, which has no tags but our own."""
    page = Page(thing._repr_html_())
    assert page.tags <= {"div", "strong", "p", "ul", "li", "table", "tr", "th", "td"}
    assert not set("\u202e\x1b") & set(page.text)
    return page.text


def problem(**settings):
    return Problem(np.eye(3), names=[EVIL, "b", "c"], noise=1.0, **settings)


def factors():
    return Factors({EVIL: [EVIL, "dry"], "b": [0, 1]}, interactions="all")


def test_texts_are_escaped():
    text = as_html(EVIL, f"{EVIL}\n- {EVIL}", [[EVIL], [EVIL]], more=3)
    assert text.count("&lt;script&gt;") == 5
    assert Page(text).text.count("<script>alert(1)</script>&\\u202e\\x1b") == 5
    assert "and 3 more" in text


@pytest.mark.parametrize("kind", [*EXPLORERS.values()], ids=[*EXPLORERS])
def test_explorers(kind):
    settings = {"theta": [1.0, 0.0, 0.0]} if kind.__name__ == "XYOracle" else {}
    explorer = kind(problem(norm_bound=1.0), **settings)
    text = shown(explorer)
    assert text.startswith(kind.__name__) and "<script>" in text
    assert "Nothing is proven yet, after 0 pulls" in text or "NO GUARANTEE" in text
    assert kind.__name__ in repr(explorer) and "3 arms" in repr(explorer)


@pytest.mark.parametrize("kind", [*BUDGET_EXPLORERS.values()], ids=[*BUDGET_EXPLORERS])
def test_explorers_with_a_budget(kind):
    explorer = kind(problem(norm_bound=1.0), budget=200)
    assert shown(explorer).startswith(kind.__name__)
    assert kind.__name__ in repr(explorer)


def test_explorers_of_many_arms_are_short():
    explorer = LinGapE(Problem(np.random.default_rng(0).normal(size=(500, 3)), noise=1.0))
    assert "and 480 more" in shown(explorer)
    assert "and 480 more" in shown(explorer.problem)
    assert len(explorer._repr_html_()) < 3_000


def test_certificates_and_results():
    for explorer in (LinGapE(problem()), Race(problem()), LinGapEBudget(problem(), budget=50)):
        result = run(explorer, WORLD.gaussian(), seed=0, lane="plain")
        text = shown(result.certificate)
        assert text.startswith("Certificate") and "provided that" in text
        assert shown(result).startswith("Run")
        assert str(result.pulls) in shown(result)
        assert ("p-value of being best" in shown(explorer)) == isinstance(explorer, Race)
        assert "settled on" in repr(explorer)


def test_studies():
    study = Study({EVIL: LinGapE}, [WORLD], seeds=2)
    cut = Row(EVIL, WORLD.name, 0, 0, True, 70, (70, 0, 0), Ending.LIMIT.value, 0.1)
    text = shown(Results(study, [cut]))
    assert "mean pulls" in text and "<script>" in text and "1 run was stopped" in text


def test_factors_problems_and_what_was_learnt():
    assert "one for each level" in shown(factors())
    stated = Problem(factors(), noise=1.0)
    assert "4 arms, 4 features" in shown(stated)
    values = Values(stated, np.full(4, 9), np.arange(4.0), np.zeros(4))
    assert "All intervals hold together" in shown(values)
    assert "best" in shown(values.effects())
    nothing = Values(stated, np.zeros(4, dtype=int), np.zeros(4), np.zeros(4))
    assert "–" in shown(nothing)
    assert "too few rewards" in shown(nothing.effects())


def test_experiments(tmp_path):
    url = f"sqlite:///{tmp_path}/run.db"
    with Experiment.open(url, "ads", create=Problem(factors(), noise=1.0)) as experiment:
        experiment.add(0, 1.0, key="one")
        text = shown(experiment)
        assert text.startswith("ads") and "1 reward for 4 arms" in text
        assert "Log: ads, event 2" in text
        assert shown(experiment.status()) == text
        assert "Log: ads" in shown(experiment.certificate())
    assert hasattr(Client("http://127.0.0.1:1").experiment("ads"), "_repr_html_")
