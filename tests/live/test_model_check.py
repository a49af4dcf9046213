"""The model check warns when it should, and rarely when it should not."""

import json

import numpy as np
import pytest
from crew import ARMS, THETA
from scipy import special, stats

from lingape import Experiment, Factors, LinGapE, Problem, Race
from lingape.live import ModelCheck, check_model
from lingape.live.model_check import chi_square_tail, f_tail
from lingape.live.replay import Averages


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 100, 9_950, 100_000])
def test_chi_square_tail(freedom):
    for p in (0.999, 0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-8, 1e-12):
        value = float(stats.chi2.isf(p, freedom))
        assert chi_square_tail(value, freedom) == pytest.approx(p, rel=1e-6)
    assert chi_square_tail(0.0, freedom) == 1.0
    assert chi_square_tail(1e9, freedom) == chi_square_tail(np.inf, freedom) == 0.0


@pytest.mark.parametrize("above", [1, 2, 3, 10, 1_000])
@pytest.mark.parametrize("below", [1, 2, 5, 100, 100_000])
def test_f_tail(above, below):
    for p in (0.999, 0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-8, 1e-12):
        share = float(special.betaincinv(below / 2, above / 2, p))  # stats.f is less exact
        value = below * (1 - share) / (above * share)
        if value < 1e12:
            assert f_tail(value, above, below) == pytest.approx(p, rel=1e-6)
    assert f_tail(0.0, above, below) == 1.0
    assert f_tail(np.inf, above, below) == 0.0


def tallied(means, noise, pulls, seed=0):
    rng = np.random.default_rng(seed)
    tally = Averages(len(means))
    for i in range(pulls):
        arm = i % len(means)
        tally.add(arm, float(means[arm] + noise * rng.normal()))
    return tally


def test_tallies_are_averages_and_squares():
    rng = np.random.default_rng(0)
    rewards = 1e8 + rng.normal(size=500)
    tally = Averages(2)
    for reward in rewards:
        tally.add(1, float(reward))
    assert tally.means[1] == pytest.approx(rewards.mean(), rel=1e-14)
    assert tally.squares[1] == pytest.approx(((rewards - rewards.mean()) ** 2).sum(), rel=1e-6)


def test_the_statistic_is_that_of_weighted_least_squares():
    """Against the textbook: lack of fit by lstsq, z from the hat matrix."""
    tally = tallied(ARMS @ THETA, 1.0, 83)
    counts, averages = tally.counts, tally.means
    w = np.sqrt(counts)
    theta = np.linalg.lstsq(ARMS * w[:, None], averages * w, rcond=None)[0]
    check = check_model(Problem(ARMS, noise=1.0), tally)
    q = float((counts * (averages - ARMS @ theta) ** 2).sum())
    v = np.linalg.inv((ARMS.T * counts) @ ARMS)
    for fit in check.arms:
        x = ARMS[fit.arm]
        spread = np.sqrt(1 / counts[fit.arm] - x @ v @ x)
        assert fit.z == pytest.approx((averages[fit.arm] - x @ theta) / spread)
    # All arms together, and the worst of six: twice the smaller probability.
    worst = 6 * stats.chi2.sf(check.arms[0].z ** 2, 1)
    assert check.linear_p == pytest.approx(min(1.0, 2 * min(stats.chi2.sf(q, 3), worst)))
    assert check.noise == pytest.approx(np.sqrt(tally.squares.sum() / (83 - 6)))
    assert check.noise_p == pytest.approx(stats.chi2.sf(tally.squares.sum(), 83 - 6))


def test_directions_that_were_hardly_pulled():
    """Fits and leverages are those of the singular value decomposition, also where it is thin."""
    rng = np.random.default_rng(3)
    arms = rng.normal(size=(40, 4))
    arms[:30, 3] *= 1e-5  # only the others, which were not pulled, tell of this direction
    tally = tallied((arms @ [1.0, 0.0, -1.0, 0.5])[:30], 1.0, 600)
    grown = Averages(40)
    for name, values in vars(tally).items():
        getattr(grown, name)[:30] = values
    grown.counts[:5] = [1, 10, 10**3, 10**5, 10**6]
    problem = Problem(arms, noise=1.0)
    w = np.sqrt(grown.counts[:30])
    left = np.linalg.svd(problem.orthonormal[:30] * w[:, None], full_matrices=False)[0]
    fitted = left @ (left.T @ (grown.means[:30] * w)) / w
    leverages = (left**2).sum(axis=1)
    check = check_model(problem, grown)
    for fit in check.arms:
        assert fit.fitted == pytest.approx(fitted[fit.arm], abs=1e-7)
        spread = np.sqrt((1 - leverages[fit.arm]) / grown.counts[fit.arm])
        assert fit.z == pytest.approx((fit.average - fitted[fit.arm]) / spread, rel=1e-4, abs=1e-4)


