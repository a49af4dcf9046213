"""How many workers can share an experiment? Processes that ask and tell against one fresh file.

python -m benchmarks.live_load            8 and 64 processes, 4,000 times ask and tell, then many
                                          arms, then many tickets
python -m benchmarks.live_load --server   the same through two servers, over HTTP
python -m benchmarks.live_load --db postgresql://USER@HOST/DATABASE   (also with --server)
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.record import write
from lingape import Problem, canonical
from lingape.arrays import FloatArray
from lingape.live import Asked, Client, Experiment, RemoteExperiment, Told
from lingape.live.events import as_text
from lingape.live.store import Note, open_store
from lingape.printable import markdown_table

Report: TypeAlias = tuple[list[tuple[float, float]], float]
CLOSE = canonical(6, gap=0.05)  # takes longer to settle than the load lasts


def joined(url: str, name: str) -> Experiment | RemoteExperiment:
    """Return the experiment, in a database or on a server, creating it if needed."""
    if url.startswith("http"):
        return Client(url).create(name, CLOSE.problem())
    return Experiment.open(url, name, create=CLOSE.problem())


def worker(
    url: str, name: str, pairs: int, number: int, start: "Barrier", results: "Queue[Report]"
) -> None:
    """Ask and tell, once all are there; report how long each took."""
    rng = np.random.default_rng(number)
    means = CLOSE.gaussian().means
    taken = []
    with joined(url, name) as experiment:
        start.wait()
        used = time.process_time()
        for _ in range(pairs):
            begun = time.perf_counter()
            (ticket,) = experiment.ask(worker=str(number))
            between = time.perf_counter()
            experiment.tell(ticket.id, float(means[ticket.arm] + rng.normal()))
            taken.append((between - begun, time.perf_counter() - between))
        used = time.process_time() - used
    results.put((taken, used))


def load(url: str, workers: int, pairs: int, servers: int = 0) -> dict[str, Any]:
    """Let processes ask and tell, all starting on an experiment that does not exist yet."""
    name = f"load-{time.time_ns()}"
    with serving(url, servers) as addresses:
        places = addresses or [url]
        context = multiprocessing.get_context("spawn")
        results: Queue[Report] = context.Queue()
        start = context.Barrier(workers + 1)
        crew = [
            context.Process(
                target=worker, args=(places[i % len(places)], name, pairs, i, start, results)
            )
            for i in range(workers)
        ]
        for process in crew:
            process.start()
        start.wait(600)
        begun = time.perf_counter()
        reports = [results.get(timeout=600) for _ in crew]
        seconds = time.perf_counter() - begun
        taken = np.array([times for report, _ in reports for times in report])
        for process in crew:
            process.join()
    with Experiment.open(url, name) as experiment:
        events = experiment.events()
        asked = [id for event in events if isinstance(event, Asked) for id, _ in event.tickets]
        told = [event.ticket for event in events if isinstance(event, Told)]
        experiment.verify()
    waits = taken.reshape(workers, -1)  # of each process
    through = f" through {servers} servers" if servers else ""
    return {
        "what": f"{workers} processes x {pairs} ask and tell{through}, {url.split(':')[0]}",
        "errors": sum(process.exitcode != 0 for process in crew),
        "lost": len(set(asked) - set(told)) + workers * pairs - len(asked),
        "doubled": sum(count > 1 for count in Counter(told).values()),
        "pairs_per_second": round(workers * pairs / seconds),
        "cpu_ms_per_pair": round(1e3 * sum(used for _, used in reports) / (workers * pairs), 2),
        "slowest_over_median_process": round(
            float(waits.sum(axis=1).max() / np.median(waits.sum(axis=1))), 2
        ),
        "longest_over_median_wait": round(float(waits.max() / np.median(waits)), 1),
        **quantiles(taken),
    }


@contextmanager
def serving(url: str, servers: int) -> Iterator[list[str]]:
    """Start servers that share a database, and give their addresses."""
    command = [sys.executable, "-m", "lingape", "serve", "--db", url, "--port", "0", "--json"]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(servers)
    ]
    try:
        yield [json.loads(server.stdout.readline())["url"] for server in running if server.stdout]
    finally:
        for server in running:
            server.terminate()
            server.communicate()


def filled(url: str, problem: Problem, means: FloatArray, events: int) -> None:
    """Write a log of many events at once; every arm is pulled, then some again."""
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
    filled(url, Problem(features, noise=1.0), means, events)
    experiment, from_zero = opened(url)
    experiment.close()
    experiment, from_snapshot = opened(url)
    waiting = experiment.ask(8)  # others at work
    taken = pairs(experiment, means, 1_000)  # with some snapshots among them
    pending = experiment.status().pending
    experiment.close()
    assert pending == len(waiting)
    return {
        "what": f"{arms} arms, {dimension} features, {events} events, {pending} pending",
        "open_from_zero_s": round(from_zero, 1),
        "open_s": round(from_snapshot, 2),
        **quantiles(taken),
    }


def many_tickets(folder: Path, pending: int) -> dict[str, Any]:
    """Time asks and tells while many rewards are awaited: each counts in the design."""
    problem, means = CLOSE.problem(), CLOSE.arms @ CLOSE.theta
    with Experiment.open(f"sqlite:///{folder}/tickets.db", "many", create=problem) as experiment:
        pairs(experiment, means, 100)
        experiment.ask(pending)
        taken = pairs(experiment, means, 200)
    return {"what": f"{len(problem)} arms, {pending} pending", **quantiles(taken)}


def pairs(experiment: Experiment, means: FloatArray, count: int) -> FloatArray:
    """Ask and tell `count` times, and return how long each took, in seconds."""
    rng = np.random.default_rng(1)
    taken = []
    for _ in range(count):
        begun = time.perf_counter()
        (ticket,) = experiment.ask()
        between = time.perf_counter()
        experiment.tell(ticket.id, float(means[ticket.arm] + rng.normal()))
        taken.append((between - begun, time.perf_counter() - between))
    return np.array(taken)


def quantiles(taken: FloatArray) -> dict[str, float]:
    """Return what asks and tells took, in milliseconds."""
    return {
        f"{name}_{share}_ms": round(1e3 * float(np.quantile(taken[:, i], q)), 2)
        for i, name in enumerate(("ask", "tell"))
        for share, q in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    }


def main() -> None:
    """Print and record what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--pairs", type=int, default=4_000, help="Of all processes together.")
    parser.add_argument("--arms", type=int, default=10_000)
    parser.add_argument("--dimension", type=int, default=50)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--server", action="store_true", help="Go through servers, over HTTP.")
    parser.add_argument("--servers", type=int, default=2, help="How many of them.")
    parser.add_argument("--db", help="Where to load; a fresh file unless given.")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        url = given.db or f"sqlite:///{place}/load.db"
        servers = given.servers if given.server else 0
        measures: list[Callable[[], dict[str, Any]]] = [
            partial(load, url, workers, given.pairs // workers, servers)
            for workers in given.workers
        ]
        if not given.server and given.db is None:
            measures.append(lambda: many_arms(place, given.arms, given.dimension, given.events))
            measures.append(lambda: many_tickets(place, 1_000))
        for measure in measures:
            row = measure() | {"load_average": round(os.getloadavg()[0], 1)}
            rows.append(row)
            cells = [[name, str(value)] for name, value in row.items()]
            print(markdown_table(cells), flush=True)
    parts = ["live", *(["server"] if given.server else []), *(["db"] if given.db else [])]
    print(write("-".join(parts), rows))


if __name__ == "__main__":
    main()
