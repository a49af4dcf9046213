"""The service as an ASGI app, put together from its parts."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles

from ... import __version__
from .failures import handle_failures
from .gate import Gate, check_tokens
from .limits import Limits
from .routes import Routes
from .shelf import Shelf
from .watch import Watch

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
PAGE = Path(__file__).parents[1] / "dashboard"


def create_app(
    url: str,
    *,
    read_token: str | None = None,
    write_token: str | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
    limits: Limits | None = None,
    closing: Callable[[], bool] = lambda: False,
) -> FastAPI:
    """Return the service for a database, as an ASGI app.

    write_token: lets its bearers do everything; without one, everybody who comes through may.
    read_token: lets its bearers look. Without one the write token is needed to look, too.
    hosts: names by which clients may call the server; None for any.
    limits: how much it takes on.
    closing: says whether the server is about to end, and streams should too.
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
        summary="Find the best of many options in the fewest noisy trials, with a guarantee.",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # that would send clients wherever the header Host says
        lifespan=lifespan,
    )
    app.include_router(Routes(shelf, Watch(shelf.summary, closing), limits).router())
    _add_page(app)
    handle_failures(app, shelf.where)
    _describe(app, secured=write_token is not None)
    app.add_middleware(
        Gate,
        read_token=read_token,
        write_token=write_token,
        hosts=hosts,
        largest=limits.request,
        most_numbers=limits.numbers,
    )
    return app


def _add_page(app: FastAPI) -> None:
    """Serve the dashboard."""

    async def page() -> Response:
        return FileResponse(PAGE / "index.html")

    app.get("/", include_in_schema=False)(page)
    app.mount("/static", StaticFiles(directory=PAGE))


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
