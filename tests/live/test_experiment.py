"""What experiments promise to those who ask and tell."""

import json
import threading
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from crew import ARMS, problem, pull
from tamper import change

import lingape.live.turns as live
from lingape import EXPLORERS, Experiment, Problem, Race
from lingape.errors import (
    Conflict,
    ExplorationOver,
    InvalidArgument,
    InvalidArm,
    InvalidBound,
    InvalidReward,
    InvalidState,
    NotFound,
)
from lingape.live import Added, Asked, Settled, Told, Voided, read_export, verify
from lingape.live.replay import Replay

EASY = Problem([[1, 0], [0, 1]], noise=0.1, names=["red", "blue"])
SERVED = [name for name in EXPLORERS if name != "xy_oracle"]


@pytest.fixture
def url(each_url):
    return each_url


@pytest.fixture
def ads(url):
    with Experiment.open(url, "ads", create=problem()) as experiment:
        yield experiment


def settle(experiment):
    for arm in (0, 1) * 20:
        experiment.add(arm, [1.0, 0.0][arm])
    assert experiment.status().settled


def state(experiment):
    with experiment.current() as replay:
        return replay.explorer.state()


def test_a_whole_experiment(url):
    with Experiment.open(url, "ads", create=EASY) as experiment:
        while not experiment.status().settled:
            for ticket in experiment.ask(2, worker="me"):
                assert ticket.features == tuple(EASY.arms[ticket.arm])
                assert ticket.name == EASY.names[ticket.arm]
                experiment.tell(ticket.id, [1.0, 0.0][ticket.arm])
        certificate = experiment.certificate()
        assert certificate.settled and certificate.arm == 0
        assert "No arm is better than red" in str(certificate)
        assert "does not depend on that reward" in certificate.assumptions[-1]
        with pytest.raises(ExplorationOver, match="No arm is better than red"):
            experiment.ask()
        assert experiment.verify().certificate == certificate


def test_the_same_pulls_as_an_explorer(ads):
    explorer = Race(problem())
    for _ in range(60):
        (ticket,) = ads.ask()
        assert ticket.arm == explorer.ask()
        reward = pull(ticket.arm)
        explorer.tell(ticket.arm, reward)
        ads.tell(ticket.id, reward)
    assert state(ads) == explorer.state()


def test_pending_tickets_count(ads):
    first = [ticket.arm for _ in range(6) for ticket in ads.ask()]
    assert sorted(first) == list(range(6))
    assert [ticket.arm for ticket in ads.ask(3)] == Race(problem()).ask_many(3, pending=first)


def test_expired_tickets_return_to_the_pool_and_late_rewards_count(url, clock):
    with Experiment.open(url, "ads", create=problem(), clock=clock) as experiment:
        (lost,) = experiment.ask(ttl="6h")
        assert lost.deadline == clock.now + 6 * 3600
        assert experiment.ask()[0].arm != lost.arm
        clock.now += 6 * 3600
        assert (experiment.status().pending, experiment.status().overdue) == (1, 1)
        assert experiment.ask()[0].arm == lost.arm
        experiment.tell(lost.id, 1.0)
        assert experiment.status().pulls == 1


def test_a_clock_that_jumps_breaks_nothing(url, clock):
    with Experiment.open(url, "ads", create=problem(), clock=clock) as experiment:
        (one,) = experiment.ask(ttl=60)
        clock.now -= 1e8
        (two,) = experiment.ask(ttl=60)
        clock.now += 3e8
        (three,) = experiment.ask(ttl=60)
        clock.now -= 2e8
        for ticket in (three, one, two):
            experiment.tell(ticket.id, 1.0)
        assert experiment.status().pulls == 3
        experiment.verify()


def test_telling_again(ads):
    (ticket,) = ads.ask()
    ads.tell(ticket.id, 0.25)
    ads.tell(ticket.id, 0.25)
    with pytest.raises(Conflict, match=r"told 0\.25; now it is 0\.5"):
        ads.tell(ticket.id, 0.5)
    with pytest.raises(Conflict, match="cannot be voided"):
        ads.void(ticket.id, "late")
    assert ads.status().pulls == 1


