"""What a search will cost, before any pull."""

import numpy as np
import pytest

from lingape import Factors, Problem, soare
from lingape.environments import Instance
from lingape.errors import InvalidArgument
from lingape.forecast import Forecast, forecast, from_gap, from_prior, models
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

    @pytest.mark.parametrize("noise", [1.0, "binary", (2, 7), "normal"])
    def test_gaps_are_as_supposed_where_less_is_better(self, noise):
        problem = Problem(np.eye(4), noise=noise, minimize=True)
        for instance in from_gap(problem, gap=0.1, draws=5):
            means = np.sort(instance.theta)
            assert means[1] - means[0] == pytest.approx(0.1)
            if noise == (2, 7):
                assert means.mean() == pytest.approx(4.5) and means[0] > 2 and means[3] < 7

    def test_gaps_are_between_answers(self):
        problem = Problem.transductive(np.eye(3), [[1, 1, 0], [0, 1, 1], [1, 0, 1]], noise=1.0)
        instances = from_gap(problem, gap=0.5, draws=5)
        for instance in instances:
            means = np.sort((instance.arms @ instance.theta)[3:])
            assert means[2] - means[1] == pytest.approx(0.5)
        rows = forecast(problem, ["race"], instances, max_pulls=20_000, jobs=1).rows
        assert all(row.arm >= 3 and row.counts[3:] == (0, 0, 0) for row in rows)

    def test_less_is_better_costs_as_much_as_more_with_rewards_reversed(self):
        """Rewards of 0 and 1 are taken for ones in a range if they are reversed."""
        rare = Problem(np.eye(3), noise="binary", minimize=True)
        common = Problem(np.eye(3), noise=(0, 1))
        worlds = from_gap(rare, gap=0.2, draws=4, rate=0.3)
        reversed_ = [Instance(w.name, w.arms, 1 - w.theta) for w in worlds]
        settings = {"max_pulls": 100_000, "jobs": 1}
        found = forecast(rare, ["race"], worlds, **settings).rows
        expected = forecast(common, ["race"], reversed_, **settings).rows
        assert [(r.arm, r.pulls) for r in found] == [(r.arm, r.pulls) for r in expected]
        assert [r.arm for r in found] == [int(w.theta.argmin()) for w in worlds]

    def test_a_rate_needs_a_range(self):
        with pytest.raises(InvalidArgument, match="rate is for rewards in a range; got 0.5"):
            from_gap(Problem(np.eye(2), noise=1.0), gap=0.5, draws=1, rate=0.5)
        with pytest.raises(InvalidArgument, match="between 2 and 7; got 8"):
            from_gap(Problem(np.eye(2), noise=(2, 7)), gap=0.5, draws=1, rate=8)


class TestModels:
    factors = Factors(tone=["a", "b", "c"], size=[1, 10, 100], kind=["x", "y"], numbers=["size"])

    def test_which(self):
        problem = Problem(self.factors, noise=1.0, delta=0.1, minimize=True)
        found = models(problem)
        assert {name: other.rank for name, other in found.items()} == {
            "main effects": 5,
            "with all pairs": 10,
            "one feature per arm": 18,
        }
        assert all(other.delta == 0.1 and other.minimize for other in found.values())
        chosen = Problem(self.factors.model(interactions=[("tone", "kind")]), noise=1.0)
        assert list(models(chosen))[1] == "with tone:kind"
        two = Problem(Factors(a=[1, 2], b=[1, 2, 3]), noise=1.0)
        assert list(models(two)) == ["main effects", "with all pairs or one feature per arm"]
        assert models(Problem(np.eye(3), noise=1.0)) == {}

    def test_worlds_are_right_for_each(self):
        """Effects add up, whichever model the problem has, and all models see the same means."""
        for model in models(Problem(self.factors, noise=1.0)).values():
            (world,) = from_gap(model, gap=0.5, draws=1)
            means = (world.arms @ world.theta).reshape(3, 3, 2)
            effects = means.mean(axis=(1, 2)), means.mean(axis=(0, 2)), means.mean(axis=(0, 1))
            added = effects[0][:, None, None] + effects[1][:, None] + effects[2]
            np.testing.assert_allclose(means, added - 2 * means.mean(), atol=1e-9)
            slopes = np.diff(effects[1]) / [9, 90]
            assert slopes[0] == pytest.approx(slopes[1])

    def test_numbers_matter_as_much_as_categories(self):
        worlds = from_prior(Problem(self.factors, noise=1.0), prior_scale=2.0, draws=400)
        means = np.array([(w.arms @ w.theta).reshape(3, 3, 2) for w in worlds])
        sizes = means.mean(axis=(1, 3))
        tones = means.mean(axis=(2, 3))
        # Around their mean, three levels have 2/3 of the variance, a number all of it.
        assert np.sqrt(sizes.var(axis=1).mean()) == pytest.approx(2.0, rel=0.15)
        assert np.sqrt(1.5 * tones.var(axis=1).mean()) == pytest.approx(2.0, rel=0.15)

    def test_a_model_that_cannot_have_the_means_is_refused(self):
        problem = Problem(self.factors, noise=1.0)
        world = Instance("odd", np.eye(18), np.arange(18.0) ** 2)
        with pytest.raises(InvalidArgument, match="weighted sums of the problem's features"):
            forecast(problem, ["race"], [world], max_pulls=9, jobs=1)


def test_retired_arms_are_left_out():
    factors = Factors(tone=["warm", "dry", "plain"], length=["short", "long"])
    problem = Problem(factors, noise=1.0, epsilon=0.1)
    retired = problem.with_retired(5)
    left = problem.of_arms(range(5))
    instances = from_gap(retired, gap=1.0, draws=3)
    assert {len(instance.arms) for instance in instances} == {5}
    assert models(retired) == models(left)
    found = [
        forecast(one, ["race"], instances, max_pulls=10_000, jobs=1).samples()
        for one in (retired, left)
    ]
    assert found[0] == found[1]
    with pytest.raises(InvalidArgument, match="Draw instances for this problem"):
        forecast(retired, ["race"], from_gap(problem, gap=1.0, draws=1), max_pulls=10, jobs=1)
