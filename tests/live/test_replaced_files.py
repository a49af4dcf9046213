"""Files that are replaced, removed or moved while a process has them open."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from crew import problem
from outpost import TestClient

from lingape.errors import InvalidState, NotFound, StorageFailed
from lingape.live import Experiment, files
from lingape.live.server import create_app
from systems import posix

pytestmark = posix("way to remove or replace files that are open")

BESIDE = ("run.db-wal", "run.db-shm")


@pytest.fixture
def folder(tmp_path):
    """A folder of its own, which a test may rename."""
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def url(folder):
    return f"sqlite:///{folder}/run.db"


@pytest.fixture
def ads(url):
    """An experiment with a reward in it, and one more since the copy beside it was made."""
    with Experiment.open(url, "ads", create=problem()) as experiment:
        experiment.add(0, 1.0)
        source = sqlite3.connect(experiment._store.path)
        copy = sqlite3.connect(experiment._store.path.with_name("copy.db"))
        source.backup(copy)
        copy.close()
        source.close()
        experiment.add(1, 1.0)
        yield experiment


def replace(folder):
    os.replace(folder / "copy.db", folder / "run.db")


def restore(folder):
    """Put back a copy, as the docs say, but with a process at work."""
    replace(folder)
    for name in BESIDE:
        (folder / name).unlink()


def remove(folder):
    for path in (folder / "run.db", *(folder / name for name in BESIDE)):
        path.unlink()


def remove_log(folder):
    (folder / "run.db-wal").unlink()


def replace_log(folder):
    shutil.copyfile(folder / "run.db-wal", folder / "other")
    os.replace(folder / "other", folder / "run.db-wal")


def remove_index(folder):
    (folder / "run.db-shm").unlink()


def rename(folder):
    folder.rename(folder.with_name("elsewhere"))


def exchange(folder):
    """Another folder with the same names in it takes the place."""
    rename(folder)
    shutil.copytree(folder.with_name("elsewhere"), folder)


ALL = [replace, restore, remove, remove_log, replace_log, remove_index, rename, exchange]


@pytest.mark.parametrize("happen", ALL)
@pytest.mark.parametrize("moment", ["between calls", "in the transaction", "after the commit"])
def test_nothing_is_acknowledged_that_nobody_will_find(ads, folder, monkeypatch, moment, happen):
    ticket, other = ads.ask(2)
    if moment == "between calls":
        happen(folder)
    elif moment == "in the transaction":
        follow = ads._follow
        calls = []

        def late(view):
            calls.append(view)
            if len(calls) == 2:  # the first is a look before
                happen(folder)
            return follow(view)

        monkeypatch.setattr(ads, "_follow", late)
    else:
        to_disk = files.to_disk

        def late(file):
            to_disk(file)
            monkeypatch.setattr(files, "to_disk", to_disk)
            happen(folder)

        monkeypatch.setattr(files, "to_disk", late)
    with pytest.raises(InvalidState, match=r"(remov|replac)ed while it was in use.*open it again"):
        ads.tell(ticket.id, 1.0)
    for act in (ads.ask, ads.status, ads.verify, lambda: ads.tell(other.id, 0.5)):
        with pytest.raises(InvalidState, match="removed|replaced"):
            act()


def test_a_copy_that_was_put_back_is_what_is_opened(ads, folder, url):
    restore(folder)
    with pytest.raises(InvalidState, match=r"run\.db was replaced"):
        ads.add(2, 1.0)
    with Experiment.open(url, "ads") as again:
        assert again.verify().pulls == 1  # that of the copy
        again.add(2, 1.0)
    ads.close()
    with Experiment.open(url, "ads") as again:
        assert again.verify().pulls == 2  # closing the old one took nothing with it


def test_a_file_that_was_removed_is_not_begun_anew(ads, folder, url):
    remove(folder)
    with pytest.raises(InvalidState, match="put back a copy"):
        ads.add(2, 1.0)
    assert not (folder / "run.db").exists()
    with pytest.raises(NotFound):
        Experiment.open(url, "ads")


def test_a_folder_that_is_moved_back(ads, folder, url):
    rename(folder)
    with pytest.raises(InvalidState, match="If it was moved, move it back"):
        ads.add(2, 1.0)
    folder.with_name("elsewhere").rename(folder)
    with Experiment.open(url, "ads") as again:
        assert again.verify().pulls == 2


def test_a_log_that_was_removed_is_written_to_the_file_after_all(ads, folder, url):
    """SQLite copies it when the last connection ends, and nobody else can have written since."""
    remove_log(folder)
    with pytest.raises(InvalidState, match="run.db-wal was removed"):
        ads.add(2, 1.0)
    with Experiment.open(url, "ads") as again:
        assert again.verify().pulls == 2


def test_other_experiments_of_the_process_let_go_first(ads, folder, url):
    """A connection beside an old one would use locks that no other process sees."""
    with Experiment.open(url, "ads") as other:
        remove_log(folder)
        with Experiment.open(url, "ads") as again:
            again.add(2, 1.0)
            with pytest.raises(InvalidState, match="run.db-wal was removed"):
                other.add(3, 1.0)
        with pytest.raises(InvalidState, match="run.db-wal was removed"):
            ads.status()
    with Experiment.open(url, "ads") as again:
        assert again.verify().pulls == 3


def test_while_another_thread_is_at_it_nobody_opens_the_file(ads, folder, url):
    with ads._store.view("ads"):
        remove_log(folder)
        with ads._store._mutex:
            raised = []

            def attempt():
                try:
                    Experiment.open(url, "ads")
                except StorageFailed as reason:
                    raised.append(str(reason))

            thread = threading.Thread(target=attempt)
            thread.start()
            thread.join()
    assert "another thread" in raised[0]


def test_a_link_that_points_elsewhere(tmp_path):
    for name in ("one", "two"):
        with Experiment.open(f"sqlite:///{tmp_path}/{name}.db", "ads", create=problem()):
            pass
    link = tmp_path / "run.db"
    link.symlink_to("one.db")
    with Experiment.open(f"sqlite:///{link}", "ads") as experiment:
        experiment.add(0, 1.0)
        link.unlink()
        link.symlink_to("two.db")
        with pytest.raises(InvalidState, match=r"run\.db was replaced"):
            experiment.add(0, 1.0)


def test_a_child_process_notices_too(ads, folder):
    restore(folder)
    child = os.fork()
    if child == 0:
        try:
            ads.add(2, 1.0)
        except InvalidState:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


OTHERS = {
    "checkpoint": "c.execute('PRAGMA wal_checkpoint(TRUNCATE)')",
    "vacuum": "c.execute('VACUUM')",
    "backup": "c.backup(sqlite3.connect(sys.argv[1] + '.copy'))",
    "comes and goes": "c.execute('SELECT count(*) FROM entries').fetchone()",
}


@pytest.mark.parametrize("act", OTHERS.values(), ids=OTHERS)
def test_what_others_may_do_is_no_reason_to_stop(ads, folder, url, act):
    script = f"import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); {act}; c.close()"
    for arm in range(4):
        ads.add(arm, 1.0)
        done = subprocess.run([sys.executable, "-c", script, folder / "run.db"], check=False)
        assert done.returncode == 0
        ads.add(arm, 0.5)
        with Experiment.open(url, "ads") as other:
            other.add(arm, 0.25)
    assert ads.verify().pulls == 14


def test_the_last_one_to_close_removes_the_log(ads, folder, url):
    """Whoever comes next finds other files beside the database, and that is fine."""
    ads._store._disconnect()  # as before a fork
    assert not (folder / "run.db-wal").exists()
    with Experiment.open(url, "ads") as other:
        other.add(0, 1.0)
        assert ads.add(1, 1.0).pulls == 4


def test_the_log_starts_over(ads):
    """SQLite writes the log from its beginning again, in the same file, once all is copied."""
    ads._store._connection.execute("PRAGMA wal_autocheckpoint = 2")
    for _ in range(30):
        ads.add(0, 1.0)
    assert ads.verify().pulls == 32


def test_a_server_goes_on_with_what_is_there(ads, folder, url):
    with TestClient(create_app(url), base_url="http://127.0.0.1") as client:
        body = {"arm": 2, "reward": 1.0}
        assert client.post("/api/experiments/ads/add", json=body).json()["pulls"] == 3
        restore(folder)
        answer = client.post("/api/experiments/ads/add", json=body)
        assert answer.status_code == 500 and answer.json()["kind"] == "InvalidState"
        assert "was replaced" in answer.json()["error"]
        assert str(folder) not in answer.json()["error"]
        assert client.post("/api/experiments/ads/add", json=body).json()["pulls"] == 2
        assert [
            line["pulls"] for line in client.get("/api/experiments").json()["experiments"]
        ] == [2]
        remove(folder)
        for path in ("/api/experiments", "/api/experiments/ads"):
            answer = client.get(path)
            assert answer.status_code == 500 and "was removed" in answer.json()["error"]
    assert not Path(folder / "run.db").exists()
