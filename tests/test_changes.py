"""Arms that come and go: what explorers carry over, and that the guarantee holds."""

import numpy as np
import pytest

from lingape import (
    EXPLORERS,
    RAGE,
    Factors,
    Gaussian,
    LinGapE,
    Mixture,
    Problem,
    Race,
    SelfNormalized,
    XYStatic,
    run,
)
from lingape.errors import InvalidArgument, InvalidArm, InvalidProblem
from lingape.scaffold.blocks import open_slots
from lingape.testing import errors_allowed

ARMS = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]
THETA = np.array([0.5, 0.2])


def changed(explorer, problem):
    """Return an explorer of the same kind that goes on with other arms."""
    new = type(explorer)(problem)
    new.continue_from(explorer)
    return new


def play(explorer, pulls, rng, scale=1.0):
    for _ in range(pulls):
        if explorer.done:
            return
        arm = explorer.ask()
        mean = explorer.problem.arms[arm] @ THETA
        explorer.tell(arm, mean + scale * rng.normal())


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_a_new_arm_can_win(kind):
    explorer = kind(Problem(ARMS, noise=0.2))
    play(explorer, 8, np.random.default_rng(0), 0.2)
    explorer = changed(explorer, explorer.problem.with_arms([[2.0, 1.0]]))
    assert explorer.counts.tolist()[3:] == [0] and explorer.counts.sum() == 8
    play(explorer, 5_000, np.random.default_rng(1), 0.2)
    assert explorer.done and explorer.recommend() == 3


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_a_retired_arm_is_not_pulled_nor_the_answer(kind):
    explorer = kind(Problem(ARMS, noise=0.2, delta=1e-6))
    play(explorer, 12, np.random.default_rng(0), 0.2)
    explorer = changed(explorer, explorer.problem.with_retired(0))
    before = explorer.counts[0]
    explorer.tell(0, 0.5)  # was under way
    assert explorer.counts[0] == before + 1
    assert 0 not in explorer.ask_many(30, pending=[0])
    play(explorer, 5_000, np.random.default_rng(1), 0.2)
    assert explorer.done and explorer.recommend() == 2
    assert explorer.counts[0] == before + 1
    assert explorer.certificate().retired == (0,)


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_an_arm_with_a_direction_of_its_own_can_be_retired(kind):
    explorer = kind(Problem(np.eye(4), noise=0.2))
    rng = np.random.default_rng(0)
    means = np.array([0.9, 0.5, 0.2, 0.0])
    for _ in range(8):
        arm = explorer.ask()
        explorer.tell(arm, means[arm] + 0.2 * rng.normal())
    explorer = changed(explorer, explorer.problem.with_retired(0))
    assert explorer.problem.reach == 3
    while not explorer.done:
        arm = explorer.ask()
        assert arm != 0
        explorer.tell(arm, means[arm] + 0.2 * rng.normal())
    assert explorer.recommend() == 1


@pytest.mark.parametrize("kind", [Race, LinGapE])
def test_an_arm_of_which_nothing_is_known_cannot_be_retired(kind):
    explorer = kind(Problem(np.eye(3), noise=0.2))
    for arm in (0, 1):
        explorer.tell(arm, 0.5)
    with pytest.raises(InvalidArm, match="no reward yet"):
        changed(explorer, explorer.problem.with_retired(2))
    explorer.tell(2, 0.5)
    assert changed(explorer, explorer.problem.with_retired(2)).ask() != 2


@pytest.mark.parametrize("kind", [kind for kind in EXPLORERS.values() if kind.transductive])
@pytest.mark.parametrize("lane", ["plain", "compiled"])
def test_explorers_do_not_begin_without_an_arm_of_which_nothing_is_known(kind, lane):
    problem = Problem(np.eye(3), noise=0.5).with_retired(2)
    world = Gaussian(np.eye(3), [0.0, 1.0, 0.0])
    with pytest.raises((InvalidArm, InvalidProblem), match=r"problem\.anew\(\)"):
        run(kind(problem), world, max_pulls=100, lane="auto" if lane == "compiled" else lane)
    if kind is not RAGE:  # which refuses at once
        explorer = kind(problem)
        for tell in (lambda: explorer.tell(0, 0.0), lambda: explorer.tell_many([0, 1], [0, 1])):
            with pytest.raises(InvalidArm, match="no reward yet"):
                tell()
        assert explorer.certificate().gap_bound == np.inf
    left = run(kind(problem.anew()), Gaussian(np.eye(3)[:2], world.theta), lane=lane)
    assert left.arm == 1


def test_what_is_not_a_number_proves_nothing():
    explorer = LinGapE(Problem(ARMS, noise=0.2))
    assert explorer._certified(np.nan, settled=False).gap_bound == np.inf


