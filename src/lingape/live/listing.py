"""The experiments in a database or on a server."""

import time

from .client import Client
from .experiment import Experiment
from .standing import Summary, summary_of
from .store import open_store


def experiments(url: str, token: str | None = None) -> list[Summary]:
    """Return the experiments in a database, or on a server, each in a line.

    url: as for Experiment.open, or as for Client.
    token: if the server wants one.
    """
    if url.startswith(("http://", "https://")):
        with Client(url, token) as client:
            return client.experiments()
    store = open_store(url, create=False)
    try:
        names = store.experiments()
    finally:
        store.close()
    found = []
    for name in names:
        with Experiment.open(url, name) as experiment, experiment.current() as replay:
            found.append(summary_of(replay, time.time()))
    return found
