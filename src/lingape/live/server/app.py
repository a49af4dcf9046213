"""The service as an ASGI app: its routes, how errors are answered, and the page."""

import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, Response, StreamingResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from ... import __version__, errors
from ...checks import glimpse
from ...errors import InvalidArgument, LingapeError, StorageFailed
from ...problem import Problem
from ...values import Effects
from ..activity import Activity
from ..events import rounded_time, words_by_kind
from ..experiment import VERBS, Experiment
from ..notices import Notice
from ..replay import LogCertificate, Tallies
from ..reports import POINTS, report
from ..standing import ArmsPage, Status
from ..summary import Summary, Unreadable
from ..tickets import Ticket
from ..verification import export_line
from . import schemas
from .gate import Gate, Limits, check_tokens
from .schemas import (
    After,
    CreateBody,
    FirstArm,
    Key,
    Limit,
    Name,
    PageSize,
    Points,
    RefitBody,
    SearchText,
    Sort,
    answers,
    as_json,
    envelope,
)
from .shelf import HistoryPage, Shelf
from .watch import Watch

log = logging.getLogger(__name__)
#: Names by which a machine calls itself: the hosts of a server unless others are given.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
PAGE = Path(__file__).parents[1] / "dashboard"
LONGEST_REPLAY = 30.0  # seconds for the curve of a report: beyond, it ends early and says so
ALL = "/api/experiments"
ONE = "/api/experiments/{name}"
HEALTH = envelope("Health", status=str, version=str)
LISTING = envelope("Listing", experiments=list[Summary], unreadable=list[Unreadable])
TICKETS = envelope("Tickets", tickets=list[Ticket])
EVENTS = envelope("Events", events=list[dict[str, Any]], words=dict[str, str])
STATUSES = (
    (errors.NotFound, 404),
    ((errors.Conflict, errors.ExplorationOver), 409),
    (StorageFailed, 503),
    (errors.InvalidState, 500),  # repeating the request will not help
)  # and 422 for other errors


def create_app(
    url: str,
    *,
    read_token: str | None = None,
    write_token: str | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
    limits: Limits | None = None,
    closing: Callable[[], bool] = lambda: False,
    notice: Notice | None = None,
) -> FastAPI:
    """Return the service for a database, as an ASGI app for uvicorn and other servers.

    url: the database, as for Experiment.open.
    write_token: permits everything; without one, everybody who can connect may do everything.
    read_token: permits reading. Without one, reading needs the write token too.
    hosts: names by which clients may call the server; None for any.
    limits: how much the server accepts.
    closing: says whether the server is shutting down, so that streams end.
    notice: what to do when a reward that was told here answers a question.

    >>> import tempfile
    >>> from lingape.live.server import create_app
    >>> app = create_app(f"sqlite:///{tempfile.mkdtemp()}/ads.db")
    >>> [route.path for route in app.routes if route.path.endswith("/ask")]
    ['/api/experiments/{name}/ask']
    """
    check_tokens(read_token, write_token)
    limits = limits or Limits()
    shelf = Shelf(url, most_experiments=limits.experiments)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        shelf.close()

    app = FastAPI(
        title="lingape",
        version=__version__,
        summary="Find the best of many options in few noisy trials, with a guarantee.",
        docs_url=None,  # FastAPI's pages load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,  # that would send clients wherever the header Host says
        lifespan=lifespan,
    )
    Routes(shelf, Watch(shelf.summary, closing), limits, notice).add_to(app)
    _add_page(app)
    _answer_errors(app, shelf.where)
    _describe(app, secured=write_token is not None)
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    app.add_middleware(
        Gate,
        read_token=read_token,
        write_token=write_token,
        hosts=hosts,
        limits=limits,
        large=ALL,
        posts=[route.path_regex for route in routes if "POST" in (route.methods or ())],
    )
    return app


