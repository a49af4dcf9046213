"""What a search will cost, before any pull."""

import numpy as np
import pytest

from lingape import Problem, soare
from lingape.errors import InvalidArgument
from lingape.forecast import Forecast, forecast, from_gap, from_prior
from lingape.study import Row


class TestForecast:
    def test_gaps_are_as_supposed(self):
        problem = Problem(soare(3, 0.3).arms, noise=1.0)
        for instance in from_gap(problem, gap=0.25, draws=20):
            means = np.sort(instance.arms @ instance.theta)
            assert means[-1] - means[-2] == pytest.approx(0.25)

    def test_duplicates_are_no_rivals(self):
        problem = Problem([[1, 0], [1, 0], [0, 1]], noise=1.0)
        for instance in from_gap(problem, gap=0.5, draws=10):
            means = instance.arms @ instance.theta
            assert abs(means[0] - means[2]) == pytest.approx(0.5)
        alike = Problem([[1.0], [1.0 + 1e-15]], noise=1.0)
        with pytest.raises(InvalidArgument, match="too similar"):
            from_gap(alike, gap=0.1, draws=1)
        with pytest.raises(InvalidArgument, match="two different arms"):
            from_gap(Problem([[1, 0], [1, 0]], noise=1.0), gap=0.5, draws=1)

    def test_priors_have_their_scale(self):
        problem = Problem(soare(3, 0.3).arms, noise=1.0)
        thetas = np.array([i.theta for i in from_prior(problem, prior_scale=3.0, draws=2000)])
        assert thetas.std() == pytest.approx(3.0, rel=0.05)

    def test_smaller_gaps_cost_more(self):
        problem = Problem(soare(3, 0.3).arms, noise=1.0)
        few, many = (
            forecast(
                problem,
                ["lingape"],
                from_gap(problem, gap=gap, draws=20),
                max_pulls=100_000,
                jobs=1,
            ).costs()[0]
            for gap in (1.0, 0.25)
        )
        assert many.quantiles[0.5] > 5 * few.quantiles[0.5]

    def test_quantiles_by_hand(self):
        def row(pulls, settled, correct=True):
            ending = "settled" if settled else "stopped at the pull limit"
            return Row("a", f"{pulls}", 0, 0, correct, pulls, (pulls,), ending, 0.1)

        rows = [row(n, True, correct=n > 1) for n in range(1, 9)] + [row(10, False)] * 2
        (cost,) = Forecast(rows, max_pulls=10).costs()
        assert cost.quantiles == {0.1: 1, 0.5: 5, 0.9: np.inf}
        assert (cost.mean, cost.settled, cost.wrong) == (None, 0.8, 0.1)