def test_voiding(ads):
    (ticket,) = ads.ask()
    ads.void(ticket.id, "node lost")
    ads.void(ticket.id, "node lost")
    with pytest.raises(Conflict, match=r"voided \(node lost\).*add\(\)"):
        ads.tell(ticket.id, 1.0)
    status = ads.status()
    assert (status.pulls, status.pending, status.voided) == (0, 0, 1)
    assert ads.ask()[0].arm == ticket.arm


def test_keys(ads):
    tickets = ads.ask(2, key="job 7")
    assert ads.ask(2, key="job 7") == tickets
    with pytest.raises(Conflict, match="Use a key only to repeat"):
        ads.ask(3, key="job 7")
    ads.add(1, 0.5, key="row 1")
    ads.add(1, 0.5, key="row 1")
    with pytest.raises(Conflict):
        ads.add(1, 0.75, key="row 1")
    ads.add(1, 0.5)
    assert [event.kind for event in ads.events(1)] == ["asked", "added", "added"]


def test_keys_are_good_after_the_end(url):
    with Experiment.open(url, "ads", create=EASY) as experiment:
        tickets = experiment.ask(key="k")
        settle(experiment)
        assert experiment.ask(key="k") == tickets
        experiment.tell(tickets[0].id, 1.0)


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda e, t: e.tell(t, float("nan")), InvalidReward),
        (lambda e, t: e.tell(t, float("inf")), InvalidReward),
        (lambda e, t: e.tell(t, "a lot"), InvalidReward),
        (lambda e, t: e.tell(t, None), InvalidReward),
        (lambda e, t: e.tell(t[:-1] + ("a" if t[-1] != "a" else "b"), 1.0), NotFound),
        (lambda e, t: e.tell("2-1-aaaaaaaa", 1.0), NotFound),
        (lambda e, t: e.tell("", 1.0), NotFound),
        (lambda e, t: e.tell(None, 1.0), NotFound),
        (lambda e, t: e.tell(["x"], 1.0), NotFound),
        (lambda e, t: e.tell("\ud800\0", 1.0), NotFound),
        (lambda e, t: e.void("nobody", "why"), NotFound),
        (lambda e, t: e.void(t, ""), InvalidArgument),
        (lambda e, t: e.void(t, None), InvalidArgument),
        (lambda e, t: e.void(t, "x" * 201), InvalidArgument),
        (lambda e, t: e.add(6, 1.0), InvalidArm),
        (lambda e, t: e.add(-1, 1.0), InvalidArm),
        (lambda e, t: e.add(0.5, 1.0), InvalidArm),
        (lambda e, t: e.add(0, float("nan")), InvalidReward),
        (lambda e, t: e.add(0, 1.0, key=7), InvalidArgument),
        (lambda e, t: e.ask(0), InvalidArgument),
        (lambda e, t: e.ask(1001), InvalidArgument),
        (lambda e, t: e.ask(1.5), InvalidArgument),
        (lambda e, t: e.ask(True), InvalidArgument),
        (lambda e, t: e.ask(worker=3), InvalidArgument),
        (lambda e, t: e.ask(ttl="soon"), InvalidArgument),
        (lambda e, t: e.ask(ttl=-1), InvalidArgument),
        (lambda e, t: e.ask(ttl=float("nan")), InvalidArgument),
        (lambda e, t: e.ask(ttl=1e300), InvalidArgument),
        (lambda e, t: e.run(None, workers=0), InvalidArgument),
        (lambda e, t: e.run(None, max_pulls=-1), InvalidArgument),
        (lambda e, t: e.run(None, max_pulls=1.5), InvalidArgument),
    ],
)
def test_what_is_refused_leaves_no_trace(ads, act, error):
    (ticket,) = ads.ask()
    before, then = ads.events(), state(ads)
    with pytest.raises(error):
        act(ads, ticket.id)
    assert ads.events() == before and state(ads) == then
    ads.tell(ticket.id, 1.0)


