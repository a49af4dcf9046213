"""Runs: lanes, limits, seeds, and the worlds they happen in."""

import json
import subprocess
import sys

import numpy as np
import pytest

from lingape import (
    INSTANCES,
    Ending,
    Gaussian,
    LinGame,
    LinGapE,
    Mixture,
    Problem,
    SelfNormalized,
    Signed,
    Tracking,
    XYStatic,
    canonical,
    factorial,
    hypercube,
    outsider,
    play,
    polynomial,
    run,
    soare,
    soare_tied,
    specs,
    sphere,
)
from lingape.errors import IllConditioned, InvalidArgument, InvalidEnvironment, MissingExtra
from lingape.kernels.book import REBUILD_AT
from lingape.lanes import compiled_lane
from lingape.paper import settings
from lingape.pulls import greedy


@pytest.mark.parametrize("name", INSTANCES)
def test_instances(name):
    instance = INSTANCES[name]()
    assert instance.problem().norm_bound == pytest.approx(np.linalg.norm(instance.theta))
    assert instance.gaussian().means == pytest.approx(instance.arms @ instance.theta)
    assert instance.name.startswith(name)
    again = specs.instance(instance.name)
    assert again.arms.tolist() == instance.arms.tolist()
    assert again.theta.tolist() == instance.theta.tolist()


def test_tied_instances_are_tied():
    means = soare_tied(5, 0.01).gaussian().means
    assert means[0] == pytest.approx(means[5], abs=1e-15)
    assert means[0] == means.max()


def test_effects_of_factors_add_up():
    instance = factorial()
    means = np.sort(instance.zero_one().means)
    assert instance.arms.shape == (27, 7)
    assert means[[0, -2, -1]] == pytest.approx([0.04, 0.095, 0.105])
    assert factorial(1.0, [2.0], [4.0, 5.0]).gaussian().means.tolist() == [1, 5, 6, 3, 7, 8]


def test_features_of_polynomials_are_orthonormal():
    x = polynomial(10_001, 4, 3).arms
    assert x.T @ x / len(x) == pytest.approx(np.eye(5), abs=2e-3)


def test_hypercubes_have_all_signs():
    x = hypercube(3, 1).arms
    assert x.shape == (8, 4)
    assert len(np.unique(x, axis=0)) == 8
    assert (x[:, 0] == 1).all()
    assert (np.abs(x) == 1).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(np.eye(2), [1.0]),
        lambda: Gaussian([1.0, 2.0], [1.0]),
        lambda: Gaussian(np.eye(2), [1.0, np.nan]),
        lambda: Gaussian(np.eye(2), [1.0, 0.0], scale=-1),
        lambda: Gaussian(np.eye(2), [1.0, 0.0], scale="x"),
        lambda: Gaussian("abc", [1.0]),
        lambda: canonical(3, "x"),
        lambda: soare(3, np.nan),
        lambda: Signed(np.eye(2), [1.5, 0.0]),
        lambda: soare(1),
        lambda: canonical(2.5),
        lambda: sphere(1, 3),
        lambda: factorial("x"),
        lambda: factorial(0.04, 0.01),
        lambda: factorial(0.04, []),
        lambda: factorial(0.04, [0.01, np.inf]),
        lambda: factorial(0.04, "12"),
        lambda: factorial(0.04, *[[0.01]] * 20),
        lambda: polynomial(3, 3),
        lambda: polynomial(9, 0),
        lambda: hypercube(17),
    ],
)
def test_impossible_worlds(make):
    with pytest.raises(InvalidEnvironment):
        make()


@pytest.mark.parametrize("world", ["gaussian", "signed"])
def test_rewards_have_their_means(world):
    instance = canonical(2, 0.4)
    environment = getattr(instance, world)()
    rng = np.random.default_rng(0)
    rewards = [environment.pull(0, rng) for _ in range(20_000)]
    assert np.mean(rewards) == pytest.approx(0.4, abs=5 * np.std(rewards) / 20_000**0.5)
    assert world == "gaussian" or set(rewards) == {1.0, -1.0}


def test_replications_depend_on_their_seed_alone():
    instance = soare(3, 0.2)

    def pulls(seed):
        return run(LinGapE(instance.problem()), instance.gaussian(), seed=seed).counts.tolist()

    alone = [pulls(seed) for seed in range(4)]
    assert [pulls(seed) for seed in (3, 2, 1, 0)] == alone[::-1]
    assert len({tuple(p) for p in alone}) == 4


def test_progress_and_interruptions_change_nothing():
    instance = soare(4, 0.05)
    seen = []
    watched = run(
        LinGapE(instance.problem()),
        instance.gaussian(),
        progress=lambda explorer, pulls: seen.append((pulls, explorer.contest.margin)),
    )
    plain = run(LinGapE(instance.problem()), instance.gaussian())
    assert watched.counts.tolist() == plain.counts.tolist()
    assert seen[-1][0] == plain.pulls
    assert [pulls for pulls, _ in seen] == sorted({pulls for pulls, _ in seen})