class Routes:
    """What clients can request."""

    def __init__(
        self, shelf: Shelf, watch: Watch, limits: Limits, notice: Notice | None = None
    ) -> None:
        self._shelf, self._watch, self._limits = shelf, watch, limits
        self._notice, self._announced = notice, set[tuple[str, int]]()
        self._since, self._announcing = rounded_time(time.time()), threading.Lock()

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an app."""
        app.get("/api/health", **answers(HEALTH))(self.health)
        app.get(ALL, **answers(LISTING))(self.experiments)
        app.post(ALL, **answers(Status, 201))(self.create)
        app.get(ONE, **answers(Status))(self.status)
        app.get(f"{ONE}/problem", **answers(dict[str, Any]))(self.problem)
        app.post(f"{ONE}/refit", **answers(Status, 201))(self.refit)
        app.get(f"{ONE}/certificate", **answers(LogCertificate))(self.certificate)
        app.get(f"{ONE}/arms", **answers(ArmsPage))(self.arms)
        app.get(f"{ONE}/rewards", **answers(Tallies))(self.rewards)
        app.get(f"{ONE}/effects", **answers(Effects))(self.effects)
        for verb in VERBS:
            method = getattr(Experiment, verb)
            made = get_type_hints(method)["return"]
            made = TICKETS if made == list[Ticket] else made
            app.post(
                f"{ONE}/{verb}", name=verb, description=schemas.purpose_of(method), **answers(made)
            )(self._recording(verb))
        app.get(f"{ONE}/history", **answers(HistoryPage))(self.history)
        app.get(f"{ONE}/report", **schemas.streams("text/html"))(self.report)
        app.get(f"{ONE}/activity", **answers(Activity))(self.activity)
        app.get(f"{ONE}/events", **answers(EVENTS))(self.events)
        app.get(f"{ONE}/export", **schemas.streams("application/jsonl"))(self.export)
        app.get(f"{ONE}/stream", **schemas.streams("text/event-stream"))(self.stream)

    def _recording(self, verb: str) -> Callable[..., Response]:
        """Return the route that calls a method of the experiment with what is in the body."""
        body_type: Any = schemas.body_model(getattr(Experiment, verb))

        def record(name: Name, body: body_type, idempotency_key: Key = None) -> Response:
            arguments = dict(body)
            if arguments.get("n", 0) > self._limits.tickets:
                raise InvalidArgument(
                    f"This server hands out at most {self._limits.tickets} tickets at once; got "
                    f"{body.n}. Ask for fewer."
                )
            if "key" in arguments and idempotency_key is not None:
                if body.key not in (None, idempotency_key):
                    raise InvalidArgument(
                        "The header Idempotency-Key and key mean the same and must not differ. "
                        "Send one of them."
                    )
                arguments["key"] = idempotency_key
            with self._shelf.use(name) as experiment:
                found = getattr(experiment, verb)(**arguments)
                if self._notice is not None and getattr(found, "settled", False):
                    self._announce(self._notice, experiment)
            return as_json({"tickets": found} if isinstance(found, list) else found)

        return record

    def _announce(self, notice: Notice, experiment: Experiment) -> None:
        """Say once that a question was answered, if that was while this server ran."""
        with experiment.current() as replay:
            settled, certificate = replay.settled, replay.certificate()
        if settled is None or settled.time < self._since:
            return
        with self._announcing:
            if (experiment.name, settled.seq) in self._announced:
                return
            self._announced.add((experiment.name, settled.seq))

        def send() -> None:
            for trouble in notice.send(certificate):
                log.warning(trouble)

        threading.Thread(target=send, daemon=True).start()

    async def health(self) -> Response:
        """Say that the server is there."""
        return as_json({"status": "ok", "version": __version__})

    def experiments(self) -> Response:
        """List the experiments; those whose log is damaged are listed separately."""
        lines, unreadable = [], []
        for name in self._shelf.names():
            try:
                lines.append(self._shelf.summary(name))
            except StorageFailed:
                raise
            except LingapeError as reason:  # also if damage made the name invalid
                unreadable.append(Unreadable(name, _sentence(reason, self._shelf.where)))
        return as_json({"experiments": lines, "unreadable": unreadable})

    def create(self, body: CreateBody) -> Response:
        """Begin an experiment; if it exists with the same settings, nothing happens."""
        (count, width), limits = body.problem.arms.shape, self._limits
        if count > limits.arms or width > limits.features:
            raise InvalidArgument(
                f"This server takes at most {limits.arms} arms with {limits.features} features; "
                f"got {count} with {width}. Leave some out, or use a database of your own."
            )
        settings = dict(body) | {"problem": Problem(**dict(body.problem))}
        self._shelf.create(**settings)
        with self._shelf.use(body.name) as experiment:
            return as_json(experiment.status(), 201)

    def status(self, name: Name) -> Response:
        """Return how the experiment stands and what is proven."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.status())

    def problem(self, name: Name) -> Response:
        """Return the question: the arms that there are now, and what was asked."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.problem.to_dict())

    def refit(self, name: Name, body: RefitBody) -> Response:
        """Begin a successor with the same arms, another model or goal, and all rewards so far."""
        with self._shelf.use(name) as experiment, experiment.refit(**dict(body)) as successor:
            return as_json(successor.status(), 201)

    def certificate(self, name: Name) -> Response:
        """Return what is proven now; once settled, always the same."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.certificate())

    def arms(
        self,
        name: Name,
        search: SearchText = "",
        sort: Sort = "best",
        start: FirstArm = 0,
        limit: PageSize = 50,
    ) -> Response:
        """Return how arms stand, a page at a time."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.arms(search, sort, start, limit))

    def rewards(self, name: Name) -> Response:
        """Return each arm's rewards in short."""
        with self._shelf.use(name) as experiment, experiment.current() as replay:
            return as_json(replay.tallies())

    def effects(self, name: Name) -> Response:
        """Return how much each level of each factor adds, compared with its first level."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.effects())

    def history(self, name: Name, points: Points = 300) -> Response:
        """Return how B(t) fell, thinned."""
        return as_json(self._shelf.history(name, points))

    def report(self, name: Name) -> Response:
        """Return the experiment as one HTML file that needs nothing else."""
        end = time.monotonic() + LONGEST_REPLAY
        history = self._shelf.history(name, POINTS)
        while not history.complete and time.monotonic() < end:
            history = self._shelf.history(name, POINTS)
        with self._shelf.use(name) as experiment:
            text = report(experiment, history.points)
        headers = {"content-disposition": f'attachment; filename="{name}.html"'}
        return Response(text, headers=headers, media_type="text/html")

    def activity(self, name: Name) -> Response:
        """Return when rewards came, hour by hour, and what became of each worker's tickets."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.activity())

    def events(self, name: Name, after: After = 0, limit: Limit = 100) -> Response:
        """Return the events after one, oldest first, and the words for each kind of event."""
        found = self._shelf.events(name, after, limit)
        return as_json({"events": found, "words": words_by_kind()})

    def export(self, name: Name, after: After = 0) -> Response:
        """Return the log as JSON lines, each event with its hash; of a part, the events after one.

        It is read and sent page by page. If it turns out to be damaged midway, the answer breaks
        off, and a request for the rest says why.
        """
        pages = self._shelf.export(name, after)
        texts = ("".join(map(export_line, page)).encode() for page in pages)
        first = next(texts, b"")  # damage in here is an error, not half an answer
        return StreamingResponse(
            chain((first,), texts),
            media_type="application/jsonl",
            headers={"content-disposition": f'attachment; filename="{name}.jsonl"'},
        )

    async def stream(self, name: Name) -> Response:
        """Send an event "status" with the line of the list whenever it changes.

        It changes when the log grows or a ticket becomes overdue. After 15 s of silence a comment
        is sent.
        """
        await run_in_threadpool(self._shelf.head, name)
        if self._watch.followers >= self._limits.streams:
            raise HTTPException(
                429,
                f"This server keeps at most {self._limits.streams} streams open. Try again later, "
                "or request the status now and then.",
                {"retry-after": "5"},
            )

        async def moves() -> AsyncIterator[bytes]:
            async with aclosing(self._watch.follow(name)) as looks:
                async for now in looks:
                    if now is None:
                        yield b": nothing new\n\n"
                    else:
                        data = json.dumps(now.to_dict())
                        yield f"id: {now.event}\nevent: status\ndata: {data}\n\n".encode()

        return StreamingResponse(moves(), media_type="text/event-stream")


