"""Values, gaps, effects and contrasts: against dumb code, and as often right as promised."""

import itertools
import math

import numpy as np
import pytest

from benchmarks.effects import cases, comparisons, misses
from lingape import Factors, InvalidArgument, InvalidArm, Mixture, Problem, Values
from lingape.bounds.mixture import EXCESS_WEIGHTS, EXCESSES
from lingape.testing import errors_allowed
from lingape.values import contrast_weights

DELTA = 0.05
THREE = Factors(tone=["warm", "dry", "flat"], length=["short", "long"], examples=[0, 1, 3])


def told(problem, means, count=20, scale=0.5, seed=0):
    """Return the values after some Gaussian rewards of each arm."""
    rng = np.random.default_rng(seed)
    counts = np.broadcast_to(count, len(problem)).astype(np.int64)
    rewards = [mean + scale * rng.normal(size=n) for mean, n in zip(means, counts, strict=True)]
    return Values(
        problem,
        counts,
        np.array([own.mean() if len(own) else 0.0 for own in rewards]),
        np.array([((own - own.mean()) ** 2).sum() if len(own) else 0.0 for own in rewards]),
    )


def ends(intervals):
    return np.array([(one.value, one.low, one.high) for one in intervals])


def log_evidence(values, noise, residual, excesses, weights, sizes, deviations):
    """Return the log of what W_t would be (docs/bounds.md), for each size of noise and each σ.

    noise: Σ ε x; sizes: multiples of it. residual: the squares that a fit leaves.
    """
    x, t = values._estimate.features, values.counts.sum()  # coordinates in which Λ = I
    v, grid = (x.T * values.counts) @ x, Mixture().grid
    ridged = [v + scale * np.eye(len(v)) for scale in grid]
    lengths = np.array([noise @ np.linalg.solve(one, noise) for one in ridged])
    determinants = np.array(
        [np.linalg.slogdet(one / scale)[1] for one, scale in zip(ridged, grid, strict=True)]
    )
    size, sigma, excess, weight, j = np.ix_(
        sizes, deviations, range(len(excesses)), [0], range(len(grid))
    )
    excess, weight = excesses[excess], weights[excess]
    squares = (size / sigma) ** 2
    whole = residual / sigma**2 + squares * (noise @ np.linalg.solve(v, noise))
    terms = (
        np.log(weight / len(grid))
        - 0.5 * determinants[j]
        + 0.5 * (1 + excess) * squares * lengths[j]
        - 0.5 * excess * whole
        + 0.5 * t * np.log1p(excess)
    )
    return np.logaddexp.reduce(terms.reshape(*terms.shape[:2], -1), axis=2)


def farthest(values, y, noise, residual=0.0, known=True):
    """Return how far off an estimate can be with noise in some direction that is allowed."""
    sizes = np.geomspace(0.1, 1e4, 1_001) / math.sqrt(noise @ noise)
    one = np.ones(1)
    given = (0 * one, one) if known else (EXCESSES, EXCESS_WEIGHTS)
    deviations = one if known else np.geomspace(0.3, 3.0, 30)
    found = log_evidence(values, noise, residual, *given, sizes, deviations).min(axis=1)
    allowed = np.flatnonzero(found < -math.log(DELTA))
    x = values._estimate.features
    size = sizes[allowed[-1]] if len(allowed) else 0.0
    return abs(y @ np.linalg.solve((x.T * values.counts) @ x, size * noise))


def directions(y, rng):
    """Yield directions of noise, from any to that which changes an estimate most."""
    for far in (0.0, 0.9, 1.0):
        yield far * y + (1 - far) * rng.normal(size=len(y)) * np.linalg.norm(y)


