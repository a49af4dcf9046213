"""Exact intervals for error rates."""

import pytest

from lingape.errors import InvalidArgument
from lingape.rates import clopper_pearson


@pytest.mark.parametrize(("errors", "runs"), [(0, 10), (3, 10), (10, 10), (7, 2000), (1, 1)])
def test_clopper_pearson_against_scipy(errors, runs):
    from scipy.stats import binomtest

    expected = binomtest(errors, runs).proportion_ci(0.95, method="exact")
    assert clopper_pearson(errors, runs) == pytest.approx(tuple(expected), abs=1e-9)


@pytest.mark.parametrize("arguments", [(-1, 10), (11, 10), (0, 0)])
def test_rates_of_nothing(arguments):
    with pytest.raises(InvalidArgument, match="whole number from"):
        clopper_pearson(*arguments)
    with pytest.raises(InvalidArgument, match="confidence"):
        clopper_pearson(1, 10, confidence=1.0)
