"""Traces: what was seen on the way is what the run was."""

import numpy as np
import pytest

from lingape import (
    EXPLORERS,
    Ending,
    LinGapE,
    Problem,
    XYAdaptive,
    XYStatic,
    canonical,
    run,
    soare,
)
from lingape.errors import InvalidArgument, InvalidEnvironment
from lingape.scaffold.phases import PhasedExplorer
from lingape.trace import TracePoint, trace

EASY = canonical(3, 1.0)


def fresh(explorer=LinGapE, instance=EASY, **settings):
    return explorer(instance.problem(**settings))


@pytest.mark.parametrize("name", EXPLORERS)
@pytest.mark.parametrize("lane", ["auto", "plain"])
def test_moments_follow_the_run(name, lane):
    parts = {"theta": EASY.theta} if name == "xy_oracle" else {}
    explorer = EXPLORERS[name](EASY.problem(), **parts)
    seen = trace(explorer, EASY.gaussian(), seed=1, lane=lane)
    assert seen.problem is explorer.problem
    assert seen.result.ending is Ending.SETTLED
    assert seen.result.pulls == explorer.counts.sum()
    if isinstance(explorer, PhasedExplorer):  # judges at the end of a phase
        assert seen.points == ()
        return
    pulls = [moment.pulls for moment in seen.points]
    assert pulls == sorted(set(pulls))
    assert len(pulls) > 10
    assert pulls[-1] == seen.result.pulls
    assert all(moment.margin > 0 for moment in seen.points[:-1])
    assert seen.points[-1] == TracePoint(pulls[-1], *explorer.contest)
    assert seen.points[-1].leader == seen.result.arm
    assert seen.points[-1].margin <= seen.problem.epsilon


def test_in_the_plain_lane_it_is_the_same_run_pull_for_pull():
    for explorer in (LinGapE, XYStatic, XYAdaptive):
        whole = run(fresh(explorer), EASY.gaussian(), seed=3, lane="plain")
        seen = trace(fresh(explorer), EASY.gaussian(), seed=3, lane="plain")
        assert seen.result.counts.tolist() == whole.counts.tolist()
        assert seen.result.certificate == whole.certificate
        assert seen.result.lane == "plain"


def test_the_moments_of_the_plain_lane_are_those_of_ask_and_tell():
    seen = trace(fresh(), EASY.gaussian(), seed=3, lane="plain")
    noted = {moment.pulls: moment for moment in seen.points}
    explorer, world, rng = fresh(), EASY.gaussian(), np.random.default_rng(3)
    for pulls in range(1, seen.result.pulls + 1):
        arm = explorer.ask()
        explorer.tell(arm, world.pull(arm, rng))
        if pulls in noted:
            assert noted.pop(pulls) == TracePoint(pulls, *explorer.contest)
    assert not noted


@pytest.mark.parametrize("explorer", [XYStatic, LinGapE, XYAdaptive])
def test_looking_changes_no_pull(explorer):
    instance = soare(3, 0.3)
    whole = run(explorer(instance.problem()), instance.gaussian(), seed=4)
    plain, compiled = (
        trace(explorer(instance.problem()), instance.gaussian(), seed=4, lane=lane)
        for lane in ("plain", "auto")
    )
    assert (whole.lane, compiled.result.lane) == ("compiled", "compiled")
    for seen in (plain, compiled):
        assert seen.result.counts.tolist() == whole.counts.tolist()
    assert [moment[:3] for moment in plain.points] == [moment[:3] for moment in compiled.points]
    assert [moment.margin for moment in plain.points] == pytest.approx(
        [moment.margin for moment in compiled.points], rel=1e-6, abs=1e-9
    )


def test_a_certificate_says_what_the_last_moment_says():
    seen = trace(fresh(), EASY.gaussian(), max_pulls=20)
    assert seen.result.ending is Ending.LIMIT
    assert seen.result.pulls == seen.points[-1].pulls == 20
    assert seen.result.certificate.gap_bound == seen.points[-1].margin > 0
    settled = trace(fresh(epsilon=0.3), EASY.gaussian())
    assert settled.result.certificate.gap_bound == max(0.0, settled.points[-1].margin)


def test_no_moment_before_arms_can_be_compared():
    assert trace(fresh(), EASY.gaussian(), max_pulls=2).points == ()
    assert [m.pulls for m in trace(fresh(), EASY.gaussian(), max_pulls=3).points] == [3]


@pytest.mark.parametrize("points", [1, 2, 7, 50])
def test_points_is_a_limit(points):
    seen = trace(fresh(), EASY.gaussian(), max_pulls=60, points=points)
    assert 1 <= len(seen.points) <= points
    assert seen.points[-1].pulls == 60


def test_moments_are_spread_in_the_logarithm():
    instance = soare(5, 0.01)
    seen = trace(fresh(instance=instance), instance.gaussian(), max_pulls=20_000, points=40)
    pulls = np.array([moment.pulls for moment in seen.points])
    late = pulls[pulls > 100]  # where rounding to whole pulls does not matter
    steps = np.diff(np.log(late))[:-1]
    assert steps == pytest.approx(np.full(len(steps), steps[0]), rel=0.05)


def test_a_run_may_be_taken_up_and_a_done_one_looked_at():
    explorer = fresh()
    run(explorer, EASY.gaussian(), seed=5, max_pulls=20)
    seen = trace(explorer, EASY.gaussian(), seed=6, max_pulls=10)
    assert [seen.points[0].pulls, seen.points[-1].pulls] == [23, 30]
    trace(explorer, EASY.gaussian(), seed=6)
    again = trace(explorer, EASY.gaussian(), seed=6)
    assert [m.pulls for m in again.points] == [again.result.pulls]


def test_a_generator_goes_on_where_it_was():
    rng = np.random.default_rng(7)
    first = trace(fresh(), EASY.gaussian(), seed=rng, lane="plain").result
    second = trace(fresh(), EASY.gaussian(), seed=rng, lane="plain").result
    alone = trace(fresh(), EASY.gaussian(), seed=7, lane="plain").result
    assert first.certificate == alone.certificate != second.certificate


def test_refusals():
    world = EASY.gaussian()
    for points in (0, -1, 2.5, True, "many"):
        with pytest.raises(InvalidArgument, match="points"):
            trace(fresh(), world, points=points)
    with pytest.raises(InvalidArgument, match="max_pulls"):
        trace(fresh(), world, max_pulls=0)
    with pytest.raises(InvalidArgument, match="seed"):
        trace(fresh(), world, seed="x")
    with pytest.raises(InvalidArgument, match="lane"):
        trace(fresh(), world, lane="fast")
    with pytest.raises(InvalidEnvironment):
        trace(LinGapE(Problem(np.eye(2), noise=1.0)), world)
