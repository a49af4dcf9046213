"""Run every law on every registered explorer and bound, and on LinGapE with each of its parts."""

import functools

import pytest

from lingape import BOUNDS, EXPLORERS, PULLS, LinGapE, Mixture, SelfNormalized, canonical
from lingape.testing import BOUND_LAWS, EXPLORER_LAWS


def _pull(name):
    return PULLS[name]() if isinstance(PULLS[name], type) else PULLS[name]


def _lingape(bound, pull, problem):
    return LinGapE(problem, bound=bound, pull=_pull(pull))


BUILDERS = dict(EXPLORERS) | {
    f"lingape-{name}-{pull}": functools.partial(_lingape, bound(), pull)
    for name, bound in BOUNDS.items()
    if bound.adaptive
    for pull in PULLS
}
BUILDERS["lingape-refined"] = functools.partial(_lingape, Mixture(refined=True), "greedy")
BUILDERS["lingape-K^2"] = functools.partial(_lingape, SelfNormalized("K^2"), "greedy")

BOUND_BUILDERS = dict(BOUNDS) | {
    "mixture-refined": functools.partial(Mixture, refined=True),
    "self-normalized-K^2": functools.partial(SelfNormalized, "K^2"),
}


@pytest.mark.parametrize("explorer", BUILDERS)
@pytest.mark.parametrize("law", EXPLORER_LAWS)
def test_explorer(law, explorer):
    EXPLORER_LAWS[law](BUILDERS[explorer])


@pytest.mark.parametrize("explorer", BUILDERS)
def test_every_registered_combination_has_a_compiled_lane(explorer):
    assert BUILDERS[explorer](canonical(3).problem(norm_bound=2.0)).compiled() is not None


@pytest.mark.parametrize("bound", BOUND_BUILDERS)
@pytest.mark.parametrize("law", BOUND_LAWS)
def test_bound(law, bound):
    BOUND_LAWS[law](BOUND_BUILDERS[bound])
