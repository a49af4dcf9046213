"""Compile functions with numba: once per machine, shared between processes, and announced.

numba keeps machine code on disk. Here it also notices changes in any file that the code was made
from, and a process waits for code that another process is compiling.
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
    "Compiling in every process, because the result cannot be saved: set NUMBA_CACHE_DIR to a "
    "writable folder."
)
_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import", re.M)


def compiled(function: F) -> F:
    """Compile on first use, and keep the machine code on disk if there is a writable folder.

    No fastmath: it reorders sums, and the compiled lane has to play the pulls of the plain one.
    NumPy's error model: checking every division for zero would keep loops from being vectorised.
    """
    return _compiled(function, counting=True)


def compiled_loop(function: F) -> F:
    """Compile a function that makes no arrays, without counting references to those it is given.

    Looking an array up in a NamedTuple counts a reference to it, which in a loop that looks up
    dozens takes five times as long as the loop itself.
    """
    return _compiled(function, counting=False)


def _compiled(function: F, *, counting: bool) -> F:
    if numba.config.DISABLE_JIT:
        return function
    made = numba.njit(error_model="numpy", _nrt=counting)(function)
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

    numba itself looks at the compiled function's own file only.
    """
    waiting, found = [Path(__file__).parent], set[Path]()
    while waiting:
        place = waiting.pop()
        for file in place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
            if file not in found:
                found.add(file)
                for dots, name in _IMPORT.findall(file.read_text(encoding="utf-8")):
                    waiting.append(file.parents[len(dots) - 1].joinpath(*name.split(".")))
    return sorted(found)


@cache
def _digest() -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sources())).hexdigest()


@cache  # once per process, for closing a second one would release the locks of the first
def _lock_file(folder: str) -> int:
    """Return an open file whose bytes are locks."""
    return os.open(os.path.join(folder, "lingape.lock"), os.O_RDWR | os.O_CREAT, 0o666)


class _SharedCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Machine code on disk, which one process compiles while others that need it wait."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # As part of numba's version: an index of another version is not read, and reading one
        # would fail if a kernel's class in it has been renamed since.
        self._cache_file._version = f"{self._cache_file._version} {_digest()}"
        self._turns: dict[Any, ExitStack] = {}  # locks held while compiling, by signature

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, or None once it is our turn to compile it."""
        found = self._load(signature, target)
        if found is None:
            self._turns[signature] = turn = ExitStack()
            key = self._index_key(signature, target.codegen())  # other processors need other code
            turn.enter_context(self._locked(f"compile {key}"))
            found = self._load(signature, target)  # another process may have compiled it
        return found

    def compile_in_turn(self, compile: Callable[[Any], Any], signature: Any) -> Any:
        """Compile or load the code, and then let other processes take their turn."""
        try:
            return compile(signature)
        finally:
            self._turns.pop(signature, ExitStack()).close()

    def _load(self, signature: Any, target: Any) -> Any:
        # numba saves the index before the code that the index refers to.
        with self._locked("files", shared=True):
            return super().load_overload(signature, target)

    def save_overload(self, signature: Any, data: Any) -> None:
        # Without a lock, two processes could save code for two signatures in the same file.
        with self._locked("files"):
            super().save_overload(signature, data)

    @contextmanager
    def _locked(self, what: str, *, shared: bool = False) -> Iterator[None]:
        """Hold a lock that belongs to this function, if the file system has locks."""
        name = f"{self._py_func.__module__}.{self._py_func.__qualname__} {what}"
        byte = zlib.crc32(name.encode())
        try:
            file = _lock_file(self.cache_path)
            fcntl.lockf(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, 1, byte)
        except (OSError, AttributeError):  # a file system without locks, or Windows
            yield
            return
        try:
            yield
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)


class _Announcer(event.Listener):  # type: ignore[misc]
    """Announces compilations, but not code that is loaded from disk.

    A command sets ANNOUNCE_IN to the path of a file. The first of its processes to compile creates
    the file and says so on standard error, and every process adds when it began and ended. Other
    programs get a warning if the code cannot be saved.
    """

    kept = True  # whether code can be saved
    _depth = 0  # functions that are compiled for another one are not announced
    _begun = 0.0
    _warned = False

    def on_start(self, _: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._begun = time.time()
        if place := os.environ.get(ANNOUNCE_IN):
            with suppress(OSError):  # announced already, or the command has ended
                Path(place).touch(exist_ok=False)
                # On a terminal, first clear the progress line.
                clear = "\r\x1b[K" if sys.stderr.isatty() else ""
                print(clear + (KEPT if self.kept else NOT_KEPT), file=sys.stderr, flush=True)
        elif not self.kept and not self._warned:  # numba resets the record of warnings
            self._warned = True
            warnings.warn(NOT_KEPT, RuntimeWarning, stacklevel=2)

    def on_end(self, _: Any) -> None:
        self._depth -= 1
        if not self._depth and (place := os.environ.get(ANNOUNCE_IN)):
            with suppress(OSError), Path(place).open("a") as file:
                file.write(f"{self._begun} {time.time()}\n")


_announcer = _Announcer()
event.register("numba:compile", _announcer)