def _answer_errors(app: FastAPI, where: str) -> None:
    """Answer every exception with a sentence, which calls `where` just "the database"."""

    async def refused(request: Request, error: Exception) -> Response:
        status = next((status for kind, status in STATUSES if isinstance(error, kind)), 422)
        headers = {"retry-after": "1"} if status == 503 else None
        data = {"error": _sentence(error, where), "kind": type(error).__name__}
        return as_json(data, status, headers)

    app.add_exception_handler(LingapeError, refused)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _other)
    app.add_exception_handler(Exception, _unforeseen)


def _sentence(error: Exception, where: str) -> str:
    """Return an exception's message without the address of the database, which stays private."""
    return str(error).replace(where, "the database")


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        said = f"The body must be JSON; {first['ctx']['error']} at {first['loc'][-1]}."
        return as_json({"error": said, "kind": "InvalidArgument"}, 400)
    place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    got = "" if first["type"] == "missing" else f"; got {glimpse(first.get('input'))}"
    said = f"{place}: {first['msg']}{got}. /openapi.json says what fits."
    return as_json({"error": said, "kind": "InvalidArgument"}, 422)


async def _other(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405 and request.url.path == "/api/experiments":
        headers["allow"] = "GET, POST"  # two routes; Starlette names the first
    return as_json({"error": _said(request, error)}, error.status_code, headers)


def _said(request: Request, error: HTTPException) -> str:
    """Return a sentence, also where the framework has only a word or two."""
    path = glimpse(request.url.path)
    match error.status_code, error.detail:
        case 404, "Not Found":
            return f"There is nothing at {path}. /openapi.json lists what there is."
        case 405, "Method Not Allowed":
            return f"{request.method} is not allowed at {path}. /openapi.json lists what is."
        case 400, "There was an error parsing the body":
            return "The body must be JSON in UTF-8, with no huge numbers or deep nesting."
    return str(error.detail)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return as_json({"error": "The server has a bug; its log says which. Please report it."}, 500)


def _add_page(app: FastAPI) -> None:
    """Serve the dashboard."""

    async def page() -> Response:
        return FileResponse(PAGE / "index.html")

    app.get("/", include_in_schema=False)(page)
    app.mount("/static", StaticFiles(directory=PAGE))


def _describe(app: FastAPI, *, secured: bool) -> None:
    """Describe in the OpenAPI document what routes do not know about: tokens."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes
            )
            for path in schema["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)  # among 4XX
            # FastAPI adds the classes of fields too that have a schema of their own.
            objects, text = schema["components"]["schemas"], json.dumps(schema)
            for name in [name for name in objects if f'/schemas/{name}"' not in text]:
                del objects[name]
            if secured:
                schema.setdefault("components", {})["securitySchemes"] = {
                    "token": {"type": "http", "scheme": "bearer"}
                }
                schema["security"] = [{"token": []}]
                schema["paths"]["/api/health"]["get"]["security"] = []
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