def test_lingape_goes_on_as_if_the_arms_had_always_been_there():
    wide = Problem([*ARMS, [0.9, 0.3]], noise=1.0).replace(began=3)
    late, early = LinGapE(Problem(ARMS, noise=1.0)), LinGapE(wide)
    rng = np.random.default_rng(3)
    for arm in (0, 1, 2) * 5:
        reward = rng.normal()
        late.tell(arm, reward)
        early.tell(arm, reward)
    late = changed(late, late.problem.with_arms([[0.9, 0.3]]))
    assert late.problem == early.problem
    late.tell(3, 0.4)
    early.tell(3, 0.4)
    assert late.certificate() == early.certificate()
    assert late.ask() == early.ask()


def test_the_scale_of_mixture_is_that_of_the_first_arms():
    first = Problem(ARMS, noise=1.0)
    more = first.with_arms([[50.0, 1.0]])
    found = []
    for problem in (first, more, more.with_retired(1)):
        estimate = Mixture().estimate(problem)
        counts = np.zeros(len(problem), dtype=np.int64)
        counts[:3] = 4
        estimate.load(counts, np.zeros(len(problem)))
        found.append(Mixture().widths(problem, estimate, 0)[:3])
    assert found[1] == pytest.approx(found[0], rel=1e-9)
    assert found[2] == pytest.approx(found[0], rel=1e-9)


def test_the_evidence_that_races_carry_over():
    race = Race(Problem(np.eye(4), noise=1.0, epsilon=0.1))
    rng = np.random.default_rng(0)
    for _ in range(200):
        arm = race.ask()
        race.tell(arm, [0.6, 0.4, 0.2, 0.0][arm] + rng.normal())
    evidence, peaks = race.log_evidence, race.peaks
    more = changed(race, race.problem.with_arms([[0.5, 0.5, 0, 0]]))
    assert more.log_evidence[:4].tolist() == evidence.tolist()
    assert more.log_evidence[4] == min(0.0, evidence.min())
    assert more.peaks.tolist() == [*peaks, 0.0]
    assert [logs[4] <= 0.0 for logs, _ in more.within] == [True] * len(race.leaders)
    fewer = changed(race, race.problem.with_retired(1))
    for arm in (0, 2, 3):
        assert fewer.log_evidence[arm] == min(evidence[arm], evidence[1])
        assert fewer.peaks[arm] == min(peaks[arm], peaks[1])
    again = Race.from_state(fewer.state())
    assert again.state() == fewer.state() and again.ask() == fewer.ask()


def test_an_arm_that_is_ruled_out_leaves_without_a_trace():
    race = Race(Problem(np.eye(3), noise=0.2))
    rng = np.random.default_rng(0)
    while race.in_play.all():
        arm = race.ask()
        race.tell(arm, [0.6, 0.5, 0.0][arm] + 0.2 * rng.normal())
    (gone,) = np.flatnonzero(~race.in_play)
    after = changed(race, race.problem.with_retired(int(gone)))
    assert after.log_evidence.tolist() == race.log_evidence.tolist()
    assert after.p_values[gone] == 1.0


def test_blocks_under_way_lower_the_evidence_against_new_arms():
    race = Race(Problem(np.eye(3), noise=1.0, epsilon=0.1))
    rng = np.random.default_rng(1)
    for _ in range(100):
        arm = race.ask()
        race.tell(arm, [0.5, 0.4, 0.0][arm] + rng.normal())
    assert race.blocks[0].begun
    race = changed(race, race.problem.with_arms([[0.5, 0.5, 0.0]]))
    while race.blocks[0].among == 3:
        arm = race.ask()
        race.tell(arm, 0.0 if arm == 2 else 1.0 + rng.normal())
        for logs in (race.log_evidence, *(logs for logs, _ in race.within)):
            assert logs[3] <= max(0.0, logs[:3].min())
    assert race.log_evidence[3] <= race.log_evidence[:3].min()
    assert Race.from_state(race.state()).state() == race.state()


@pytest.mark.parametrize("seed", range(40))
def test_a_full_block_that_waited_for_a_retired_arm_is_weighed(seed):
    rng = np.random.default_rng(seed)
    problem = Problem(rng.normal(size=(6, 3)), noise=1.0, delta=1e-6)
    gone, race, missing = int(rng.integers(6)), Race(problem), []
    for _ in range(int(rng.integers(5, 35))):
        (arm,) = race.ask_many(1, pending=missing)
        if arm == gone:
            missing.append(arm)
        else:
            race.tell(arm, rng.normal())
    race = changed(race, problem.with_retired(gone))
    with np.errstate(all="raise"):
        asked = race.ask_many(4)
    assert gone not in asked
    if race.estimate.ready:
        assert open_slots(race.blocks, 6).any() and not race.blocks[0].full


