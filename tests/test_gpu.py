"""Runs on a GPU, in numba's simulator: the kernels that a GPU runs, as plain Python."""

import inspect
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import lingape
from lingape import (
    EXPLORERS,
    InvalidArgument,
    LinGapE,
    Mixture,
    Problem,
    Race,
    SelfNormalized,
    Study,
    Tracking,
    Uniform,
    XYOracle,
    XYStatic,
    canonical,
    run,
    run_many,
    soare,
    sphere,
)
from lingape.contests.by_gap import furthest
from lingape.kernels.loops import first_from
from lingape.kernels.parts import draw_normal, draw_uniform, pay
from lingape.kernels.philox import philox
from lingape.kernels.teams import ALONE
from lingape.lanes import gpu
from lingape.lanes.gpu import GpuLane
from lingape.many import gpu_lane, played_on_gpu
from simulated import KEY, PARTS, Fed, draws


@pytest.fixture
def unrolled(monkeypatch):
    """Run loops over few arms in the form for GPUs, which plain Python does not use."""
    for module in ("kernels.loops", "contests.by_gap"):
        monkeypatch.setattr(f"lingape.{module}.unrolled", lambda: True)


as_on_a_gpu = pytest.mark.usefixtures("unrolled")
pytestmark = pytest.mark.usefixtures("simulated_warps")


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**128 - 1, 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x03707344_13198A2E_85A308D3_243F6A88,
            0x299F31D0_A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_numbers(counter, key, words):
    run_number, block = np.uint64(counter >> 64), np.uint64(counter % 2**64)
    assert tuple(map(int, philox(np.uint64(key), run_number, block))) == words


def test_noise_is_normal_or_uniform():
    source = draws()
    values = np.array([draw_normal(source) for _ in range(20_000)])
    source = draws(number=1)
    shares = np.array([draw_uniform(source) for _ in range(20_000)])
    # Within four standard errors, for these seeds.
    assert abs(values.mean()) < 4 / 20_000**0.5
    assert abs((values**2).mean() - 1) < 4 * (2 / 20_000) ** 0.5
    assert abs((values**4).mean() - 3) < 4 * (96 / 20_000) ** 0.5
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 4 / 20_000**0.5
    assert abs((np.abs(values) < 0.6744897501960817).mean() - 0.5) < 2 / 20_000**0.5
    assert shares.min() >= 0 and shares.max() < 1
    assert abs(shares.mean() - 0.5) < 4 * (1 / 12 / 20_000) ** 0.5
    words = [philox(KEY, 1, block)[n] for block in range(50) for n in range(4)]
    assert shares[:200].tolist() == [word / 2**32 for word in words]


def test_normal_numbers_are_finite_at_the_ends(monkeypatch):
    for bits in (0, 2**32 - 1):
        words = (np.uint64(bits),) * 4
        monkeypatch.setattr("lingape.kernels.philox.philox", lambda *_, words=words: words)
        assert np.isfinite([draw_normal(draws()) for _ in range(4)]).all()


@as_on_a_gpu
@pytest.mark.parametrize("world", ["gaussian", "signed", "zero_one"])
@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
def test_runs_are_those_of_the_plain_lane_with_the_same_noise(make, world):
    instance = canonical(3, gap=0.9)
    environment = getattr(instance, world)()
    problem = instance.problem(epsilon=0.1, noise=0.5 if world == "zero_one" else 1.0)
    played = GpuLane.of(make(problem)).play(environment.kernel(), np.arange(3), KEY, 400)
    for number in range(3):
        result = run(make(problem), Fed(environment, number), lane="plain", max_pulls=400)
        assert played.counts[number].tolist() == result.counts.tolist()
        assert played.arms[number] == result.arm
        assert played.settled[number] == result.certificate.settled
        margin = max(0.0, played.margins[number])
        assert margin == pytest.approx(result.certificate.gap_bound, abs=1e-9)


