"""How commands that run others stop: by Ctrl-C and other signals, and with which exit code."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..live.command import Stop

LIMIT, FAILED = 3, 4  # exit codes; 0 is settled, 128 + the signal's number interrupted
SIGNALS = [signal.SIGINT, signal.SIGTERM]
if sys.platform != "win32":
    SIGNALS.append(signal.SIGHUP)


@contextmanager
def requests_to_stop() -> "Iterator[Stop]":
    """Turn signals into requests to stop."""
    from ..live.command import Stop

    stop = Stop()
    before: dict[int, Any] = {}

    def handle(number: int, frame: object) -> None:
        stop.signal = number
        stop.level = stop.level + 1 if number == signal.SIGINT else 2
        if stop.level == 1:  # os.write, because we may be in the middle of printing
            with suppress(OSError):
                os.write(2, b"\nStopping when what runs now has ended. Ctrl-C again kills it.\n")

    if threading.current_thread() is threading.main_thread():
        for sign in SIGNALS:
            # Signals that nohup or a shell set to be ignored stay ignored.
            if signal.getsignal(sign) is not signal.SIG_IGN:
                before[sign] = signal.signal(sign, handle)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
