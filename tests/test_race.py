"""Race: evidence arm by arm."""

import itertools
import json
import math

import numpy as np
import pytest

from lingape import (
    Bounded,
    Gaussian,
    Problem,
    Race,
    Signed,
    ZeroOne,
    canonical,
    run,
    soare,
    soare_tied,
    sphere,
)
from lingape.environments.two_valued import TwoValued
from lingape.errors import InvalidBound, InvalidReward, InvalidState
from lingape.evidence.base import BlockKernel, ContestKernel, Guess, Sums
from lingape.evidence.bounded import curvature
from lingape.evidence.normal import NormalEvidence, log_mean_exp_chi
from lingape.evidence.shares import compiled_racing, new_desk, racing
from lingape.kernels.parts import log_value
from lingape.problem import LEAST_DELTA
from lingape.scaffold.blocks import Block, Fit
from lingape.testing import Tape, errors_allowed, pulls_of
from naive import evidence as naive_evidence

NOISES = {"known": 0.5, "normal": "normal", "bounded": (-1.0, 2.0), "binary": "binary"}


def world(name, means, rng):
    """Return a function that pays rewards as promised."""
    if name == "binary":
        return lambda arm: float(rng.random() < means[arm])
    if name == "bounded":  # three values, of the right mean
        return lambda arm: float(rng.choice([means[arm] - 0.5, means[arm], means[arm] + 0.5]))
    return lambda arm: float(means[arm] + 0.5 * rng.standard_normal())


def problem_of(name, **settings):
    instance = sphere(7, 3, seed=5)
    theta = 0.3 * instance.theta
    arms = np.column_stack([instance.arms, np.ones(7)])
    return Problem(arms, noise=NOISES[name], **settings), arms @ np.append(theta, 0.4)


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
@pytest.mark.parametrize("name", NOISES)
def test_evidence_is_what_the_formula_says(name, epsilon):
    """Against sums over rewards, one at a time, block by block."""
    problem, means = problem_of(name, epsilon=epsilon, delta=1e-60)
    explorer, pay = Race(problem), world(name, means, np.random.default_rng(1))
    expected, within, block, rewards = np.zeros(7), {}, explorer.blocks[0], []
    noise = NOISES["bounded"] if name == "bounded" else name
    for _ in range(400):
        arm = explorer.ask()
        rewards.append((arm, pay(arm)))
        explorer.tell(*rewards[-1])
        if explorer.blocks[0] is block:
            continue
        plan = list(zip(block.arms, block.quotas, *block.guess, strict=True))
        for j, gap, error in zip(block.rivals, block.gaps, block.errors, strict=True):
            i = block.runner_up if j == block.leader else block.leader
            told = {"gap": gap, "error": error, "shift": 0.0, "noise": noise}
            x = explorer.estimate.features
            expected[j] += naive_evidence(x, plan, rewards, i, j, **told)
            if j != block.leader:
                told |= {"gap": gap + epsilon, "shift": epsilon}
                more = naive_evidence(x, plan, rewards, i, j, **told)
                within[i, j] = within.get((i, j), 0.0) + more
        block, rewards = explorer.blocks[0], []
        np.testing.assert_allclose(explorer.log_evidence, expected, atol=1e-6)
        for i, (logs, _) in zip(explorer.leaders, explorer.within, strict=True):
            found = [within.get((i, j), 0.0) for j in range(7)]
            np.testing.assert_allclose(logs, found, atol=1e-6)
    assert len(expected.nonzero()[0]) == 7


def small_block(noise, means):
    """Return a race, a block of few pulls, its fit and the direction of one contest."""
    variances = [0.2, 0.15, 0.2] if isinstance(noise, str | tuple) else [noise**2] * 3
    arms = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.5]])
    explorer = Race(Problem(arms, noise=noise))
    x = explorer.estimate.features
    block = Block.of(
        np.array([2, 3, 1]),
        Guess(np.array(variances), np.asarray(means)),
        leader=1,
        runner_up=0,
        rivals=np.array([0]),
        gaps=np.array([0.3]),
        errors=np.array([0.4]),
        pulls=10,
        among=3,
    )
    return explorer, block, Fit.of(block, x), (x[1] - x[0])[None, :]


