"""Errors as answers: a status, and a sentence that says what was wrong."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from ...errors import (
    Conflict,
    ExplorationOver,
    InvalidState,
    LingapeError,
    NotFound,
    StorageFailed,
)
from .schemas import as_json


def handle_failures(app: FastAPI, where: str) -> None:
    """Answer every exception with a sentence.

    where: the database, for `sentence`.
    """

    async def refused(request: Request, error: Exception) -> Response:
        status = _status(error)
        headers = {"retry-after": "1"} if status == 503 else None
        data = {"error": sentence(error, where), "kind": type(error).__name__}
        return as_json(data, status, headers)

    app.add_exception_handler(LingapeError, refused)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _other)
    app.add_exception_handler(Exception, _unforeseen)


def sentence(error: Exception, where: str) -> str:
    """Return an exception's message without the address of the database: clients need no such."""
    return str(error).replace(where, "the database")


def _status(error: Exception) -> int:
    match error:
        case NotFound():
            return 404
        case Conflict() | ExplorationOver():
            return 409
        case StorageFailed():
            return 503
        case InvalidState():
            return 500  # repeating the request will not help
        case _:
            return 422


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        said = f"The body must be JSON; {first['ctx']['error']} at {first['loc'][-1]}."
        return as_json({"error": said, "kind": "InvalidArgument"}, 400)
    place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    got = "" if first["type"] == "missing" else f"; got {_glimpse(first.get('input'))}"
    said = f"{place}: {first['msg']}{got}. /openapi.json says what fits."
    return as_json({"error": said, "kind": "InvalidArgument"}, 422)


async def _other(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405 and request.url.path == "/api/experiments":
        headers["allow"] = "GET, POST"  # two routes; Starlette names the first
    return as_json({"error": _said(request, error)}, error.status_code, headers)


def _said(request: Request, error: HTTPException) -> str:
    """Return a sentence, also for what the framework refuses in a word or two."""
    path = _glimpse(request.url.path)
    match error.status_code, error.detail:
        case 404, "Not Found":
            return f"There is nothing at {path}. /openapi.json lists what there is."
        case 405, "Method Not Allowed":
            return f"{request.method} is not allowed at {path}. /openapi.json lists what is."
        case 400, "There was an error parsing the body":
            return "The body must be JSON in UTF-8, with no huge numbers or deep nesting."
    return str(error.detail)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return as_json(
        {"error": "The server made a mistake; its log says which. Please report it."}, 500
    )


def _glimpse(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
