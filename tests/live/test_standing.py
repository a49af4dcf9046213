"""How an experiment stands, for every explorer that can serve."""

import json
from datetime import datetime

import numpy as np
import pytest
from crew import ARMS, THETA, pull

from lingape import Experiment, Problem
from lingape.errors import InvalidArgument
from lingape.explorers import EXPLORERS
from lingape.live import Status, experiments
from lingape.live.replay import make_explorer
from lingape.live.summary import valid_until

PROBLEM = Problem(ARMS, norm_bound=2.0, noise=1.0)


def serves(explorer):
    try:
        make_explorer(explorer, PROBLEM, 0)
    except InvalidArgument:
        return False
    return True


@pytest.mark.parametrize("explorer", [*filter(serves, EXPLORERS), "lin_gifa(m=2)"])
def test_intervals_are_those_by_which_the_explorer_stops(url, explorer):
    rng = np.random.default_rng(1)
    with Experiment.open(url, "ads", create=PROBLEM, explorer=explorer) as experiment:
        for _ in range(30):
            (ticket,) = experiment.ask()
            experiment.tell(ticket.id, float(ARMS[ticket.arm] @ THETA + rng.normal()))
        status = experiment.status()
        assert not status.settled and status.answer is None
        assert sorted(standing.arm for standing in status.standings) == list(range(6))
        assert sum(standing.pulls for standing in status.standings) == status.pulls == 30
        data = json.loads(json.dumps(status.to_dict(), allow_nan=False))
        assert Status.from_dict(data) == status
        if status.leader is None:  # it compares arms at the end of a phase
            assert all(standing.gap is None for standing in status.standings)
            return
        standings = {standing.arm: standing for standing in status.standings}
        leader = standings[status.leader]
        assert (leader.gap, leader.low, leader.high) == (0.0, 0.0, 0.0)
        assert standings[status.rival].name == status.rival_name
        if explorer == "race":  # it stops by evidence; the gap bound is that of arms in play
            order = [(-one.p_value, -one.gap) for one in status.standings]
            assert order == sorted(order) and status.ruled_out == 0
            # The bound has the rewards of whole blocks, and intervals have all there are.
            assert all(one.low <= one.gap <= one.high for one in status.standings)
            assert max(one.high for one in status.standings) <= status.gap_bound
            return
        assert all(one.p_value is None for one in status.standings)
        assert status.ruled_out is status.certificate.p_values is None
        assert max(0.0, standings[status.rival].high) == pytest.approx(status.gap_bound)
        assert all(one.low <= one.gap <= one.high for one in status.standings)
        if "m=2" not in explorer:
            ends = [one.high for one in status.standings]
            assert ends == sorted(ends, reverse=True)
            assert max(ends) == pytest.approx(status.gap_bound)


def test_p_values_of_being_best(url):
    """Arms are ruled out one by one, also where no gap bound is known."""
    problem = Problem(ARMS, noise="normal", delta=0.1)
    rng = np.random.default_rng(0)
    with Experiment.open(url, "ads", create=problem) as experiment:
        some = False
        while not (status := experiment.status()).settled:
            for ticket in experiment.ask(4):
                experiment.tell(ticket, float(ARMS[ticket.arm] @ THETA + 0.3 * rng.normal()))
            assert status.certificate.p_values is not None
            found = {one.arm: one.p_value for one in status.standings}
            assert tuple(found[arm] for arm in range(6)) == status.certificate.p_values
            assert status.ruled_out == sum(p <= 0.1 for p in found.values())
            sentence = f"{status.ruled_out} of 6 arms"
            assert (sentence in str(status)) == (status.ruled_out > 0)
            assert str(status).count("  ruled out") == status.ruled_out
            some |= 0 < status.ruled_out < 5
        assert some and (status.ruled_out, status.gap_bound) == (5, 0.0)
        assert status.leader == status.answer == status.standings[0].arm
        assert status.certificate.p_values == experiment.certificate().p_values
        assert Status.from_dict(json.loads(json.dumps(status.to_dict()))) == status


def test_p_values_of_many_arms_are_only_in_the_certificate(url):
    angles = np.linspace(0, 1.5, 600)
    arms = np.column_stack([np.cos(angles), np.sin(angles)])
    with Experiment.open(url, "ads", create=Problem(arms, noise=1.0)) as experiment:
        status = experiment.status()
        assert status.certificate.p_values is None and len(status.standings) == 500
        assert all(one.p_value == 1.0 for one in status.standings)
        assert "and 580 more" in str(status)
        assert experiment.certificate().p_values == (1.0,) * 600


