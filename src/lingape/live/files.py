"""The files of an SQLite database: are they still the ones that were opened, and are they on disk?

A process that has a file open can write to it after it was removed or replaced: nothing fails, and
nobody will ever read it. Only the path tells. The database file itself is never opened here:
closing it again would release the locks that SQLite holds on it.
"""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

fcntl: Any = None if sys.platform == "win32" else import_module("fcntl")

LINES = 4  # in which processes wait; the first one in each looks. One line would wake up too late
COURTESY = 5.0  # seconds to wait in line
WAL, SHM = "-wal", "-shm"
Identity: TypeAlias = tuple[int, int]  # device and inode: files in use do not share them


def identity(path: Path | str) -> Identity | None:
    """Return which file is at a path, or None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def to_disk(file: int) -> None:
    """Wait until what was written to a file, given by its descriptor, is on the disk."""
    if sys.platform == "darwin":  # where fsync leaves it in the memory of the disk
        with suppress(OSError):  # of a file system that has nothing better than fsync
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
            return
    getattr(os, "fdatasync", os.fsync)(file)


class Files:
    """The file of an SQLite database, and the two beside it while it is open."""

    def __init__(self, given: str) -> None:
        self.named = Path(os.getcwd(), given)  # perhaps a link, which may point elsewhere later
        self.path = self.named.resolve()  # SQLite follows links too, and its log lies there
        self._file: Identity | None = None
        self._known: dict[Path, Identity] = {}  # replaced as a whole: others read it

    def beside(self, ending: str) -> Path:
        """Return the path of a file beside the database."""
        return self.path.with_name(self.path.name + ending)

    def opening(self) -> None:
        """Remember the file that SQLite is about to open, if there is one."""
        self._file = self._file or identity(self.named)

    def opened(self) -> None:
        """Remember the files, now that SQLite has opened them."""
        paths = (self.named, self.beside(WAL), self.beside(SHM))
        found = {path: identity(path) for path in paths}
        self._file = self._file or found[self.named]
        known = {path: file for path, file in found.items() if file is not None}
        self._known = known if self._file is None else known | {self.named: self._file}

    def closed(self) -> None:
        """Forget the files beside the database, which SQLite may remove now."""
        self._known = {} if self._file is None else {self.named: self._file}

    def changed(self) -> str | None:
        """Return what happened to the files since they were opened, or None if nothing did."""
        for path, file in self._known.items():
            now = identity(path)
            if now != file:
                return f"{path.name} was {'removed' if now is None else 'replaced'}"
        return None

    def wal_of_others(self) -> bool:
        """Whether there is a write-ahead log that is not the one that was opened."""
        path = self.beside(WAL)
        return identity(path) not in (None, self._known.get(path))

    def still(self) -> tuple[int, ...] | None:
        """Return a mark that changes when the file is written; None if somebody may be writing.

        Writers have a log beside the file that is not empty; before it is removed, all of it is
        copied into the file.
        """
        if self.beside(SHM).exists() or self.unmerged():
            return None
        found = self.named.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def unmerged(self) -> bool:
        """Whether there is a write-ahead log with something in it."""
        try:
            return self.beside(WAL).stat().st_size > 0
        except FileNotFoundError:
            return False


class Journal:
    """The write-ahead log of a database, to wait on: for the disk, or for a turn to write.

    It is closed once nobody waits on it any more. SQLite locks other files, never this one, so
    processes can use locks on it to wait in line. The system serves them more or less in order,
    and removes those that die. A process outside the line is not kept from writing.
    """

    def __init__(self, path: Path) -> None:
        self._standing: threading.Thread | None = None  # in line
        try:
            self._file = os.open(path, os.O_RDWR)
        except PermissionError:  # of a file that others write
            self._file = os.open(path, os.O_RDONLY)
        with suppress(OSError):  # a new file is found again if its folder is on disk
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def sync(self) -> None:
        to_disk(self._file)

    def enter(self) -> None:
        """Wait in line, for some seconds at most.

        So a process that is suspended while it is first delays others only that long.
        """
        if fcntl is None or self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB):
            return  # on Windows processes come in no order
        if self._standing is not None and self._standing.is_alive():
            return  # from a time before, when we gave up waiting for it
        # Waiting for a lock has no time limit, so another thread waits.
        turn: Future[None] = Future()
        self._standing = threading.Thread(target=self._stand, args=(turn,), daemon=True)
        self._standing.start()
        try:
            with suppress(TimeoutError):
                turn.result(COURTESY)
        finally:
            turn.cancel()

    def _stand(self, turn: "Future[None]") -> None:
        """Wait for the lock; if it comes too late, release it at once."""
        self._lock(fcntl.LOCK_EX)
        if turn.set_running_or_notify_cancel():
            turn.set_result(None)
        else:
            self.leave()

    def leave(self) -> None:
        """Let the next process write."""
        if fcntl is not None:
            self._lock(fcntl.LOCK_UN)

    def _lock(self, how: int) -> bool:
        """Lock or unlock a byte of it; return False if another process has locked it."""
        try:
            fcntl.lockf(self._file, how, 1, os.getpid() % LINES)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a system that has no such locks
            pass
        return True

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if hasattr(self, "_file"):
            close(self._file)
