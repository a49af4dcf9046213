"""How many workers can share an experiment? Processes that ask and tell against one fresh file.

python -m benchmarks.live_load            8 processes × 500 ask and tell, then many arms
"""

import argparse
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.record import table, write
from lingape import Problem, canonical
from lingape.arrays import FloatArray
from lingape.live import Asked, Experiment, Told
from lingape.live.events import as_text
from lingape.live.store import Note, open_store

Report: TypeAlias = tuple[list[tuple[float, float]], float]
CLOSE = canonical(6, gap=0.05)  # takes longer to settle than the load lasts


def worker(url: str, pairs: int, number: int, results: "Queue[Report]") -> None:
    """Ask and tell; report how long each took."""
    rng = np.random.default_rng(number)
    means = CLOSE.gaussian().means
    taken = []
    with Experiment.open(url, "load", create=CLOSE.problem()) as experiment:
        used = time.process_time()
        for _ in range(pairs):
            begun = time.perf_counter()
            (ticket,) = experiment.ask(worker=str(number))
            between = time.perf_counter()
            experiment.tell(ticket.id, float(means[ticket.arm] + rng.normal()))
            taken.append((between - begun, time.perf_counter() - between))
        used = time.process_time() - used
    results.put((taken, used))


def load(folder: Path, workers: int, pairs: int) -> dict[str, Any]:
    """Let processes ask and tell, all starting on a file that is not there yet."""
    url = f"sqlite:///{folder}/load.db"
    context = multiprocessing.get_context("spawn")
    results: Queue[Report] = context.Queue()
    crew = [context.Process(target=worker, args=(url, pairs, i, results)) for i in range(workers)]
    begun = time.perf_counter()
    for process in crew:
        process.start()
    reports = [results.get(timeout=600) for _ in crew]
    taken = np.array([times for report, _ in reports for times in report])
    for process in crew:
        process.join()
    seconds = time.perf_counter() - begun
    with Experiment.open(url, "load") as experiment:
        events = experiment.events()
        asked = [id for event in events if isinstance(event, Asked) for id, _ in event.tickets]
        told = [event.ticket for event in events if isinstance(event, Told)]
        experiment.verify()
    busiest = float(taken.sum(axis=1).reshape(workers, pairs).sum(axis=1).max())
    return {
        "what": f"{workers} processes x {pairs} ask and tell",
        "errors": sum(process.exitcode != 0 for process in crew),
        "lost": len(set(asked) - set(told)) + workers * pairs - len(asked),
        "doubled": sum(count > 1 for count in Counter(told).values()),
        "pairs_per_second": round(workers * pairs / busiest),
        "cpu_ms_per_pair": round(1e3 * sum(used for _, used in reports) / (workers * pairs), 2),
        "with_start": round(workers * pairs / seconds),
        **quantiles(taken),
    }


def filled(url: str, problem: Problem, means: FloatArray, events: int) -> None:
    """Write a log of so many events at once; every arm is pulled, then some again."""
    rng = np.random.default_rng(0)
    with Experiment.open(url, "many", create=problem):
        pass
    store = open_store(url, create=False)
    with store.transaction("many") as log:
        notes, now = [], time.time()
        for seq in range(2, events, 2):
            arm = seq // 2 - 1 if seq <= 2 * len(problem) else int(rng.integers(len(problem)))
            ticket, reward = f"{seq}-0-abcdefgh", float(means[arm] + rng.normal())
            asked = Asked(
                seq=seq, time=now, tickets=((ticket, arm),), deadline=None, worker=None, key=None
            )
            told = Told(seq=seq + 1, time=now, ticket=ticket, arm=arm, reward=reward)
            notes += [Note(as_text(event), event.reference) for event in (asked, told)]
        log.append(notes)
    store.close()


def opened(url: str) -> tuple[Experiment, float]:
    begun = time.perf_counter()
    experiment = Experiment.open(url, "many")
    return experiment, time.perf_counter() - begun


def many_arms(folder: Path, arms: int, dimension: int, events: int) -> dict[str, Any]:
    """Open a long log, from its beginning and from its snapshot, and time asks and tells."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(arms, dimension))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    means = features @ rng.normal(size=dimension) * 0.1
    url = f"sqlite:///{folder}/many.db"
    filled(url, Problem(features), means, events)
    experiment, from_zero = opened(url)
    experiment.close()
    experiment, from_snapshot = opened(url)
    waiting = experiment.ask(8)  # others at work
    taken = []
    for _ in range(600):
        begun = time.perf_counter()
        (ticket,) = experiment.ask()
        between = time.perf_counter()
        experiment.tell(ticket.id, float(means[ticket.arm] + rng.normal()))
        taken.append((between - begun, time.perf_counter() - between))
    pending = experiment.status().pending
    experiment.close()
    assert pending == len(waiting)
    return {
        "what": f"{arms} arms, {dimension} features, {events} events, {pending} pending",
        "open_from_zero_s": round(from_zero, 1),
        "open_s": round(from_snapshot, 2),
        **quantiles(np.array(taken)),
    }


def quantiles(taken: FloatArray) -> dict[str, float]:
    """Return what asks and tells took, in milliseconds."""
    return {
        f"{name}_{share}_ms": round(1e3 * float(np.quantile(taken[:, i], q)), 2)
        for i, name in enumerate(("ask", "tell"))
        for share, q in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    }


def main() -> None:
    """Print and record both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--arms", type=int, default=10_000)
    parser.add_argument("--dimension", type=int, default=50)
    parser.add_argument("--events", type=int, default=100_000)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        measures: list[Callable[[], dict[str, Any]]] = [
            lambda: load(place, given.workers, given.pairs),
            lambda: many_arms(place, given.arms, given.dimension, given.events),
        ]
        for measure in measures:
            row = measure() | {"load_average": round(os.getloadavg()[0], 1)}
            rows.append(row)
            head, *cells = ([name, str(value)] for name, value in row.items())
            print(table(head, cells), flush=True)
    print(write("live", rows))


if __name__ == "__main__":
    main()