@pytest.mark.parametrize("count", [1, 20, 3_000])
def test_intervals_are_what_the_event_allows(count):
    """No noise that the event allows is outside, and the noise that is farthest out just fits."""
    values = told(Problem(THREE, noise=1.0), np.zeros(18), count=count)
    weights, rng = np.random.default_rng(1).normal(size=18), np.random.default_rng(2)
    y = weights @ values._estimate.features
    (interval,) = values.contrasts(weights[None, :])
    width = interval.high - interval.value
    reached = max(farthest(values, y, noise) for noise in directions(y, rng))
    assert 0.96 * width <= reached <= width


@pytest.mark.parametrize("count", [2, 5, 100])
def test_intervals_without_a_scale_are_what_the_event_allows(count):
    """If any σ explains the noise, the interval holds."""
    values = told(Problem(THREE, noise="normal"), np.zeros(18), count=count, scale=1.0)
    weights, rng = np.random.default_rng(1).normal(size=18), np.random.default_rng(2)
    y = weights @ values._estimate.features
    residual = values.squares.sum() + values.counts @ (values.means - values._estimate.means) ** 2
    (interval,) = values.contrasts(weights[None, :])
    width = interval.high - interval.value
    reached = max(farthest(values, y, noise, residual, False) for noise in directions(y, rng))
    assert 0.8 * width <= reached <= width


def test_a_contrast_by_the_formula_of_one_scale():
    values = told(Problem(THREE, noise=2.0), np.zeros(18))
    x, weights = Mixture().estimate(values.problem).features, np.zeros(18)
    weights[[3, 7]] = 1.0, -1.0
    y, v = weights @ x, 20 * x.T @ x
    theta = np.linalg.solve(v, x.T @ (20 * values.means))
    squares = []
    for scale in 16.0 ** np.arange(8):
        nats = math.log(8 / DELTA) + 0.5 * np.linalg.slogdet(np.eye(len(v)) + v / scale)[1]
        z = np.linalg.solve(v, y)
        squares.append(2 * 2.0**2 * nats * (y @ z + scale * z @ z))
    (found,) = values.contrasts(weights[None, :])
    assert found.value == pytest.approx(y @ theta)
    width = found.high - found.value
    assert width == pytest.approx(found.value - found.low)
    assert 0.85 * math.sqrt(min(squares)) < width < math.sqrt(min(squares))  # refined


def test_without_a_scale_nothing_is_proven_at_first_and_little_is_lost_in_the_end():
    known, unknown = (Problem(THREE, noise=noise) for noise in (1.0, "normal"))
    ratios = {}
    for count in (1, 2, 6, 60, 6_000):
        values = told(known, np.zeros(18), count=count, scale=1.0)
        same = Values(unknown, values.counts, values.means, values.squares)
        ratios[count] = np.ptp(same.gaps(0, [5])[0][1:]) / np.ptp(values.gaps(0, [5])[0][1:])
    few = told(unknown, np.zeros(18), count=np.isin(np.arange(18), unknown.spanning))
    assert few.ready
    assert few.gaps(0, [5])[0].high == math.inf
    assert ratios[1] > ratios[2] > ratios[6] > ratios[60]
    assert ratios[6] < 1.3
    assert max(ratios[60], ratios[6_000]) < 1.1


def test_digits_lost_far_from_zero_prove_nothing():
    problem = Problem(THREE, noise="normal")
    values = Values(problem, np.full(18, 5), np.full(18, 1e9), np.zeros(18))
    assert all(gap.high > 1.0 for gap in values.gaps(0, range(1, 18)))


def test_gaps_lifts_and_arms_are_contrasts():
    problem = Problem(THREE, noise=1.0, control=4)
    values, eye = told(problem, np.arange(18) / 10), np.eye(18)
    assert ends(values.arms()) == pytest.approx(ends(values.contrasts(eye)))
    assert ends(values.arms([3, 1])) == pytest.approx(ends(values.contrasts(eye[[3, 1]])))
    assert ends(values.gaps(4)) == pytest.approx(ends(values.contrasts(eye - eye[4])))
    lifts = values.lifts()
    assert sorted(lift.arm for lift in lifts) == [k for k in range(18) if k != 4]
    assert [lift.value for lift in lifts] == sorted((x.value for x in lifts), reverse=True)
    for lift in lifts:
        gap = values.gaps(4, [lift.arm])[0]
        assert (lift.value, lift.low, lift.high) == pytest.approx(gap)
        assert lift.name == problem.name(lift.arm)


