"""Compile functions with numba: once per machine, shared between processes, and announced.

numba keeps machine code on disk. Here it also notices when anything changes that the code was made
from, and a process that needs code which another process is compiling waits for it.
"""

import hashlib
import os
import re
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import FunctionCache

from . import ANNOUNCE_IN

try:
    import fcntl
except ImportError:  # Windows: processes may compile the same code side by side
    fcntl = None  # type: ignore[assignment]

F = TypeVar("F", bound=Callable[..., Any])

KEPT = "Compiling for this machine (once; the result is kept on disk) ..."
NOT_KEPT = (
    "Compiling in every process, because there is no folder to keep the result in: set "
    "NUMBA_CACHE_DIR to one that can be written."
)
_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import", re.M)


def compiled(function: F) -> F:
    """Compile on first use, and keep the machine code on disk if there is a folder for it.

    No fastmath: it reorders sums, and the compiled lane has to play the pulls of the plain one.
    NumPy's error model: checking every division for zero would keep loops from being vectorised.
    """
    if numba.config.DISABLE_JIT:
        return function
    made = numba.njit(error_model="numpy")(function)
    try:
        made._cache = shared = _SharedCache(function)
        made.compile = partial(shared.compile_in_turn, made.compile)
    except (RuntimeError, OSError):  # neither the package's folder nor the user's is writable
        _announcer.kept = False
    return cast(F, made)


def inlined(function: F) -> F:
    """Compile into each caller."""
    return cast(F, numba.njit(inline="always", error_model="numpy")(function))


def timed(tell: Callable[[float], object]) -> AbstractContextManager[object]:
    """Tell at the end how many seconds went into compiling, or loading what was compiled before.

    Not called if none did.
    """
    timer: AbstractContextManager[object] = event.install_timer("numba:compiler_lock", tell)
    return timer


@cache
def sources() -> list[Path]:
    """Return the files that machine code is made from: kernels/, and all that it imports.

    numba itself looks at the file of the compiled function only, and would go on using code that
    was made from other versions of the functions and constants that it takes from elsewhere.
    """
    waiting, found = [Path(__file__).parent], set[Path]()
    while waiting:
        place = waiting.pop()
        for file in place.glob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
            if file not in found:
                found.add(file)
                for dots, name in _IMPORT.findall(file.read_text(encoding="utf-8")):
                    waiting.append(file.parents[len(dots) - 1].joinpath(*name.split(".")))
    return sorted(found)


@cache
def _digest() -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sources())).hexdigest()


@cache
def _lock_file(folder: str) -> int:
    """Return an open file whose bytes are locks, one open file per process and folder.

    One, because closing any other that the process has open would release its locks.
    """
    return os.open(os.path.join(folder, "lingape.lock"), os.O_RDWR | os.O_CREAT, 0o666)


class _SharedCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Machine code on disk, which one process compiles while others that need it wait."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = self._cache_file._source_stamp, _digest()
        self._turns: dict[Any, ExitStack] = {}  # by signature: those that we compile

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, or None and the turn to compile it."""
        found = self._load(signature, target)
        if found is None:
            self._turns[signature] = turn = ExitStack()
            key = self._index_key(signature, target.codegen())  # other processors need other code
            turn.enter_context(self._locked(f"compile {key}"))
            found = self._load(signature, target)  # another process may have compiled it
        return found

    def compile_in_turn(self, compile: Callable[[Any], Any], signature: Any) -> Any:
        """Compile, or load, and then let others have their turn."""
        try:
            return compile(signature)
        finally:
            self._turns.pop(signature, ExitStack()).close()

    def _load(self, signature: Any, target: Any) -> Any:
        # numba writes the index before the code that it refers to.
        with self._locked("files", shared=True):
            return super().load_overload(signature, target)

    def save_overload(self, signature: Any, data: Any) -> None:
        # Else two processes that save code for two signatures could give both the same file.
        with self._locked("files"):
            super().save_overload(signature, data)

    @contextmanager
    def _locked(self, what: str, *, shared: bool = False) -> Iterator[None]:
        """Keep other processes from doing something with this function, where files have locks."""
        name = f"{self._py_func.__module__}.{self._py_func.__qualname__} {what}"
        byte = zlib.crc32(name.encode())
        try:
            file = _lock_file(self.cache_path)
            fcntl.lockf(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, 1, byte)
        except (OSError, AttributeError):  # no locks in this file system, or on Windows
            yield
            return
        try:
            yield
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says that code is being compiled, which may take long; loading it says nothing.

    A command sets ANNOUNCE_IN to the path of a file. The first of its processes to compile makes
    the file and says so on standard error, and each adds when it began and ended. Other programs
    get a warning, and only if the code cannot be kept.
    """

    kept = True  # whether there is a folder for machine code
    _depth = 0  # functions that are compiled inside of others do not count
    _begun = 0.0
    _warned = False

    def on_start(self, _: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._begun = time.time()
        if place := os.environ.get(ANNOUNCE_IN):
            with suppress(OSError):  # it exists, or its folder has gone with the command
                Path(place).touch(exist_ok=False)
                # On a terminal, first remove the line that shows how far the command has come.
                clear = "\r\x1b[K" if sys.stderr.isatty() else ""
                sys.stderr.write(f"{clear}{KEPT if self.kept else NOT_KEPT}\n")
                sys.stderr.flush()
        elif not self.kept and not self._warned:  # numba makes Python forget what it warned of
            self._warned = True
            warnings.warn(NOT_KEPT, RuntimeWarning, stacklevel=2)

    def on_end(self, _: Any) -> None:
        self._depth -= 1
        if not self._depth and (place := os.environ.get(ANNOUNCE_IN)):
            with suppress(OSError), Path(place).open("a") as file:
                file.write(f"{self._begun} {time.time()}\n")


_announcer = _Announcer()
event.register("numba:compile", _announcer)
