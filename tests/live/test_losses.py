"""Arms that lose tickets: how many, whether that can be chance, and what is said about it."""

import math

import numpy as np
import pytest
from crew import ARMS, THETA

from lingape import Experiment, Problem
from lingape.live import losses
from lingape.live.events import Asked, Created, Told, Voided
from lingape.live.losses import _evidence, compared
from lingape.live.model_check import check
from lingape.live.replay import Replay
from lingape.live.snapshots import restore, snapshot_of


class World:
    """An experiment in memory, whose tickets may stay open for a while.

    means: of 0-or-1 rewards, or of Gaussian ones where noise is given.
    fate: says of an arm and its reward what becomes of the ticket: "told", "voided", or for how
        many events it stays open.
    """

    def __init__(self, problem, means, fate, seed, noise=None):
        self.rng = np.random.default_rng(seed)
        self.means, self.fate, self.noise = means, fate, noise
        created = Created(
            time=0.0,
            name="ads",
            problem=problem.to_dict(),
            explorer="lingape",
            seed=0,
            version="",
        )
        self.replay = Replay(created, "")
        self.later = []

    def do(self, kind, **values):
        seq = self.replay.head.seq + 1
        self.replay.apply(kind(seq=seq, time=0.0, **values), "")

    def ask(self, n=1):
        replay = self.replay
        arms = replay.explorer.ask_many(n, pending=replay.pending(0.0))
        names = [f"{replay.head.seq + 1}-{i}-aaaaaaaa" for i in range(n)]
        pairs = tuple(zip(names, arms, strict=True))
        self.do(Asked, tickets=pairs, deadline=None, worker=None, key=None)
        return pairs

    def close(self, ticket, arm, reward, void):
        if void:
            self.do(Voided, ticket=ticket, reason="failed")
        else:
            self.do(Told, ticket=ticket, arm=arm, reward=reward)

    def pull(self, n=1):
        """Ask, and close what is due."""
        for ticket, arm in self.ask(n):
            mean = self.means[arm]
            if self.noise is None:
                reward = float(self.rng.random() < mean)
            else:
                reward = float(mean + self.noise * self.rng.normal())
            wait, void = self.fate(self, arm, reward)
            self.later.append((self.replay.head.seq + wait, ticket, arm, reward, void))
        for due in sorted(self.later):
            if due[0] <= self.replay.head.seq:
                self.close(*due[1:])
                self.later.remove(due)

    def play(self, pulls, n=1, looks=1):
        """Pull until it is settled; return whether there was ever an alarm of lost tickets."""
        for i in range(pulls):
            self.pull(n)
            if i % looks == 0 and self.alarmed():
                return True
            if self.replay.explorer.done:
                break
        return self.alarmed()

    def alarmed(self):
        found = (losses.voided(self.replay), losses.overdue(self.replay, 0.0))
        return any(loss is not None and loss.p < losses.RARE for loss in found)


def even(world, arm, reward):
    """Some are voided whatever their arm and reward."""
    return 0, world.rng.random() < 0.2


def outages(world, arm, reward):
    """Now and then everything fails for a while: by turns the same arm is asked for."""
    world.left = getattr(world, "left", 0) - 1
    if world.left < 0 and world.rng.random() < 0.02:
        world.left = 30
    return 0, world.left > 0


def slow_arms(world, arm, reward):
    """Trials of some arms take longer, to their end or until they are given up."""
    return 2 + 60 * arm, world.rng.random() < 0.1


def soon_given_up(world, arm, reward):
    """As slow_arms, but what is given up is so at once."""
    void = world.rng.random() < 0.1
    return 0 if void else 2 + 60 * arm, void


def long_given_up(world, arm, reward):
    """Only what is given up takes its time."""
    void = world.rng.random() < 0.1
    return 60 * arm if void else 0, void


def dying_workers(world, arm, reward):
    """A worker dies with all the tickets that it has."""
    asked = world.replay.head.seq
    if getattr(world, "asked", None) != asked:
        world.asked, world.dead = asked, world.rng.random() < 0.1
    return 10**9 if world.dead else 0, False


PLAIN = Problem(np.eye(4), noise=0.5, epsilon=0.1)
MEANS = [0.5, 0.55, 0.6, 0.4]
INNOCENT = {
    "even": (PLAIN, MEANS, even, None, 1),
    "even, in batches": (PLAIN, MEANS, even, None, 8),
    "even, fifty arms": (
        Problem(np.eye(50), noise=0.5, epsilon=0.1),
        np.linspace(0.2, 0.6, 50),
        even,
        None,
        1,
    ),
    "even, linear": (Problem(ARMS, epsilon=0.2, noise=1.0), ARMS @ THETA, even, 1.0, 1),
    "outages": (PLAIN, MEANS, outages, None, 1),
    "slow arms": (PLAIN, MEANS, slow_arms, None, 1),
    "soon given up": (PLAIN, MEANS, soon_given_up, None, 1),
    "long given up": (PLAIN, MEANS, long_given_up, None, 1),
    "dying workers": (PLAIN, MEANS, dying_workers, None, 8),
}