@as_on_a_gpu
@pytest.mark.parametrize("make", [LinGapE, PARTS["the paper's bound"], PARTS["tracking"]])
@pytest.mark.parametrize("instance", [soare(3, 0.3), sphere(20, 3, seed=1)], ids=["few", "many"])
def test_so_are_runs_among_arms_that_are_alike_and_among_more_arms(make, instance):
    environment, problem = instance.gaussian(scale=0.3), instance.problem(noise=0.3, epsilon=0.05)
    played = GpuLane.of(make(problem)).play(environment.kernel(), np.arange(2), KEY, 300)
    for number in range(2):
        result = run(make(problem), Fed(environment, number), lane="plain", max_pulls=300)
        assert played.counts[number].tolist() == result.counts.tolist()
        assert played.settled[number] == result.certificate.settled


@as_on_a_gpu
@pytest.mark.parametrize("make", [Uniform, XYStatic])
def test_margins_where_runs_do_not_begin_with_each_arm_are_never_too_small(make):
    """Caches are built at other times than in the plain lane: once all arms are pulled there."""
    instance = sphere(12, 3, seed=1)
    environment, problem = instance.gaussian(), instance.problem()
    played = GpuLane.of(make(problem)).play(environment.kernel(), np.arange(2), KEY, 200)
    for number in range(2):
        explorer = make(problem)
        result = run(explorer, Fed(environment, number), lane="plain", max_pulls=200)
        assert result.ending != "settled" and not played.settled[number]
        assert played.counts[number].tolist() == result.counts.tolist()
        explorer.estimate.load(explorer.estimate.counts, explorer.estimate.sums)
        contests, stopping = explorer.parts.contests, explorer.parts.stopping
        least = contests.closest(explorer.estimate, stopping.unasked).margin  # of new caches
        assert least - 1e-9 <= played.margins[number] <= 1.2 * least


RACES = {  # kinds of noise, and worlds that have it
    "known scale": (0.5, "gaussian"),
    "known range": ((-1.0, 1.0), "signed"),
    "unequal range": ((-0.5, 1.5), "zero_one"),
    "binary": ("binary", "zero_one"),
    "unknown scale": ("normal", "gaussian"),
}


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize(("noise", "world"), RACES.values(), ids=RACES)
def test_so_are_races(noise, world, epsilon):
    instance = canonical(3, gap=0.7)
    environment = getattr(instance, world)(**({"scale": 0.5} if world == "gaussian" else {}))
    problem = instance.problem(epsilon=epsilon, noise=noise)
    compare_races(problem, environment, runs=3, max_pulls=200)


def compare_races(problem, environment, *, runs, max_pulls):
    played = gpu_lane(Race(problem)).play(environment.kernel(), np.arange(runs), KEY, max_pulls)
    for number in range(runs):
        explorer = Race(problem)
        result = run(explorer, Fed(environment, number), lane="plain", max_pulls=max_pulls)
        assert played.counts[number].tolist() == result.counts.tolist()
        assert played.arms[number] == result.arm
        assert played.settled[number] == result.certificate.settled
        assert played.in_play[number].tolist() == explorer.in_play.tolist()


def test_so_are_races_among_arms_that_are_alike_and_among_more_arms():
    """Of 20 directions in the plane, plans look at 12."""
    for instance in (soare(3, 0.3), sphere(20, 2, seed=1)):
        problem = instance.problem(noise=0.3, epsilon=0.05)
        compare_races(problem, instance.gaussian(scale=0.3), runs=2, max_pulls=150)
    twice = np.repeat(sphere(4, 3, seed=0).arms, 2, axis=0)
    problem = Problem(twice, noise=0.3, pullable=range(6), answers=range(2, 8))
    compare_races(problem, lingape.Gaussian(twice, [1.0, 0.5, 0.2]), runs=2, max_pulls=150)


def test_a_race_may_end_before_arms_can_be_compared():
    problem = canonical(3).problem()
    compare_races(problem, canonical(3).gaussian(), runs=2, max_pulls=2)
    alike = Problem([[1.0], [1.0]], noise=0.1)
    compare_races(alike, lingape.Gaussian(alike.arms, [1.0], scale=0.1), runs=1, max_pulls=50)