def test_the_twin_of_a_retired_arm_stands_in_for_it():
    race = Race(Problem([[1, 0], [0, 1], [1, 0]], noise=1.0))
    for arm, reward in zip((0, 1, 2) * 10, np.random.default_rng(0).normal(size=30), strict=True):
        race.tell(arm, reward)
    after = changed(race, race.problem.with_retired(0))
    assert after.log_evidence[2] == race.log_evidence[0]
    assert np.flatnonzero(after.in_play).tolist() == [1, 2]


def tempted(seed, pulls=250, delta=0.2):
    """Whether the best arm is ever ruled out, if a better one is added whenever it is not."""
    rng = np.random.default_rng(seed)
    theta, best = np.array([0.1, 0.0]), 0
    race = Race(Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0, delta=delta))
    for pull in range(pulls):
        if race.done or not race.in_play[best]:
            return not race.in_play[best]
        if pull in (40, 80, 120):
            lead = 1.0 + 0.1 * len(race.problem)
            race = changed(race, race.problem.with_arms([[lead, 0.0]]))
            best = len(race.problem) - 1
        arm = race.ask()
        race.tell(arm, race.problem.arms[arm] @ theta + rng.normal())
    return False


def test_adding_better_arms_again_and_again_is_paid_for():
    runs = 25
    assert sum(tempted(seed) for seed in range(runs)) <= errors_allowed(runs, 0.2)


@pytest.mark.slow
def test_adding_better_arms_again_and_again_is_paid_for_in_many_runs():
    runs = 2_000
    assert sum(tempted(seed) for seed in range(runs)) <= errors_allowed(runs, 0.2)


@pytest.mark.parametrize("bound", [None, SelfNormalized()])
def test_explorers_that_plan_ahead_refuse(bound):
    if bound is None:
        problem = Problem(ARMS, noise=1.0)
        old, new = XYStatic(problem), XYStatic(problem.with_arms([[1, 1]]))
    else:
        problem = Problem(ARMS, noise=1.0, norm_bound=1.0)
        old = LinGapE(problem, bound=bound)
        new = LinGapE(problem.with_arms([[1, 1]]), bound=bound)
    with pytest.raises(InvalidArgument, match="Race and LinGapE with Mixture"):
        new.continue_from(old)


def test_arms_that_cannot_be_added_or_retired():
    plain = Problem([[1, 0], [2, 0]], noise=1)
    with pytest.raises(InvalidProblem, match="sums of those of the others"):
        plain.with_arms([[0, 1]])
    with pytest.raises(InvalidProblem, match="are lost beside them"):
        Problem(np.eye(2), noise=1).with_arms([[1e17, 1e17]])
    with pytest.raises(InvalidProblem, match="the 2 features of the others; got 3"):
        plain.with_arms([[0, 1, 2]])
    with pytest.raises(InvalidProblem, match="give names= with 1; got 0"):
        plain.replace(names=["a", "b"]).with_arms([[3, 0]])
    with pytest.raises(InvalidProblem, match="at least 2 answers"):
        plain.with_retired(0)
    with pytest.raises(InvalidProblem, match="Without arm 1 all features are zero"):
        Problem([[0], [1], [0]], noise=1).with_retired(1)
    with pytest.raises(InvalidArm, match="retired already"):
        Problem(ARMS, noise=1).with_retired(0).with_retired(0)
    transductive = Problem.transductive([[1, 0], [0, 1]], [[1, 1], [1, -1], [2, 0]], noise=1)
    with pytest.raises(InvalidProblem, match="do not span the answers"):
        transductive.with_retired(1)
    assert transductive.with_retired(4).answers == (2, 3, 4)


def test_combinations_are_added_by_their_levels():
    factors = Factors(
        dose=[1, 2],
        salt=["a", "b"],
        numbers=["dose"],
        exclude=[{"dose": 1, "salt": "a"}],
    )
    problem = Problem(factors, noise="binary", control="dose=2, salt=a")
    more = problem.with_arms([{"dose": "1", "salt": "a"}, {"dose": 4, "salt": "b"}])
    assert more.names[3:] == ("dose=1, salt=a", "dose=4, salt=b")
    assert more.arms[:3].tolist() == problem.arms.tolist()
    assert more.arms[4].tolist() == [1.0, 4.0, 1.0]
    assert more.began == 3 and more.control == problem.control
    assert Problem(**more.to_dict()) == more
    with pytest.raises(InvalidProblem, match="'c' is not a level of salt"):
        problem.with_arms([{"dose": 1, "salt": "c"}])
    with pytest.raises(InvalidProblem, match="a level of each factor"):
        problem.with_arms([{"dose": 1}])
    with pytest.raises(InvalidProblem, match="a feature of its own"):
        Problem(factors.model(per_arm=True), noise=1).with_arms([{"dose": 1, "salt": "a"}])