def log_evidence(explorer, block, fit, y, rewards, shift=0.0):
    """Return what the rewards of each arm say."""
    for place, paid in enumerate(rewards):
        block.told.counts[place] = len(paid)
        block.told.sums[place] = sum(paid)
        block.told.squares[place] = sum(r * r for r in paid)
    return float(explorer._log_values(block, fit, y, block.gaps, block.errors, shift)[0])


def mean_evidence(noise, truth, values, *, guess=(0.3, 0.6, 0.5), shift=0.0):
    """Return the mean of the evidence over all rewards, from values with probabilities."""
    explorer, block, fit, y = small_block(noise, guess)
    total, cases = 0.0, [values(mean) for mean in truth]
    slots = [arm for arm, n in zip((0, 1, 2), (2, 3, 1), strict=True) for _ in range(n)]
    for outcome in itertools.product(*(cases[arm] for arm in slots)):
        paid = [[], [], []]
        for arm, (value, _) in zip(slots, outcome, strict=True):
            paid[arm].append(value)
        chance = math.prod(p for _, p in outcome)
        total += chance * math.exp(log_evidence(explorer, block, fit, y, paid, shift))
    return total


def zero_one(mean):
    return [(0.0, 1.0 - mean), (1.0, mean)]


def three_values(mean):
    return [(0.0, 0.75 - mean), (0.5, 0.5), (1.0, mean - 0.25)]


@pytest.mark.parametrize("guess", [(0.3, 0.6, 0.5), (0.9, 0.1, 0.5), (0.02, 0.98, 0.5)])
@pytest.mark.parametrize(("noise", "values"), [("binary", zero_one), ((0, 1), three_values)])
def test_mean_of_bounded_evidence_is_at_most_1(noise, values, guess):
    """Exactly, over all outcomes: on a tie, on arm 0 being better, and by more than a shift."""
    for truth in ([0.4, 0.4, 0.4], [0.6, 0.4, 0.5], [0.3, 0.29, 0.295]):
        assert mean_evidence(noise, truth, values, guess=guess) <= 1 + 1e-12
    assert mean_evidence(noise, [0.5, 0.4, 0.45], values, guess=guess, shift=0.1) <= 1 + 1e-12
    tie = mean_evidence(noise, [0.4, 0.4, 0.4], values, guess=(0.4, 0.4, 0.4))
    assert tie > 0.95  # nothing is given away
    assert mean_evidence(noise, [0.3, 0.7, 0.5], values) > 1.2  # and it grows if it should


def test_mean_of_evidence_on_a_known_scale_is_at_most_1():
    """For noise of ±R, which is R-sub-Gaussian."""

    def signed(mean):
        return [(mean - 0.4, 0.5), (mean + 0.4, 0.5)]

    for truth in ([1.0, 1.0, 1.0], [1.2, 1.0, 1.1]):
        assert mean_evidence(0.4, truth, signed) <= 1 + 1e-12
    assert mean_evidence(0.4, [1.1, 1.0, 1.05], signed, shift=0.1) <= 1 + 1e-12
    assert mean_evidence(0.4, [1.0, 1.5, 1.25], signed) > 1.5


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_mean_of_evidence_on_an_unknown_scale_is_at_most_1(scale):
    """By Student's t: the mean over scores and residuals, for every standard deviation."""
    from scipy import stats

    explorer, block, fit, y = small_block("normal", (0.0, 0.0, 0.0))
    block.guess.variances[:] = 0.2
    z = y @ fit.solver
    information = 1.0 / float(z[0] @ y[0])
    freedom = 6 - fit.rank
    assert freedom == 4
    grid = (np.arange(600) + 0.5) / 600
    for gap, at_most in ((0.0, 1.0), (-0.3, 1.0)):
        centre = gap * math.sqrt(information) * math.sqrt(0.2) / scale
        t = stats.nct.ppf(grid, freedom, centre) if centre else stats.t.ppf(grid, freedom)
        u = t / np.sqrt(t**2 + freedom)
        largest = math.sqrt(float(y[0] @ y[0]) * 0.2 / 4)
        contests = [
            ContestKernel(
                weights=np.zeros(3),
                score=value * math.sqrt(information),
                information=information,
                gap=0.3,
                error=0.4,
                shift=0.0,
                largest=largest,
            )
            for value in u
        ]
        blocks = [BlockKernel(block.told, block.guess, 1.0 - value**2, freedom) for value in u]
        kernel = explorer.evidence.kernel()
        logs = [log_value(kernel, c, b) for c, b in zip(contests, blocks, strict=True)]
        mean = float(np.exp(logs).mean())
        assert mean <= at_most + 2e-3
        if gap == 0.0:
            assert mean == pytest.approx(1.0, abs=2e-3)


