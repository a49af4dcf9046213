"""Workers that finish in any order, fail, or come back late: an experiment kept in a file."""

import random
import tempfile
from pathlib import Path

from lingape import Experiment, Problem, Ticket, noise_scale_for

# Which of six buttons is clicked most? Two colours by three sizes; colour and size add up.
arms = [
    [colour == "red", size == "m", size == "l", 1] for colour in ("red", "blue") for size in "sml"
]
names = [f"{colour} {size}" for colour in ("red", "blue") for size in "sml"]
rates = [0.2, 0.5, 0.3, 0.5, 0.8, 0.6]
problem = Problem(
    arms, names=names, noise_scale=noise_scale_for(binary=True), epsilon=0.1, delta=0.05
)
url = f"sqlite:///{Path(tempfile.mkdtemp()) / 'run.db'}"
chance = random.Random(1)

with Experiment.open(url, "buttons", create=problem) as experiment:
    tickets = experiment.ask(4, worker="shop-1", ttl="6h")
    experiment.tell(tickets[0].id, 1)
    experiment.tell(tickets[0].id, 1)  # a retry: acknowledged, counted once
    experiment.void(tickets[1].id, reason="page did not load")
    experiment.add(arm=4, reward=1)  # a click from last week
    print(experiment.status(), "\n")

# The process may end here; the log has everything.


def click(ticket: Ticket) -> float:
    """Show a button to somebody; one time in fifty the connection breaks."""
    if chance.random() < 0.02:
        raise ConnectionError("visitor lost")
    return float(chance.random() < rates[ticket.arm])


with Experiment.open(url, "buttons") as experiment:
    outcome = experiment.run(click, workers=4)
    print(f"{outcome.told} clicks told, {len(outcome.failures)} visitors lost")
    print(outcome.certificate, "\n")
    print(experiment.check())
    experiment.verify()
