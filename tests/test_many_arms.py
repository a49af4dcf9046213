"""Rounds that look at few of very many arms pull what looking at all of them pulls."""

import copy
import json
import pickle

import numpy as np
import pytest

from lingape import (
    Gaussian,
    LeastSquares,
    LinGapE,
    Mixture,
    Problem,
    SelfNormalized,
    Signed,
    Tracking,
    run,
    tall,
)
from lingape.contests import shortlist
from lingape.errors import IllConditioned
from lingape.many_arms import ManyArms
from lingape.pulls import pivots
from lingape.scaffold import conversation
from lingape.ties import PULL, first_max

BOUNDS = {"mixture": Mixture(), "paper": SelfNormalized(), "refined": Mixture(refined=True)}
KINDS = ("normal", "sphere", "clusters", "duplicates", "symmetric")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Make small problems ones of many arms, and lists so short that they often do not do."""
    monkeypatch.setattr(tall, "MOST", 0)
    monkeypatch.setattr(tall, "BLOCK", 64)
    for name, value in {"LONG": 60, "SHORT": 15, "LEADERS": 20, "SHORT_LIFE": 2}.items():
        monkeypatch.setattr(shortlist, name, value)
    monkeypatch.setattr(shortlist, "PATIENCE", 5)
    monkeypatch.setattr(shortlist, "MANY_NEAR", 20)
    monkeypatch.setattr(pivots, "PIVOTS", 9)
    monkeypatch.setattr(conversation, "EARLY", 3)


def arms(kind):
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((400, 4))
    if kind == "sphere":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    if kind == "clusters":
        rows = rng.standard_normal((12, 4))[rng.integers(12, size=400)] + 0.03 * rows
    if kind == "duplicates":
        rows = rows[rng.integers(30, size=400)]
    if kind == "symmetric":
        rows = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 5)).reshape(5, -1).T
    return rows / np.abs(rows).sum(axis=1).max()  # so that means lie between -1 and 1


def world(kind, rewards):
    x = arms(kind)
    theta = np.linspace(1.0, 0.3, x.shape[1])
    return Signed(x, theta) if rewards == "signs" else Gaussian(x, theta)


class Thorough(LinGapE):
    """Looks at all arms at every pull."""

    def _look_at_fewer(self):
        pass


def explorer(kind, bound="mixture", *, many=True, **settings):
    problem = Problem(arms(kind), noise=1.0, norm_bound=2.0, epsilon=0.05)
    settings = {"start": "spanning", "bound": BOUNDS[bound]} | settings
    return (LinGapE if many else Thorough)(problem, **settings)


def talk(explorer, world, rounds, seed=0):
    """Return the pulls and contests of some rounds."""
    rng, said = np.random.default_rng(seed), []
    for _ in range(rounds):
        arm = explorer.ask()
        explorer.tell(arm, world.pull(arm, rng))
        said.append((arm, explorer.contest))
        if explorer.done:
            break
    return said


@pytest.mark.parametrize("rewards", ["normal", "signs"])
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("kind", KINDS)
def test_pulls_are_those_of_full_passes(kind, bound, rewards):
    few, all_ = explorer(kind, bound), explorer(kind, bound, many=False)
    one, other = (talk(e, world(kind, rewards), 250) for e in (few, all_))
    assert isinstance(few.estimate, ManyArms)
    assert type(all_.estimate) is LeastSquares
    assert [arm for arm, _ in one] == [arm for arm, _ in other]
    for (_, contest), (_, expected) in zip(one, other, strict=True):
        assert (contest is None) == (expected is None)
        if contest is not None:
            assert contest[:2] == expected[:2]
            assert contest.margin == pytest.approx(expected.margin, rel=1e-9)


@pytest.mark.parametrize("rewards", ["normal", "signs"])
@pytest.mark.parametrize("bound", ["mixture", "paper"])
@pytest.mark.parametrize("kind", KINDS)
def test_pulls_are_those_of_the_compiled_lane(kind, bound, rewards):
    pytest.importorskip("numba")
    plain, fast = (
        run(explorer(kind, bound), world(kind, rewards), max_pulls=250, lane=lane)
        for lane in ("plain", "compiled")
    )
    assert plain.counts.tolist() == fast.counts.tolist()


@pytest.mark.parametrize("start", ["each", "spanning"])
def test_an_opening_looks_at_no_arms(start):
    """With start="each" the estimate is one of many arms before the opening is over."""
    few, all_ = explorer("normal", start=start), explorer("normal", start=start, many=False)
    one = talk(few, world("normal", "normal"), 20)
    assert isinstance(few.estimate, ManyArms)
    rest = talk(few, world("normal", "normal"), 600)
    everything = talk(all_, world("normal", "normal"), 20)
    everything += talk(all_, world("normal", "normal"), 600)
    assert [arm for arm, _ in one + rest] == [arm for arm, _ in everything]


def test_to_the_end_with_tracking():
    few, all_ = (explorer("normal", pull=Tracking(), many=many) for many in (True, False))
    one, other = (talk(e, world("normal", "normal"), 200) for e in (few, all_))
    assert [arm for arm, _ in one] == [arm for arm, _ in other]


@pytest.mark.parametrize("bound", ["mixture", "paper"])
@pytest.mark.parametrize("kind", KINDS)
def test_runs_end_the_same(kind, bound):
    problem = Problem(arms(kind), noise=0.05, norm_bound=2.0, epsilon=0.02)
    theta = np.linspace(1.0, 0.3, problem.arms.shape[1])
    ends = []
    for made in (LinGapE, Thorough):
        ends.append(made(problem, bound=BOUNDS[bound], start="spanning"))
        talk(ends[-1], Gaussian(problem.arms, theta, scale=0.05), 20_000)
        assert ends[-1].done
    assert ends[0].counts.tolist() == ends[1].counts.tolist()
    assert ends[0].recommend() == ends[1].recommend()
    one, other = (e.certificate() for e in ends)
    assert one.gap_bound == pytest.approx(other.gap_bound, abs=1e-9)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("after", [3, 11, 150])
def test_copies_agree_to_the_last_bit(bound, after):
    whole = explorer("clusters", bound)
    said = talk(whole, world("clusters", "normal"), after)
    for again in (
        copy.deepcopy(whole),
        pickle.loads(pickle.dumps(whole)),
        LinGapE.from_state(json.loads(json.dumps(whole.state()))),
        explorer("clusters", bound).resumed(json.loads(json.dumps(whole.progress()))),
    ):
        assert type(again.estimate) is type(whole.estimate)
        state = json.dumps(again.state())
        assert state == json.dumps(whole.state())
        rest = talk(again, world("clusters", "normal"), 200, seed=7)
        assert json.dumps(whole.state()) == state  # nothing is shared
        assert rest == talk(copy.deepcopy(whole), world("clusters", "normal"), 200, seed=7)
    assert len(said) == after


def test_asking_changes_nothing():
    few, all_ = explorer("sphere"), explorer("sphere", many=False)
    for e in (few, all_):
        talk(e, world("sphere", "normal"), 60)
    before = json.dumps(few.state())
    for n in (1, 3, 40):
        assert few.ask_many(n, pending=[3, 3, 9]) == all_.ask_many(n, pending=[3, 3, 9])
    assert few.ask() == few.ask()
    assert json.dumps(few.state()) == before
    # What was imagined is forgotten.
    one, other = (talk(e, world("sphere", "normal"), 200, seed=3) for e in (few, all_))
    assert [arm for arm, _ in one] == [arm for arm, _ in other]


def test_numbers_of_all_arms_are_right_whenever_they_are_read():
    few, all_ = explorer("normal"), explorer("normal", many=False)
    for seed in range(5):
        for e in (few, all_):
            talk(e, world("normal", "normal"), 37, seed=seed)
        one, other = few.estimate, all_.estimate
        for name in ("means", "variances", "inverse", "log_det", "growth", "spectrum"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)
        for a, b in zip(one.contrasts(5), other.contrasts(5), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(one.matrix @ one.inverse, np.eye(4), atol=1e-9)
        assert one.first_unpulled() == other.first_unpulled()
        assert (one.rebuild_at, one.pulls) == (other.rebuild_at, other.pulls)


def test_some_arms_cannot_be_pulled_or_be_the_answer():
    problem = Problem(
        arms("normal"), noise=1.0, pullable=range(0, 400, 3), answers=range(150, 390)
    ).with_retired(200)
    ends = []
    for made in (LinGapE, Thorough):
        said = talk(made(problem, start="spanning"), world("normal", "normal"), 300)
        ends.append([arm for arm, _ in said])
    assert ends[0] == ends[1]
    assert all(arm % 3 == 0 for arm in ends[0])


def test_only_duplicates():
    e = LinGapE(Problem(np.ones((200, 1)), noise=1.0), start="spanning")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversation, "EARLY", 1)
        e.tell(e.ask(), 1.0)
    assert isinstance(e.estimate, ManyArms)
    assert e.done
    assert e.recommend() == 0


def test_damaged_states_are_refused():
    few = explorer("normal")
    talk(few, world("normal", "normal"), 80)
    for name in ("theta", "inverse", "matrix"):
        state = json.loads(json.dumps(few.state()))
        rows = np.array(state["estimate"]["caches"][name])
        state["estimate"]["caches"][name] = (1.01 * rows).tolist()
        with pytest.raises(ValueError, match="do not follow from the counts"):
            LinGapE.from_state(state)


def test_a_failed_update_leaves_no_trace():
    """Rows so unequal in length that a rebuild fails."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1e9, 1e9], [1.0, 1.0]])
    estimate = LeastSquares(rows, ridge=1.0)
    for arm in (0, 1):
        estimate.update(arm, 1.0)
    many = ManyArms(estimate)
    before = json.dumps(many.state())
    with pytest.raises(IllConditioned):
        many.update(2, 1.0)
    assert json.dumps(many.state()) == before
    assert many.first_unpulled() == 2
    many.update(3, 1.0)
    assert many.pulls == 3