def test_mean_of_an_exponential_of_chi():
    """Against its definition, for few and many degrees of freedom."""
    from scipy import stats

    for freedom in (2, 3, 7, 60):
        for x in (-3.0, 0.0, 0.5, 4.0):
            chi = np.arange(5e-5, 40, 1e-4)
            exponent = x * chi + stats.chi.logpdf(chi, freedom)
            expected = np.logaddexp.reduce(exponent) + math.log(1e-4)
            found = float(log_mean_exp_chi(np.array(x), freedom))
            assert found == pytest.approx(expected, abs=1e-6)


def test_curvature_bounds_the_logarithm():
    for fall in (0.0, 1e-6, 5e-4, 0.1, 0.5):
        c = float(curvature(np.array(fall)))
        u = np.concatenate([np.linspace(-fall, 3.0, 1000), [-fall]])
        assert (np.log1p(u) >= u - c * u**2 - 1e-15).all()


@pytest.mark.parametrize("name", NOISES)
def test_kernels_weigh_as_parts_do(name):
    """Evidence of a block, contest by contest."""
    problem, means = problem_of(name, delta=1e-6)
    explorer, pay = Race(problem), world(name, means, np.random.default_rng(2))
    for _ in range(300):
        explorer.tell(arm := explorer.ask(), pay(arm))
    block = explorer.blocks[0]
    while not block.full:
        block.fill(arm := explorer.ask(), pay(arm))
    x, rivals = explorer.estimate.features, block.rivals
    fit, y = (
        Fit.of(block, x[block.arms]),
        explorer._directions(block.leader, block.runner_up, rivals),
    )
    for shift in (0.0, 0.1):
        expected = explorer._log_values(block, fit, y, block.gaps, block.errors, shift)
        z = y @ fit.solver
        information = 1.0 / (z * y).sum(axis=1)
        weights = (z @ x[block.arms].T) * information[:, None] / block.guess.variances
        variance = block.quotas @ block.guess.variances / block.quotas.sum()
        freedom = int(block.quotas.sum()) - fit.rank
        sub = BlockKernel(block.told, block.guess, fit.residual(block), freedom)
        for j in range(len(rivals)):
            contest = ContestKernel(
                weights[j],
                float(weights[j] @ block.told.sums),
                float(information[j]),
                float(block.gaps[j]),
                float(block.errors[j]),
                shift,
                math.sqrt(float(y[j] @ y[j]) * variance / (2 * x.shape[1])),
            )
            found = log_value(explorer.evidence.kernel(), contest, sub)
            assert found == pytest.approx(expected[j], abs=1e-9)


def test_kernel_plans_the_same_shares():
    rng = np.random.default_rng(0)
    for count, d, rivals in ((6, 5, 5), (20, 3, 19), (40, 4, 39), (100, 3, 50)):
        x, y = rng.standard_normal((count, d)), rng.standard_normal((rivals, d))
        start = np.full(count, 1 / count)
        basis = np.arange(d)
        found = racing(x, y, start, basis)
        desk = new_desk(count, rivals, d)
        desk.x[:], desk.y[:], desk.start[:], desk.used[basis] = x, y, start, True
        compiled_racing(desk, rivals)
        np.testing.assert_allclose(desk.shares, found, atol=1e-9)

        def longest(p, x=x, y=y):
            return np.einsum("jd,jd->j", y @ np.linalg.inv((x.T * p) @ x), y).max()

        from lingape.designs import xy

        assert longest(found) <= 1.2 * xy(x, y, tolerance=1e-3).value