def test_rewards_that_the_explorer_refuses_leave_no_trace(ads, monkeypatch):
    (ticket,) = ads.ask()
    with ads.current() as replay:
        monkeypatch.setattr(replay.explorer, "tell", lambda arm, reward: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ads.tell(ticket.id, 1.0)
    ads.tell(ticket.id, 2.0)  # memory was read again from the log
    assert [event.reward for event in ads.events() if isinstance(event, Told)] == [2.0]


def test_odd_texts_come_back(ads):
    text = "naïve \0 \n 'quoted' 🦆"
    ads.ask(worker=text, key=text)
    assert ads.ask(worker=text, key=text)
    assert ads.events()[-1].worker == text


def test_huge_batches(ads):
    tickets = ads.ask(1000)
    assert len({ticket.id for ticket in tickets}) == 1000
    for ticket in tickets[::100]:
        ads.tell(ticket.id, 1.0)
    assert ads.status().pending == 990


def test_opening(url):
    with pytest.raises(NotFound, match="no file|no experiments"):
        Experiment.open(url, "ads")
    with Experiment.open(url, "ads", create=EASY, explorer="lin_t3c", seed=3):
        pass
    with Experiment.open(url, "ads", create=EASY, explorer="lin_t3c", seed=3) as again:
        with again.current() as replay:
            assert replay.explorer.seed == 3
        assert again.problem == EASY
    for other in ({"explorer": "lingape"}, {"seed": 4}, {"create": problem()}):
        with pytest.raises(Conflict, match="another name"):
            Experiment.open(
                url, "ads", **({"create": EASY, "explorer": "lin_t3c", "seed": 3} | other)
            )
    with pytest.raises(NotFound, match="there are: ads"):
        Experiment.open(url, "adverts")
    for name in ("", "a b", "../x", "x" * 101, None):
        with pytest.raises(InvalidArgument, match="name of an experiment"):
            Experiment.open(url, name, create=EASY)
    for place in ("run.db", "sqlite:///", "http://here", None):
        with pytest.raises(InvalidArgument, match="sqlite:///PATH"):
            Experiment.open(place, "ads", create=EASY)
    for settings in (
        {"explorer": "xy_oracle"},
        {"explorer": "nobody"},
        {"seed": -1},
        {"create": ARMS},
    ):
        with pytest.raises(InvalidArgument):
            Experiment.open(url, "new", **({"create": EASY} | settings))
    with pytest.raises(NotFound):
        Experiment.open(url, "new")


def test_settings_of_explorers(url):
    text = "lingape(bound=self_normalized(comparisons='K^2'), start=spanning)"
    problem = Problem(ARMS, norm_bound=2.0, noise=1.0)
    with Experiment.open(url, "ads", create=problem, explorer=text) as experiment:
        assert "SelfNormalized(comparisons='K^2')" in experiment.certificate().bound


def proven(certificate):
    """Return a certificate without what later rewards change: the arm's value, and doubts."""
    return replace(certificate, value=None, value_low=None, value_high=None, warnings=())


def test_the_certificate_never_reverts(url):
    with Experiment.open(url, "ads", create=EASY) as experiment:
        late = experiment.ask(3)
        settle(experiment)
        assert experiment.certificate().warnings == ()
        certificate = proven(experiment.certificate())
        for ticket in late:
            experiment.tell(ticket.id, 100.0 * ticket.arm)
        for _ in range(50):
            experiment.add(1, 50.0)
        assert proven(experiment.certificate()) == certificate
        assert "more than the stated noise scale" in experiment.certificate().warnings[0]
        assert sum(isinstance(event, Settled) for event in experiment.events()) == 1
        experiment.verify()
    with Experiment.open(url, "ads") as again:
        assert proven(again.certificate()) == certificate


def test_status_says_what_is_proven(ads):
    status = ads.status()
    assert status.leader is None and status.gap_bound is None
    assert "Nothing is proven yet" in str(status)
    for arm in 4 * [*range(6)]:
        ads.add(arm, pull(arm))
    status = ads.status()
    with ads.current() as replay:
        contest = replay.explorer.contest
    assert (status.leader, status.rival, status.gap_bound) == contest
    assert status.certificate.gap_bound == max(0.0, contest.margin)
    json.dumps(status.to_dict(), allow_nan=False)


def test_resuming_is_exact(url, tmp_path, monkeypatch):
    """Snapshots, reopening and reading on leave no trace: not in the last bit."""
    monkeypatch.setattr(live, "EVERY", 10)
    rng = np.random.default_rng(5)
    whole = Experiment.open(f"sqlite:///{tmp_path}/whole.db", "ads", create=problem())
    other = Experiment.open(url, "ads", create=problem())
    for i in range(80):
        parts = other if i % 2 else Experiment.open(url, "ads", create=problem())
        (one,), (two,) = whole.ask(), parts.ask()
        assert one.arm == two.arm
        reward = float(rng.normal())
        whole.tell(one.id, reward)
        parts.tell(two.id, reward)
        assert state(whole) == state(parts)
        if parts is not other:
            parts.close()
    assert state(other) == state(whole)
    whole.close()
    other.close()


@pytest.mark.parametrize("name", SERVED)
def test_every_explorer_that_serves(name, url, monkeypatch):
    monkeypatch.setattr(live, "EVERY", 15)
    question = Problem(ARMS[:4], noise=0.2, delta=0.1, norm_bound=2.0)
    means = np.array([1.0, 0.0, 0.0, 0.4])
    rng = np.random.default_rng(0)
    kept = []
    with Experiment.open(url, "ads", create=question, explorer=name, seed=1) as experiment:
        for _ in range(120):
            if experiment.certificate().settled:
                break
            kept += experiment.ask(2)
            ticket = kept.pop(int(rng.integers(len(kept))))
            experiment.tell(ticket.id, float(means[ticket.arm] + 0.2 * rng.normal()))
        then = state(experiment)
        with Experiment.open(url, "ads") as again:
            assert state(again) == then
        experiment.verify()


def test_export_and_import(ads, tmp_path):
    for ticket in ads.ask(4):
        ads.tell(ticket.id, pull(ticket.arm))
    ads.add(2, 0.1 + 0.2)
    ads.void(ads.ask()[0].id, "done")
    path = tmp_path / "run.jsonl"
    assert ads.export(path) == len(ads.events())
    with pytest.raises(FileExistsError):
        ads.export(path)
    with Experiment.from_export(path, f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.events() == ads.events()
        assert state(copy) == state(ads)
        assert copy.certificate() == ads.certificate()
        told = next(event for event in copy.events() if isinstance(event, Told))
        copy.tell(told.ticket, told.reward)
        with pytest.raises(Conflict):
            copy.tell(told.ticket, 7.0)
    with pytest.raises(Conflict, match="another database"):
        Experiment.from_export(path, f"sqlite:///{tmp_path}/copy.db")


def forged(events, change):
    """Return entries with a chain of their own, as a forger would write them."""
    from lingape.live.events import as_text
    from lingape.live.store import START, Entry, chained

    digest, entries = START, []
    for event in change(events):
        digest = chained(digest, as_text(event))
        entries.append(Entry(event.seq, as_text(event), digest))
    return entries


def replaced(kind, **values):
    from dataclasses import replace

    def change(events):
        place = next(i for i, event in enumerate(events) if isinstance(event, kind))
        return [*events[:place], replace(events[place], **values), *events[place + 1 :]]

    return change


def better(events):
    place = next(i for i, event in enumerate(events) if isinstance(event, Settled))
    certificate = events[place].certificate | {"arm": 1, "arms": [1], "name": "blue"}
    return replaced(Settled, certificate=certificate)(events)


def claimed(**values):
    def change(events):
        place = next(i for i, event in enumerate(events) if isinstance(event, Settled))
        return replaced(Settled, certificate=events[place].certificate | values)(events)

    return change


def keyed_twice(events):
    place = next(i for i, event in enumerate(events) if isinstance(event, Added))
    return [
        *replaced(Added, key="k")(events)[: place + 1],
        replaced(Added, key="k", seq=place + 2)(events)[place],
    ]


def unsettled(events):
    from dataclasses import replace

    place = next(i for i, event in enumerate(events) if isinstance(event, Settled))
    rest = [replace(event, seq=event.seq - 1) for event in events[place + 1 :]]
    return [*events[:place], *rest]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (replaced(Told, reward=-5.0), "does not follow|does not say so"),
        (replaced(Told, arm=1), "another arm"),
        (replaced(Told, ticket="2-0-zzzzzzzz"), "never asked for"),
        (replaced(Asked, tickets=(("9-0-aaaaaaaa", 0),)), "does not belong to this event"),
        (replaced(Asked, tickets=(("2-0-aaaaaaaa", 7),)), "from 0 to 1"),
        (replaced(Voided, ticket="2-0-zzzzzzzz"), "never asked for"),
        (replaced(Added, arm=3), "from 0 to 1"),
        (better, "does not follow"),
        (claimed(statement="No arm is better than blue."), "does not follow"),
        (claimed(settled=False), "does not follow"),
        (claimed(gap_bound="none"), "does not follow"),
        (claimed(gap_bound=-1.0), "does not follow"),
        (claimed(pulls=2), "does not follow"),
        (keyed_twice, 'add "k", was used before'),
        (unsettled, "does not say so"),
        (lambda events: events[1:], "after event 0 comes event 2"),
        (lambda events: [*events[:2], events[0], *events[3:]], "comes event 1"),
        (lambda events: [], "empty"),
    ],
)
def test_forged_logs_do_not_verify(url, change, words):
    with Experiment.open(url, "ads", create=EASY) as experiment:
        one, two = experiment.ask(2)
        experiment.tell(one.id, 1.0)
        experiment.void(two.id, "lost")
        settle(experiment)
        events = experiment.events()
        assert verify(forged(events, list)) == experiment.verify()
    with pytest.raises(InvalidState, match=words):
        verify(forged(events, change))