def test_of_many_arms_the_worst_are_named():
    means = np.zeros(600)
    means[555] = 50.0
    arms = np.random.default_rng(0).normal(size=(600, 3))
    check = check_model(Problem(arms, noise=1.0), tallied(means, 1.0, 1200))
    assert len(check.arms) == 500 and check.arms[0].arm == 555 and check.arms[0].name == "arm 555"
    assert ModelCheck.from_dict(json.loads(json.dumps(check.to_dict()))) == check


def test_rewards_that_are_not_linear():
    means = ARMS @ THETA
    means[4] += 0.8
    check = check_model(Problem(ARMS, noise=1.0), tallied(means, 1.0, 600))
    assert not check.fine and check.noise_p > 1e-3
    assert check.arms[0].arm == 4
    assert "furthest off: arm 4" in str(check) and "One feature per arm" in str(check)
    alone = check_model(Problem(np.eye(6), noise=1.0), tallied(means, 1.0, 600))
    assert alone.fine and alone.linear_p is None  # one feature per arm is always right


def test_rewards_that_are_noisier_than_stated():
    check = check_model(Problem(ARMS, noise=0.5), tallied(ARMS @ THETA, 0.8, 300))
    assert "standard deviation of about 0.8" in check.warnings[0]
    assert "larger noise scale" in check.warnings[0]


def test_rewards_that_are_less_noisy_are_fine():
    assert check_model(Problem(ARMS, noise=1.0), tallied(ARMS @ THETA, 0.2, 300)).fine


def test_too_few_rewards_to_tell(url):
    assert "too few" in str(check_model(Problem(ARMS, noise=1.0), Averages(6)))
    assert "too few" in str(check_model(Problem(ARMS, noise=1.0), tallied(ARMS @ THETA, 1.0, 3)))
    with Experiment.open(url, "ads", create=Problem(ARMS, noise=1.0)) as experiment:
        assert experiment.check().fine
        experiment.add(0, 1.0)
        experiment.add(0, 1000.0)
        assert not experiment.check().fine
        assert "Warning: Rewards of the same arm vary" in str(experiment.status())
        json.dumps(experiment.check().to_dict(), allow_nan=False)


def test_an_arm_without_features():
    problem, tally = Problem([[0.0], [1.0]], noise=0.5), Averages(2)
    tally.add(0, 0.1)
    check = check_model(problem, tally)
    assert check.fine and check.linear_p > 0.5
    tally.add(0, 30.0)  # it pays 0 on average, whatever θ is
    assert not check_model(problem, tally).fine


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-100])
def test_rewards_beyond_all_noise(scale):
    problem, tally = Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], noise=scale), Averages(3)
    for arm, reward in ((0, 1e99), (0, -1.0), (1, 0.0), (2, 0.5)):
        tally.add(arm, reward)
    check = check_model(problem, tally)
    assert check.linear_p == check.noise_p == 0.0 and len(check.warnings) == 2
    assert ModelCheck.from_dict(json.loads(json.dumps(check.to_dict(), allow_nan=False))) == check


def test_features_that_do_not_span():
    arms = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    check = check_model(Problem(arms, noise=1.0), tallied(np.array([1.0, 2.0, 3.0]), 0.1, 30))
    assert check.fine and check.linear_p is not None


LEVELS = {"tone": ["warm", "dry"], "length": [0, 1, 3], "size": ["s", "m", "l"]}
MAIN = Factors(LEVELS)
PAIRED = Factors(LEVELS, interactions=[("tone", "size")])
SLOPED = Factors(LEVELS, numbers=["length"])
GAUSSIAN = Factors(LEVELS).features @ [1.0, 0.3, -0.2, 0.5, 0.1, -0.4]


def textbook(factors, tally, others):
    """Return the p-value of lack of fit by least squares, where others are models to try too."""
    x, w = factors.features, np.sqrt(tally.counts)

    def misfit(features):
        theta, _, rank, _ = np.linalg.lstsq(features * w[:, None], tally.means * w, rcond=None)
        return float((tally.counts * (tally.means - features @ theta) ** 2).sum()), rank

    total, rank = misfit(x)
    hat = (x * w[:, None]) @ np.linalg.pinv(x * w[:, None])
    apart = (np.eye(len(x)) - hat) @ (tally.means * w) / np.sqrt(1 - np.diag(hat))
    found = [stats.chi2.sf(total, len(x) - rank), len(x) * stats.chi2.sf((apart**2).max(), 1)]
    wider = [misfit(other.features) for other in others]
    p = [stats.chi2.sf(total - rest, dimensions - rank) for rest, dimensions in wider]
    found.append(min(1.0, len(others) * min(p)))
    return min(1.0, 3 * min(found))