def test_blocks_that_do_not_span_the_space_count():
    """Arms 0 and 1 alone say how arms 2 and 3 compare, which differ in the same feature."""
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e6):
        explorer = Race(Problem([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], noise=scale))
        x = explorer.estimate.features
        quotas = np.append(rng.integers(1, 500, 2), [0, 0])
        block = Block.of(
            quotas,
            Guess(np.full(4, scale**2), np.zeros(4)),
            leader=3,
            runner_up=2,
            rivals=np.array([2]),
            gaps=np.array([scale]),
            errors=np.array([scale]),
            pulls=10,
            among=4,
        )
        fit = Fit.of(block, x[block.arms])
        assert fit.rank == 2
        assert fit.solves(x[[3]] - x[[2]]).all()
        assert not fit.solves(x[[2]] - x[[0]]).any()
        z = (x[3] - x[2]) @ fit.solver
        variance = scale**2 * (1 / quotas[0] + 1 / quotas[1])
        assert (x[3] - x[2]) @ z == pytest.approx(variance)


@pytest.mark.parametrize("name", NOISES)
def test_lanes_agree_on_every_kind_of_noise(name):
    instance = canonical(4, 0.3)
    theta = 0.3 + 0.5 * instance.theta
    problem = instance.problem(noise=NOISES[name])
    make = type(instance)("few", instance.arms, theta)
    paying = make.zero_one() if name in ("binary", "bounded") else make.gaussian(scale=0.5)
    for epsilon in (0.0, 0.05):
        plain, fast = (
            run(Race(problem.replace(epsilon=epsilon)), paying, seed=3, lane=lane)
            for lane in ("plain", "compiled")
        )
        assert fast.lane == "compiled"
        assert plain.counts.tolist() == fast.counts.tolist()
        np.testing.assert_allclose(
            plain.certificate.p_values, fast.certificate.p_values, rtol=1e-9
        )
        assert plain.certificate.arm == fast.certificate.arm
        assert plain.certificate.gap_bound == fast.certificate.gap_bound


class Losses(TwoValued):
    """Rewards of -1 or 0."""

    reward_range = -1.0, 0.0


@pytest.mark.parametrize(
    ("noise", "kind", "theta"),
    [
        ("binary", ZeroOne, [0.2, 0.5]),
        ((0.0, 1.0), ZeroOne, [0.2, 0.5]),
        ((-1.0, 0.0), Losses, [-0.2, -0.5]),
        ((-1.0, 1.0), Signed, [0.2, 0.5]),
        ("normal", Gaussian, [0.2, 0.5]),
        (1.0, Gaussian, [0.2, 0.5]),
    ],
)
def test_an_arm_without_features_has_an_answer(noise, kind, theta):
    """All its rewards are 0, which may be the least or the most that is paid: without variance."""
    arms = [[0, 0], [1, 0], [0, 1], [1, 1]]
    paying = kind(arms, theta)
    plain, fast = (
        run(Race(Problem(arms, noise=noise)), paying, seed=1, max_pulls=3_000, lane=lane)
        for lane in ("plain", "compiled")
    )
    assert fast.lane == "compiled"
    assert plain.counts.tolist() == fast.counts.tolist()
    assert plain.certificate.settled
    assert plain.certificate.arm == paying.means.argmax()


@pytest.mark.parametrize("noise", [1.0, "binary", "normal"])
def test_rewards_that_nobody_asked_for_where_all_arms_are_the_same(noise):
    for arms in itertools.product([0, 1], repeat=4):
        explorer = Race(Problem([[1.0], [1.0]], noise=noise))
        for arm in arms:
            explorer.tell(arm, float(arm))
        assert explorer.counts.tolist() == [arms.count(0), arms.count(1)]
        while not explorer.done:
            explorer.tell(explorer.ask(), 1.0)
        assert explorer.certificate().gap_bound == 0.0


def test_lanes_agree_on_many_arms():
    """Where plans look at some of the arms, beginning with those of the last plan."""
    instance = sphere(100, 3, seed=1)
    plain, fast = (
        run(Race(instance.problem()), instance.gaussian(), seed=0, max_pulls=800, lane=lane)
        for lane in ("plain", "compiled")
    )
    assert plain.counts.tolist() == fast.counts.tolist()


def test_lanes_agree_once_few_arms_are_left():
    """Plans then leave directions out, and their matrices are nearly singular."""
    instance = sphere(6, 5, seed=0)
    for seed in range(1, 6):
        plain, fast = (
            run(Race(instance.problem()), instance.gaussian(), seed=seed, lane=lane)
            for lane in ("plain", "compiled")
        )
        assert plain.counts.tolist() == fast.counts.tolist()