def test_exports_that_were_changed_do_not_verify(ads, tmp_path):
    for ticket in ads.ask(3):
        ads.tell(ticket.id, pull(ticket.arm))
    path = tmp_path / "run.jsonl"
    ads.export(path)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    assert verify(read_export(path)).events == len(lines)
    other = json.dumps(json.loads(lines[3]) | {"reward": 7.0}) + "\n"
    for text, words in [
        ("".join(lines[:3] + [other] + lines[4:]), "hash differs"),
        ("".join(lines[:3] + lines[4:]), "number 5"),
        ("".join(lines)[:-20], "Line 5"),
        ("[]\n", "Line 1"),
        ("null\n", "Line 1"),
        ('{"hash": 1}\n', "none of created"),
        ('{"hash": 1, "event": []}\n', "none of created"),
        ("", "empty"),
    ]:
        path.write_text(text)
        with pytest.raises(InvalidState, match=words):
            verify(read_export(path))


def test_run(url):
    with Experiment.open(url, "ads", create=EASY) as experiment:
        outcome = experiment.run(lambda ticket: [1.0, 0.0][ticket.arm], workers=3)
        assert outcome.certificate.settled and outcome.certificate.arm == 0
        assert outcome.told == experiment.status().pulls
        assert experiment.status().pending == 0
        assert not outcome.failures


