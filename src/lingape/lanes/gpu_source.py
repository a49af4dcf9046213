"""The functions that a GPU starts, as text: they make each run's own arrays, and play.

Sizes of arrays are constants of this text, so that compilers unroll loops over few arms and keep
short arrays in registers. numba compiles it once for arrays of these sizes.

In numba's simulator, functions that use `cuda` have to be in this module, which it knows of, or to
have another form for it, as in warps.py.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from ..arrays import BoolArray, FloatArray, IntArray
from ..kernels.book import Arena
from ..kernels.functions import DECLARED, FIXED, SPLIT, inlined, on_gpu, unrolled
from ..kernels.philox import DRAWN, RUN, Philox
from ..kernels.teams import of_first, owns
from .warps import SIMULATED, Warp

THREADS = 32  # per block
SHARED = 40_960  # bytes per block, of the 49,152 that every GPU has
ENOUGH, MOST_REGISTERS = 128, 255  # registers of a thread
# What is kept out of shared memory: where one thread plays a run, what fits into registers or is
# used by rebuilds alone; where a warp plays one, what is used by rebuilds alone.
ELSEWHERE = {"c", "scores", "b", "row_of", "owner", "used", "products", "counted"}
SELDOM = {"products", "moments", "counted"}
IDLE = -1


@on_gpu("runs", "queue", "arms", "margins", "endings", "counts", "in_play")
class Batch(NamedTuple):
    """What is to be played, and where results go."""

    runs: IntArray  # their numbers
    queue: IntArray  # (1,) how many runs have begun
    until: int
    arms: IntArray  # (runs,) the answer
    margins: FloatArray  # (runs,) B(t) at the end
    endings: IntArray  # (runs,) SETTLED, PAUSED, or what went wrong
    counts: IntArray  # (runs, K)
    in_play: BoolArray  # (runs, K) which arms a race has not discarded


@inlined
def take(batch: Batch, draws: Philox) -> int:
    """Return the next run, whose noise is ready, or IDLE if none is left."""
    run = 0
    if owns(draws.team, 0):
        run = cuda.atomic.add(batch.queue, 0, 1)
    run = of_first(draws.team, run)
    if run >= len(batch.runs):
        return IDLE
    draws.place[RUN], draws.place[DRAWN] = batch.runs[run], 0
    return run


class Layout(NamedTuple):
    """Where arrays are to be of which each run has its own."""

    team: Any  # who plays a run (kernels/teams.py)
    often: set[tuple[int, ...]]  # shapes of a thread's own arrays that are for shared memory


class Scratch(NamedTuple):
    """An array of which each block has its own, in the GPU's memory."""

    shape: tuple[int, ...]
    kind: Any


class Source(NamedTuple):
    """A function that a GPU starts, for arrays of certain sizes, as text."""

    text: str
    kinds: tuple[Callable[..., Any], ...]  # the loop, and the types of the parts
    arguments: tuple[Any, ...]
    shared: int  # bytes of shared memory


