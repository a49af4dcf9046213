"""Exports of long logs: streamed, resumed, and never half of one in silence."""

import asyncio
import itertools
import tracemalloc

import pytest
from crew import problem
from outpost import Flaky, Outpost
from tamper import change

from lingape import Client
from lingape.errors import InvalidState, StorageFailed
from lingape.live import Added, Experiment, events
from lingape.live.server import Limits
from lingape.live.server.app import Routes
from lingape.live.server.shelf import Shelf
from lingape.live.store import Note, open_store

MIB = 1024 * 1024


def write_log(url, count):
    """Append events to a new log, faster than by turns."""
    with Experiment.open(url, "ads", create=problem()):
        pass
    store = open_store(url, create=False)
    added = (
        Added(seq=seq, time=1.7e9, arm=seq % 6, reward=seq / 7, key=None)
        for seq in range(2, count + 1)
    )
    with store.transaction("ads") as log:
        log.append([Note(events.as_text(event)) for event in added])
    store.close()


def peak_of(act):
    """Return how much memory an act takes at most."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_log_is_never_in_memory(sqlite_url, tmp_path):
    """On the server, in the client and in one process: pages, however many there are."""
    count = 6_000
    with Experiment.open(sqlite_url, "ads", create=problem()) as local:
        write_log(sqlite_url, count)
        here = tmp_path / "here.jsonl"
        assert peak_of(lambda: local.export(here)) < 2 * MIB
        assert here.stat().st_size > MIB

    async def served():
        answer = Routes(shelf, None, Limits()).export("ads")
        return sum([len(piece) async for piece in answer.body_iterator])

    shelf = Shelf(sqlite_url)
    sizes = []
    assert peak_of(lambda: sizes.append(asyncio.run(served()))) < 2 * MIB
    assert sizes == [here.stat().st_size]
    shelf.close()
    there = tmp_path / "there.jsonl"
    with Outpost(sqlite_url) as server, Client(server.url) as client:
        remote = client.experiment("ads")
        assert peak_of(lambda: remote.export(there)) < 2 * MIB
    assert there.read_bytes() == here.read_bytes()


def test_an_export_goes_on_where_the_connection_broke(url):
    write_log(url, 2_500)
    with Outpost(url) as server:
        proxy = Flaky(server.port)
        try:
            with Client(proxy.url, retries=0) as client, Experiment.open(url, "ads") as local:
                remote = client.experiment("ads")
                proxy.tricks = ["cut"] * 3
                assert list(remote.export_lines()) == list(local.export_lines())
                assert proxy.tricks == []
                proxy.tricks = ["drop"]
                with pytest.raises(StorageFailed):
                    list(remote.export_lines())
        finally:
            proxy.close()


def test_an_export_is_of_one_log(monkeypatch):
    """If the connection breaks and another log is there afterwards, it says so."""
    answers = iter([[b"1\n", b"2\n", None], [b"2\n", b"3\n", None], [b"other\n"]])

    def lines(path):
        asked.append(path)
        for line in next(answers):
            if line is None:
                raise StorageFailed("cut")
            yield line

    asked, heard = [], []
    client = Client("http://127.0.0.1:1", retries=0)
    monkeypatch.setattr(client._transport, "lines", lines)
    with pytest.raises(InvalidState, match="'ads' was replaced during the export. Export again"):
        for line in client.experiment("ads").export_lines():
            heard.append(line)
    assert heard == ["1\n", "2\n", "3\n"]
    assert [path.partition("=")[2] for path in asked] == ["0", "1", "2"]


@pytest.mark.parametrize("place", [3, 1_500])
def test_a_damaged_log_leaves_no_half_of_an_export(each_url, tmp_path, place):
    write_log(each_url, 2_500)
    change(each_url, f"UPDATE entries SET digest = 'x' WHERE name = 'ads' AND seq = {place}")
    with Outpost(each_url) as server, Client(server.url, retries=1) as client:
        with pytest.raises(InvalidState, match=f"event {place} .*Restore a copy"):
            client.experiment("ads").export(tmp_path / "run.jsonl")
        whole = client.experiment("ads").export_lines()
        with pytest.raises(InvalidState):
            assert list(itertools.islice(whole, place)) == []
    assert not (tmp_path / "run.jsonl").exists()