def test_yardsticks_that_know_theta_run_too():
    instance = canonical(3, gap=0.9)
    explorer = XYOracle(instance.problem(), theta=instance.theta)
    played = GpuLane.of(explorer).play(instance.gaussian().kernel(), np.arange(2), KEY, 10_000)
    for number in range(2):
        yardstick = XYOracle(instance.problem(), theta=instance.theta)
        result = run(yardstick, Fed(instance.gaussian(), number), lane="plain")
        assert played.counts[number].tolist() == result.counts.tolist()


def test_results_do_not_depend_on_which_thread_plays_which_run(monkeypatch):
    instance = canonical(3, gap=0.7)
    world, runs = instance.gaussian().kernel(), np.arange(9)

    def counts(order):
        problem = instance.problem(epsilon=0.1)
        lanes = [gpu_lane(make(problem)) for make in (LinGapE, Race)]
        played = [lane.play(world, order, KEY, 10_000) for lane in lanes]
        return [each.counts[np.argsort(order)].tolist() for each in played]

    whole = counts(runs)
    assert counts(runs[::-1].copy()) == whole
    monkeypatch.setattr(GpuLane, "_side_by_side", lambda lane: 1)
    assert counts(runs) == whole


@as_on_a_gpu
def test_loops_over_few_arms():
    rng = np.random.default_rng(0)
    for count in (1, 2, 5, 16, 17, 40):
        values = rng.integers(0, 4, count).astype(float)
        for least in range(int(values.max()) + 1):
            assert first_from(ALONE, values, least) == int((values >= least).argmax())
    scores, means, twins = np.array([1.0, 3.0, 3.0, 2.0]), np.zeros(4), np.array([0, 1, 2, 1])
    assert furthest(ALONE, means, scores.copy(), twins, 1) == (2, 3.0)
    scores[0] = np.nan
    assert np.isnan(furthest(ALONE, means, scores.copy(), twins, 1)[1])
    assert furthest(ALONE, means, scores.copy(), np.zeros(4, dtype=int), 1) == (2, 0.0)


@as_on_a_gpu
def test_a_warp_makes_the_pulls_of_a_thread_alone(monkeypatch):
    """A thread alone keeps gap variances alone, of all pairs; a warp keeps few rows."""
    instance = soare(5, 0.4)
    makes = [LinGapE, *(PARTS[name] for name in ("not asking", "tracking", "uniform"))]
    cases = [(make, instance.gaussian()) for make in makes] + [
        (Uniform, lingape.ZeroOne(instance.arms, 0.5 * instance.theta))
    ]

    def played():
        lanes = [(GpuLane.of(make(instance.problem())), world) for make, world in cases]
        return [lane.play(world.kernel(), np.arange(2), KEY, 100) for lane, world in lanes]

    alone = played()
    monkeypatch.setattr(gpu, "FEW", 1)
    for one, many in zip(alone, played(), strict=True):
        assert one.counts.tolist() == many.counts.tolist()
        assert one.arms.tolist() == many.arms.tolist()
        assert one.settled.tolist() == many.settled.tolist()
        assert many.margins == pytest.approx(one.margins, abs=1e-9)


def test_many_runs_come_as_arrays():
    instance = canonical(3, gap=1.0)
    seen = []
    many = run_many(
        LinGapE(instance.problem()),
        instance.gaussian(),
        runs=10,
        seed=1,
        lane="gpu",
        progress=seen.append,
    )
    assert len(many) == 10 and many.lane == "gpu" and seen[-1] == 10
    assert many.settled.all() and many.finished.all() and many.correct.all() and many.wrong == 0
    assert (many.counts.sum(axis=1) == many.pulls).all()
    assert "10 runs" in str(many) and "10 runs" in many._repr_html_()
    again = run_many(LinGapE(instance.problem()), instance.gaussian(), runs=5, seed=1, lane="gpu")
    assert again.counts.tolist() == many.counts[:5].tolist()
    limited = run_many(
        LinGapE(instance.problem()), instance.gaussian(), runs=2, lane="gpu", max_pulls=10
    )
    assert not limited.settled.any() and limited.pulls.tolist() == [10, 10]


