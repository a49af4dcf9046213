"""Tickets, retries, losses and old data: an experiment kept in a file, and what it proves.

prompts_with_workers.py has several processes.
"""

import random
import tempfile
from pathlib import Path

from lingape import Binary, Experiment, Problem, Ticket
from lingape.live import read_export, verify

# Which of six buttons is clicked most? Two colours by three sizes; colour and size add up.
arms = [
    [colour == "red", size == "m", size == "l", 1] for colour in ("red", "blue") for size in "sml"
]
names = [f"{colour} {size}" for colour in ("red", "blue") for size in "sml"]
rates = [0.2, 0.5, 0.3, 0.5, 0.8, 0.6]
problem = Problem(arms, names=names, noise=Binary(), epsilon=0.1, delta=0.05)
folder = Path(tempfile.mkdtemp())
url = f"sqlite:///{folder / 'run.db'}"
chance = random.Random(1)

with Experiment.open(url, "buttons", create=problem) as experiment:
    tickets = experiment.ask(4, worker="shop-1", ttl="6h")
    experiment.tell(tickets[0].id, 1)
    again = experiment.tell(tickets[0].id, 1)  # a retry: acknowledged, counted once
    assert again.pulls == 1
    experiment.void(tickets[1].id, reason="page did not load")
    experiment.add(arm=4, reward=1)  # a click from last week
    print(experiment.status(), "\n")

# The process may end here; the log has everything.


def click(ticket: Ticket) -> float:
    """Show a button to a visitor; one time in fifty the connection breaks."""
    if chance.random() < 0.02:
        raise ConnectionError("visitor lost")
    return float(chance.random() < rates[ticket.arm])


with Experiment.open(url, "buttons") as experiment:
    outcome = experiment.run(click, workers=4)
    print(f"{outcome.told} clicks told, {len(outcome.failures)} visitors lost")
    print(outcome.certificate, "\n")
    print(experiment.check())
    experiment.export(folder / "run.jsonl")

# Anyone who has the log can check the certificate, and continue the experiment elsewhere.
print(verify(read_export(folder / "run.jsonl")))
Experiment.from_export(folder / "run.jsonl", f"sqlite:///{folder / 'copy.db'}").close()
