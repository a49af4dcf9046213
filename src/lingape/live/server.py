"""Experiments over HTTP: create, ask, tell, and watch what is proven.

Every answer is JSON (but for the export and the stream). What a client does wrong gets a status of
400 to 499 and {"error": a sentence, "kind": the name of the exception}; trouble with the database
gets 503, and doing the same again is safe. Any number of server processes may share a database.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Header, HTTPException, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException

from .. import __version__
from ..errors import (
    Conflict,
    ExplorationOver,
    InvalidArgument,
    InvalidState,
    LingapeError,
    NotFound,
    StorageFailed,
)
from ..problem import LARGEST, Problem
from . import views
from .events import as_data, from_text
from .experiment import MOST
from .gate import Gate, check_tokens
from .replay import make_explorer
from .shelf import Shelf
from .texts import LONGEST

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
LOOK = 0.5  # seconds between looks at the log, for the stream
HEARTBEAT = 15.0  # seconds of silence on the stream, at most
PAGE = FilePath(__file__).parent / "dashboard"

Text = Annotated[str, Field(max_length=LONGEST)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Reward = Annotated[float, Field(allow_inf_nan=False, ge=-LARGEST, le=LARGEST)]
Name = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,99}$",
        description="The experiment.",
        examples=["ads"],
    ),
]
T = TypeVar("T")


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ProblemBody(_Body):
    """The question: arms with features, and what counts as an answer."""

    arms: list[list[Number]] = Field(description="One row of features per arm.")
    names: list[Text] | None = Field(None, description="One name per arm.")
    noise_scale: Number = Field(1.0, description="R: rewards have R-sub-Gaussian noise.")
    norm_bound: Number | None = Field(None, description="S with ‖θ‖ ≤ S, for some bounds.")
    epsilon: Number = Field(0.0, description="How far from the best arm the answer may be.")
    delta: Number = Field(0.05, description="The probability with which it may be wrong.")
    pullable: list[int] | None = Field(None, description="Which arms can be pulled, if not all.")
    answers: list[int] | None = Field(None, description="Which can be the answer, if not all.")


class NewBody(_Body):
    """An experiment to begin."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {
                    "name": "ads",
                    "problem": {
                        "arms": [[1, 0], [0, 1], [0.7, 0.7]],
                        "names": ["red", "blue", "both"],
                        "noise_scale": 0.5,
                        "epsilon": 0.05,
                    },
                    "explorer": "lingape",
                    "seed": 0,
                }
            ]
        },
    )

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,99}$", description="1 to 100 letters and digits."
    )
    problem: ProblemBody
    explorer: Text = Field("lingape", description="Who chooses arms, with settings if need be.")
    seed: int = Field(0, ge=0, le=2**53 - 1, description="Of explorers that draw.")


class AskBody(_Body):
    """How many arms to hand out, and to whom."""

    n: int = Field(1, ge=1, le=MOST, description="How many arms.")
    worker: Text | None = Field(None, description="Who asks, for the log.")
    ttl: Text | Number | None = Field(
        "1d",
        description='For how long to count on the rewards: seconds, "90s", "30m", "6h", "2d", or '
        "null for ever.",
        examples=["6h"],
    )
    key: Text | None = Field(
        None, description="Asking again with the same key gives the same tickets."
    )


class TellBody(_Body):
    """A ticket's reward."""

    ticket: Text = Field(examples=["2-0-k3wzq5ab"])
    reward: Reward


class VoidBody(_Body):
    """A ticket that will have no reward."""

    ticket: Text = Field(examples=["2-0-k3wzq5ab"])
    reason: Text = Field(
        "none given", min_length=1, description="Why; it must not depend on the reward."
    )


class AddBody(_Body):
    """A reward that no ticket asked for."""

    arm: int = Field(ge=0, description="The arm's number.", examples=[0])
    reward: Reward
    key: Text | None = Field(None, description="Adding again with the same key changes nothing.")


class Health(BaseModel):
    status: str
    version: str


class Line(BaseModel):
    name: str
    arms: int
    pulls: int
    open_tickets: int
    settled: bool
    leader: str | None


class Listing(BaseModel):
    experiments: list[Line]


class Arm(BaseModel):
    arm: int
    name: str


