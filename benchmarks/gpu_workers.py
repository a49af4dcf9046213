"""Jobs for a GPU in processes of their own: they compile at the same time, and run one by one."""

import fcntl
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from lingape import MissingExtra
from lingape.many import gpu_name

Case = TypeVar("Case")
Found = TypeVar("Found")


def gpu_or_exit() -> str:
    """Return what the GPU is called, or end the program with a sentence if there is none."""
    try:
        return gpu_name()
    except MissingExtra as missing:
        raise SystemExit(str(missing)) from None


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other job uses the GPU, and keep others from it."""
    with Path(tempfile.gettempdir(), "lingape-gpu.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def side_by_side(
    job: Callable[[Case], Found], cases: Sequence[Case]
) -> Iterator[tuple[Case, Found]]:
    """Yield each case with what the job makes of it, as jobs end."""
    workers = min(len(cases), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(job, case): case for case in cases}
        for future in as_completed(futures):
            yield futures[future], future.result()
