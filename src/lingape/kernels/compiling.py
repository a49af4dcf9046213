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
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import overload

from . import ANNOUNCE_IN
from .functions import DECLARED, FILES, LOADED

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

KEPT = "Compiling for this machine (once; the result is kept on disk) ..."
NOT_KEPT = (
    "Compiling in every process, because the result cannot be saved: set NUMBA_CACHE_DIR to a "
    "writable folder."
)
_COMPILED = re.compile(r"^@(compiled|inlined|EntryPoint|\w+\.of)\b", re.M)
_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import", re.M)


def dispatcher(function: Callable[..., Any], *, counting: bool) -> Any:
    """Return numba's form of a function that Python calls (functions.EntryPoint).

    The machine code is kept on disk if there is a writable folder.

    No fastmath: it reorders sums, and the compiled lane has to play the pulls of the plain one.
    NumPy's error model: checking every division for zero would keep loops from being vectorised.
    """
    if numba.config.DISABLE_JIT:
        return function
    made = numba.njit(error_model="numpy", _nrt=counting)(function)
    compile_now = made.compile
    try:
        made._cache = shared = _SharedCache(function)
        compile_now = partial(shared.compile_in_turn, compile_now)
    except (RuntimeError, OSError):  # neither the package's folder nor the user's is writable
        _announcer.kept = False

    def compile(signature: Any) -> Any:
        _declare()
        return compile_now(signature)

    made.compile = compile
    return made


_told = 0  # how many of DECLARED numba knows


def _declare() -> None:
    """Declare functions that have been defined since the last time."""
    global _told
    with global_compiler_lock:  # nobody compiles before all are declared
        for function, chosen, inline in DECLARED[_told:]:
            options = {"error_model": "numpy", "_nrt": not inline, "forceinline": inline}
            overload(function, strict=False, jit_options=options)(chosen)
        _told = len(DECLARED)


def timed(tell: Callable[[float], object]) -> AbstractContextManager[object]:
    """Tell at the end how many seconds went into compiling, or loading what was compiled before.

    Not called if none did.
    """
    timer: AbstractContextManager[object] = event.install_timer("numba:compiler_lock", tell)
    return timer


@cache
def sources() -> list[Path]:
    """Return the files that machine code is made from: with kernels, and all that they import.

    numba itself looks at the compiled function's own file only. Nothing in scaffold/ is compiled.
    """
    package = Path(__file__).parents[1]
    waiting = [file for file in package.glob("*/*.py") if _COMPILED.search(_text(file))]
    found = set[Path]()
    while waiting:
        place = waiting.pop()
        for file in place.glob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
            if file not in found and file.relative_to(package).parts[0] != "scaffold":
                found.add(file)
                for dots, name in _IMPORT.findall(_text(file)):
                    waiting.append(file.parents[len(dots) - 1].joinpath(*name.split(".")))
    return sorted(found)


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def _digest() -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sources())).hexdigest()


def _outside(signature: Iterable[Any]) -> set[str]:
    """Return the files outside of the package that code for a signature may be made from.

    These are none if all its kernels are ours.
    """
    ours = set(map(str, sources()))
    return (FILES | _files_of(signature)) - ours if _files_of(signature) - ours else set()


def _changed(files: Iterable[str]) -> bool:
    """Whether files may have changed since this process read them, or are no files."""
    try:
        return any(os.stat(file).st_mtime > LOADED for file in files)
    except OSError:
        return True


def _files_of(kinds: Iterable[Any]) -> set[str]:
    """Return the files that define the NamedTuples among numba's types, and in those."""
    found = set()
    for kind in kinds:
        found |= _files_of(getattr(kind, "types", ()))
        module = sys.modules.get(getattr(getattr(kind, "instance_class", None), "__module__", ""))
        if file := getattr(module, "__file__", None):
            found.add(file)
    return found


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
        if self._differs(signature):
            return None
        found = self._load(signature, target)
        if found is None:
            self._turns[signature] = turn = ExitStack()
            key = self._index_key(signature, target.codegen())  # other processors need other code
            turn.enter_context(self._locked(f"compile {key}"))
            found = self._load(signature, target)  # another process may have compiled it
        return found

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        places = sorted(_outside(signature))
        stamp = hashlib.sha256(b"\0".join(Path(place).read_bytes() for place in places))
        return *super()._index_key(signature, codegen), stamp.hexdigest()

    def _differs(self, signature: Any) -> bool:
        """Whether files may say something else than the code in this process."""
        return _changed({*map(str, sources()), *_outside(signature)})

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
        if self._differs(signature):
            return
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
            _lock(file, byte, shared)
        except OSError:  # a file system without locks
            yield
            return
        try:
            yield
        finally:
            _unlock(file, byte)


def _lock(file: int, byte: int, shared: bool) -> None:
    """Wait until no other process has a lock on a byte of a file, and take it."""
    if sys.platform == "win32":
        os.lseek(file, byte // 2, os.SEEK_SET)  # offsets have 31 bits
        while True:
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
                return
            except PermissionError:  # another has it; LK_LOCK would look only once a second
                time.sleep(0.01)
    else:
        fcntl.lockf(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, 1, byte)


def _unlock(file: int, byte: int) -> None:
    if sys.platform == "win32":
        os.lseek(file, byte // 2, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
    else:
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
            with suppress(OSError), Path(place).open("a", encoding="ascii") as file:
                file.write(f"{self._begun} {time.time()}\n")


_announcer = _Announcer()
event.register("numba:compile", _announcer)
