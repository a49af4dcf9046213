"""The write-ahead log of a SQLite database, to wait on: for the disk, or for a turn to write."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LINES = 4  # in which processes stand; who is first in one looks. One alone would wake up too late


class Journal:
    """A write-ahead log, to wait on: for the disk, or for a turn.

    It is closed once nobody waits on it any longer. SQLite locks other files, never this one, so
    that a lock on it can serve processes to stand in line. The system serves them in order, and
    removes those that die. Who is not in line is not kept from writing.
    """

    def __init__(self, path: Path) -> None:
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
        getattr(os, "fdatasync", os.fsync)(self._file)

    def enter(self, patience: float) -> bool:
        """Stand in line, and return whether it was our turn within so many seconds."""
        if fcntl is None or self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB):
            return True
        place = _Place(self)
        try:
            return place.reached(patience)
        except BaseException:
            place.give_up()
            raise

    def leave(self) -> None:
        """Let the next one come."""
        if fcntl is not None:
            self._lock(fcntl.LOCK_UN)

    def _lock(self, how: int) -> bool:
        """Lock or unlock a byte of it; return False if others have it locked."""
        try:
            fcntl.lockf(self._file, how, 1, os.getpid() % LINES)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a system that has no such locks
            return True
        return True

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if hasattr(self, "_file"):
            close(self._file)


class _Place:
    """A place in line.

    The system has no time limit for those who wait for a lock, so another thread does the waiting:
    one that comes too late lets the next one go first.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._deciding = threading.Lock()
        self._here = threading.Event()
        self._given_up = False
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        self._journal._lock(fcntl.LOCK_EX)
        with self._deciding:
            if self._given_up:
                self._journal.leave()
            self._here.set()

    def reached(self, patience: float) -> bool:
        """Return whether it is our turn, within so many seconds."""
        return self._here.wait(patience) or not self.give_up()

    def give_up(self) -> bool:
        """Return whether that was in time: it is not our turn yet, and will not be."""
        with self._deciding:
            self._given_up = True
            if self._here.is_set():
                self._journal.leave()
            return not self._here.is_set()