def test_run_reports_failures(ads):
    calls, lock = iter(range(1000)), threading.Lock()

    def sometimes(ticket):
        with lock:
            if next(calls) % 5 == 0:
                raise OSError("node lost")
        return pull(ticket.arm)

    outcome = ads.run(sometimes, workers=2, max_pulls=20)
    assert len(outcome.failures) == 4 and outcome.told == 16
    reasons = [event.reason for event in ads.events() if isinstance(event, Voided)]
    assert reasons == ["OSError: node lost"] * 4


def test_run_gives_up(ads):
    def never(ticket):
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        ads.run(never, workers=2, max_failures=3)
    assert ads.status().pending == 0
    with pytest.raises(InvalidReward):  # also a failure of whoever measures
        ads.run(lambda ticket: float("nan"), workers=1, max_failures=1)


def test_threads_share_an_experiment(ads):
    def work():
        for _ in range(15):
            (ticket,) = ads.ask()
            ads.tell(ticket.id, pull(ticket.arm))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ads.status().pulls == 60
    ads.verify()


def test_tickets_themselves_can_be_told_and_voided(url):
    with Experiment.open(url, "ads", create=problem()) as experiment:
        first, second = experiment.ask(2)
        assert experiment.tell(first, 0.5).pulls == 1
        assert experiment.tell(first.id, 0.5).pulls == 1
        with pytest.raises(Conflict, match=f"Ticket {first.id} was told 0.5"):
            experiment.tell(first, 0.75)
        experiment.void(second, "node lost")
        assert experiment.status().voided == 1
        with pytest.raises(NotFound, match="No ticket"):
            experiment.tell(7, 0.5)


