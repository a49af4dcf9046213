"""benchmarks/open_bandit.py: reading a log, and what replaying it tells an explorer."""

import numpy as np
import pytest

from benchmarks.open_bandit import Log, differ, in_order, read, replay
from lingape import Problem, Race


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "random" / "men"
    place.mkdir(parents=True)
    rows = ["2019-11-24 02,1,1", "2019-11-24 01,0,0", "2019-11-24 03,1,0"]
    (place / "men.csv").write_text("\n".join(["timestamp,item_id,click", *rows]) + "\n")
    items = ["1,0.5,b", "0,-0.5,a"]
    lines = ["item_id,item_feature_0,item_feature_3", *items]
    (place / "item_context.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_reading(folder):
    log = read(folder, "men")
    assert (log.items, log.clicks) == ([0, 1, 1], [0, 1, 0])
    assert log.features.tolist() == [[1.0, -0.5, 0.0], [1.0, 0.5, 1.0]]
    assert (log.shown.tolist(), log.clicked.tolist()) == ([1, 2], [0, 1])


def drawn(rates, rows):
    rng = np.random.default_rng(0)
    items = rng.integers(len(rates), size=rows)
    clicks = rng.random(rows) < np.array(rates)[items]
    return Log("all", items.tolist(), clicks.astype(int).tolist(), np.eye(len(rates)))


def test_a_log_that_proves_something():
    log = drawn([0.2, 0.7], rows=1000)
    for feed in (replay, in_order):
        explorer = Race(Problem(np.eye(2), noise="binary"))
        feed(explorer, log)
        assert explorer.done
        assert explorer.recommend() == 1
        assert explorer.counts.sum() <= 1000
    assert differ(log) < 0.001


def test_a_replay_ends_with_the_log():
    log = drawn([0.05, 0.055], rows=200)
    explorer = Race(Problem(np.eye(2), noise="binary"))
    replay(explorer, log)
    assert not explorer.done
    assert (explorer.counts <= log.shown).all()
    assert differ(log) > 0.05