def test_effects_of_a_balanced_design_are_differences_of_marginal_means():
    values = told(Problem(THREE, noise=1.0), np.arange(18) / 10)
    effects = values.effects()
    for column, factor in enumerate(effects.factors):
        levels = [str(level) for level in THREE.factors[column].levels]
        marginal = [values.means[THREE.rows[:, column] == i].mean() for i in range(len(levels))]
        for one in factor.levels:
            expected = marginal[levels.index(one.level)] - marginal[0]
            assert one.value == pytest.approx(expected)
            assert one.low < expected < one.high
        assert factor.best == levels[int(np.argmax(marginal))]


@pytest.mark.parametrize("model", [{}, {"interactions": "all"}, {"per_arm": True}])
def test_effects_are_averages_over_the_arms(model):
    """Of the differences between arms that differ in one level, where all combinations exist."""
    factors = THREE.model(**model)
    values = told(Problem(factors, noise=1.0), np.arange(18) / 10)
    fitted = [one.value for one in values.arms()]
    for factor, found in zip(factors.factors, values.effects().factors, strict=True):
        for one in found.levels:
            pairs = [
                (factors.arm(**combination | {factor.name: one.level}), factors.arm(**combination))
                for combination in factors.combinations
                if str(combination[factor.name]) == found.reference
            ]
            expected = np.mean([fitted[a] - fitted[b] for a, b in pairs])
            assert one.value == pytest.approx(expected)


def test_the_reference_changes_nothing_but_the_sign():
    problem = Problem(THREE.model(interactions=[("tone", "length")]), noise=1.0)
    values = told(problem, np.arange(18) / 10)
    usual = {one.level: one for one in values.effects().factors[0].levels}
    other = values.effects({"tone": "dry"}).factors[0]
    assert other.reference == "dry"
    warm = next(one for one in other.levels if one.level == "warm")
    dry = usual["dry"]
    assert (warm.value, warm.low, warm.high) == pytest.approx((-dry.value, -dry.high, -dry.low))
    assert other.best == values.effects().factors[0].best


def test_the_coding_changes_nothing():
    """Levels in another order are another basis of the same model."""
    found = []
    for tones in itertools.permutations(["warm", "dry", "flat"]):
        factors = Factors(
            tone=tones, length=["short", "long"], interactions="all", exclude=[{"tone": "flat"}]
        )
        means = {"warm": 0.2, "dry": 0.7}
        values = told(
            Problem(factors, noise=1.0),
            [means[one["tone"]] for one in factors.combinations],
            count=[10 if one["tone"] == "dry" else 30 for one in factors.combinations],
        )
        same = Values(values.problem, values.counts, np.round(values.counts / 7), values.squares)
        found.append(same.contrast({"tone": "dry", "length": "long"}, {"tone": "warm"}))
    assert ends(found) == pytest.approx(np.tile(found[0], (6, 1)))


def test_contrasts_where_combinations_were_left_out():
    """Features say what missing combinations would pay; one feature per arm does not."""
    factors = Factors(
        tone=["warm", "dry"], length=["short", "long"], exclude=[{"tone": "dry", "length": "long"}]
    )
    values = told(Problem(factors, noise=1.0), [0.1, 0.4, 0.3])
    found = values.contrast({"tone": "dry"}, {"tone": "warm"})
    assert found.value == pytest.approx(values.means[2] - values.means[0])
    whole = values.contrast({"tone": "dry", "length": "long"}, {"tone": "warm", "length": "short"})
    assert whole.value == pytest.approx(values.means[1] + values.means[2] - 2 * values.means[0])
    alone = told(Problem(factors.model(per_arm=True), noise=1.0), [0.1, 0.4, 0.3])
    # Of long ones there is no dry one, so short ones are compared.
    matched = alone.contrast({"tone": "dry"}, {"tone": "warm"})
    assert matched.value == pytest.approx(alone.means[2] - alone.means[0])
    with pytest.raises(InvalidArgument, match="no combination of them has this difference"):
        alone.contrast({"tone": "dry", "length": "long"}, {"tone": "warm"})