def test_a_time_to_live_as_a_timedelta(url, clock):
    with Experiment.open(url, "ads", create=problem(), clock=clock) as experiment:
        (ticket,) = experiment.ask(ttl=timedelta(minutes=90))
        assert ticket.deadline == clock.now + 5400
        experiment.run(lambda ticket: 0.5, workers=1, max_pulls=2, ttl=timedelta(hours=2))
        asked = [event for event in experiment.events() if event.kind == "asked"]
        assert [event.deadline - event.time for event in asked] == [5400, 7200, 7200]
        for wrong in (timedelta(0), timedelta(days=400), timedelta(days=-1)):
            with pytest.raises(InvalidArgument, match="ttl must be"):
                experiment.ask(ttl=wrong)
        with pytest.raises(InvalidArgument, match="ttl must be"):
            experiment.run(lambda ticket: 0.5, ttl="soon")


def test_after_close_everything_says_so(url, tmp_path):
    experiment = Experiment.open(url, "ads", create=problem())
    (ticket,) = experiment.ask()
    experiment.close()
    experiment.close()
    for act in (
        lambda: experiment.problem,
        experiment.ask,
        lambda: experiment.tell(ticket, 1.0),
        lambda: experiment.void(ticket, "why"),
        lambda: experiment.add(0, 1.0),
        experiment.status,
        experiment.certificate,
        experiment.check,
        experiment.events,
        experiment.history,
        lambda: list(experiment.export_lines()),
        lambda: experiment.export(tmp_path / "x.jsonl"),
        experiment.verify,
        lambda: experiment.run(lambda ticket: 1.0),
    ):
        with pytest.raises(InvalidState, match=r"was closed\. Open it again"):
            act()
    assert not (tmp_path / "x.jsonl").exists()
    with Experiment.open(url, "ads") as again:
        assert again.status().pending == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seed": 4}, r"settings: seed \(3 there, 4 now\)\."),
        ({"explorer": "lingape"}, r"explorer \('lin_t3c' there, 'lingape' now\)"),
        ({"create": Problem([[1, 0], [0, 1], [1, 1]], noise=1.0)}, r"arms \(2 there, 3 now\)"),
        (
            {"create": Problem([[1, 0], [0, 2]], noise=1.0)},
            r"arms \(number 1 is \[0.0, 1.0\] there, \[0",
        ),
        (
            {"create": Problem([[1, 0], [0, 1]], delta=0.1, noise=1.0)},
            r"delta \(0.05 there, 0.1 now\)",
        ),
        (
            {"create": Problem([[1, 0], [0, 1]], names=["a", "b"], noise=1.0)},
            r"names \(none there, \['a'",
        ),
        (
            {"create": Problem([[1, 0], [0, 1]], noise=2.0, epsilon=0.1), "seed": 1},
            r"noise \(1.0 there, 2.0 now\); epsilon \(0.0 there, 0.1 now\); seed \(3",
        ),
    ],
)
def test_a_conflict_says_which_setting_differs(url, settings, words):
    first = {"create": Problem([[1, 0], [0, 1]], noise=1.0), "explorer": "lin_t3c", "seed": 3}
    Experiment.open(url, "ads", **first).close()
    with pytest.raises(Conflict, match=words):
        Experiment.open(url, "ads", **(first | settings))


