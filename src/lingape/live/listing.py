"""The experiments in a database or on a server."""

import time

from ..errors import LingapeError, StorageFailed
from .client import Client
from .experiment import Experiment
from .store import open_store
from .summary import Summary, Unreadable, summary_of


def experiments(url: str, token: str | None = None) -> list[Summary | Unreadable]:
    """Return a line about each experiment in a database or on a server, by name.

    Those that cannot be read are Unreadable: their log is damaged, or of another version.
    url: as for Experiment.open, or as for Client.
    token: if the server requires one.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> from lingape.live import experiments
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> Experiment.open(url, "ads", create=problem).close()
    >>> [(line.name, line.state) for line in experiments(url)]
    [('ads', 'running')]
    """
    if url.startswith(("http://", "https://")):
        with Client(url, token) as client:
            return client.experiments()
    store = open_store(url, create=False)
    try:
        names = store.experiments()
    finally:
        store.close()
    return [_line(url, name) for name in names]


def _line(url: str, name: str) -> Summary | Unreadable:
    try:
        with Experiment.open(url, name) as experiment, experiment.current() as replay:
            return summary_of(replay, time.time())
    except StorageFailed:
        raise
    except LingapeError as reason:  # also if damage made the name invalid
        return Unreadable(name, str(reason))
