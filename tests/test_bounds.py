"""Each bound gives the numbers of its formula, and refuses what it cannot be used with."""

import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import naive
from lingape import (
    FixedDesign,
    Gaussian,
    JedraProutiere,
    LinGapE,
    LinGapEBudget,
    Mixture,
    Problem,
    SelfNormalized,
    Stylised,
    WorstCase,
    XYOracle,
    run,
    soare,
    sphere,
)
from lingape.bounds import mixture as mixture_module
from lingape.errors import InvalidBound
from lingape.paper import TABLE_1
from lingape.testing import errors_allowed

COUNTS = np.array(TABLE_1["LinGapE"])


def nats_at_table_1(bound):
    """The bound at the paper's Table 1, as a threshold on gap²/(2R²‖y‖²) for arms 1 and 6."""
    instance = soare(5, 0.01)
    problem = instance.problem(norm_bound=2.0)
    estimate = bound.estimate(problem)
    estimate.load(COUNTS, COUNTS * instance.gaussian().means)
    width = bound.widths(problem, estimate, 0)[5]
    return width**2 / (2 * estimate.contrasts(0).variance[5])


@pytest.mark.parametrize(
    ("bound", "nats"),
    [
        (SelfNormalized(), 32.472),
        (SelfNormalized(comparisons="K^2"), 37.186),
        (SelfNormalized(comparisons=36), 37.186),
        (WorstCase(comparisons="K^2"), 70.659),
        (FixedDesign(constants="printed", comparisons="K"), 120.952),
        (FixedDesign(constants="printed", comparisons="K^2"), 128.119),
        (FixedDesign(comparisons="K^2"), 33.025),
        (FixedDesign(), 33.025 - math.log(36 / 5)),
        (Mixture(), 7.332),
    ],
)
def test_golden_numbers(bound, nats):
    assert nats_at_table_1(bound) == pytest.approx(nats, rel=1e-4)


def test_formulas():
    """Two arms pulled 3 and 5 times on canonical features, where everything is a fraction."""
    problem = Problem(np.eye(2), noise=2.0, norm_bound=3.0, delta=0.1)
    for bound, ridge, radius in [
        (
            SelfNormalized(),
            0.5,
            2 * math.sqrt(2 * math.log(math.sqrt(7 * 11) / 0.1)) + 3 * 0.5**0.5,
        ),
        (WorstCase(), 0.5, 2 * math.sqrt(2 * math.log((1 + 8 / 0.5) / 0.1)) + 3 * 0.5**0.5),
        (FixedDesign(), None, 2 * math.sqrt(2 * math.log(math.pi**2 * 64 * 1 / 0.6))),
        (
            FixedDesign("printed", comparisons="K^2"),
            None,
            4 * math.sqrt(2 * math.log(6 * 64 * 4 / (math.pi**2 * 0.1))),
        ),
    ]:
        estimate = bound.estimate(problem, ridge)
        estimate.load(np.array([3, 5]), np.zeros(2))
        added = ridge or 0.0
        norm = math.sqrt(1 / (3 + added) + 1 / (5 + added))
        assert bound.widths(problem, estimate, 0)[1] == pytest.approx(norm * radius)

    bound = Mixture(scales=2, base=10.0)  # the G-optimal design is ½, ½: V in its units is 6, 10
    estimate = bound.estimate(problem)
    estimate.load(np.array([3, 5]), np.zeros(2))
    best = min(
        (math.log(2 / 0.1) + 0.5 * math.log((1 + 6 / scale) * (1 + 10 / scale)))
        * (1 / 3 + 1 / 5 + scale * 0.5 * (1 / 9 + 1 / 25))
        for scale in (1, 10)
    )
    assert bound.widths(problem, estimate, 0)[1] == pytest.approx(2 * math.sqrt(2 * best))


