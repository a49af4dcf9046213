"""Experiments with explorers whose pulls are planned in advance: rewards come in any order."""

import json
import random
from functools import partial

import numpy as np
import pytest
from tamper import change

import lingape.live.turns as live
from lingape import Experiment, Problem, Race, Uniform, XYStatic
from lingape.errors import ExplorationOver, InvalidArm, InvalidState
from lingape.live import read_export, verify

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [0.9, 0.2]])
THETA = np.array([0.5, 0.2])
PROBLEM = Problem(ARMS, noise=0.3, epsilon=0.1)
EXPLORERS = {
    "xy_static": XYStatic,  # takes rewards up to 100 pulls early
    "xy_static(design=greedy)": partial(XYStatic, design="greedy"),  # takes none early
    "uniform": Uniform,
    "race": Race,  # in blocks, within which the order does not matter
}


def noise(arm, count):
    """Return the noise of the `count`th reward of an arm, whenever it comes."""
    return random.Random(f"{arm} {count}").gauss(0.0, 0.3)


class Rewards:
    """Rewards that depend on the arm and on how many it had before."""

    def __init__(self):
        self.counts = [0] * len(ARMS)

    def __call__(self, arm):
        self.counts[arm] += 1
        return float(ARMS[arm] @ THETA) + noise(arm, self.counts[arm])


def in_order(kind):
    """Return an explorer that was told everything in its own order."""
    explorer, reward = kind(PROBLEM), Rewards()
    while not explorer.done:
        arm = explorer.ask()
        explorer.tell(arm, reward(arm))
    return explorer


@pytest.mark.parametrize("name", EXPLORERS)
@pytest.mark.parametrize("seed", range(3))
def test_tickets_are_answered_in_any_order(url, name, seed, monkeypatch):
    """Late, voided and unanswered tickets change no answer: the explorer is told in its order."""
    monkeypatch.setattr(live, "EVERY", 50)
    expected = in_order(EXPLORERS[name]).certificate()
    rng, reward = random.Random(seed), Rewards()
    clock = iter(range(10**6)).__next__
    with Experiment.open(url, "ads", create=PROBLEM, explorer=name, clock=clock) as experiment:
        waiting = []
        while True:
            try:
                waiting += experiment.ask(rng.randrange(1, 6), ttl=rng.choice([30, 3_000]))
            except ExplorationOver:
                break
            rng.shuffle(waiting)
            while waiting and (len(waiting) > 8 or rng.random() < 0.5):
                ticket = waiting.pop()
                if rng.random() < 0.1:
                    experiment.void(ticket, "node lost")
                elif experiment.tell(ticket, reward(ticket.arm)).settled:
                    break
        found = experiment.certificate()
        assert found.settled and ARMS[found.arm] @ THETA >= 0.5 - PROBLEM.epsilon
        if "greedy" in name:
            same = found.arm, found.pulls, found.gap_bound
            assert same == (expected.arm, expected.pulls, expected.gap_bound)
        assert experiment.verify().certificate == found
        with experiment.current() as replay:
            before = replay.explorer.state(), replay.early
    change(url, "DELETE FROM snapshots")
    with Experiment.open(url, "ads") as again, again.current() as replay:
        assert (replay.explorer.state(), replay.early) == before


