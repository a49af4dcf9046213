"""Run the service: on an address, in one process or several, until a signal."""

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

from ..errors import InvalidArgument, MissingExtra, in_words
from .addresses import host_in_url, loopback
from .notices import Notice
from .store import open_store

if TYPE_CHECKING:
    from .server import Limits

GRACE = 10  # seconds for requests under way to end
QUEUE = 1_024  # connections that may wait to be accepted


@dataclass(frozen=True)
class Service:
    """What to serve, where, and to whom."""

    url: str = field(repr=False)  # of the database, perhaps with its password
    host: str = "127.0.0.1"
    port: int = 8000  # 0 for any that is free
    workers: int = 1  # processes
    read_token: str | None = field(default=None, repr=False)
    write_token: str | None = field(default=None, repr=False)
    limits: "Limits | None" = None  # how much it accepts, if not the usual
    notice: Notice | None = None  # what to do when a question is answered


def serve(service: Service, *, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; call `ready` with the URL once requests are accepted."""
    try:
        import uvicorn  # noqa: F401

        from .server.gate import check_tokens
    except ImportError as reason:
        raise MissingExtra(
            f'The service needs {reason.name}: pip install "lingape[server]".'
        ) from reason
    if service.workers > 1 and sys.platform == "win32":
        raise InvalidArgument(
            f"On Windows, workers must be 1: the service runs in one process; got "
            f"{service.workers}. For several, serve from Linux, macOS or WSL."
        )
    check_tokens(service.read_token, service.write_token)
    if not loopback(service.host) and service.write_token is None:
        raise InvalidArgument(
            f"Anyone who can reach {service.host} could change experiments: serving there needs a "
            "token for writing. Pass --write-token-file or set LINGAPE_WRITE_TOKEN, or serve on "
            "127.0.0.1."
        )
    open_store(service.url, create=True).close()  # report now what is wrong with it
    with _exiting_cleanly(), _listen(service) as listener:
        ready(f"http://{host_in_url(service.host)}:{listener.getsockname()[1]}")
        if service.workers == 1:
            _serve(service, listener, None)
        else:
            _supervise(service, listener)


@contextmanager
def _exiting_cleanly() -> Iterator[None]:
    """Exit with status 0 on SIGTERM, which uvicorn raises again after it has shut down."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listen(service: Service) -> socket.socket:
    """Return a socket that accepts connections; they wait until they are served."""
    family = socket.AF_INET6 if ":" in service.host else socket.AF_INET
    # With the protocol, which would be 0 otherwise, asyncio sends small answers at once.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR lets several servers have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((service.host, service.port))
        listener.listen(QUEUE)
    except (OSError, OverflowError) as reason:
        listener.close()
        raise InvalidArgument(
            f"Port {service.port} of {service.host} cannot be used ({in_words(reason)}). "
            "Choose another with --port, or stop the program that uses it."
        ) from reason
    return listener


def _serve(service: Service, listener: socket.socket, parent: int | None) -> None:
    """Serve in this process, until a signal or until the parent is gone."""
    import uvicorn

    from .server import LOOPBACK, Limits, create_app
    from .server.connections import ACCEPTS, protocol, spare_the_log

    limits = service.limits or Limits()
    app = create_app(
        service.url,
        read_token=service.read_token,
        write_token=service.write_token,
        # A token also stops pages that reach this machine by a host name of their own.
        hosts=None if service.write_token is not None else LOOPBACK | {host_in_url(service.host)},
        limits=limits,
        closing=lambda: server.should_exit,
        notice=service.notice,
    )
    config = uvicorn.Config(
        app,
        http=protocol(limits),
        ws="none",
        backlog=ACCEPTS,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    spare_the_log()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            listener.listen(QUEUE)  # asyncio's backlog is also how many it accepts at once

    server = Server(config)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        server.should_exit = True

    if parent is not None:
        threading.Thread(target=watch, daemon=True).start()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it again after it has shut down
        return


def _supervise(service: Service, listener: socket.socket) -> None:
    """Keep several processes serving the same socket; one that dies is replaced."""
    context = multiprocessing.get_context("spawn")
    over = threading.Event()

    def start() -> BaseProcess:
        process = context.Process(target=_serve, args=(service, listener, os.getpid()))
        process.start()
        return process

    before = {
        number: signal.signal(number, lambda *_: over.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    processes = [start() for _ in range(service.workers)]
    try:
        while not over.wait(0.5):
            processes = [each if each.is_alive() else start() for each in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(GRACE + 5)
            process.kill()
        for number, handler in before.items():
            signal.signal(number, handler)
