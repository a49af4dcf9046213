"""Threads and processes that do anything at all, on a database where anything may fail."""

import random
import threading
from collections import Counter
from contextlib import contextmanager
from itertools import chain

import crew
import pytest
from audit import state

import lingape.live.turns as live
from lingape import Problem
from lingape.errors import Conflict, ExplorationOver, StorageFailed
from lingape.live import Added, Asked, Experiment, Settled, Told, Voided
from lingape.live.events import from_text
from lingape.live.replay import Replay

THREADS, ROUNDS = 6, 30


@pytest.fixture
def url(each_url):
    return each_url


def break_often(store, rng, share):
    """Let a database fail: before a transaction, at any append, before the commit, after it."""
    transaction, view, sync, save = store.transaction, store.view, store.sync, store.save

    def perhaps(likely=1.0):
        if rng.random() < share * likely:
            raise rng.choice([StorageFailed, OSError, SystemExit])("bad luck")

    @contextmanager
    def broken_transaction(name, sought=()):
        perhaps()
        with transaction(name, sought) as log:
            append = log.append

            def broken_append(notes):
                perhaps(0.5)
                head = append(notes)
                perhaps(0.5)
                return head

            log.append = broken_append
            yield log
            perhaps()
        perhaps()

    @contextmanager
    def broken_view(name):
        perhaps()
        with view(name) as log:
            yield log

    def broken_sync():
        perhaps()
        sync()

    def broken_save(name, snapshot):
        perhaps(5.0)
        save(name, snapshot)

    store.transaction, store.view = broken_transaction, broken_view
    store.sync, store.save = broken_sync, broken_save


def work(url, seed, share, results):
    """Do things in threads; say what was acknowledged, refused, and neither."""
    live.EVERY = 25
    acknowledged, refused, unknown, tickets = [], [], [], []

    def once(rng, name):
        what, key = rng.choice("aaattttttvd"), rng.choice([None, name])
        ticket = rng.choice(tickets) if tickets else None
        if what == "a":
            did = ("ask", name)
            act = lambda: tickets.extend(experiment.ask(2, worker=name, key=key))  # noqa: E731
        elif what == "t" and ticket:
            did = ("tell", ticket.id, rng.choice([0.0, rng.random()]))
            act = lambda: experiment.tell(*did[1:])  # noqa: E731
        elif what == "v" and ticket:
            did = ("void", ticket.id)
            act = lambda: experiment.void(ticket.id, name)  # noqa: E731
        else:
            both = f"both {rng.randrange(5)}"  # a key that others use as well
            did = ("add", 0, 5.0, both) if rng.random() < 0.5 else ("add", 1, rng.random(), key)
            act = lambda: experiment.add(did[1], did[2], key=did[3])  # noqa: E731
        try:
            act()
        except (Conflict, ExplorationOver):
            refused.append(did)
        except BaseException:
            unknown.append(did)
        else:
            acknowledged.append(did)

    def body(thread):
        rng = random.Random(f"{seed} {thread}")
        for i in range(ROUNDS):
            once(rng, f"{seed} {thread} {i}")

    with Experiment.open(url, "ads") as experiment:
        break_often(experiment._store, random.Random(seed), share)
        threads = [threading.Thread(target=body, args=(i,)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name in ("transaction", "view", "sync", "save"):
            delattr(experiment._store, name)
        with experiment.current() as replay:
            memory = replay.explorer.state(), replay.head, list(replay.open)
    results.put((acknowledged, refused, unknown, memory))


@pytest.mark.parametrize(("share", "noise"), [(0.0, 100.0), (0.03, 100.0), (0.03, 0.5)])
def test_whatever_fails_the_log_has_what_was_acknowledged(context, url, share, noise):
    question = Problem(crew.ARMS[:3], noise=noise, delta=0.3)
    Experiment.open(url, "ads", create=question).close()
    results = context.Queue()
    crowd = [context.Process(target=work, args=(url, i, share, results)) for i in range(2)]
    for process in crowd:
        process.start()
    found = [results.get(timeout=300) for _ in crowd]
    for process in crowd:
        process.join()
    acknowledged, refused, unknown = (
        list(chain.from_iterable(each[i] for each in found)) for i in range(3)
    )
    with Experiment.open(url, "ads") as experiment:
        experiment.verify()
        events = experiment.events()
        with experiment._store.view("ads") as view:
            entries = list(view.read())
    recorded = Counter()
    for event in events:
        match event:
            case Asked():
                recorded["ask", event.worker] += 1
            case Told():
                recorded["tell", event.ticket, event.reward] += 1
            case Voided():
                recorded["void", event.ticket] += 1
            case Added():
                recorded["add", event.arm, event.reward, event.key] += 1
    assert max(recorded.values()) == 1  # nothing twice
    assert set(acknowledged) <= set(recorded) <= {*acknowledged, *unknown}
    assert not set(recorded) & (set(refused) - {*acknowledged, *unknown})
    assert share or not unknown
    kinds = [type(event) for event in events]
    assert kinds.count(Settled) <= (noise < 1.0)
    if Settled in kinds:
        assert Asked not in kinds[kinds.index(Settled) :]
    # What processes had in mind is the replay of the log as far as they had read it.
    replay, minds = None, {each[3][1].seq: each[3] for each in found}
    for entry in entries:
        event = from_text(entry.text, place=entry.seq)
        if replay is None:
            replay = Replay(event, entry.digest)
        else:
            replay.apply(event, entry.digest)
        if entry.seq in minds:
            then = replay.explorer.state(), replay.head, list(replay.open)
            assert then == minds.pop(entry.seq)
    assert not minds
    assert state(url) == (replay.explorer.state(), replay.head)