def test_processors_give_the_same_kind_of_result():
    instance = canonical(3, gap=1.0)
    explorer = LinGapE(instance.problem())
    many = run_many(explorer, instance.gaussian(), runs=5, lane="plain")
    assert many.lane == "plain" and many.settled.all() and many.pulls.std() > 0
    assert explorer.estimate.pulls == 0
    assert 0 < many.error_rate()[1] < 1
    assert many.in_play is None
    races = run_many(Race(instance.problem()), instance.gaussian(), runs=2, lane="plain")
    assert races.in_play.tolist() == [[True, False, False]] * 2


@pytest.mark.parametrize("make", [LinGapE, Race])
def test_runs_are_as_long_as_on_a_processor(make):
    """In distribution: quantiles too."""
    instance = canonical(3, gap=1.0)
    explorer, world = make(instance.problem()), instance.gaussian()
    here = run_many(explorer, world, runs=1_000, lane="compiled").pulls
    there = run_many(explorer, world, runs=80, lane="gpu").pulls
    error = (here.var() / len(here) + there.var() / len(there)) ** 0.5
    assert abs(here.mean() - there.mean()) < 4 * error
    for share in (0.25, 0.5, 0.75):  # binomial margins
        below = (there <= np.quantile(here, share)).mean()
        assert abs(below - share) < 4 * (share * (1 - share) * (1 / 80 + 1 / 1_000)) ** 0.5


def test_a_study_plays_on_a_gpu_what_it_can(caplog):
    caplog.set_level("WARNING", logger="lingape")
    instances = ["canonical(3, 1.0)", "soare(2, 0.5)"]
    study = Study(["lingape", "race", "rage"], instances, seeds=2, lane="gpu")
    rows = study.run(jobs=1).rows
    assert len(rows) == 12 and all(row.correct and row.settled for row in rows)
    again = study.run(jobs=1).rows
    assert [(row.key, row.counts) for row in rows] == [(row.key, row.counts) for row in again]
    on_processor = Study(["rage"], instances, seeds=2).run(jobs=1).rows
    assert [row.counts for row in rows[8:]] == [row.counts for row in on_processor]
    noises = {row.counts for row in rows[:8]}
    assert len(noises) == 8  # each seed and instance has noise of its own


def test_a_file_of_rows_is_for_one_lane(tmp_path):
    path = tmp_path / "rows.jsonl"
    Study(["uniform"], ["canonical(3, 1.0)"], seeds=1, lane="gpu").run(jobs=1, path=path)
    with pytest.raises(lingape.InvalidState, match="lane"):
        Study(["uniform"], ["canonical(3, 1.0)"], seeds=2).run(jobs=1, path=path, resume=True)
    more = Study(["uniform"], ["canonical(3, 1.0)"], seeds=2, lane="gpu")
    assert len(more.run(jobs=1, path=path, resume=True).rows) == 2


@pytest.mark.parametrize("make", EXPLORERS.values(), ids=EXPLORERS)
def test_every_explorer_plays_on_a_gpu_or_says_that_it_does_not(make, caplog, monkeypatch):
    monkeypatch.setattr("lingape.lanes.compiled._said", set())
    caplog.set_level("WARNING", logger="lingape")
    instance = canonical(3, gap=1.0)
    given = {"theta": instance.theta} if "theta" in inspect.signature(make).parameters else {}
    lane = gpu_lane(make(instance.problem(), **given))
    assert (lane is None) == ("No GPU code" in caplog.text)
    if lane is not None:
        played = lane.play(instance.gaussian().kernel(), np.arange(2), KEY, 10_000)
        assert played.arms.tolist() == [0, 0] and played.settled.all()


def falls_back(caplog, explorer, environment, why, max_pulls=50):
    """Play, and see that it says why not on a GPU."""
    caplog.clear()
    many = run_many(explorer, environment, runs=2, lane="gpu", max_pulls=max_pulls)
    assert many.lane != "gpu" and f"No GPU code for {why}" in caplog.text
    return many


class Steady(LinGapE):
    """A subclass that pulls by a rule of its own."""

    def _pick(self, estimate):
        return int(estimate.counts.argmin())


class Cautious(Race):
    """A race with a rule of its own."""

    def _pick(self, *given):
        return super()._pick(*given)