def test_arms_that_cannot_be_the_answer_come_last(url):
    problem = Problem(ARMS, answers=[0, 1, 2], noise=1.0)
    with Experiment.open(url, "ads", create=problem) as experiment:
        for arm in (0, 1, 2, 3, 4, 5) * 2:
            experiment.add(arm, pull(arm))
        standings = experiment.status().standings
        assert {one.arm for one in standings[:3]} == {0, 1, 2}
        assert [one.p_value is None for one in standings] == 3 * [False] + 3 * [True]


def test_of_many_arms_those_that_may_be_best_and_those_most_pulled(url):
    angles = np.linspace(0, 1.5, 2_000)
    problem = Problem(np.column_stack([np.cos(angles), np.sin(angles)]), noise=1.0)
    with Experiment.open(url, "ads", create=problem, explorer="lingape(start=spanning)") as exp:
        for arm in (0, 1_999, *range(700, 720)):
            for _ in range(9):
                exp.add(arm, float(np.cos(angles[arm])))
        standings = exp.status().standings
    assert len({one.arm for one in standings}) == len(standings) == 500
    assert sum(one.pulls for one in standings) == 9 * 22
    ends = [one.high for one in standings]
    assert ends == sorted(ends, reverse=True) and standings[0].high > 0


def test_tickets_arm_by_arm(url, clock):
    with Experiment.open(url, "ads", create=Problem(ARMS, noise=1.0), clock=clock) as experiment:
        late = experiment.ask(2, ttl=60)
        experiment.ask(3, ttl=None)
        clock.now += 61
        standings = {one.arm: one for one in experiment.status().standings}
        for ticket in late:
            assert standings[ticket.arm].overdue == [one.arm for one in late].count(ticket.arm)
        assert sum(one.pending for one in standings.values()) == 3
        assert experiment.status().overdue == 2


def test_a_list_of_experiments(url):
    for name in ("b", "a"):
        Experiment.open(url, name, create=Problem(ARMS, noise=1.0)).close()
    with Experiment.open(url, "a") as experiment:
        experiment.add(0, 1.0)
        lines = experiments(url)
        assert [(line.name, line.pulls) for line in lines] == [("a", 1), ("b", 0)]
        assert lines[0].to_dict().items() <= experiment.status().to_dict().items()


def test_history(url):
    problem = Problem(ARMS, noise=1.0)
    with Experiment.open(url, "ads", create=problem, explorer="lingape") as experiment:
        assert experiment.history() == []
        for i in range(40):
            experiment.add(i % 6, pull(i % 6))
        points = experiment.history()
        assert [point.pulls for point in points] == list(range(6, 41))
        now = experiment.status()
        assert points[-1] == (40, now.leader, now.rival, now.gap_bound, now.last, None, None)
        assert experiment.history(2) == [points[0], points[-1]]
        for wrong in (1, True, 2.0, "many"):
            with pytest.raises(InvalidArgument, match="whole number from 2"):
                experiment.history(wrong)


def test_the_history_of_a_race(url, clock):
    rng = np.random.default_rng(0)
    with Experiment.open(url, "ads", create=Problem(ARMS, noise=0.3), clock=clock) as experiment:
        while not (status := experiment.status()).settled:
            for ticket in experiment.ask(3):
                clock.now += 1
                experiment.tell(ticket, float(ARMS[ticket.arm] @ THETA + 0.3 * rng.normal()))
        points = experiment.history(2_000)
        assert [point.time for point in points] == sorted({point.time for point in points})
        assert {point.left for point in points} > {6, 1} and points[-1].left == 1
        assert points[0].p_value == 1.0 and points[-1].p_value <= 0.05
        last = [one.p_value for one in status.standings if one.arm != status.answer]
        assert points[-1].p_value == max(last)
        assert points[-1].left == 6 - status.ruled_out


def test_thinned_histories_are_those_of_all_points(url, monkeypatch):
    problem = Problem(ARMS, noise=1.0, delta=1e-9)
    with Experiment.open(url, "ads", create=problem) as experiment:
        for i in range(101):
            experiment.add(i % 6, pull(i % 6))
        experiment.ask(5)
        full = experiment.history()
        monkeypatch.setattr("lingape.live.history.KEPT", 10)
        thin = experiment.history()
        assert len(thin) <= 11 and thin[0] == full[0] and thin[-1] == full[-1]
        assert set(thin) < set(full)


