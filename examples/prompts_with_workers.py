"""Which prompt is answered right most often? Four workers ask; one of them disappears.

Each is a process that asks for a prompt, takes a while, and tells 1 or 0. They share a file and
nothing else. With PostgreSQL in place of the file, they could be on four machines.
"""

import multiprocessing
import random
import tempfile
import time
from pathlib import Path

from lingape import Binary, Experiment
from lingape.errors import ExplorationOver
from lingape.tables import read_arms

PROMPTS = Path(__file__).parent / "experiment" / "prompts.csv"
THETA = (0.3, 0.1, 0.35, -0.15)  # unknown to the explorer


def answered_right(features: tuple[float, ...]) -> bool:
    """Simulate a model and a judge, which take a while."""
    time.sleep(random.uniform(0.001, 0.01))
    return random.random() < sum(w * x for w, x in zip(THETA, features, strict=True))


def work(url: str, worker: str, patience: int | None) -> None:
    """Ask and tell until the question is answered, or until it is time to disappear."""
    random.seed(worker)
    with Experiment.open(url, "prompts") as experiment:
        while True:
            try:
                (ticket,) = experiment.ask(worker=worker, ttl="1m")
            except ExplorationOver:
                return
            if patience == 0:
                return  # with a ticket whose reward never comes
            patience = None if patience is None else patience - 1
            progress = experiment.tell(ticket.id, answered_right(ticket.features))
            if progress.pulls % 100 == 0:
                print(f"{progress.pulls} answers, the last by {worker}")


def main(url: str) -> None:
    problem = read_arms(PROMPTS).problem(noise=Binary(), epsilon=0.1)
    with Experiment.open(url, "prompts", create=problem) as experiment:
        context = multiprocessing.get_context("spawn")
        crew = [
            context.Process(target=work, args=(url, f"worker-{i}", 20 if i == 3 else None))
            for i in range(4)
        ]
        for process in crew:
            process.start()
        for process in crew:
            process.join()
        print(experiment.status())
        print(experiment.check())
        experiment.verify()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(f"sqlite:///{folder}/run.db")