@pytest.mark.parametrize("lane", ["plain", "compiled"])
def test_limit(lane):
    instance = soare_tied(3, 0.2)
    result = run(
        LinGapE(instance.problem()), instance.gaussian(), seed=2, max_pulls=777, lane=lane
    )
    assert result.ending is Ending.LIMIT
    assert result.pulls == 777
    assert result.lane == lane
    assert not result.certificate.settled
    message = str(result)
    assert "777 pulls" in message
    assert "the best arm is at most" in message
    assert "epsilon > 0" in message


@pytest.mark.parametrize("lane", ["plain", "compiled"])
def test_limit_within_the_start(lane):
    instance = sphere(20, 3, 0)
    result = run(LinGapE(instance.problem()), instance.gaussian(), max_pulls=7, lane=lane)
    assert result.counts.tolist() == [1] * 7 + [0] * 13
    assert "Nothing is proven yet" in str(result)


def test_epsilon_is_the_way_out_of_a_tie():
    instance = soare_tied(3, 0.2)
    result = run(LinGapE(instance.problem(epsilon=0.05)), instance.gaussian(), seed=2)
    assert result.ending is Ending.SETTLED
    assert result.correct
    assert result.certificate.gap_bound <= 0.05


@pytest.mark.parametrize("first", ["plain", "compiled"])
def test_a_run_can_be_continued_in_either_lane(first):
    instance = soare(3, 0.1)
    explorer = LinGapE(instance.problem())
    rng = np.random.default_rng(0)
    halfway = run(explorer, instance.gaussian(), seed=rng, max_pulls=300, lane=first)
    assert halfway.pulls == 300
    other = {"plain": "compiled", "compiled": "plain"}[first]
    result = run(explorer, instance.gaussian(), seed=rng, lane=other)
    assert explorer.done
    assert result.pulls > 300
    assert result.counts.sum() == result.pulls
    again = LinGapE.from_state(json.loads(json.dumps(explorer.state())))
    assert again.certificate() == result.certificate


def test_running_a_finished_explorer_returns_its_answer():
    instance = canonical(3, 2.0)
    explorer = LinGapE(instance.problem())
    first = run(explorer, instance.gaussian())
    for lane in ("auto", "plain", "compiled"):
        assert run(explorer, instance.gaussian(), lane=lane).pulls == first.pulls


def test_bad_arguments():
    explorer, world = LinGapE(canonical(3).problem()), canonical(3).gaussian()
    with pytest.raises(InvalidArgument, match="max_pulls"):
        run(explorer, world, max_pulls=0)
    with pytest.raises(InvalidArgument, match="max_pulls"):
        run(explorer, world, max_pulls=True)
    for seed in (-1, "x", 1.5):
        with pytest.raises(InvalidArgument, match="seed"):
            run(explorer, world, seed=seed)
    with pytest.raises(InvalidEnvironment, match=r"gaussian\(\)"):
        run(explorer, canonical(3))
    with pytest.raises(InvalidEnvironment, match="different features"):
        play(explorer, Gaussian(np.diag([1.0, 1.0, 2.0]), [1, 0, 0]))
    with pytest.raises(InvalidArgument, match="lane"):
        run(explorer, world, lane="fast")
    with pytest.raises(InvalidEnvironment, match="same arms"):
        run(explorer, canonical(4).gaussian())
    own = LinGapE(canonical(3).problem(), pull=lambda estimate, leader, rival: leader)
    with pytest.raises(InvalidArgument, match="no compiled lane"):
        run(own, world, lane="compiled")


def test_tracking_meets_many_pairs_in_the_compiled_lane():
    """More pairs than the table of mixes starts with, so that it has to grow."""
    instance = sphere(40, 6, 3)
    plain, compiled = (
        run(
            LinGapE(instance.problem(), pull=Tracking()),
            instance.gaussian(scale=1.0),
            seed=3,
            max_pulls=1_200,
            lane=lane,
        )
        for lane in ("plain", "compiled")
    )
    assert plain.counts.tolist() == compiled.counts.tolist()