def test_arms_with_the_same_levels_share_their_weight():
    rows = [{"dose": dose} for dose in (1, 2, 2, 2)]
    factors = Factors.of_rows(rows, per_arm=True, names=list("abcd"))
    values = told(Problem(factors, noise=1.0), [0.0, 0.1, 0.2, 0.6])
    found = values.contrast({"dose": 2}, {"dose": 1})
    assert found.value == pytest.approx(values.means[1:].mean() - values.means[0])


def test_not_estimable_and_too_few_rewards_read_differently():
    factors = Factors(
        tone=["warm", "dry"],
        length=["short", "long"],
        interactions="all",
        exclude=[{"tone": "dry", "length": "long"}],
    )
    problem = Problem(factors, noise=1.0)
    nothing = told(problem, np.zeros(3), count=0)
    assert not nothing.ready
    assert str(nothing.effects()).count("not estimable") == 2
    assert nothing.effects().factors[0].best is None
    enough = told(problem, np.zeros(3))
    assert str(enough.effects()).count("not estimable") == 2  # more rewards do not help
    assert not enough.effects().factors[0].proven
    main = Problem(factors.model(), noise="normal")
    assert str(told(main, np.zeros(3), count=0).effects()).count("too few rewards") == 2
    assert str(told(main, np.zeros(3), count=1).effects()).count("nothing proven yet") == 2
    text = str(told(main, np.zeros(3)).effects())
    assert not any(words in text for words in ("few", "nothing", "not estimable"))


def test_factors_that_always_change_together_are_not_told_apart():
    factors = Factors.of_rows([{"dose": 1, "salt": "a"}, {"dose": 2, "salt": "b"}])
    values = told(Problem(factors, noise=1.0), [0.0, 1.0])
    assert [one.estimable for part in values.effects().factors for one in part.levels] == [
        False,
        False,
    ]
    both = values.contrast({"dose": 2, "salt": "b"}, {"dose": 1, "salt": "a"})
    assert both.value == pytest.approx(values.means[1] - values.means[0])


@pytest.mark.parametrize("minimize", [False, True])
def test_the_best_level_is_the_lowest_where_less_is_better(minimize):
    means = np.where(THREE.rows[:, 0] == 1, 1.0, 0.0) + np.where(THREE.rows[:, 0] == 2, 3.0, 0.0)
    problem = Problem(THREE, noise=0.5, minimize=minimize, control=0)
    values = told(problem, means, count=200)
    tone, length, _ = values.effects().factors
    assert (tone.best, tone.proven) == (("warm", True) if minimize else ("flat", True))
    assert not length.proven
    table = str(values.effects())
    assert f"| {'best' if not minimize else '':10} |" in next(
        line for line in table.splitlines() if "flat" in line
    )
    assert "looks best" in table
    lifts = values.lifts()
    signs = [lift.value * (-1 if minimize else 1) for lift in lifts]
    assert signs == sorted(signs, reverse=True)
    flat = next(lift for lift in lifts if "flat" in lift.name)
    assert flat.verdict.startswith("worse by at least 2." if minimize else "better by at least 2.")


def test_a_number_adds_in_proportion():
    factors = Factors(dose=[1, 2, 4], salt=["a", "b"], numbers=["dose"])
    values = told(Problem(factors, noise=1.0), [0.0, 0.0, 1.0, 1.0, 3.0, 3.0])
    two, four = values.effects().factors[0].levels
    assert (two.level, four.level) == ("2", "4")
    ratio = np.array([four.value, four.low, four.high]) / [two.value, two.low, two.high]
    assert ratio == pytest.approx(3.0)  # (4 - 1)/(2 - 1)
    assert values.effects({"dose": 4}).factors[0].levels[0].value == pytest.approx(-four.value)