def test_a_line_says_how_it_stands(url, clock):
    clock.now = datetime(2024, 5, 1, 12).timestamp()
    problem = Problem(np.eye(3), noise=0.5, control=0, names=["a", "b", "c"])
    about = {"question": "Which?", "notes": "Until May.", "owner": "Ada"}
    with Experiment.open(url, "ads", create=problem, clock=clock, **about) as experiment:
        status = experiment.status()
        assert (status.question, status.notes, status.owner) == ("Which?", "Until May.", "Ada")
        assert (status.share_done, status.value, status.lift, status.today) == (0.0, None, None, 0)
        assert (status.control, status.control_name) == (0, "a")
        assert status.answer_pulls is status.settled_pulls is None
        assert str(status).startswith("Which?\nToo early to say: ")
        for i in range(30):
            experiment.add(i % 3, 0.1 * (i % 3) + 0.3 * (-1) ** (i // 3))
        status = experiment.status()
        assert not status.settled and status.leader == 2
        standings = {one.arm: one for one in status.standings}
        for name in ("value", "value_low", "value_high", "lift", "lift_low", "lift_high"):
            assert getattr(status, name) == getattr(standings[2], name) is not None
        left = status.remaining.median
        assert status.share_done == (None if left is None else 30 / (30 + left))
        assert (status.today, status.answer_pulls, status.began) == (30, 10, clock.now)
        with experiment.current() as replay:
            assert valid_until(replay, clock.now) == datetime(2024, 5, 2).timestamp()
        clock.now = datetime(2024, 5, 2).timestamp()
        experiment.archive()
        status = experiment.status()
        assert (status.today, status.last) == (0, clock.now)
        while not experiment.status().settled:
            for arm in range(3):
                experiment.add(arm, [-2.0, -2.0, 2.0][arm])
        status = experiment.status()
        assert status.share_done == 1.0 and status.remaining is None
        assert status.settled_pulls == status.pulls


@pytest.fixture
def catalogue(url):
    """An experiment with a few hundred arms, of which some have rewards."""
    angles = np.linspace(0, 1.5, 600)
    names = [f"Item {i:03}" for i in range(599)] + ["aardvark"]
    arms = np.column_stack([np.cos(angles), np.sin(angles)])
    problem = Problem(arms, names=names, noise=1.0, minimize=True)
    with Experiment.open(url, "ads", create=problem, explorer="lingape(start=spanning)") as found:
        for arm in (0, 599, 300, 300, 300, 7):
            found.add(arm, float(np.cos(angles[arm])))
        found.void(found.ask()[0], "node lost")
        yield found


def test_pages_of_arms(catalogue):
    first, second = catalogue.arms(limit=400), catalogue.arms(start=400, limit=400)
    assert first.total == second.total == 600
    everyone = [*first.standings, *second.standings]
    assert sorted(one.arm for one in everyone) == list(range(600))
    ends = [one.high for one in everyone]
    assert ends == sorted(ends, reverse=True)
    known = {one.arm: one for one in catalogue.status().standings}
    assert all(known.get(one.arm, one) == one for one in everyone)
    assert catalogue.arms(start=600) == ((), 600)


def test_arms_in_other_orders(catalogue):
    values = [one.value for one in catalogue.arms(sort="value", limit=500).standings]
    assert values == sorted(values)  # the lowest is the best
    assert [one.pulls for one in catalogue.arms(sort="pulls", limit=5).standings] == [
        3,
        1,
        1,
        1,
        0,
    ]
    assert [one.voided for one in catalogue.arms(sort="voided", limit=2).standings] == [1, 0]
    assert [one.arm for one in catalogue.arms(sort="name", limit=2).standings] == [599, 0]
    with pytest.raises(InvalidArgument, match="sort must be one of best, value, .*got 'worst'"):
        catalogue.arms(sort="worst")


def test_searching_for_arms(catalogue):
    found = catalogue.arms("ITEM 01", sort="name", limit=3)
    assert [one.name for one in found.standings] == ["Item 010", "Item 011", "Item 012"]
    assert found.total == 10
    assert [one.arm for one in catalogue.arms("599").standings] == [599]
    assert catalogue.arms("nothing") == ((), 0)
    for wrong in ({"limit": 501}, {"limit": 0}, {"start": -1}, {"search": 201 * "x"}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            catalogue.arms(**wrong)


def test_arms_before_there_are_rewards(url):
    with Experiment.open(url, "ads", create=Problem(ARMS, noise=1.0)) as experiment:
        for sort in ("best", "value", "name"):
            found = experiment.arms(sort=sort)
            assert [one.arm for one in found.standings] == list(range(6)) and found.total == 6
            assert all(one.value is None for one in found.standings)
