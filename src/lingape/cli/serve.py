"""lingape serve: experiments over HTTP, and a page to watch them."""

import json as jsonlib
import os
from pathlib import Path

import click

from .options import as_json


@click.command()
@click.option("--db", required=True, metavar="URL", help="The database, as sqlite:///run.db.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="0 takes any that is free.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="How many processes serve.",
)
@click.option(
    "--write-token-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Holds the token that lets clients do everything; or set LINGAPE_WRITE_TOKEN.",
)
@click.option(
    "--read-token-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Holds the token that lets clients look; or set LINGAPE_READ_TOKEN.",
)
@as_json
def serve(
    db: str,
    host: str,
    port: int,
    workers: int,
    write_token_file: str | None,
    read_token_file: str | None,
    json: bool,
) -> None:
    """Serve the experiments in a database over HTTP, with a page to watch them.

    Without tokens it serves this machine only. Several servers may share a database, on one
    machine with SQLite, on any number with PostgreSQL.

    \b
    Example:
      lingape serve --db sqlite:///run.db
      lingape live new http://127.0.0.1:8000 ads arms.csv --binary
      lingape live ask http://127.0.0.1:8000 ads
    """
    from ..live.serving import Service, serve

    service = Service(
        url=db,
        host=host,
        port=port,
        workers=workers,
        read_token=_token(read_token_file, "LINGAPE_READ_TOKEN"),
        write_token=_token(write_token_file, "LINGAPE_WRITE_TOKEN"),
    )

    def ready(url: str) -> None:
        click.echo(jsonlib.dumps({"url": url}) if json else f"Serving experiments at {url}")

    serve(service, ready=ready)


def _token(path: str | None, variable: str) -> str | None:
    if path is not None:
        return Path(path).read_text(encoding="utf-8").strip()
    return os.environ.get(variable) or None
