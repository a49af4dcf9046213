"""Pull some arms to choose among others: the problem, LinGapE on it, and how hard it is."""

import json
import math

import numpy as np
import pytest

from lingape import (
    Gaussian,
    Instance,
    LinGapE,
    Problem,
    SelfNormalized,
    Study,
    Tracking,
    Uniform,
    XYStatic,
    canonical,
    greedy,
    run,
    soare,
    sphere,
)
from lingape.complexity import characteristic_time, complexity, gaps, lingape_complexity
from lingape.errors import InvalidArgument, InvalidArm, InvalidProblem
from lingape.testing import Tape, pulls_of

ITEMS = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.3, 0.2, 0.9], [0.0, 0.0, 1.0]])
THETA = np.array([0.5, 0.4, 0.2])  # the axes pay 0.5, 0.4, 0.2; the items 0.9, 0.1, 0.41, 0.2
PULL_RULES = pytest.mark.parametrize("pull", [greedy, Tracking()], ids=["greedy", "tracking"])


def posed(**settings):
    return Problem.transductive(np.eye(3), ITEMS, **{"noise": 1.0} | settings)


def world(scale=1.0):
    return Gaussian(posed().arms, THETA, scale=scale)


def test_items_come_after_arms():
    problem = posed(names=["a", "b", "c", "d"], delta=0.1)
    assert (problem.pullable, problem.answers) == ((0, 1, 2), (3, 4, 5, 6))
    assert [problem.name(k) for k in (0, 3)] == ["arm 0", "a"]
    assert problem.can_pull.tolist() == [True] * 3 + [False] * 4
    assert (problem.can_answer == ~problem.can_pull).all()
    assert not problem.plain
    assert Problem(**json.loads(json.dumps(problem.to_dict()))) == problem


def test_one_arm_can_be_enough():
    """With one dimension there is nothing else to learn."""
    problem = Problem.transductive([[1.0]], items=[[2.0], [-1.0]], noise=0.1)
    result = run(LinGapE(problem), Gaussian(problem.arms, [1.0], scale=0.1))
    assert result.arm == 1
    assert result.counts[1:].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("arms", "items"),
    [
        (np.eye(3), np.eye(2)),  # other features
        (np.eye(3), np.ones(3)),  # not a table
        (np.eye(3), np.ones((1, 3))),  # nothing to choose from
        (np.zeros((0, 3)), ITEMS),
        (np.eye(3), [[1.0, math.nan, 0.0], [0.0, 1.0, 0.0]]),
        (np.eye(3), ITEMS * 1e200),
    ],
)
def test_bad_tables(arms, items):
    with pytest.raises(InvalidProblem):
        Problem.transductive(arms, items, noise=1.0)


@pytest.mark.parametrize("some", [[], [7], [-1], [0.5], "ab"])
def test_bad_numbers_of_arms(some):
    for name in ("pullable", "answers"):
        with pytest.raises(InvalidProblem, match=name):
            Problem(np.eye(4), noise=1.0, **{name: some})


def test_one_answer_is_no_question():
    with pytest.raises(InvalidProblem, match="2 answers"):
        Problem(np.eye(4), answers=[2], noise=1.0)


def test_items_out_of_reach():
    """No pull of the first two axes says anything about the third."""
    with pytest.raises(InvalidProblem, match="span"):
        LinGapE(Problem.transductive(np.eye(3)[:2], ITEMS, noise=1.0))


@PULL_RULES
@pytest.mark.parametrize("start", ["each", "spanning"])
def test_finds_the_best_item_and_pulls_arms_only(pull, start):
    wrong = 0
    for seed in range(20):
        explorer = LinGapE(posed(delta=0.1), pull=pull, start=start)
        result = run(explorer, world(), seed=seed, max_pulls=20_000)
        assert result.certificate.settled
        assert result.counts[3:].sum() == 0
        assert result.certificate.name == "item 0" or not result.correct
        wrong += result.arm != 3
    assert wrong <= 6


@PULL_RULES
def test_is_lingape_when_all_arms_can_be_both(pull):
    """Also when that is said by number."""
    instance = sphere(8, 3, seed=1)
    plain, said = instance.problem(), instance.problem()
    everyone = range(8)
    said = Problem(instance.arms, pullable=everyone, answers=everyone, norm_bound=1.0, noise=1.0)
    tapes = [Tape(instance.gaussian().means) for _ in range(2)]
    first, second = LinGapE(plain, pull=pull), LinGapE(said, pull=pull)
    assert pulls_of(first, tapes[0], 2_000) == pulls_of(second, tapes[1], 2_000)
    assert first.certificate() == second.certificate()


@PULL_RULES
def test_items_that_are_the_arms_are_lingape(pull):
    """The same arms once to pull and once to choose among: the same pulls as if they were one."""
    instance = soare(3, 0.3)
    count = len(instance.arms)
    problem = Problem.transductive(instance.arms, instance.arms, norm_bound=2.0, noise=1.0)
    means = instance.gaussian().means
    bound = SelfNormalized()
    plain = LinGapE(instance.problem(norm_bound=2.0), pull=pull, bound=bound)
    items = LinGapE(problem, pull=pull, bound=bound)
    assert pulls_of(items, Tape(means), 500) == pulls_of(plain, Tape(means), 500)
    assert items.recommend() == plain.recommend() + count
    assert items.contest.margin == pytest.approx(plain.contest.margin)


def test_items_are_not_told():
    explorer = LinGapE(posed())
    for refuse in (
        lambda: explorer.tell(3, 1.0),
        lambda: explorer.tell_many([0, 4], [1.0, 1.0]),
        lambda: explorer.ask_many(2, pending=[5]),
    ):
        with pytest.raises(InvalidArm, match="can be the answer but not be pulled"):
            refuse()
    assert explorer.counts.sum() == 0