def test_means_of_bounded_rewards_lie_in_their_range():
    factors = Factors(tone=["warm", "dry"], length=["short", "long"])
    values = Values(
        Problem(factors, noise="binary"),
        np.array([5, 5, 5, 5]),
        np.array([0.0, 0.0, 1.0, 0.6]),
        np.zeros(4),
    )
    assert values._estimate.means.min() < 0
    for one in values.arms():
        assert 0 <= one.low <= one.value <= one.high <= 1
    for gap in values.gaps(0):
        assert -1 <= gap.low <= gap.value <= gap.high <= 1
    assert values.contrasts(np.array([[1.0, 1.0, -2.0, 0.0]]))[0].low == -2


def test_what_cannot_be_pulled_may_pay_anything():
    problem = Problem.transductive([[1, 0], [0, 1]], items=[[2, 1], [1, 2]], noise="binary")
    values = Values(problem, np.array([90, 90, 0, 0]), np.array([0.9, 0.8, 0, 0]), np.zeros(4))
    pulled, _, item, _ = values.arms()
    assert pulled.high == 1
    assert 1 < item.low < item.value < item.high
    assert values.gaps(0, [2])[0].value == pytest.approx(1.7)


def test_mistakes():
    values = told(Problem(np.eye(2), noise=1.0, names=["a", "b"]), [0, 0])
    with pytest.raises(InvalidArgument, match=r"Factors.*values\(\)\.gaps\(arm\)"):
        values.effects()
    for look in (values.arms, lambda arms: values.gaps(0, arms)):
        with pytest.raises(InvalidArm, match="from 0 to 1; got 9"):
            look([9])
    with pytest.raises(InvalidArgument, match="Say which arm is the control"):
        values.lifts()
    with pytest.raises(InvalidArgument, match="No arm is called 'c'"):
        values.lifts("c")
    assert values.lifts("b")[0].name == "a"
    with pytest.raises(InvalidArgument, match="got 'hot'"):
        told(Problem(THREE, noise=1.0), np.zeros(18)).contrast({"tone": "hot"}, {})


def test_weights_that_are_compared_are_effects():
    """What the benchmark looks at are the effects and contrasts that users see."""
    case = next(iter(cases().values()))
    values = told(Problem(case.factors, noise=1.0), np.arange(len(case.factors)) / 10)
    found = ends(values.contrasts(comparisons(case.factors)["effects"]))
    shown = {
        (factor.factor, one.level): one.value
        for factor in values.effects().factors
        for one in factor.levels
    }
    assert found[0, 0] == pytest.approx(-shown["tone", "warm"])
    assert found[-1, 0] == pytest.approx(-shown["examples", "3"])
    (row,) = contrast_weights(case.factors, [({"tone": 2}, {"tone": 1})])
    assert values.contrast({"tone": "dry"}, {"tone": "warm"}) == values.contrasts(row[None, :])[0]


@pytest.mark.parametrize(
    "name",
    ["interactions, known σ, LinGapE", "ties, unknown σ, Race", "main effects, 0/1, Race"],
)
def test_all_intervals_hold_at_all_times(name):
    found = misses(name, 10, pulls=40, every=1, jobs=1)
    assert found.any(axis=1).sum() <= errors_allowed(10, DELTA)


def test_intervals_that_are_too_short_would_be_noticed(monkeypatch):
    right = Values._widths
    monkeypatch.setattr(Values, "_widths", lambda self, y: 0.5 * right(self, y))
    found = misses("ties, known σ, Race", 10, pulls=40, every=1, jobs=1)
    assert found.any(axis=1).sum() > errors_allowed(10, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_all_intervals_hold_at_all_times_in_many_runs(name):
    found = misses(name, 100)
    assert found.any(axis=1).sum() <= errors_allowed(100, DELTA)