def false_alarms(case, runs, pulls, looks):
    problem, means, fate, noise, n = INNOCENT[case]
    worlds = (World(problem, means, fate, seed, noise) for seed in range(runs))
    return sum(world.play(pulls // n, n, looks) for world in worlds)


@pytest.mark.parametrize("case", INNOCENT)
def test_false_alarms_are_rare(case):
    assert false_alarms(case, runs=5, pulls=400, looks=10) == 0


@pytest.mark.slow
@pytest.mark.parametrize("case", INNOCENT)
def test_false_alarms_are_rare_when_looking_at_every_pull(case):
    """Where tickets are lost alike, by the theory 1 of 1,000 runs may be warned of."""
    assert false_alarms(case, runs=40, pulls=600, looks=1) == 0


def zeros_of_the_worst(becomes):
    """Return a world in which bad rewards of the worst arm get lost."""

    def fate(world, arm, reward):
        return becomes(world) if arm == 3 and reward == 0 else (0, False)

    return fate


@pytest.mark.parametrize(
    "becomes",
    [
        lambda world: (0, True),
        lambda world: (0, world.rng.random() < 0.7),
        lambda world: (10**9, False),
        lambda world: (600, False),
    ],
    ids=["voided", "most of them voided", "never told", "told late"],
)
def test_arms_whose_bad_rewards_get_lost_are_found_out(becomes):
    wrong = 0
    for seed in range(8):
        world = World(PLAIN, MEANS, zeros_of_the_worst(becomes), seed)
        if not world.play(3_000, looks=10**9):
            assert world.replay.explorer.recommend() != 3  # no harm was done
            continue
        loss = losses.voided(world.replay) or losses.overdue(world.replay, 0.0)
        assert loss.arm == 3
        (warning,) = check(world.replay, 0.0).warnings
        assert "arm 3" in warning and "worst possible value" in warning
        wrong += world.replay.explorer.recommend() == 3
    assert wrong >= 6  # it is what makes the answer wrong


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
def test_the_evidence_is_at_most_one_on_average_whenever_one_stops(p):
    """All outcomes of ten tickets, with arms chosen by what was lost before."""
    total = 0.0

    def go_on(probability, lost, tickets):
        nonlocal total
        evidence = math.exp(_evidence(lost, tickets)[0]) if tickets.any() else 1.0
        if tickets.sum() == 10 or evidence > 1.5:
            total += probability * evidence
            return
        arm = int((lost.sum() + 2 * tickets[0]) % 3)
        for void in (False, True):
            here = np.eye(3, dtype=np.int64)[arm]
            go_on(probability * (p if void else 1 - p), lost + void * here, tickets + here)

    go_on(1.0, np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))
    assert total <= 1.0


def test_the_evidence_by_hand():
    """Two arms: half of (2 alone, one after the other) and half of (each has its own)."""
    lost, tickets = np.array([3, 0]), np.array([3, 5])
    own = math.gamma(3.5) * math.gamma(0.5) / math.gamma(4) / math.pi  # 3 of 3
    other = math.gamma(0.5) * math.gamma(5.5) / math.gamma(6) / math.pi  # 0 of 5
    shared = (3 / 8) ** 3 * (5 / 8) ** 5
    found = compared(lost, tickets, np.zeros(2, dtype=np.int64))
    assert 1 / found.p == pytest.approx(own * other / shared)
    assert found.arm == 0
    assert compared(np.zeros(2, dtype=np.int64), tickets, tickets) is None


def test_tickets_of_each_arm_are_counted(url, clock):
    with Experiment.open(url, "ads", create=PLAIN, clock=clock) as experiment:
        tickets = experiment.ask(6, ttl=60)
        for ticket in tickets[:3]:
            experiment.void(ticket.id, "node lost")
        experiment.tell(tickets[3].id, 1.0)
        clock.now += 61
        status = experiment.status()
        standings = {one.arm: one for one in status.standings}
        for kind, some in (("voided", tickets[:3]), ("overdue", tickets[4:])):
            for arm, standing in standings.items():
                assert getattr(standing, kind) == [one.arm for one in some].count(arm)
        assert status.check.voided_p is not None and status.check.overdue_p is not None
        assert status.check.fine and experiment.check() == status.check


def test_snapshots_keep_count(url):
    with Experiment.open(url, "ads", create=PLAIN) as experiment:
        for i, ticket in enumerate(experiment.ask(300) + experiment.ask(300)):
            if i % 3:
                experiment.void(ticket.id, "node lost")
            elif i % 2:
                experiment.tell(ticket.id, 0.5)
        with experiment.current() as replay:
            snapshot, before = snapshot_of(replay), vars(replay.closings)
            created = experiment.events(limit=1)[0]
        again = Replay(created, "")
        assert restore(again, snapshot)
        for name, value in vars(again.closings).items():
            assert np.array_equal(value, before[name]), name
