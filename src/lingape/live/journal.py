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
COURTESY = 5.0  # seconds to stand there


class Journal:
    """A write-ahead log, to wait on: for the disk, or for a turn.

    It is closed once nobody waits on it any longer. SQLite locks other files, never this one, so
    that a lock on it can serve processes to stand in line. The system serves them more or less in
    order, and removes those that die. Who is not in line is not kept from writing.
    """

    def __init__(self, path: Path) -> None:
        self._place: _Place | None = None
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

    def enter(self) -> None:
        """Stand in line, and go on without after some seconds.

        A process that was stopped while it was first keeps nobody from writing for longer.
        """
        if fcntl is None or self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB):
            return
        if self._place is None or self._place.over:  # else our thread is waiting there still
            self._place = _Place(self)
            self._place.wait(COURTESY)

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
        self._reached = threading.Event()
        self._given_up = False
        threading.Thread(target=self._stand, daemon=True).start()

    def _stand(self) -> None:
        self._journal._lock(fcntl.LOCK_EX)
        with self._deciding:
            if self._given_up:
                self._journal.leave()
            self._reached.set()

    @property
    def over(self) -> bool:
        """Whether the thread is done."""
        return self._reached.is_set()

    def wait(self, seconds: float) -> None:
        """Return when it is our turn, or when so much time has passed."""
        try:
            self._reached.wait(seconds)
        finally:
            with self._deciding:
                self._given_up = not self._reached.is_set()