@pytest.mark.parametrize("bound", [Mixture(), Mixture(refined=True), SelfNormalized()])
@pytest.mark.parametrize("count", [5, 40])
def test_duplicates_in_the_compiled_lane(bound, count):
    """Copies of the best arm, in a basis that gives them rounding errors of their own."""
    rng = np.random.default_rng(2)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    arms = (
        np.vstack([np.eye(3), np.eye(3)[[0, 0]], 0.3 * sphere(count - 5, 3, 1).arms])
        if count > 5
        else np.vstack([np.eye(3), np.eye(3)[[0, 0]]])
    )
    problem, world = (
        Problem(arms @ rotation, norm_bound=2.0, noise=1.0),
        Gaussian(arms @ rotation, rotation.T[:, 0] * 0.8),
    )
    for seed in range(5):
        plain, compiled = (
            run(LinGapE(problem, bound=bound), world, seed=seed, max_pulls=3_000, lane=lane)
            for lane in ("plain", "compiled")
        )
        assert plain.counts.tolist() == compiled.counts.tolist()
        assert plain.ending is compiled.ending
        assert compiled.correct or not compiled.certificate.settled


def test_at_the_limit_the_lanes_say_the_same():
    instance = soare(3, 0.2)
    for limit in range(240, 300):
        plain, compiled = (
            run(
                LinGapE(instance.problem()),
                instance.gaussian(),
                seed=2,
                max_pulls=limit,
                lane=lane,
            )
            for lane in ("plain", "compiled")
        )
        assert plain.ending is compiled.ending
        assert plain.certificate.settled == compiled.certificate.settled
        assert plain.certificate.gap_bound == pytest.approx(
            compiled.certificate.gap_bound, rel=1e-6
        )


@pytest.mark.parametrize("bound", [Mixture(), SelfNormalized()])
def test_nearly_equal_arms_in_the_compiled_lane(bound):
    """Arms 1e-7 apart among many: the cheap formula for their gap has no digits left."""
    arms = sphere(50, 3, 1).arms.copy()
    arms[7] = arms[3] + 1e-7 * arms[4]
    problem = Problem(arms, norm_bound=1.0, epsilon=1e-3, noise=1.0)
    world = Gaussian(arms, arms[3], scale=0.05)
    plain, compiled = (
        run(LinGapE(problem, bound=bound), world, max_pulls=3_000, lane=lane)
        for lane in ("plain", "compiled")
    )
    assert plain.counts.tolist() == compiled.counts.tolist()
    assert plain.ending is compiled.ending


def test_the_answer_is_a_result_one_can_read():
    result = run(LinGapE(outsider().problem(epsilon=0.5)), outsider().gaussian())
    assert result.correct
    assert result.true_gap <= 0.5
    assert f"better than arm {result.arm}," in str(result)


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
import lingape
instance = lingape.canonical(3, 1.0)
explorer = lingape.LinGapE(instance.problem())
try:
    lingape.run(explorer, instance.gaussian(), lane="compiled")
except lingape.errors.MissingExtra as error:
    print(error)