def test_a_compiled_run_can_go_on_in_the_plain_lane():
    instance = soare(4, 0.2)
    problem, world_ = instance.problem(delta=1e-12), instance.gaussian()
    explorer, rng = Race(problem), np.random.default_rng(5)
    run(explorer, world_, seed=rng, max_pulls=333, lane="compiled")
    revived = Race.from_state(json.loads(json.dumps(explorer.state())))
    run(explorer, world_, seed=rng, max_pulls=400, lane="plain")
    whole = Race(problem)
    run(whole, world_, seed=np.random.default_rng(5), max_pulls=733, lane="plain")
    assert explorer.counts.tolist() == whole.counts.tolist()
    np.testing.assert_allclose(explorer.log_evidence, whole.log_evidence, atol=1e-7)
    assert revived.counts.sum() == 333


class TestOrder:
    """Rewards may come late, never, twice or unasked."""

    def race(self, **settings):
        problem, means = problem_of("known", delta=1e-300, **settings)
        return Race(problem), Tape(means, scale=0.5)

    def test_order_within_a_block_does_not_matter(self):
        explorer, tape = self.race()
        pulls_of(explorer, tape, 100)
        arms = explorer.ask_many(
            int(sum(b.quotas.sum() - b.told.counts.sum() for b in explorer.blocks))
        )
        rewards = [tape.pay(arm) for arm in arms]
        again = Race.from_state(explorer.state())
        for k in range(len(arms)):
            explorer.tell(arms[k], rewards[k])
        for k in reversed(range(len(arms))):
            again.tell(arms[k], rewards[k])
        np.testing.assert_allclose(explorer.log_evidence, again.log_evidence, atol=1e-9)

    def test_a_lost_reward_does_not_hold_up_the_others(self):
        """Another pull of its arm fills the slot, and until then blocks wait their turn."""
        explorer, tape = self.race()
        pulls_of(explorer, tape, 60)
        lost, weighed = explorer.ask(), [explorer.blocks[0].pulls]
        for _ in range(600):  # other workers go on
            arm = explorer.ask_many(1, pending=[lost])[0]
            explorer.tell(arm, tape.pay(arm))
            weighed.append(explorer.blocks[0].pulls)
        assert weighed == sorted(weighed)
        assert weighed[-1] > 550
        explorer.tell(lost, tape.pay(lost))  # at last

    def test_blocks_are_weighed_in_order(self):
        """All rewards of one arm are late: blocks fill up behind the first, and wait."""
        explorer, tape = self.race()
        pulls_of(explorer, tape, 60)
        late, pending = explorer.ask(), []
        before = explorer.log_evidence.copy()
        for _ in range(300):
            arm = explorer.ask_many(1, pending=pending)[0]
            if arm == late:
                pending.append(arm)
            else:
                explorer.tell(arm, tape.pay(arm))
        assert len(explorer.blocks) > 2
        assert (explorer.log_evidence == before).all()
        for arm in pending:
            explorer.tell(arm, tape.pay(arm))
        assert len(explorer.blocks) <= 2
        assert (explorer.log_evidence != before).any()

    def test_a_slot_given_up_is_asked_for_again(self):
        explorer, tape = self.race()
        pulls_of(explorer, tape, 60)
        block = explorer.blocks[0]
        slots = int((block.quotas - block.told.counts).sum())
        pending = explorer.ask_many(slots)
        given_up = pending.pop(0)
        assert explorer.ask_many(1, pending=pending) == [given_up]

    def test_unasked_rewards_inform_the_estimate_only(self):
        explorer, tape = self.race()
        pulls_of(explorer, tape, 200)
        block = explorer.blocks[0]
        idle = int(block.arms[0])
        while not (block.told.counts == block.quotas)[0]:
            explorer.tell(idle, tape.pay(idle))
        before = explorer.log_evidence.copy()
        for _ in range(5):
            explorer.tell(idle, 1e3)
            explorer.blocks = [block]  # without the block that was planned for such rewards
        assert (explorer.log_evidence == before).all()
        assert not block.full
        assert explorer.told.sums[idle] > 5e3 - 100

    def test_many_workers(self):
        """More workers than slots: nearly all rewards find a slot all the same."""
        explorer, tape = self.race()
        rng, pending = np.random.default_rng(0), []
        for _ in range(3_000):
            pending += explorer.ask_many(40 - len(pending), pending=pending)
            arm = pending.pop(int(rng.integers(len(pending))))
            explorer.tell(arm, tape.pay(arm))
        weighed = explorer.blocks[0].pulls
        assert weighed > 2_000

    def test_a_first_block_that_is_never_full(self):
        explorer, tape = self.race()
        lost = explorer.ask()
        for _ in range(500):
            arm = explorer.ask_many(1, pending=[lost])[0]
            explorer.tell(arm, tape.pay(arm))
        assert (explorer.log_evidence != 0).any()


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: kept["told"][0].__setitem__(0, 0),
        lambda kept: kept["told"].__setitem__(2, [0.0] * 7),
        lambda kept: kept["peaks"].__setitem__(0, -1.0),
        lambda kept: kept["log_evidence"].__setitem__(1, 1e9),
        lambda kept: kept["log_evidence"].pop(),
        lambda kept: kept["blocks"].clear(),
        lambda kept: kept["blocks"][0]["counts"].__setitem__(0, 10**6),
        lambda kept: kept["blocks"][0]["errors"].__setitem__(0, 0.0),
        lambda kept: kept["blocks"][0].__setitem__("leader", 99),
        lambda kept: kept["blocks"][0]["variances"].__setitem__(0, -1.0),
        lambda kept: kept["shares"].__setitem__(0, math.nan),
        lambda kept: kept.__setitem__("leaders", [3]),
        lambda kept: kept.pop("planned"),
    ],
)
def test_a_damaged_state_is_refused(damage):
    problem, means = problem_of("known", delta=1e-9)
    explorer = Race(problem)
    pulls_of(explorer, Tape(means), 100)
    state = json.loads(json.dumps(explorer.state()))
    Race.from_state(json.loads(json.dumps(state)))
    damage(state["kept"])
    with pytest.raises(InvalidState):
        Race.from_state(state)