@pytest.mark.parametrize("factors", [MAIN, PAIRED, SLOPED])
@pytest.mark.parametrize("bump", [0.0, 0.4])
def test_interactions_and_curves_are_those_of_wider_models(factors, bump):
    pairs = [("tone", "length"), ("tone", "size"), ("length", "size")]
    pairs = [pair for pair in pairs if pair not in factors.interactions]
    wider = [factors.model(interactions=[*factors.interactions, pair]) for pair in pairs]
    if factors is SLOPED:
        wider.append(MAIN)
    tally = tallied(GAUSSIAN + bump * MAIN.features[:, 1] * MAIN.features[:, 5], 1.0, 500)
    check = check_model(Problem(factors, noise=1.0), tally)
    assert check.linear_p == pytest.approx(textbook(factors, tally, wider), rel=1e-6)


def test_the_interaction_is_named():
    means = GAUSSIAN + 1.5 * MAIN.features[:, 1] * MAIN.features[:, 5]
    check = check_model(Problem(MAIN, noise=1.0), tallied(means, 1.0, 900))
    (warning,) = check.warnings
    assert "The effects of tone and size seem to depend on each other" in warning
    assert "furthest off: tone=dry" in warning and "interactions=[('tone', 'size')]" in warning
    assert check_model(Problem(PAIRED, noise=1.0), tallied(means, 1.0, 900)).fine


@pytest.mark.parametrize("size", [2, 3])
def test_an_interaction_that_is_all_there_is_beyond_the_model(size):
    factors = Factors(a=range(size), b=range(size))
    means = np.zeros(size**2)
    means[-1] = 2.0
    check = check_model(Problem(factors, noise=1.0), tallied(means, 1.0, 100 * size**2))
    assert "The effects of a and b seem to depend on each other" in str(check)


def test_a_curve_is_named():
    """The second level is worth as much as the third, which has three times its value."""
    means = np.array([float(one["length"] > 0) for one in MAIN.combinations])
    (warning,) = check_model(Problem(SLOPED, noise=0.5), tallied(means, 0.5, 900)).warnings
    assert "The effect of length does not seem to be proportional to its value" in warning
    assert check_model(Problem(MAIN, noise=0.5), tallied(means, 0.5, 900)).fine


def test_an_arm_that_no_pair_of_factors_explains_is_named():
    means = GAUSSIAN.copy()
    means[MAIN.arm(tone="dry", length=3, size="m")] += 2.0
    (warning,) = check_model(Problem(MAIN, noise=1.0), tallied(means, 1.0, 900)).warnings
    assert "do not follow from their features" in warning and "per_arm=True" in warning
    assert "furthest off: tone=dry, length=3, size=m;" in warning


def test_many_levels_do_not_take_long():
    """What takes too much work is left to the sum over all arms."""
    rng = np.random.default_rng(0)
    rows = [{c: int(rng.integers(40)) for c in "abcdefgh"} for _ in range(500)]
    names = [f"p{i}" for i in range(500)]
    problem = Problem(Factors.of_rows(rows, names=names), noise=1.0)
    means = np.zeros(500)
    means[7] = 30.0
    assert check_model(problem, tallied(means, 1.0, 1000)).arms[0].name == "p7"


def drawn(kind, mean, rng):
    """Return a reward."""
    if kind == "binary":
        return float(rng.random() < mean)
    if kind == "ratings":  # which vary much less than a range allows
        return float(np.clip(mean + 0.08 * rng.normal(), 0.0, 1.0))
    if kind == "sales":  # mostly 0
        return 0.5 * float(rng.random() < 2 * mean)
    return float(mean + {"gaussian": 1.0, "normal": 0.3}[kind] * rng.normal())


