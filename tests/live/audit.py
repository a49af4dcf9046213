"""What must be true of an experiment after any trouble."""

import sqlite3
import time

from tamper import change

from lingape.live import Asked, Experiment, Told


def wait_for(condition, what, seconds=120.0):
    """Wait until something is so; busy machines take their time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)


def lines(file):
    """Return the whole lines of a file; one that a kill cut off was not written."""
    return file.read_text().split("\n")[:-1] if file.exists() else []


def wait_for_work(files, more=1):
    """Wait until each worker has so many more rewards acknowledged."""
    counts = [len(lines(file)) + more for file in files]
    wait_for(
        lambda: all(len(lines(file)) >= n for file, n in zip(files, counts, strict=True)),
        "workers get on",
    )


def audit(url, files, *, unheard):
    """Check that the log has each reward that workers noted as acknowledged, and has it once.

    unheard: how many rewards may be recorded whose worker was killed before it heard of it.
    """
    heard = []
    for file in files:
        for line in lines(file):
            ticket, reward = line.split()
            heard.append((ticket, float(reward)))
    with Experiment.open(url, "ads") as experiment:
        events = experiment.events()
        told = [(event.ticket, event.reward) for event in events if isinstance(event, Told)]
        assert len(dict(told)) == len(told) and len(dict(heard)) == len(heard)
        assert dict(heard).items() <= dict(told).items()
        assert len(told) - len(heard) <= unheard
        asked = [ticket for e in events if isinstance(e, Asked) for ticket, _ in e.tickets]
        assert len(set(asked)) == len(asked) and dict(told).keys() <= set(asked)
        assert experiment.verify().pulls == len(told)
    before = state(url)
    change(url, "DELETE FROM snapshots")
    assert state(url) == before  # the replay from zero is the state, to the last bit
    if url.startswith("sqlite:"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


def state(url):
    """Return what the log amounts to, as read by somebody new."""
    with Experiment.open(url, "ads") as experiment, experiment.current() as replay:
        return replay.explorer.state(), replay.head