def source_of(loop: Callable[..., None], parts: dict[str, Any], layout: Layout) -> Source:
    """Write the function that makes each run's own copies of what changes in it, and plays.

    parts: what the loop needs, by name.
    """
    together = isinstance(layout.team, Warp)
    whole = SHARED if together else SHARED // THREADS  # for a run
    room, arguments, own = whole, dict[str, Any](), dict[int, str]()
    kinds: dict[str, Callable[..., Any]] = {"loop": loop}
    lines = ["thread = cuda.threadIdx.x"]

    def write(name: str, part: Any) -> None:
        nonlocal room
        for field, value in zip(part._fields, part, strict=True):
            place = f"{name}_{field}"
            if isinstance(value, tuple):
                write(place, value)
            elif id(value) in own:  # a part may keep an array of the book
                lines.append(f"{place} = {own[id(value)]}")
            elif not isinstance(value, np.ndarray) or field in FIXED[type(part)]:
                arguments[place] = value
                if isinstance(part, Arena) and isinstance(value, np.ndarray):
                    lines.append(_sized(place, value.shape, 0))
            else:
                own[id(value)] = place
                split = together and field in SPLIT[type(part)]
                often = field not in (SELDOM if split else ELSEWHERE)
                if not split:
                    often = often and value.shape in layout.often
                if often and value.nbytes <= room:
                    room -= value.nbytes
                    made = _shared(value, together)
                elif split:
                    arguments[f"{place}_of_all"] = Scratch(value.shape, value.dtype)
                    lines.append(_sized(f"{place}_of_all", value.shape, 1))
                    made = f"{place}_of_all[cuda.blockIdx.x]"
                else:
                    made = _local(value)
                # In the simulator, two shared arrays on one line would be one.
                lines.append(f"{place} = {made}")
        kinds[f"{name}_kind"] = type(part)
        fields = ", ".join(f"{field}={name}_{field}" for field in part._fields)
        lines.append(f"{name} = {name}_kind({fields})")

    for name, part in parts.items():
        write(name, part)
    text = [
        f"def made({', '.join(kinds)}):",
        f"    def entry({', '.join(arguments)}):",
        *(f"        {line}" for line in lines),
        f"        loop({', '.join(parts)})",
        "    return entry",
    ]
    shared = (whole - room) * (1 if together else THREADS)
    return Source("\n".join(text), tuple(kinds.values()), tuple(arguments.values()), shared)


def _sized(name: str, shape: tuple[int, ...], first: int) -> str:
    """Return a line from which compilers learn an array's sizes, from a dimension on.

    They take these for constants in what follows. The array has these sizes.
    """
    sizes = [f"{name}.shape[{first + n}] != {size}" for n, size in enumerate(shape)]
    return f"if {' or '.join(sizes)}: return"


def _shared(like: Any, together: bool) -> str:
    """Return an expression for an array in shared memory, of a block or of each of its threads."""
    if together and SIMULATED:  # its own shared arrays may differ where threads ask side by side
        return f"of_first(Warp(), np.empty({like.shape}, np.{like.dtype.name}))"
    if together:
        return f"cuda.shared.array({like.shape}, np.{like.dtype.name})"
    whole = f"cuda.shared.array({(*like.shape, THREADS)}, np.{like.dtype.name})"
    return f"{whole}[{':, ' * like.ndim}thread]"


def _local(like: Any) -> str:
    """Return an expression for a thread's own array."""
    whole = f"cuda.local.array({tuple(max(1, n) for n in like.shape)}, np.{like.dtype.name})"
    return whole if like.size else f"{whole}[{', '.join(f':{n}' for n in like.shape)}]"


def kernel_of(source: Source) -> Any:
    """Return what numba makes of a function's text."""
    return _kernel_of(source.text, source.kinds, None if SIMULATED else _registers(source.shared))


@functools.cache
def _kernel_of(text: str, kinds: tuple[Callable[..., Any], ...], registers: int | None) -> Any:
    made: dict[str, Any] = {}
    exec(text, globals(), made)
    entry = made["made"](*kinds)
    if SIMULATED:
        return cuda.jit(entry)
    _declare()
    return cuda.jit(entry, max_registers=registers)


def _registers(shared: int) -> int | None:
    """Return how many registers a thread may use for as many blocks as fit into shared memory.

    None for as many as it likes: if there are enough, or too few for them to be worth more blocks.
    """
    device = cuda.get_current_device()
    memory = device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    block = max(1, shared + device.RESERVED_SHARED_MEMORY_PER_BLOCK)
    blocks = max(1, memory // block)
    registers = int(device.MAX_REGISTERS_PER_MULTIPROCESSOR) // (THREADS * blocks) // 8 * 8
    return registers if ENOUGH <= registers < MOST_REGISTERS else None


_told = 0  # how many of DECLARED numba-cuda knows


def _declare() -> None:
    """Declare functions that have been defined since the last time."""
    global _told
    from numba.cuda.extending import overload

    for function, chosen, inline in DECLARED[_told:]:
        made = (lambda: lambda: True) if function is unrolled else chosen
        overload(function, strict=False, jit_options={"forceinline": inline})(made)
    _told = len(DECLARED)