def test_mixture_is_the_same_in_every_linear_reparametrisation():
    rng = np.random.default_rng(0)
    arms, warp = rng.standard_normal((7, 3)), rng.standard_normal((3, 3))
    counts = rng.integers(1, 50, 7)
    widths = []
    for features in (arms, arms @ warp, np.hstack([arms, arms])):
        problem = Problem(features, noise=1.0)
        estimate = Mixture().estimate(problem)
        estimate.load(counts, np.zeros(7))
        widths.append(Mixture().widths(problem, estimate, 2))
    assert np.allclose(widths[0], widths[1], rtol=1e-6)
    assert np.allclose(widths[0], widths[2], rtol=1e-6)


def test_mixture_tries_all_scales_that_matter(monkeypatch):
    """With many arms only some scales are tried; the widths are those of all."""
    instance = sphere(300, 4, 1)
    problem, bound, rng = instance.problem(), Mixture(), np.random.default_rng(0)
    estimate = bound.estimate(problem)
    for arm in range(300):
        estimate.update(arm, 0.0)
    for _ in range(300):
        for _ in range(int(rng.integers(1, 80))):
            estimate.update(int(rng.choice([0, 0, 0, 5, 9])), 0.0)
        some = bound.widths(problem, estimate, 3)
        with monkeypatch.context() as patch:
            patch.setattr(mixture_module, "FEW", 1_000)
            every = bound.widths(problem, estimate, 3)
        assert np.allclose(some, every, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_worst_case_is_never_shorter_than_what_it_bounds(d):
    instance = sphere(4, d, 0)
    problem = instance.problem(norm_bound=1e-6)
    for pulls in (1, 100, 10_000):
        radii = []
        for bound in (SelfNormalized(), WorstCase()):
            estimate = bound.estimate(problem)
            estimate.load(np.full(4, pulls), np.zeros(4))
            radii.append(bound.radius(problem, estimate))
        assert radii[0] <= radii[1]


def test_a_fixed_design_rarely_takes_the_best_arm_for_worse():
    """Each of K - 1 arms as good as the best gets its share of δ, at all times at once."""
    count, rounds, runs = 3, 200, 1_000
    problem, bound = Problem(np.eye(count), delta=0.1, noise=1.0), FixedDesign()
    estimate, rng = bound.estimate(problem), np.random.default_rng(3)
    noise = rng.standard_normal((runs, rounds, count))
    averages = noise.cumsum(axis=1) / np.arange(1, rounds + 1)[:, None]
    widths = []
    for n in range(1, rounds + 1):
        estimate.load(np.full(count, n), np.zeros(count))
        widths.append(bound.widths(problem, estimate, 0)[1])
    over = averages[:, :, 1:] - averages[:, :, :1] >= np.array(widths)[:, None]
    assert over.any(axis=(1, 2)).sum() <= errors_allowed(runs, problem.delta)


def test_refined_widths_are_shorter_and_exclude_no_more_than_the_mixture_itself():
    """An error just outside the refined interval is excluded by the supermartingale itself."""
    rng = np.random.default_rng(4)
    problem = Problem(np.eye(3), noise=1.0)
    bound = Mixture(refined=True)
    for _ in range(20):
        estimate = bound.estimate(problem)
        estimate.load(np.exp(rng.uniform(1, 9, 3)).astype(int), np.zeros(3))
        y = estimate.features[1] - estimate.features[0]
        (refined,) = bound.unit_widths(problem.delta, estimate, y[None])
        assert refined <= bound.widths(problem, estimate, 0)[1] * (1 + 1e-9)
        v = (estimate.features.T * estimate.counts) @ estimate.features
        # Errors near the likeliest one with that gap, V⁻¹y, and all with a gap just beyond.
        z = np.linalg.solve(v, y)
        noise = rng.standard_normal((200, 3)) / np.sqrt(np.diag(v)) * np.sqrt(y @ z)
        errors = z + rng.choice([0.0, 0.01, 0.1, 1.0], (200, 1)) * noise
        excluded = [
            naive.mixture_brute_force(error, v, delta=problem.delta)
            for error in errors * (1.0001 * refined / (errors @ y))[:, None]
        ]
        assert all(excluded)
        # And it is tight: somewhat within, the likeliest error is not excluded.
        assert not naive.mixture_brute_force(0.97 * refined / (z @ y) * z, v, delta=problem.delta)


def test_refinement_is_all_or_nothing():
    instance = soare(3, 0.05)
    problem, plain, bound = instance.problem(), Mixture(), Mixture(refined=True)
    estimate = plain.estimate(problem)
    estimate.load(np.array([60, 6_500, 30, 5]), np.array([60, 6_500, 30, 5]) * [2, 0, 0, 1.994])
    rivals = np.arange(1, 4)
    widths = plain.widths(problem, estimate, 0)[rivals]
    gaps = estimate.means[0] - estimate.means[rivals]
    assert not (widths <= gaps).all()
    shorter = bound.settling_widths(problem, estimate, 0, rivals, estimate.means)
    assert (shorter <= widths).all() and (shorter <= gaps).all()
    assert plain.settling_widths(problem, estimate, 0, rivals, estimate.means) is None
    harder = instance.problem(delta=1e-3)
    assert bound.settling_widths(harder, estimate, 0, rivals, estimate.means) is None


@pytest.mark.parametrize(
    ("extra", "settings"),
    [
        ((), {}),
        ([[2.0, 0.0]], {"m": 2}),
        ([[2.0, 0.0]], {"answers": 3}),
        ([[2.0, 0.0]], {"answers": 3, "elimination": "stop"}),
        ([[1.0, 0.0]], {}),
        ([[1.0, 0.0]], {"elimination": "sample"}),
    ],
)
def test_refinement_stops_earlier_whatever_the_question(extra, settings):
    """Also for the m best, where the others of the m lead; where a non-answer looks best; and
    where the leader has a duplicate."""
    instance = soare(2, 0.05)
    arms = np.vstack([instance.arms, *extra])
    settings = dict(settings)
    problem = Problem(arms, answers=range(settings.pop("answers", len(arms))), noise=1.0)

    def least(refined):
        """The least number of pulls after which this settles it, if rewards are the means."""
        for pulls in range(5_000, 50_000, 20):
            explorer = LinGapE(problem, bound=Mixture(refined=refined), **settings)
            counts = np.array([0.01 * pulls, pulls, 5, 5][: len(arms)], dtype=np.int64)
            explorer.estimate.load(counts, counts * (arms @ instance.theta))
            _, contests, _, stopping = explorer.parts
            contest = contests.closest(explorer.estimate, {})
            if stopping.judge(contests, explorer.estimate, contest)[1]:
                return pulls
        raise AssertionError("never settled")

    assert least(refined=True) < 0.98 * least(refined=False)


@pytest.mark.parametrize("elimination", ["none", "stop", "sample"])
def test_refinement_is_the_same_in_both_lanes(elimination):
    instance = sphere(6, 5, seed=1)
    earlier = 0
    for seed in range(12):
        pulls = {}
        for bound in (Mixture(), Mixture(refined=True)):
            plain, compiled = (
                LinGapE(instance.problem(), bound=bound, elimination=elimination) for _ in range(2)
            )
            for explorer, lane in ((plain, "plain"), (compiled, "compiled")):
                run(explorer, instance.gaussian(), seed=seed, lane=lane)
            assert plain.counts.tolist() == compiled.counts.tolist()
            assert plain.contest[:2] == compiled.contest[:2]
            assert plain.contest.margin == pytest.approx(compiled.contest.margin, rel=1e-6)
            dropped = [explorer.parts.stopping.kept() for explorer in (plain, compiled)]
            for mine, other in zip(*map(sorted, dropped), strict=True):
                assert mine == pytest.approx(other, rel=1e-6)
            pulls[bound.refined] = plain.counts.sum()
        earlier += pulls[True] < pulls[False]
    assert earlier


@pytest.mark.parametrize("elimination", ["none", "stop", "sample"])
def test_no_duplicate_keeps_refinement_from_settling(elimination):
    """Nor does one of the leader, whose gap of 0 settles nothing, in either lane."""
    arms = soare(2, 0.1).arms[[0, 1, 2, 0, 2, 0]]
    problem, world = Problem(arms, noise=1.0), Gaussian(arms, [2.0, 0.0])

    def pulls(seed, lane, *, refined):
        bound = Mixture(refined=refined)
        explorer = LinGapE(problem, bound=bound, elimination=elimination)
        return run(explorer, world, seed=seed, lane=lane).pulls

    later, sooner = (
        [pulls(seed, "compiled", refined=refined) for seed in range(20)]
        for refined in (False, True)
    )
    assert all(less <= more for less, more in zip(sooner, later, strict=True))
    assert sum(sooner) < 0.97 * sum(later)
    shortest = int(np.argmin(sooner))
    assert pulls(shortest, "plain", refined=True) == sooner[shortest]


def test_rivals_once_beaten_do_not_keep_refinement_from_settling():
    """Rival 2 looks nearly as good as the leader by now, but was beaten before."""
    problem = soare(3, 0.05).problem()
    explorer = LinGapE(problem, bound=Mixture(refined=True), elimination="stop")
    estimate, (_, contests, _, stopping) = explorer.estimate, explorer.parts
    counts = np.array([60, 6_500, 30, 5])
    estimate.load(counts, counts * [2, 0, 1.9, 1.994])
    closest = contests.closest(estimate, {})
    assert not stopping.judge(contests, estimate, closest)[1]
    assert sorted(stopping.dropped[0]) == [1]  # the others are for refinement
    stopping.dropped[0][2] = -0.1
    contest, settled = stopping.judge(contests, estimate, closest)
    assert settled and contest.leader == 0 and -0.1 <= contest.margin <= 0.0


@dataclass(frozen=True)
class Sharper(SelfNormalized):
    """A bound of somebody else's that has shorter widths at hand, in place of a better proof."""

    near: ClassVar[float] = 0.5

    def settling_widths(self, problem, estimate, leader, rivals, means):
        widths = self.near * self.widths(problem, estimate, leader)[rivals]
        settles = (means[rivals] + widths - means[leader] <= problem.epsilon).all()
        return widths if settles else None

    def kernel(self, stage):
        return super().kernel(stage)


@pytest.mark.parametrize("elimination", ["none", "sample"])
def test_any_bound_may_refine(elimination):
    instance = soare(3, 0.5)
    problem = instance.problem(norm_bound=2.0, noise=0.7)
    world = instance.gaussian(scale=0.7)
    pulls = {}
    for bound, lane in (
        (SelfNormalized(), "compiled"),
        (Sharper(), "compiled"),
        (Sharper(), "plain"),
    ):
        explorer = LinGapE(problem, bound=bound, elimination=elimination)
        pulls[bound, lane] = run(explorer, world, seed=1, lane=lane).pulls
    budget = pulls[Sharper(), "compiled"]
    assert budget == pulls[Sharper(), "plain"]
    assert budget < 0.7 * pulls[SelfNormalized(), "compiled"]
    bounded = [
        run(LinGapEBudget(problem, budget=budget, bound=bound), world, seed=1)
        for bound in (SelfNormalized(), Sharper())
    ]
    assert bounded[0].certificate.gap_bound > bounded[1].certificate.gap_bound == 0.0


def test_an_oracle_judges_by_the_truth_also_when_it_refines():
    instance = soare(2, 0.3)
    pulls = {
        run(
            XYOracle(instance.problem(), theta=instance.theta, bound=Mixture(refined=True)),
            instance.gaussian(),
            seed=seed,
            lane=lane,
        ).pulls
        for seed in range(8)
        for lane in ("plain", "compiled")
    }
    assert len(pulls) == 1  # a constant of the problem


@pytest.mark.parametrize(
    "make",
    [
        lambda: SelfNormalized(comparisons=0),
        lambda: SelfNormalized(comparisons="K^3"),
        lambda: WorstCase(comparisons=True),
        lambda: FixedDesign(comparisons=1.5),
        lambda: FixedDesign(constants="guessed"),
        lambda: Mixture(scales=0),
        lambda: Mixture(scales=2.5),
        lambda: Mixture(base=1.0),
        lambda: Mixture(scales=200),
        lambda: Mixture(scales=10**6),
        lambda: Mixture(base="16x"),
    ],
)
def test_bad_settings(make):
    with pytest.raises(InvalidBound, match="must be"):
        make()


@pytest.mark.parametrize("bound", [SelfNormalized(), WorstCase()])
def test_the_papers_bounds_need_a_norm_bound_and_a_ridge(bound):
    with pytest.raises(InvalidBound, match=r"norm_bound \(S\)"):
        LinGapE(Problem(np.eye(2), noise=1.0), bound=bound)
    for ridge in (0, -1.0, math.inf, math.nan, "much"):
        with pytest.raises(InvalidBound, match="ridge"):
            LinGapE(Problem(np.eye(2), norm_bound=1, noise=1.0), bound=bound, ridge=ridge)


def test_mixture_takes_no_ridge():
    LinGapE(Problem(np.eye(2), noise=1.0), ridge=0)
    with pytest.raises(InvalidBound, match="plain least-squares"):
        LinGapE(Problem(np.eye(2), noise=1.0), ridge=1.0)


def test_fixed_design_is_refused_with_an_explanation():
    with pytest.raises(InvalidBound, match="past rewards choose") as error:
        LinGapE(Problem(np.eye(2), noise=1.0), bound=FixedDesign())
    assert "Mixture" in str(error.value)


def test_stylised_by_hand():
    problem = Problem(np.eye(2), noise=3.0, delta=0.1)
    estimate = Stylised().estimate(problem)
    estimate.load(np.array([4, 4]), np.zeros(2))
    expected = 3 * math.sqrt(2 * math.log((1 + math.log(8)) / 0.1))
    assert Stylised().radius(problem, estimate) == pytest.approx(expected)
    assert Stylised().widths(problem, estimate, 0)[1] == pytest.approx(expected * math.sqrt(0.5))


def test_stylised_guarantees_nothing_and_says_so():
    instance = soare(3, 0.3)
    result = run(LinGapE(instance.problem(), bound=Stylised()), instance.gaussian(), lane="plain")
    assert not result.certificate.proven
    assert "NO GUARANTEE" in str(result.certificate)
    assert run(LinGapE(instance.problem()), instance.gaussian()).certificate.proven


@pytest.mark.parametrize("bound", [JedraProutiere(), Stylised()])
def test_no_ridge(bound):
    with pytest.raises(InvalidBound, match="ridge"):
        bound.estimate(Problem(np.eye(2), noise=1.0), 1.0)


def test_order_of_widths():
    """Stylised < Mixture < JedraProutiere, which is why the last is not the default."""
    instance = soare(5, 0.01)
    problem, counts = instance.problem(), np.array(TABLE_1["LinGapE"])
    widths = []
    for bound in (Stylised(), Mixture(), JedraProutiere()):
        estimate = bound.estimate(problem)
        estimate.load(counts, np.zeros(6))
        widths.append(bound.widths(problem, estimate, 0)[5])
    assert widths == sorted(widths)


def test_settings_may_be_numbers_of_numpy():
    problem = Problem(np.eye(2), noise=1.0)
    explorer = LinGapE(problem, bound=Mixture(scales=np.int64(4), base=np.float64(8)))
    again = LinGapE.from_state(json.loads(json.dumps(explorer.state())))
    assert again.bound == explorer.bound
