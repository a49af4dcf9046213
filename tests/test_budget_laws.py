"""Run every law of explorers with a budget on all of them, and on variants."""

import functools

import pytest

from lingape import (
    BUDGET_EXPLORERS,
    GSE,
    BayesGap,
    LinGapEBudget,
    Mixture,
    SelfNormalized,
    SequentialHalving,
    Tracking,
    UGapEBudget,
    Unstructured,
)
from lingape.testing import BUDGET_LAWS


def _built(kind, problem, budget, **settings):
    return kind(problem, budget=budget, **settings)


BUILDERS = {name: functools.partial(_built, kind) for name, kind in BUDGET_EXPLORERS.items()} | {
    "lingape_budget_tracking": functools.partial(_built, LinGapEBudget, pull=Tracking()),
    "lingape_budget_spanning": functools.partial(_built, LinGapEBudget, start="spanning"),
    "lingape_budget_ridge": functools.partial(
        _built, LinGapEBudget, bound=SelfNormalized(), pull=Tracking(), exploration=3.0
    ),
    "bayes_gap_ridge": functools.partial(_built, BayesGap, bound=SelfNormalized("K^2"), ridge=2.0),
    "ugape_budget_unstructured": functools.partial(_built, UGapEBudget, bound=Unstructured()),
    "gse-in-thirds": functools.partial(_built, GSE, factor=3),
    "sequential_halving_mixture": functools.partial(_built, SequentialHalving, bound=Mixture()),
}


@pytest.mark.parametrize("explorer", BUILDERS)
@pytest.mark.parametrize("law", BUDGET_LAWS)
def test_budget_explorer(law, explorer):
    BUDGET_LAWS[law](BUILDERS[explorer])