@PULL_RULES
def test_batches(pull):
    explorer = LinGapE(posed(), pull=pull)
    assert explorer.ask_many(3) == [0, 1, 2]
    tape = Tape(world().means)
    while not explorer.done:
        arms = explorer.ask_many(5, pending=[0, 1])
        assert set(arms) <= {0, 1, 2}
        assert arms == explorer.ask_many(5, pending=[0, 1])
        explorer.tell_many(arms, [tape.pay(arm) for arm in arms])
    assert explorer.recommend() == 3


@PULL_RULES
@pytest.mark.parametrize("bound", [SelfNormalized(), None], ids=["ridge", "mixture"])
def test_saved_states(pull, bound):
    """To the last bit, halfway and at the end."""
    problem = posed(norm_bound=1.0)
    parts = {"pull": pull} | ({} if bound is None else {"bound": bound})
    explorer, tape = LinGapE(problem, **parts), Tape(world().means)
    for pulls in (2, 30, 20_000):
        pulls_of(explorer, tape, pulls)
        again = LinGapE.from_state(json.loads(json.dumps(explorer.state())))
        assert json.dumps(again.state()) == json.dumps(explorer.state())
        assert again.certificate() == explorer.certificate()
        assert explorer.done or again.ask() == explorer.ask()
    assert explorer.done
    assert "item 0" in str(explorer.certificate())


def test_recommends_items_from_the_start():
    explorer = LinGapE(posed())
    assert explorer.recommend() == explorer.certificate().arm == 3
    explorer.tell(1, 5.0)
    assert explorer.recommend() == 3


def test_result_is_about_items():
    """The first axis pays more than any item; it cannot be the answer, so nothing is missing."""
    problem = Problem.transductive(np.eye(3), [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]], noise=0.1)
    result = run(LinGapE(problem), Gaussian(problem.arms, [1.0, 0.2, 0.0], scale=0.1))
    assert (result.arm, result.true_gap, result.correct) == (3, 0.0, True)
    cut = run(LinGapE(problem), Gaussian(problem.arms, [0.1, 0.9, 0.0]), max_pulls=1)
    assert (cut.arm, cut.correct) == (3, False)
    assert cut.true_gap == pytest.approx(0.4)


def test_m_items():
    explorer = LinGapE(posed(noise=0.1), m=2)
    result = run(explorer, world(scale=0.1))
    assert sorted(result.certificate.arms) == [3, 5]
    assert result.correct


@pytest.mark.parametrize("build", [Uniform, XYStatic])
def test_others_say_who_can(build):
    with pytest.raises(InvalidArgument, match="LinGapE and RAGE"):
        build(posed())


def test_gaps_are_those_of_answers():
    best, delta = gaps(posed(), THETA)
    assert best == 3
    assert np.isnan(delta[:3]).all()
    assert delta[3:] == pytest.approx([0.49, 0.8, 0.49, 0.7])
    with pytest.raises(InvalidArgument, match="unique"):
        gaps(posed(), [0.0, 0.0, 0.0])


def test_gaps_ignore_a_pullable_arm_that_ties():
    """An arm as good as the best answer is not a rival of it."""
    problem = Problem.transductive(np.eye(2), [[1.0, 0.0], [0.0, 1.0]], noise=1.0)
    assert gaps(problem, [1.0, 0.5])[0] == 2
    assert gaps(problem, [1.0, 0.5])[1][2:] == pytest.approx([0.5, 0.5])


def test_characteristic_time_by_hand():
    """Items that differ by y = (0.5, -0.5): ρ(y) = 1 by the axes, 4 by vectors half as long."""
    items = [[0.5, 0.0], [0.0, 0.5]]
    for size, rho in ((1.0, 1.0), (0.5, 4.0)):
        problem = Problem.transductive(size * np.eye(2), items, noise=3.0)
        time = characteristic_time(problem, [1.0, 0.6])
        assert time.time == pytest.approx(2 * 9 * rho / 0.2**2, rel=1e-5)
        assert time.allocation == pytest.approx([0.5, 0.5, 0.0, 0.0], abs=1e-3)


def test_characteristic_time_needs_the_right_arms():
    """Soare's two arms alone tell themselves apart 300 times slower than with the second axis."""
    items = [[1.0, 0.0], [math.cos(0.1), math.sin(0.1)]]
    axes, own = (
        characteristic_time(Problem.transductive(arms, items, noise=1.0), [2.0, 0.0]).time
        for arms in (np.eye(2), items)
    )
    assert own > 300 * axes


def test_characteristic_time_of_plain_problems_is_as_before():
    instance = canonical(4, 0.5)
    everyone = Problem.transductive(instance.arms, instance.arms, noise=1.0)
    plain = characteristic_time(instance.problem(), instance.theta)
    items = characteristic_time(everyone, instance.theta)
    assert items.time == pytest.approx(plain.time, rel=1e-5)
    assert items.allocation[4:].tolist() == [0.0] * 4


def test_the_papers_quantities_are_for_plain_problems():
    for quantity in (complexity, lingape_complexity):
        with pytest.raises(InvalidArgument, match="characteristic_time"):
            quantity(posed(), THETA)


def test_study_of_items():
    arms = posed().arms
    instance = Instance("axes", arms, THETA, pullable=(0, 1, 2), answers=(3, 4, 5, 6))
    results = Study(["lingape", "rage"], [instance], seeds=3).run(jobs=1)
    assert all(row.arm >= 3 and sum(row.counts[3:]) == 0 for row in results.rows)
    assert all(cell.ratio > 1 for cell in results.summary())
