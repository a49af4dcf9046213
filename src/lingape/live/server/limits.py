"""How much a server takes on."""

from dataclasses import dataclass

from ..experiment import MOST


@dataclass(frozen=True)
class Limits:
    """How much a server takes on; what is beyond is refused with a sentence."""

    request: int = 16 * 1024 * 1024  # bytes
    numbers: int = 1_000_000  # in a request
    arms: int = 20_000
    features: int = 1_000
    tickets: int = MOST  # in one ask
    experiments: int = 1_000
    streams: int = 200  # open at once
    connections: int = 1_000  # open at once; fewer where fewer files may be open
    head: float = 10.0  # seconds for the head of a request to come, or for the next request
    body: float = 120.0  # seconds for its body
    stall: float = 60.0  # seconds for which a client may take nothing of its answer
