"""What happened when, and who did it."""

import json

import pytest
from outpost import Outpost

import lingape.live.activity as activity
from lingape import Client, Experiment, Problem
from lingape.live import Hour, Worker
from lingape.live.activity import Activity
from lingape.live.replay import Replay
from lingape.live.snapshots import restore, snapshot_of

PROBLEM = Problem([[1, 0], [0, 1]], noise=0.1, delta=1e-100)
START = 1_700_000_000  # 800 seconds past an hour
FIRST = START - 800


@pytest.fixture
def ads(url, clock):
    with Experiment.open(url, "ads", create=PROBLEM, clock=clock) as experiment:
        yield experiment


def test_rewards_by_the_hour_and_tickets_by_worker(ads, clock):
    assert ads.activity() == Activity((), (), 0)
    first, second, _ = ads.ask(3, worker="a", ttl=60)
    ads.tell(first, 0.5)
    clock.now += 3600
    (other,) = ads.ask()
    ads.add(0, 0.25)
    ads.void(second, "node lost")
    clock.now += 7200
    ads.tell(other, 0.5)
    assert ads.activity() == (
        (Hour(FIRST, 1, 0), Hour(FIRST + 3600, 1, 1), Hour(FIRST + 10_800, 1, 0)),
        (
            Worker(None, 1, 1, 0, 0, 0, START + 10_800),
            Worker("a", 3, 1, 1, 0, 1, START + 3600),
        ),
        0,
    )


def test_corrections_count_where_the_reward_was(ads, clock):
    (ticket,) = ads.ask(worker="a")
    ads.tell(ticket, 0.5)
    added = ads.events()[-1].seq + 1
    ads.add(1, 0.25)
    clock.now += 3600
    ads.correct(ticket, None, "no such trial")
    assert ads.activity().hours == ((FIRST, 1, 1),)
    assert ads.activity().workers == (("a", 1, 0, 1, 0, 0, START),)
    ads.correct(added, None, "no such trial")
    assert ads.activity().hours == ((FIRST, 0, 1),)
    ads.correct(ticket, 0.75, "typing error")
    assert ads.activity().hours == ((FIRST, 1, 0),)


def test_a_successor_has_its_rewards_when_it_began(ads, clock):
    for arm in (0, 1, 1):
        ads.add(arm, 0.5)
    clock.now += 3600
    with ads.refit("next", epsilon=0.1) as successor:
        assert successor.activity() == (((FIRST + 3600, 3, 0),), (), 0)


def test_many_workers(ads, monkeypatch):
    monkeypatch.setattr(activity, "SHOWN", 3)
    monkeypatch.setattr(activity, "KEPT", 5)
    for i in range(7):
        ads.ask(worker=f"w{i}")
    ads.ask(worker="w2")
    found = ads.activity()
    assert [(one.name, one.asked) for one in found.workers] == [("w2", 2), ("w6", 1), ("w5", 1)]
    assert found.other_workers == 4


def test_snapshots_keep_it(ads, clock):
    ads.tell(ads.ask(worker="a")[0], 0.5)
    ads.void(ads.ask()[0], "node lost")
    ads.archive()
    with ads.current() as replay:
        again = Replay(ads.events(limit=1)[0], "")
        assert restore(again, snapshot_of(replay))
        assert again.activity(clock()) == replay.activity(clock()) == ads.activity()
        assert (again.archived, again.last) == (True, START)


def test_over_http(url):
    with Outpost(url) as outpost, Client(outpost.url) as client:
        ads = client.create("ads", PROBLEM)
        ads.tell(ads.ask(worker="a")[0], 0.5)
        found = ads.activity()
        assert found.hours[0].rewards == 1 and found.workers[0].name == "a"
        with Experiment.open(url, "ads") as here:
            assert here.activity() == found
        data = client._get("/api/experiments/ads/activity", json.dumps)
    assert json.loads(data) == {
        "hours": [found.hours[0]._asdict()],
        "workers": [found.workers[0]._asdict()],
        "other_workers": 0,
    }
