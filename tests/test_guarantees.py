"""What the paper and docs/bounds.md claim, on enough runs to tell (make slow)."""

import numpy as np
import pytest

from benchmarks.coverage import ADVERSARIES, discards, discards_against, ties
from benchmarks.guarantees import (
    DELTA,
    TIED_ROUNDS,
    TIED_RUNS,
    false_separations,
    stopping_times,
    tied_instances,
    upper_limit,
)
from lingape import LinGapE, Mixture, Tracking, canonical, run, soare
from lingape.lanes import compiled_lane
from lingape.paper import TABLE_1
from lingape.paper.settings import BOUND as PAPER
from lingape.testing import errors_allowed


def test_upper_limit():
    """The textbook rule of three, and a tabulated value."""
    assert upper_limit(0, 1_000) == pytest.approx(3 / 1_000, rel=0.01)
    assert upper_limit(5, 100) == pytest.approx(0.1023, abs=2e-4)


def test_both_rules_and_bounds_on_an_easy_version():
    """A quick look at what the slow tests measure with precision."""
    instance = soare(3, 0.1)
    paper = stopping_times(instance, PAPER, runs=40)
    tracking = stopping_times(instance, PAPER, runs=40, pull=Tracking)
    tight = stopping_times(instance, Mixture(), runs=40)
    assert paper.wrong == tracking.wrong == 0
    assert tight.wrong <= errors_allowed(40, DELTA)
    assert tracking.mean == pytest.approx(paper.mean, rel=0.35)
    assert paper.mean > 2 * tight.mean


@pytest.mark.slow
def test_table_1():
    """The mean is the one known for the paper's settings, 755,000 ± 2 %; Table 1 is a low draw."""
    runs = 200
    times = stopping_times(soare(5, 0.01), PAPER, runs=runs)
    total = sum(TABLE_1["LinGapE"])
    print(f"paper's Table 1: {total:,} pulls, one run; here, over {runs} seeds:")
    print(f"mean {times.mean:,.0f} ± {times.error:,.0f}, min {times.pulls.min():,}")
    for share in (5, 25, 50, 75, 95):
        print(f"{share:>3} % below {np.percentile(times.pulls, share):>12,.0f}")
    assert times.wrong == 0
    assert abs(times.mean - 755_000) <= 3 * times.error + 0.02 * 755_000
    tracking = stopping_times(soare(5, 0.01), PAPER, runs=400, pull=Tracking)
    greedy = stopping_times(soare(5, 0.01), PAPER, runs=400)
    print(f"greedy {greedy.mean:,.0f}, tracking {tracking.mean:,.0f}")
    assert tracking.wrong == 0
    assert tracking.mean == pytest.approx(greedy.mean, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "at_least"), [(2, 3.5), (5, 4.5), (10, 6.0)])
def test_mixture_needs_far_fewer_samples(d, at_least):
    paper = stopping_times(soare(d, 0.01), PAPER, runs=200)
    tight = stopping_times(soare(d, 0.01), Mixture(), runs=200)
    print(f"d = {d}: paper's {paper.mean:,.0f}, Mixture {tight.mean:,.0f}")
    assert paper.mean / tight.mean >= at_least
    assert paper.wrong == 0
    assert tight.wrong <= errors_allowed(200, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("instance", tied_instances(), ids=lambda instance: instance.name)
@pytest.mark.parametrize("bound", [Mixture(), Mixture(refined=True)], ids=["plain", "refined"])
def test_tied_arms_are_told_apart_less_often_than_delta(instance, bound):
    errors = false_separations(instance, bound, runs=TIED_RUNS, rounds=TIED_ROUNDS)
    print(f"{instance.name}: {errors} of {TIED_RUNS} ({upper_limit(errors, TIED_RUNS):.3%} limit)")
    assert upper_limit(errors, TIED_RUNS) < DELTA


@pytest.mark.slow
def test_mixture_covers_with_bounded_rewards():
    """±1 rewards, which are 1-sub-Gaussian and far from Gaussian."""
    instance, runs = canonical(4, 0.0), 500
    errors = sum(
        run(
            LinGapE(instance.problem(delta=DELTA)), instance.signed(), seed=seed, max_pulls=100_000
        ).certificate.settled
        for seed in range(runs)
    )
    assert upper_limit(errors, runs) < DELTA


@pytest.mark.slow
def test_the_compiled_lane_does_not_drift():
    """After 10^7 rounds the lanes still agree, and the caches with a fresh solve."""
    instance = soare(5, 0.001)
    explorer = LinGapE(instance.problem(norm_bound=2.0, delta=1e-6), bound=PAPER)
    lane = compiled_lane(explorer)
    rng = np.random.default_rng(0)
    lane.advance(instance.gaussian().kernel(), rng, 10_000_000 - 1_000)
    book = lane._book
    explorer.estimate.load(lane.counts, lane.sums)
    assert np.allclose(book.means, explorer.estimate.means, rtol=1e-9, atol=1e-12)
    assert np.allclose(book.variances, explorer.estimate.variances, rtol=1e-9)
    direct = explorer.estimate.contrasts(0).variance
    row = book.gap_variance[book.row_of[0]]
    assert np.allclose(row[1:], direct[1:], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ties())
def test_a_race_rarely_discards_a_best_arm(name):
    """Each of the arms that tie for best, in fewer than δ of the runs; benchmarks/coverage.py."""
    found = discards(name, 1_000)
    print(f"{name}: {found.sum(axis=0).max()} of 1,000, any of them {found.any(axis=1).sum()}")
    assert found.sum(axis=0).max() <= errors_allowed(1_000, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("name", ADVERSARIES)
def test_a_race_rarely_discards_a_best_arm_however_rewards_come(name):
    found = discards_against(name, 1_000)
    print(f"{name}: {found.sum(axis=0).max()} of 1,000")
    assert found.sum(axis=0).max() <= errors_allowed(1_000, DELTA)