def test_p_values():
    problem, means = problem_of("known", delta=0.01)
    explorer, tape = Race(problem), Tape(means, scale=0.5)
    assert explorer.p_values.tolist() == [1.0] * 7
    last = explorer.p_values
    while not explorer.done:
        pulls_of(explorer, tape, 50)
        assert (explorer.p_values <= last).all()  # they never rise
        last = explorer.p_values
    best = int(means.argmax())
    assert explorer.recommend() == best
    assert (np.delete(last, best) <= 0.01).all()
    assert last[best] > 0.05


def test_rewards_outside_the_range_are_refused():
    explorer = Race(Problem([[1, 0], [0, 1]], noise=Bounded(0, 5)))
    before = json.dumps(explorer.state())
    for reward in (-0.1, 5.1):
        with pytest.raises(InvalidReward, match="Nothing was recorded"):
            explorer.tell(0, reward)
    with pytest.raises(InvalidReward):
        explorer.tell_many([0, 1], [1.0, 6.0])
    assert json.dumps(explorer.state()) == before


def test_it_brings_its_own_bound():
    from lingape import Mixture

    with pytest.raises(InvalidBound, match="brings its own"):
        Race(Problem(np.eye(2), noise=1.0), bound=Mixture())


def test_extreme_rewards_do_not_break_it():
    """Huge, tiny, constant: no error, no NaN, and no claim where all is equal."""
    for noise in (1.0, "normal"):
        for rewards in ([0.0, 0.0], [1e100, 1e100], [1e100, -1e100], [1e-300, 0.0]):
            explorer = Race(Problem(np.eye(2), noise=noise))
            for _ in range(200):
                if explorer.done:
                    break
                explorer.tell(arm := explorer.ask(), rewards[arm])
            assert np.isfinite(explorer.log_evidence).all()
            if rewards[0] == rewards[1]:
                assert not explorer.done


def test_many_arms():
    instance = sphere(3_000, 4, seed=1)
    explorer = Race(instance.problem(noise=0.05))
    rng, pay = np.random.default_rng(0), instance.gaussian(scale=0.05)
    for _ in range(3_000):
        if explorer.done:
            break
        explorer.tell(arm := explorer.ask(), pay.pull(arm, rng))
    assert explorer.in_play.sum() < 300
    assert explorer.in_play[pay.means.argmax()]