print(lingape.run(explorer, instance.gaussian()).lane)
"""


def test_without_numba_the_plain_lane_serves():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, check=True
    )
    assert "lingape[sim]" in done.stdout
    assert done.stdout.split()[-1] == "plain"
    assert issubclass(MissingExtra, ImportError)


class Flipped(Gaussian):
    """Arms in the opposite order."""

    def pull(self, arm, rng):
        return super().pull(len(self.means) - 1 - arm, rng)


class Wide(SelfNormalized):
    def radius(self, problem, estimate):
        return 3.0 * super().radius(problem, estimate)


class Stubborn(LinGapE):
    def _pick(self, estimate):
        return 0


def test_what_overrides_methods_does_not_inherit_a_kernel(caplog, monkeypatch):
    monkeypatch.setattr("lingape.lanes.compiled._said", set())
    instance = canonical(3, 1.0)
    problem, world = instance.problem(norm_bound=2.0), instance.gaussian()
    for explorer, where in [
        (LinGapE(problem), Flipped(world.arms, world.theta)),
        (LinGapE(problem, bound=Wide()), world),
        (Stubborn(problem), world),
    ]:
        assert run(explorer, where, max_pulls=100).lane == "plain"
        with pytest.raises(InvalidArgument, match="no compiled lane"):
            run(explorer, where, max_pulls=100, lane="compiled")
    said = "No compiled code for {}: this runs in the plain lane."
    assert caplog.messages == [said.format("Wide"), said.format("Stubborn")]

    class Ours(Mixture):
        """Nothing but another name."""

    pytest.importorskip("numba")
    assert run(LinGapE(problem, bound=Ours()), world, max_pulls=100).lane == "compiled"


def test_too_many_arms_for_a_kernel_are_named(caplog, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr("lingape.lanes.compiled._said", set())
    assert compiled_lane(LinGame(sphere(501, 2, 1).problem())) is None
    assert "No compiled code for Game with more than 500 arms" in caplog.text


def test_a_matrix_that_becomes_singular_is_noticed_in_the_compiled_lane():
    pytest.importorskip("numba")
    explorer = LinGapE(Problem([[1, 1], [1, 1.0001], [1, -1]], noise=1.0))
    explorer.tell_many([0, 1, 2], [0.0, 0.0, 0.0])
    lane, rng = compiled_lane(explorer), np.random.default_rng(0)
    world = Gaussian(explorer.problem.arms, [1.0, 0.0]).kernel()
    lane.advance(world, rng, 10)  # there is a factor from before
    lane.counts[:] = [10**14, 1, 0]  # which the plain lane would refuse to be told
    lane._book.clock[REBUILD_AT] = 0
    with pytest.raises(IllConditioned):
        lane.advance(world, rng, 20)


def test_a_numba_that_does_not_work_is_mentioned(caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it fails
    monkeypatch.setattr("lingape.runs.find_spec", lambda name: object())
    instance = canonical(3, 1.0)
    assert run(LinGapE(instance.problem()), instance.gaussian(), max_pulls=9).lane == "plain"
    assert "numba, which could not be imported" in caplog.text


@pytest.mark.parametrize("count", [10, 60])  # all rows kept, or only those in use
def test_rows_of_the_compiled_lane_agree_with_a_fresh_solve(count):
    """Also for two arms so close that differences of products have no digits left."""
    arms = sphere(count, 3, 1).arms.copy()
    arms[7] = arms[3] + 1e-6 * arms[4]
    problem, world = Problem(arms, noise=1.0), Gaussian(arms, arms[3])
    explorer = LinGapE(problem)
    lane, rng = compiled_lane(explorer), np.random.default_rng(0)
    for until in range(100, 1_000, 37):
        lane.advance(world.kernel(), rng, until)
        explorer.estimate.load(lane.counts, lane.sums)
        book, kernel = lane._book, lane._kernels.bound
        assert np.allclose(book.means, explorer.estimate.means, rtol=1e-9, atol=1e-9)
        owners = [(row, arm) for row, arm in enumerate(book.owner) if arm >= 0]
        assert owners
        for row, arm in owners:
            assert book.row_of[arm] == row
            variance, sensitivity = explorer.estimate.contrasts(int(arm))
            others = np.arange(count) != arm
            assert np.allclose(book.gap_variance[row][others], variance[others], rtol=1e-6)
            assert np.allclose(kernel.sensitivity[row][others], sensitivity[others], rtol=1e-6)


def test_two_arms_that_are_nearly_the_same_are_contested_exactly():
    """Soare's arms 1 and 6: the difference of their rows in XA⁻¹Xᵀ has lost eight digits."""
    instance = soare(5, 0.01)
    explorer = settings.lingape(settings.synthetic_problem(instance))
    lane, world, rng = (
        compiled_lane(explorer),
        instance.gaussian().kernel(),
        np.random.default_rng(0),
    )
    for pulls in range(298_230, 298_260):  # two arms score alike to 5e-9 at the 298,246th
        lane.advance(world, rng, pulls)
        leader, rival, _ = lane.contest
        counts = lane.counts.copy()
        fresh = explorer.estimate.copy()
        fresh.load(counts, lane.sums)
        lane.advance(world, rng, pulls + 1)
        assert (lane.counts - counts).argmax() == greedy(fresh, leader, rival)


@pytest.mark.slow
def test_lanes_agree_to_the_end_of_a_long_run():
    instance = soare(5, 0.01)
    results = [
        run(
            settings.lingape(settings.synthetic_problem(instance)),
            instance.gaussian(),
            seed=0,
            lane=lane,
        )
        for lane in ("plain", "compiled")
    ]
    assert results[0].pulls == results[1].pulls == 951_156
    assert results[0].counts.tolist() == results[1].counts.tolist()


@pytest.mark.parametrize("before", [0, 15])
def test_moments_are_the_same_in_both_lanes(before):
    instance = soare(3, 0.01)
    seen = {}
    for lane in ("plain", "compiled"):
        explorer, called = XYStatic(instance.problem()), []
        if before:
            run(explorer, instance.gaussian(), max_pulls=before, lane=lane)
        run(
            explorer,
            instance.gaussian(),
            max_pulls=50,
            lane=lane,
            progress=lambda _, pulls: called.append(pulls),  # noqa: B023
            moments=[0, 5, 10, 20, 30],
        )
        seen[lane] = called
    assert seen["plain"] == seen["compiled"]
    assert seen["plain"] == [n for n in (5, 10, 20, 30) if n > before] + [before + 50]


def test_compiled_lane_recovers_from_an_ill_conditioned_start():
    """The first arms of a polynomial's grid are nearly dependent, and caches lose their digits."""
    instance = polynomial(21, 4, 0)
    counts = []
    for lane in ("plain", "compiled"):
        explorer = XYStatic(instance.problem())
        run(explorer, instance.gaussian(), seed=0, max_pulls=60, lane=lane)
        counts.append(explorer.counts.tolist())
    assert counts[0] == counts[1]