class ArmStatus(Arm):
    """An arm, and its estimated gap to the leader with an interval; null without an estimate."""

    pulls: int
    open: int
    mean: float | None
    low: float | None
    high: float | None


class Status(BaseModel):
    name: str
    explorer: str
    pulls: int
    settled: bool
    leader: Arm | None
    rival: Arm | None
    margin: float | None = Field(description="B(t): how much better the rival may be, at most.")
    epsilon: float
    delta: float
    statement: str = Field(description="What is proven, in words.")
    open_tickets: int
    overdue: int = Field(description="Of these, past their deadline.")
    voided: int
    warnings: list[str] = Field(description="Where rewards contradict the assumptions.")
    arms: list[ArmStatus] = Field(description="At most 500, those that may be best first.")
    arms_total: int
    sequence: int = Field(description="The number of the last event.")
    hash: str = Field(description="Of the log up to it.")


class Certificate(BaseModel):
    model_config = ConfigDict(extra="allow")

    arm: int
    name: str
    gap_bound: float | None
    settled: bool
    pulls: int
    statement: str
    sequence: int
    hash: str


class Ticket(BaseModel):
    id: str
    arm: int
    name: str
    features: list[float]
    deadline: float | None


class Tickets(BaseModel):
    tickets: list[Ticket]


class Progress(BaseModel):
    pulls: int
    settled: bool


class Point(BaseModel):
    pulls: int
    margin: float | None
    leader: int
    rival: int


class History(BaseModel):
    points: list[Point]
    sequence: int
    complete: bool = Field(description="false: the log is long; ask again to read on.")


class Events(BaseModel):
    events: list[dict[str, Any]]


class Error(BaseModel):
    error: str = Field(description="The rule, the value that broke it, and the way out.")
    kind: str | None = None


def _answers(model: type[BaseModel], status: int = 200) -> dict[str, Any]:
    """Return what to tell FastAPI about a route that makes its own JSON."""
    errors = {"4XX": {"model": Error}, "503": {"model": Error}}
    return {
        "status_code": status,
        "response_model": None,
        "responses": {status: {"model": model}, **errors},
    }


