"""The routes: each finds its experiment, does what is asked, and answers in JSON."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from ... import __version__
from ...errors import LingapeError, StorageFailed
from ..events import words_by_kind
from ..verification import export_line
from . import answers as out
from .answers import answers, as_json, streams
from .bodies import AddBody, After, AskBody, Key, Limit, Name, NewBody, Points, TellBody, VoidBody
from .failures import sentence
from .limits import Limits
from .shelf import Shelf
from .watch import Watch

ALL = "/experiments"
ONE = "/experiments/{name}"


class Routes:
    """What clients can ask for."""

    def __init__(self, shelf: Shelf, watch: Watch, limits: Limits) -> None:
        self._shelf, self._watch, self._limits = shelf, watch, limits

    def router(self) -> APIRouter:
        """Return the routes with their addresses."""
        router = APIRouter(prefix="/api")
        router.get("/health", **answers(out.Health))(self.health)
        router.get(ALL, **answers(out.Summaries))(self.experiments)
        router.post(ALL, **answers(out.Status, 201))(self.create)
        router.get(ONE, **answers(out.Status))(self.status)
        router.get(f"{ONE}/certificate", **answers(out.Certificate))(self.certificate)
        router.post(f"{ONE}/ask", **answers(out.Tickets))(self.ask)
        router.post(f"{ONE}/tell", **answers(out.Progress))(self.tell)
        router.post(f"{ONE}/void", **answers(out.Progress))(self.void)
        router.post(f"{ONE}/add", **answers(out.Progress))(self.add)
        router.get(f"{ONE}/history", **answers(out.History))(self.history)
        router.get(f"{ONE}/events", **answers(out.Events))(self.events)
        router.get(f"{ONE}/export", **streams("application/jsonl"))(self.export)
        router.get(f"{ONE}/stream", **streams("text/event-stream"))(self.stream)
        return router

    async def health(self) -> Response:
        """Say that the server is there."""
        return as_json({"status": "ok", "version": __version__})

    def experiments(self) -> Response:
        """List the experiments; those whose log is damaged come apart."""
        lines, unreadable = [], []
        for name in self._shelf.names():
            try:
                lines.append(self._shelf.summary(name).to_dict())
            except StorageFailed:
                raise
            except LingapeError as reason:  # also of a name that damage made none
                error = sentence(reason, self._shelf.where)
                unreadable.append({"name": name, "error": error})
        return as_json({"experiments": lines, "unreadable": unreadable})

    def create(self, body: NewBody) -> Response:
        """Begin an experiment; if it is there with the same settings, nothing happens."""
        problem = body.problem.to_problem(self._limits)
        self._shelf.create(body.name, problem, body.explorer, body.seed, body.rewards)
        with self._shelf.use(body.name) as experiment:
            return as_json(experiment.status().to_dict(), 201)

    def status(self, name: Name) -> Response:
        """Say how the experiment stands and what is proven."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.status().to_dict())

    def certificate(self, name: Name) -> Response:
        """Return what is proven now; once settled, always the same."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.certificate().to_dict())

    def ask(self, name: Name, body: AskBody, idempotency_key: Key = None) -> Response:
        """Hand out arms to pull; 409 once the question is answered."""
        n, key = body.checked_number(self._limits), body.checked_key(idempotency_key)
        with self._shelf.use(name) as experiment:
            tickets = experiment.ask(n, worker=body.worker, ttl=body.ttl, key=key)
        return as_json({"tickets": [ticket.to_dict() for ticket in tickets]})

    def tell(self, name: Name, body: TellBody) -> Response:
        """Record the reward of a ticket; telling the same again changes nothing."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.tell(body.ticket, body.reward)._asdict())

    def void(self, name: Name, body: VoidBody) -> Response:
        """Record that a ticket will have no reward."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.void(body.ticket, body.reason)._asdict())

    def add(self, name: Name, body: AddBody) -> Response:
        """Record a reward that no ticket asked for."""
        with self._shelf.use(name) as experiment:
            return as_json(experiment.add(body.arm, body.reward, key=body.key)._asdict())

    def history(self, name: Name, points: Points = 300) -> Response:
        """Return how B(t) fell, thinned."""
        return as_json(self._shelf.history(name, points))

    def events(self, name: Name, after: After = 0, limit: Limit = 100) -> Response:
        """Return the events after one, oldest first, and the words for each kind of event."""
        found = self._shelf.events(name, after, limit)
        return as_json({"events": found, "words": words_by_kind()})

    def export(self, name: Name) -> Response:
        """Return the log as JSON lines, each event with its hash."""
        pages = self._shelf.export(name)

        def lines() -> Iterator[bytes]:
            for page in pages:
                yield "".join(map(export_line, page)).encode()

        headers = {"content-disposition": f'attachment; filename="{name}.jsonl"'}
        return StreamingResponse(lines(), media_type="application/jsonl", headers=headers)

    async def stream(self, name: Name) -> Response:
        """Send an event "status" with the line of the list whenever it changes.

        That is when the log grows or a ticket becomes overdue; after 15 s of silence comes a
        comment.
        """
        await run_in_threadpool(self._shelf.head, name)
        if self._watch.followers >= self._limits.streams:
            raise HTTPException(
                429,
                f"This server keeps at most {self._limits.streams} streams open. Try again later, "
                "or ask for the status now and then.",
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