class OddKernel(NamedTuple):
    means: np.ndarray


@pay.of(OddKernel)
def _(world, arm, rng):
    return world.means[arm]


class OddWorld(lingape.Gaussian):
    """A world whose kernel is not for GPUs."""

    def pull(self, arm, rng):
        return float(self.means[arm])

    def kernel(self):
        return OddKernel(self.means)


def test_what_a_gpu_does_not_play(caplog, monkeypatch):
    monkeypatch.setattr("lingape.lanes.compiled._said", set())
    caplog.set_level("WARNING", logger="lingape")
    instance = canonical(3, gap=1.0)
    problem, world = instance.problem(), instance.gaussian()
    many = falls_back(caplog, Steady(problem), world, "Steady")
    assert (many.counts.max(axis=1) - many.counts.min(axis=1) <= 1).all()
    falls_back(caplog, Cautious(problem), world, "Cautious")
    few = falls_back(caplog, LinGapE(problem), world, "runs of fewer than 3", max_pulls=2)
    assert few.pulls.tolist() == [2, 2] and not few.settled.any()
    odd = OddWorld(instance.arms, instance.theta)  # not to be compiled: numba would keep its type
    assert played_on_gpu(LinGapE(problem), odd, np.arange(1), KEY, 50) is None
    assert "No GPU code for OddWorld" in caplog.text
    falls_back(caplog, LinGapE(instance.problem(minimize=True)), world, "minimize=True")
    falls_back(caplog, LinGapE(problem, bound=Mixture(refined=True)), world, "refined bounds")


def test_what_is_too_large_for_a_gpu(caplog, monkeypatch):
    monkeypatch.setattr("lingape.lanes.compiled._said", set())
    caplog.set_level("WARNING", logger="lingape")
    instance = sphere(8_001, 2, seed=0)
    assert GpuLane.of(LinGapE(instance.problem(norm_bound=1.0), bound=SelfNormalized())) is None
    assert "so many arms (" in caplog.text
    pairs = LinGapE(sphere(102, 2, seed=0).problem(), pull=Tracking())
    assert GpuLane.of(pairs) is None
    assert "Tracking with more than 5,000 pairs of arms" in caplog.text
    assert gpu_lane(Race(sphere(65, 2, seed=0).problem())) is None
    assert "Race with more than 64 arms" in caplog.text
    for make in (LinGapE, Race):
        begun = make(canonical(3).problem())
        begun.tell(0, 1.0)
        assert gpu_lane(begun) is None
    assert "explorers that have been told rewards" in caplog.text


def test_seeds_that_are_too_large_for_a_gpu():
    with pytest.raises(InvalidArgument, match="below 2\\^63"):
        Study(["lingape"], ["canonical(3)"], seeds=[2**63], lane="gpu")


def test_duplicate_arms_and_a_single_direction():
    problem = Problem([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], noise=0.1)
    world = lingape.Gaussian(problem.arms, [1.0, 0.0], scale=0.1)
    many = run_many(LinGapE(problem), world, runs=2, lane="gpu")
    assert many.correct.all() and many.settled.all()
    alike = Problem([[1.0], [1.0]], noise=0.1)
    world = lingape.Gaussian(alike.arms, [1.0], scale=0.1)
    assert run_many(LinGapE(alike), world, runs=1, lane="gpu").settled.all()


def test_bad_lanes_are_refused():
    instance = canonical(3)
    with pytest.raises(InvalidArgument, match='"gpu" in run_many'):
        run(LinGapE(instance.problem()), instance.gaussian(), lane="gpu")
    with pytest.raises(InvalidArgument, match="lane must be"):
        Study(["lingape"], ["canonical(3)"], lane="plane")
    with pytest.raises(InvalidArgument, match="runs must be"):
        run_many(LinGapE(instance.problem()), instance.gaussian(), runs=0)


def test_without_a_gpu_one_sentence_says_so():
    command = [sys.executable, "-m", "lingape", "compare", "--lane", "gpu", "--seeds", "1"]
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    found = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert found.returncode == 1
    assert "The GPU lane needs an NVIDIA GPU" in found.stderr and "Traceback" not in found.stderr
