"""Databases in folders that cannot be written: what can be read is read, soundly."""

import shutil
import tempfile
from pathlib import Path

import crew
import pytest

from lingape.errors import InvalidState, StorageFailed
from lingape.live import Experiment
from lingape.live import sqlite as module
from systems import posix


@pytest.fixture
def folder():
    """A folder that others may look into, unlike those that pytest makes."""
    path = Path(tempfile.mkdtemp(prefix="lingape-"))
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


@pytest.fixture
def url(folder):
    with Experiment.open(f"sqlite:///{folder}/run.db", "ads", create=crew.problem()) as experiment:
        for arm in range(6):
            experiment.add(arm, 1.0)
    return f"sqlite:///{folder}/run.db"


def close_off(folder):
    """Take the right to write from everybody; root keeps it, and has to become somebody else."""
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


@pytest.fixture
def as_somebody(context):
    """Run a function of crew.py as somebody who may only read, and return what it found."""

    def run(*arguments):
        results = context.Queue()
        process = context.Process(target=crew.read_as_somebody, args=(*arguments, results))
        process.start()
        found = results.get(timeout=120)
        process.join()
        return found

    return run


@posix("folders that can only be read")
def test_a_folder_that_can_only_be_read(folder, url, as_somebody):
    close_off(folder)
    found = as_somebody(url)
    assert found["pulls"] == found["verified"] == found["exported"] - 1 == 6
    assert found["listed"] == ["ads"]
    assert "readonly" in found["refused"] and "StorageFailed" in found["refused"]
    assert sorted(path.name for path in folder.iterdir()) == ["run.db"]


@posix("folders that can only be read")
def test_somebody_else_has_it_open(folder, url, as_somebody):
    """Then there is a log beside the file, and readers use it."""
    with Experiment.open(url, "ads") as experiment:
        experiment.add(0, 1.0)
        for path in folder.iterdir():
            path.chmod(0o644)
        folder.chmod(0o755)
        assert as_somebody(url)["verified"] == 7


@posix("folders that can only be read")
def test_what_is_not_in_the_file_yet_is_not_left_out(folder, url, as_somebody):
    with Experiment.open(url, "ads") as experiment:
        experiment.add(0, 1.0)
        copy = folder / "copy"
        copy.mkdir()
        for name in ("run.db", "run.db-wal"):
            shutil.copyfile(folder / name, copy / name)
    close_off(copy)
    said = as_somebody(f"sqlite:///{copy}/run.db")["error"]
    assert "run.db-wal holds what is not in the file yet" in said and "Copy both" in said
    copy.chmod(0o755)


def immutable(monkeypatch):
    """Let SQLite find a folder that cannot be written, also for root."""
    monkeypatch.setattr(module.SqliteStore, "_writable", lambda self: False)
    monkeypatch.setattr(module.SqliteStore, "_prepare", refuse)


def refuse(self, connection):
    connection.execute("ATTACH '/nowhere/to/be/found.db' AS other")


def test_somebody_writes_meanwhile(url, monkeypatch):
    with monkeypatch.context() as patch:
        immutable(patch)
        reader = Experiment.open(url, "ads")
    assert reader._store._still is not None and reader.status().pulls == 6
    with Experiment.open(url, "ads") as writer:
        writer.add(0, 1.0)
        with pytest.raises(StorageFailed, match="written to while it was read"):
            reader.status()
        assert reader.status().pulls == 7  # with the log beside it
        reader.close()
    with monkeypatch.context() as patch:
        immutable(patch)
        again = Experiment.open(url, "ads")
    with Experiment.open(url, "ads") as writer:
        writer.add(0, 1.0)
    with pytest.raises(StorageFailed, match="written to while it was read"):
        again.events()
    assert len(again.events()) == 9
    again.close()


def test_damage_is_damage_there_too(folder, url, monkeypatch):
    path = folder / "run.db"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    immutable(monkeypatch)
    with pytest.raises(InvalidState, match="damaged"):
        Experiment.open(url, "ads")