def test_arms_without_a_success_are_not_starved():
    """Rare successes and no features: every arm in play keeps getting pulls."""
    rates = np.append([0.12], np.full(39, 0.02))
    explorer, rng = Race(Problem(np.eye(40), noise="binary")), np.random.default_rng(0)
    for _ in range(6_000):
        if explorer.done:
            break
        explorer.tell(arm := explorer.ask(), float(rng.random() < rates[arm]))
    assert explorer.done
    assert explorer.recommend() == 0


def discarded(explorer, best):
    """Whether an arm that is best was discarded."""
    return not explorer.in_play[best].all()


@pytest.mark.parametrize("name", ["known", "normal", "binary"])
def test_ties_are_rarely_decided(name):
    """A quick look at what benchmarks/coverage.py measures with precision."""
    instance = soare_tied(2, 0.5)
    if name == "binary":
        instance = type(instance)("tied", np.eye(3), np.array([0.3, 0.3, 0.1]))
    means = instance.arms @ instance.theta
    best = np.flatnonzero(means > means.max() - 1e-9)
    runs, delta, wrong = 300, 0.1, 0
    for seed in range(runs):
        noise = NOISES[name] if name != "known" else 1.0
        explorer = Race(instance.problem(noise=noise, delta=delta))
        paying = instance.zero_one() if name == "binary" else instance.gaussian()
        run(explorer, paying, seed=seed, max_pulls=2_000)
        wrong += discarded(explorer, best)
    assert wrong <= errors_allowed(runs, delta)


def test_the_smallest_delta_has_no_gap_bound():
    """A share of it is too small for Mixture."""
    problem = soare(5, 0.1).problem(delta=LEAST_DELTA)
    certificate = run(Race(problem), soare(5, 0.1).gaussian(), max_pulls=500).certificate
    assert certificate.gap_bound == math.inf


def test_tiny_rewards_of_unknown_scale_prove_nothing():
    """Their squares are 0, as if there were no noise."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        explorer = Race(Problem(np.eye(2), noise="normal"))
        for _ in range(300):
            explorer.tell(explorer.ask(), 1e-170 * rng.standard_normal())
        assert explorer.in_play.all()


@pytest.mark.parametrize("noise", [1e-60, 1e-100])
@pytest.mark.parametrize("epsilon", [0.0, 1e100])
def test_gaps_may_be_enormous(noise, epsilon):
    explorer = Race(Problem(np.eye(3), noise=noise, epsilon=epsilon))
    for _ in range(100):
        if not explorer.done:
            explorer.tell(arm := explorer.ask(), [1e99, 0.0, 0.0][arm])
    assert explorer.done
    assert explorer.recommend() == 0


def test_arms_for_many_workers_fill_the_oldest_blocks_first():
    """Also if there are many open blocks, of which an arm's rewards do not come."""
    explorer, rng = Race(Problem(np.eye(3), noise=1.0)), np.random.default_rng(0)
    for arm in [2, 2, *rng.integers(2, size=2_000).tolist()]:  # never arm 2 again
        explorer.tell(arm, float(rng.standard_normal()))
    assert len(explorer.blocks) > 20
    missing = [int(block.quotas[block.arms == 2].sum()) for block in explorer.blocks]
    assert explorer.ask_many(missing[0] + 1)[: missing[0]] == [2] * missing[0]
    one_by_one = []
    for _ in range(60):
        one_by_one += explorer.ask_many(1, pending=one_by_one)
    assert explorer.ask_many(60) == one_by_one


def test_lost_squares_count_as_noise_in_the_kernel():
    """Without that a residual of 0 would be proof of the gap, however small the score."""
    told = Sums(np.array([50, 50]), np.zeros(2), np.zeros(2))
    block = BlockKernel(told, Guess(np.ones(2), np.zeros(2)), residual=0.0, freedom=98)
    contest = ContestKernel(np.ones(2), 5e-18, 25.0, gap=1.0, error=0.1, shift=0.0, largest=1.0)
    assert log_value(NormalEvidence().kernel(), contest, block) < 0.0