def create_app(
    url: str,
    *,
    read_token: str | None = None,
    write_token: str | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
    largest: int = 16 * 1024 * 1024,
    most_arms: int = 20_000,
    most_features: int = 1_000,
    most_tickets: int = MOST,
    most_experiments: int = 1_000,
    most_streams: int = 200,
    closing: Callable[[], bool] = lambda: False,
) -> FastAPI:
    """Return the service for a database, as an ASGI app.

    write_token: lets its bearers do everything; without one, everybody who comes through may.
    read_token: lets its bearers look. Without one the write token is needed to look, too.
    hosts: names by which clients may call the server; None for any.
    largest: bytes of a request.
    closing: says whether the server is about to end, and streams should too.
    """
    check_tokens(read_token, write_token)
    shelf = Shelf(url, most_experiments=most_experiments)
    streams = 0

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        shelf.close()

    app = FastAPI(
        title="lingape",
        version=__version__,
        summary="Find the best of many options in the fewest noisy trials, with a guarantee.",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )

    @app.get("/api/health", **_answers(Health))
    async def health() -> Response:
        """Say that the server is there."""
        return _json({"status": "ok", "version": __version__})

    @app.get("/api/experiments", **_answers(Listing))
    def experiments() -> Response:
        """List the experiments."""
        return _json({"experiments": shelf.summaries()})

    @app.post("/api/experiments", **_answers(Status, 201))
    def create(body: NewBody) -> Response:
        """Begin an experiment; if it is there with the same settings, nothing happens."""
        problem = _problem(body.problem, most_arms, most_features)
        _check_explorer(body.explorer, problem, body.seed)
        shelf.create(body.name, problem, body.explorer, body.seed)
        with shelf.use(body.name) as experiment:
            return _json(views.status(experiment), 201)

    @app.get("/api/experiments/{name}", **_answers(Status))
    def status(name: Name) -> Response:
        """Say how the experiment stands and what is proven."""
        with shelf.use(name) as experiment:
            return _json(views.status(experiment))

    @app.get("/api/experiments/{name}/certificate", **_answers(Certificate))
    def certificate(name: Name) -> Response:
        """Return what is proven now; once settled, always the same."""
        with shelf.use(name) as experiment:
            return _json(views.certificate(experiment))

    @app.post("/api/experiments/{name}/ask", **_answers(Tickets))
    def ask(
        name: Name,
        body: AskBody,
        idempotency_key: Annotated[
            str | None, Header(max_length=LONGEST, description="The same as key.")
        ] = None,
    ) -> Response:
        """Hand out arms to pull; 409 once the question is answered."""
        if idempotency_key is not None and body.key not in (None, idempotency_key):
            raise InvalidArgument(
                "The header Idempotency-Key and key are the same thing and must not differ. Send "
                "one of them."
            )
        if body.n > most_tickets:
            raise InvalidArgument(
                f"This server hands out at most {most_tickets} tickets at once; got {body.n}."
            )
        key = body.key if idempotency_key is None else idempotency_key
        with shelf.use(name) as experiment:
            tickets = experiment.ask(body.n, worker=body.worker, ttl=body.ttl, key=key)
        return _json({"tickets": [ticket.to_dict() for ticket in tickets]})

    @app.post("/api/experiments/{name}/tell", **_answers(Progress))
    def tell(name: Name, body: TellBody) -> Response:
        """Record the reward of a ticket; telling the same again changes nothing."""
        with shelf.use(name) as experiment:
            return _json(experiment.tell(body.ticket, body.reward)._asdict())

    @app.post("/api/experiments/{name}/void", **_answers(Progress))
    def void(name: Name, body: VoidBody) -> Response:
        """Record that a ticket will have no reward."""
        with shelf.use(name) as experiment:
            return _json(experiment.void(body.ticket, body.reason)._asdict())

    @app.post("/api/experiments/{name}/add", **_answers(Progress))
    def add(name: Name, body: AddBody) -> Response:
        """Record a reward that no ticket asked for."""
        with shelf.use(name) as experiment:
            return _json(experiment.add(body.arm, body.reward, key=body.key)._asdict())

    @app.get("/api/experiments/{name}/history", **_answers(History))
    def history(
        name: Name,
        points: Annotated[int, Query(ge=2, le=2_000, description="At most so many.")] = 300,
    ) -> Response:
        """Return B(t) over time, thinned."""
        return _json(shelf.history(name, points))

    @app.get("/api/experiments/{name}/events", **_answers(Events))
    def events(
        name: Name,
        after: Annotated[int, Query(ge=0, le=2**53 - 1, description="An event's number.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1_000, description="At most so many.")] = 100,
    ) -> Response:
        """Return the events after one, oldest first."""
        return _json({"events": shelf.events(name, after, limit)})

    @app.get(
        "/api/experiments/{name}/export",
        **_answers(Error)
        | {
            "responses": {
                "200": {"content": {"application/jsonl": {"schema": {"type": "string"}}}},
                "4XX": {"model": Error},
            },
            "response_class": StreamingResponse,
        },
    )
    def export(name: Name) -> Response:
        """Return the log as JSON lines, each event with its hash."""
        pages = shelf.export(name)

        def lines() -> Iterator[bytes]:
            for page in pages:
                yield "".join(
                    json.dumps(as_data(from_text(e.text, place=e.seq)) | {"hash": e.digest}) + "\n"
                    for e in page
                ).encode()

        name = f'attachment; filename="{name}.jsonl"'
        return StreamingResponse(
            lines(), media_type="application/jsonl", headers={"content-disposition": name}
        )

    @app.get(
        "/api/experiments/{name}/stream",
        **_answers(Error)
        | {
            "responses": {
                "200": {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
                "4XX": {"model": Error},
            },
            "response_class": StreamingResponse,
        },
    )
    async def stream(name: Name, request: Request) -> Response:
        """Send an event "status" whenever the log grows, and a comment every 15 s."""
        nonlocal streams
        if streams >= most_streams:
            raise HTTPException(
                429, f"This server keeps at most {most_streams} streams open. Try again later."
            )
        await run_in_threadpool(shelf.head, name)

        async def moves() -> AsyncIterator[bytes]:
            nonlocal streams
            streams += 1
            try:
                seen, heard = -1, time.monotonic()
                while not closing() and not await request.is_disconnected():
                    now = await run_in_threadpool(shelf.moved, name, seen)
                    if now is not None:
                        seen, heard = now["sequence"], time.monotonic()
                        yield f"id: {seen}\nevent: status\ndata: {json.dumps(now)}\n\n".encode()
                    elif time.monotonic() - heard > HEARTBEAT:
                        heard = time.monotonic()
                        yield b": nothing new\n\n"
                    await asyncio.sleep(LOOK)
            except LingapeError:  # the client comes again, and hears of it then
                return
            finally:
                streams -= 1

        return StreamingResponse(moves(), media_type="text/event-stream")

    if PAGE.is_dir():

        @app.get("/", include_in_schema=False)
        async def page() -> Response:
            return FileResponse(PAGE / "index.html")

        app.mount("/static", StaticFiles(directory=PAGE))

    _handle_errors(app, shelf.where)
    _describe(app, secured=write_token is not None)
    app.add_middleware(
        Gate,
        read_token=read_token,
        write_token=write_token,
        hosts=hosts,
        largest=largest,
    )
    return app


def _json(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in ASCII: texts may hold letters that UTF-8 has no way to write."""
    body = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Response(body, status, headers, "application/json")


def _problem(body: ProblemBody, most_arms: int, most_features: int) -> Problem:
    width = max((len(row) for row in body.arms), default=0)
    if len(body.arms) > most_arms or width > most_features:
        raise InvalidArgument(
            f"This server takes at most {most_arms} arms with {most_features} features; got "
            f"{len(body.arms)} with {width}. Leave some out, or use a database of your own."
        )
    return Problem(**body.model_dump())


def _check_explorer(text: str, problem: Problem, seed: int) -> None:
    """Raise InvalidArgument for settings that no explorer has words of its own about."""
    try:
        make_explorer(text, problem, seed)
    except LingapeError:
        raise
    except Exception as reason:
        raise InvalidArgument(
            f"{text!r} cannot explore this problem ({type(reason).__name__}: {reason}). Try "
            "'lingape'."
        ) from reason


def _handle_errors(app: FastAPI, where: str) -> None:
    """Make every failure a sentence."""

    @app.exception_handler(LingapeError)
    async def refused(request: Request, error: Exception) -> Response:
        headers = None
        match error:
            case NotFound():
                status = 404
            case Conflict() | ExplorationOver():
                status = 409
            case StorageFailed() | InvalidState():
                status, headers = 503, {"retry-after": "1"}
            case _:
                status = 422
        sentence = str(error).replace(where, "the database")  # nobody else's business
        return _json({"error": sentence, "kind": type(error).__name__}, status, headers)

    @app.exception_handler(RequestValidationError)
    async def unreadable(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            sentence = f"The body must be JSON; {first['ctx']['error']} at {first['loc'][-1]}."
            return _json({"error": sentence, "kind": "InvalidArgument"}, 400)
        where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
        got = "" if first["type"] == "missing" else f"; got {_glimpse(first.get('input'))}"
        sentence = f"{where}: {first['msg']}{got}. /openapi.json says what fits."
        return _json({"error": sentence, "kind": "InvalidArgument"}, 422)

    @app.exception_handler(StarletteHTTPException)
    async def other(request: Request, error: Exception) -> Response:
        assert isinstance(error, StarletteHTTPException)
        headers = dict(error.headers or {})
        if error.status_code == 405 and request.url.path == "/api/experiments":
            headers["allow"] = "GET, POST"  # two routes; Starlette names the first
        return _json({"error": str(error.detail)}, error.status_code, headers)

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        sentence = "The server made a mistake; its log says which. Please report it."
        return _json({"error": sentence}, 500)


def _glimpse(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _describe(app: FastAPI, *, secured: bool) -> None:
    """Say in the OpenAPI document what routes do not: tokens."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes
            )
            for path in schema["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)  # among 4XX
            if secured:
                schema.setdefault("components", {})["securitySchemes"] = {
                    "token": {"type": "http", "scheme": "bearer"}
                }
                schema["security"] = [{"token": []}]
                schema["paths"]["/api/health"]["get"]["security"] = []
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