def test_what_it_is_about(url, tmp_path):
    about = {"question": "Which ad?", "notes": "Until May.\n" * 100, "owner": "Ada"}
    with Experiment.open(url, "ads", create=EASY, **about) as experiment:
        (created,) = experiment.events(limit=1)
        assert {name: getattr(created, name) for name in about} == about
        with experiment.refit("ads-2", per_arm=True) as successor:
            (heir,) = successor.events(limit=1)
            assert {name: getattr(heir, name) for name in about} == about
        path = tmp_path / "run.jsonl"
        experiment.export(path)
    with Experiment.from_export(path, f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.events() == [created]
    for said in ({}, {"question": ""}, {"owner": "Ada"}):
        Experiment.open(url, "ads", create=EASY, **said).close()
    with pytest.raises(Conflict, match=r"settings: owner \('Ada' there, 'Bob' now\)\."):
        Experiment.open(url, "ads", create=EASY, owner="Bob")


@pytest.mark.parametrize(
    "wrong", [{"question": 201 * "?"}, {"notes": 20_001 * "n"}, {"owner": 3}, {"notes": "\udcff"}]
)
def test_what_cannot_be_said_of_it(url, wrong):
    with pytest.raises(InvalidArgument, match=f"^{next(iter(wrong))} must be a text"):
        Experiment.open(url, "ads", create=EASY, **wrong)


def test_a_crowd_takes_over_snapshots(url, monkeypatch):
    """Who fell far behind reads what others made of the log; the state is the same to the bit."""
    with (
        Experiment.open(url, "ads", create=problem()) as one,
        Experiment.open(url, "ads") as two,
        Experiment.open(url, "ads") as three,
    ):
        followed = []
        follow = Replay.follow
        monkeypatch.setattr(
            Replay, "follow", lambda replay, entry: followed.append(entry) or follow(replay, entry)
        )
        for turn in range(12):
            for experiment in (one, two):
                for arm in range(6):
                    for _ in range(5):
                        experiment.add(arm, 0.25 * arm + 0.01 * turn)
        assert one._crowded and two._crowded
        del followed[:]
        with three.current() as replay:
            late = replay.explorer.state(), replay.head, vars(replay.averages)
        assert len(followed) < 60
        with one.current() as replay:
            assert replay.explorer.state() == late[0] and replay.head == late[1]
        assert three.verify().pulls == 720


def test_who_fell_behind_notices_another_log(url):
    with Experiment.open(url, "ads", create=problem()) as old:
        old.add(0, 1.0)
        head = old.status().event, old.status().digest
        for table in ("entries", "refs", "logs", "snapshots"):
            change(url, f"DELETE FROM {table} WHERE name = 'ads'")
        with (
            Experiment.open(url, "ads", create=problem()) as one,
            Experiment.open(url, "ads") as two,
        ):
            for experiment in (one, two) * 3:
                for arm in range(30):
                    experiment.add(arm % 6, 0.5)
        assert head[0] == 2
        with pytest.raises(InvalidState, match="event 3 is not what was written"):
            old.status()


@pytest.mark.parametrize(
    ("noise", "wrong"), [("binary", [0.5, -1, 2]), ((-1, 3), [-1.5, 4, 3.0000001])]
)
def test_rewards_outside_what_was_promised_are_refused(url, noise, wrong):
    asked = Problem(ARMS, noise=noise)
    with Experiment.open(url, "ads", create=asked) as experiment:
        (ticket,) = experiment.ask()
        for reward in wrong:
            for call in (lambda r: experiment.tell(ticket, r), lambda r: experiment.add(0, r)):
                with pytest.raises(
                    InvalidReward, match="Rewards have to be .* Nothing was recorded"
                ):
                    call(reward)
        assert len(experiment.events()) == 2
        assert experiment.tell(ticket, 1).pulls == 1
        assert experiment.problem == asked
    for other in (0.5, (0, 0.9)):
        with pytest.raises(Conflict, match="noise"):
            Experiment.open(url, "ads", create=asked.replace(noise=other))


def test_noise_of_unknown_scale_needs_an_explorer_that_learns_it(url, tmp_path):
    with pytest.raises(InvalidBound, match="LinGapE needs the scale of the noise"):
        Experiment.open(url, "ads", create=Problem(ARMS, noise="normal"), explorer="lingape")
    assert not (tmp_path / "run.db").exists()


def test_a_log_with_a_reward_outside_does_not_verify(url, tmp_path):
    from lingape.live.events import as_text, from_text
    from lingape.live.store import START, Entry, chained

    with Experiment.open(url, "ads", create=Problem(ARMS, noise="binary")) as experiment:
        experiment.add(0, 1)
        experiment.export(tmp_path / "log")
    first, second = read_export(tmp_path / "log")
    forged = as_text(replace(from_text(second.text, place=2), reward=0.5))
    entries = [first, Entry(2, forged, chained(first.digest, forged))]
    assert chained(START, first.text) == first.digest
    with pytest.raises(InvalidState, match="Rewards have to be 0 or 1"):
        verify(entries)