def alarms(kind, explorer, arms, runs, pulls, stride):
    """Return in how many runs a watcher is ever alarmed for nothing."""
    noises = {"gaussian": 1.0, "normal": "normal", "binary": "binary"}
    alarmed = 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        problem = Problem(arms, delta=1e-6, noise=noises.get(kind, (0, 1)))
        x, tally = problem.arms, Averages(len(problem))
        means = x @ (0.4 * rng.normal(size=x.shape[1]))
        if kind not in ("gaussian", "normal"):
            low, high = (0.3, 0.7) if kind == "ratings" else (0.01, 0.05)
            means = low + (high - low) * (means - means.min()) / np.ptp(means)
        chooser = explorer and explorer(problem)
        for i in range(pulls):
            if chooser and chooser.done:
                break
            arm = chooser.ask() if chooser else i % len(problem)
            reward = drawn(kind, means[arm], rng)
            tally.add(arm, reward)
            if chooser:
                chooser.tell(arm, reward)
            if i % stride == 0 and not check_model(problem, tally).fine:
                alarmed += 1
                break
    return alarmed


MANY = Factors(a=range(5), b=range(5), c=range(4))
WATCHED = [
    ("gaussian", LinGapE, ARMS),
    ("gaussian", LinGapE, MAIN),
    ("gaussian", Race, PAIRED),
    ("gaussian", Race, SLOPED),
    ("binary", LinGapE, MAIN),
    ("binary", Race, PAIRED),
    ("normal", Race, MAIN),
    ("normal", Race, PAIRED),
    ("ratings", Race, MAIN),
    ("sales", Race, MAIN),
    ("gaussian", LinGapE, MANY),
    ("gaussian", Race, MANY),
    ("binary", Race, MANY),
    ("normal", Race, MANY),
    ("ratings", Race, MANY),
    ("sales", Race, MANY),
    ("sales", None, MANY),
]


@pytest.mark.parametrize("kind, explorer, arms", [*WATCHED[1:9:2], *WATCHED[-2:]])
def test_false_alarms_are_rare(kind, explorer, arms):
    """With two or three rewards of each of many arms, or some more of each of few."""
    assert alarms(kind, explorer, arms, runs=3, pulls=250, stride=10) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind, explorer, arms", WATCHED)
def test_false_alarms_are_rare_when_looking_at_every_pull(kind, explorer, arms):
    """At most 1 % of runs of 600 pulls, with a look after each; 4 of 60 is beyond chance."""
    assert alarms(kind, explorer, arms, runs=60, pulls=600, stride=1) < 4


def test_noise_of_unknown_scale_is_estimated():
    normal = Problem(ARMS, noise="normal")
    tally = tallied(ARMS @ THETA, 0.3, 600)
    check = check_model(normal, tally)
    rough = sum(tally.squares) / (600 - 6)
    assert check.fine and check.noise_scale is None and check.noise_p is None
    assert check.noise == pytest.approx(rough**0.5) == pytest.approx(0.3, abs=0.03)
    known = check_model(Problem(ARMS, noise=check.noise), tally)
    assert [fit.z for fit in check.arms] == pytest.approx([fit.z for fit in known.arms])
    assert check.linear_p == pytest.approx(known.linear_p, abs=0.01)
    assert "linear model. Their noise has a standard deviation of about" in str(check)
    data = json.loads(json.dumps(check.to_dict()))
    assert data["noise_scale"] is None and ModelCheck.from_dict(data) == check


def test_a_bad_fit_shows_also_where_the_scale_is_unknown():
    means = ARMS @ THETA + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.4])
    check = check_model(Problem(ARMS, noise="normal"), tallied(means, 0.3, 600))
    assert check.linear_p < 1e-4 and "do not follow from their features" in check.warnings[0]
    for pulls in (0, 6):  # nothing to estimate it from
        check = check_model(Problem(ARMS, noise="normal"), tallied(means, 0.3, pulls))
        assert check.linear_p is None and check.noise is None and check.fine
        assert str(check) == "There are too few rewards to check the model."
    tally = Averages(6)
    for arm in (*range(6), *range(6)):
        tally.add(arm, float(arm))  # no noise at all
    assert check_model(Problem(ARMS, noise="normal"), tally).linear_p is None


def test_the_check_of_unknown_noise_seldom_warns_though_rewards_are_few():
    """With the estimate in place of R, χ² would warn too often; Fisher's F does not."""
    normal = Problem(ARMS, noise="normal")
    found = [
        check_model(normal, tallied(ARMS @ THETA, 1.0, 9, seed)).linear_p for seed in range(2_000)
    ]
    for p in (0.5, 0.1, 0.01):  # at most p, since two ways to be wrong are added up
        assert p / 4 < np.mean(np.array(found) < p) <= p + 4 * (p / 2_000) ** 0.5


if __name__ == "__main__":
    alarmed = sum(alarms(*case, runs=60, pulls=600, stride=1) for case in WATCHED)
    print(f"{alarmed} of {60 * len(WATCHED)} runs got a false warning.")