@pytest.mark.parametrize("noise", [0.3, "normal", (-5, 5)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_race_with_late_lost_and_unasked_rewards_is_replayed_to_the_last_bit(
    url, noise, epsilon, monkeypatch, tmp_path, clock
):
    monkeypatch.setattr(live, "EVERY", 7)
    problem = Problem(ARMS, noise=noise, epsilon=epsilon)
    rng, reward, settled, waiting = random.Random(1), Rewards(), False, []
    with Experiment.open(url, "ads", create=problem, clock=clock) as experiment:
        while not settled:
            clock.now += 10
            waiting += experiment.ask(rng.randrange(1, 12), ttl=rng.choice([25, 3_000, None]))
            rng.shuffle(waiting)
            for _ in range(rng.randrange(min(len(waiting), 12) + 1)):
                ticket, luck = waiting.pop(), rng.random()
                if luck < 0.1:
                    experiment.void(ticket, "node lost")
                elif luck > 0.2 and not settled:  # or nobody hears of it again
                    settled = experiment.tell(ticket, reward(ticket.arm)).settled
            if rng.random() < 0.3 and not settled:
                arm = rng.randrange(len(ARMS))
                settled = experiment.add(arm, reward(arm)).settled
        for ticket in waiting[:5]:
            experiment.tell(ticket, reward(ticket.arm))
        found = experiment.certificate()
        assert ARMS[found.arm] @ THETA >= 0.5 - epsilon and len(found.p_values) == len(ARMS)
        assert experiment.verify().certificate == found
        experiment.export(tmp_path / "log")
        with experiment.current() as replay:
            before = replay.explorer.state()
    with Experiment.open(url, "ads") as again, again.current() as replay:
        assert again._loaded > 1 and replay.explorer.state() == before
    change(url, "DELETE FROM snapshots")
    with Experiment.open(url, "ads") as again, again.current() as replay:
        assert replay.explorer.state() == before
    entries = list(read_export(tmp_path / "log"))
    with pytest.raises(InvalidState, match="answered before it, and the log does not say so"):
        verify(entries[: found.event - 1])


def test_a_race_goes_on_without_rewards_that_never_come(url):
    with Experiment.open(url, "ads", create=PROBLEM) as experiment:
        reward, settled = Rewards(), False
        lost = experiment.ask(3, ttl=None)
        for _ in range(2_000):
            (ticket,) = experiment.ask()
            if ticket.arm not in [one.arm for one in lost] and len(lost) < 6:
                lost += experiment.ask(ttl=None)
            if settled := experiment.tell(ticket, reward(ticket.arm)).settled:
                break
        assert settled


def test_rewards_wait_for_their_turn(url):
    name = "xy_static(design=greedy)"
    with Experiment.open(url, "ads", create=PROBLEM, explorer=name) as experiment:
        explorer = EXPLORERS[name](PROBLEM)
        tickets = experiment.ask(12)
        assert [ticket.arm for ticket in tickets] == explorer.ask_many(12)
        first = tickets[0].arm
        others = [ticket for ticket in tickets if ticket.arm != first]
        for told, ticket in enumerate(others, start=1):
            assert experiment.tell(ticket, 0.1 * ticket.arm).pulls == told
        assert experiment.status().certificate.pulls == 0
        for ticket in tickets:
            if ticket.arm == first:
                experiment.tell(ticket, 0.1 * first)
        for ticket in tickets:
            explorer.tell(ticket.arm, 0.1 * ticket.arm)
        with experiment.current() as replay:
            assert replay.explorer.state() == explorer.state() and not replay.early
            assert experiment.ask()[0].arm == explorer.ask()


def test_what_was_not_asked_for_is_refused(url):
    name = "xy_static(design=greedy)"
    with Experiment.open(url, "ads", create=PROBLEM, explorer=name) as experiment:
        with pytest.raises(InvalidArm, match="fixed in advance"):
            experiment.add(3, 1.0)
        assert [event.kind for event in experiment.events()] == ["created"]
        assert experiment.add(0, 0.4).pulls == 1


def test_rewards_that_wait_are_in_snapshots(url, monkeypatch):
    monkeypatch.setattr(live, "EVERY", 1)
    name = "xy_static(design=greedy)"
    with Experiment.open(url, "ads", create=PROBLEM, explorer=name) as experiment:
        first, *others = experiment.ask(9)
        others = [ticket for ticket in others if ticket.arm != first.arm]
        for ticket in others:
            experiment.tell(ticket, 0.0)
        with experiment.current() as replay:
            early = dict(replay.early)
        with experiment._store.view("ads") as view:
            assert json.loads(view.snapshot().text)["early"]
    assert sum(map(len, early.values())) == len(others)
    with Experiment.open(url, "ads") as again, again.current() as replay:
        assert replay.early == early and again._loaded > 1