def test_a_rebuild_may_shorten_widths():
    """Those of arms that are not listed by less than the widest, in proportion to their own."""
    rng = np.random.default_rng(489)
    d, count = int(rng.integers(2, 6)), int(rng.choice([100, 300]))
    rows = rng.standard_normal((count, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    theta = rng.standard_normal(d) * rng.choice([0.1, 0.3, 1.0])
    problem = Problem(rows, noise=float(rng.choice([0.1, 0.5, 1.0])))
    few, every = LinGapE(problem, start="spanning"), Thorough(problem, start="spanning")
    rewards = np.random.default_rng(489)
    for _ in range(100):
        assert (arm := few.ask()) == every.ask()
        reward = rows[arm] @ theta + problem.noise_scale * rewards.standard_normal()
        few.tell(arm, reward)
        every.tell(arm, reward)
        assert few.contest is None or few.contest[:2] == every.contest[:2]
    assert isinstance(few.estimate, ManyArms)


def sharpest(estimate, leader, rival):
    """Equation (9), from all arms."""
    x, inverse = estimate.features, estimate.inverse
    u = x @ (inverse @ (x[leader] - x[rival]))
    scores = u * u / (1 + np.einsum("kd,kd->k", x @ inverse, x))
    return first_max(scores, PULL * scores.max())


@pytest.mark.parametrize("seed", [*range(30), 5078])
def test_pivots_know_who_can_be_best_close_by(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((60, 2 + seed % 2))
    estimate = LeastSquares(x)
    for arm in range(30):
        estimate.update(arm, 0.0)
    estimate = ManyArms(estimate)
    leader, rival = rng.choice(60, 2, replace=False).tolist()
    if seed == 5078:
        rng = np.random.default_rng(seed)
        rng.standard_normal(x.shape)
        leader, rival = rng.integers(0, 60, 2).tolist()
    for _ in range(40):
        found = pivots.sharpest_of_many(estimate, leader, rival)
        assert found == sharpest(estimate, leader, rival)
        q = estimate.inverse @ (x[leader] - x[rival])
        q /= np.linalg.norm(q)
        known = estimate.notes["pivots"]
        for direction, pivot in zip(known.directions, known.kept, strict=True):
            others = np.delete(x, pivot.arms, axis=0)
            if abs(direction @ q) >= np.cos(pivots.ANGLE) and len(others):
                assert np.abs(others @ q).max() <= pivot.level * (1 + 1e-12)
        arm = int(rng.integers(60))
        for _ in range(int(rng.integers(1, 6))):
            estimate.update(arm, 0.0)


def test_directions_that_hardly_turn():
    """The best arm lies in the direction itself, which turns by so little that cosines are 1."""
    x = np.array([[0.0, 0.0], [1.0, 0.3], [1e-4, -2e-4], [0.2, 0.9], [0.5, -0.4]])
    estimate = LeastSquares(x)
    for arm in range(5):
        for _ in range(10):
            estimate.update(arm, 0.0)
    estimate = ManyArms(estimate)
    for _ in range(300):
        assert pivots.sharpest_of_many(estimate, 0, 1) == sharpest(estimate, 0, 1)
        estimate.update(2, 0.0)


class Wide(Mixture):
    """Changes widths, and says nothing of how they grow."""

    def widths(self, problem, estimate, leader):
        return 3 * super().widths(problem, estimate, leader)


def test_bounds_of_others_are_heeded():
    problem = Problem(arms("normal"), noise=0.1)
    explorer = LinGapE(problem, bound=Wide(), start="spanning")
    run(explorer, Gaussian(problem.arms, [1.0, 0.2, 0.1, 0.0], scale=0.1), max_pulls=40)
    assert type(explorer.estimate) is LeastSquares
    assert isinstance(explorer.bound, Wide)


def test_lists_of_factors_have_the_length_that_was_asked_for():
    """Every n-th combination may have the same levels, so that arms are sampled at random."""
    rows = np.array(np.meshgrid(*[[-1.0, 1.0]] * 15)).reshape(15, -1).T
    ends = rows @ np.r_[np.zeros(9), np.ones(6)]
    ends += 1e-3 * np.random.default_rng(0).standard_normal(len(ends))
    listed = shortlist._listed(rows, ends, np.ones(len(ends)), np.ones(len(ends)), 0.1, 3_000)
    assert 2_000 < len(listed.arms) < 4_000
