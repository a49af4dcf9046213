"""Whether the files of a database are still those that this process has open.

Whoever has a file open can write to it after it was removed or another one took its place: nothing
fails, and nobody will ever read it. Only the path tells. The database itself is never opened here:
closing it again would release the locks that SQLite holds on it.
"""

import os
from pathlib import Path
from typing import TypeAlias

WAL, SHM = "-wal", "-shm"
Identity: TypeAlias = tuple[int, int]  # device and inode: files in use do not share them


def identity(path: Path | str) -> Identity | None:
    """Return which file is at a path, or None if none can be found there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Files:
    """The file of a database of SQLite, and the two beside it while it is open."""

    def __init__(self, given: str) -> None:
        self.named = Path(os.getcwd(), given)  # perhaps a link, which may point elsewhere later
        self.path = self.named.resolve()  # SQLite follows links too, and its log lies there
        self._file: Identity | None = None
        self._known: dict[Path, Identity] = {}  # replaced as a whole: others read it

    def beside(self, ending: str) -> Path:
        """Return the path of a file beside the database."""
        return self.path.with_name(self.path.name + ending)

    def opening(self) -> None:
        """Take note of the file that SQLite is about to open, if there is one."""
        self._file = self._file or identity(self.named)

    def opened(self) -> None:
        """Take note of the files, now that SQLite has opened them."""
        paths = (self.named, self.beside(WAL), self.beside(SHM))
        found = {path: identity(path) for path in paths}
        self._file = self._file or found[self.named]
        known = {path: file for path, file in found.items() if file is not None}
        self._known = known if self._file is None else known | {self.named: self._file}

    def closed(self) -> None:
        """Take note that SQLite may remove the files beside the database."""
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
        """Return a mark that is another once anybody wrote; None if somebody may be writing.

        Whoever writes has a log beside the file that is not empty; before it is removed, all of it
        is copied into the file.
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
