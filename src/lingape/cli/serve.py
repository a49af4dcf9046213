"""lingape serve: experiments over HTTP, and a page to watch them."""

import json as jsonlib
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from .options import as_json, notice
from .showing import say
from .threads import OneThreaded, one_thread

if TYPE_CHECKING:
    from ..live.notices import Notice
    from ..live.serving import Service


@click.command(cls=OneThreaded)
@click.option("--db", required=True, metavar="URL", help="The database, as sqlite:///run.db.")
@click.option(
    "--db-password-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Holds the password of a database of PostgreSQL, which is then not in its URL.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to serve on; use another only on a network that you trust.",
)
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="0 picks a free one.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Number of server processes.",
)
@click.option(
    "--write-token-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Holds the token for reading and writing; or set LINGAPE_WRITE_TOKEN.",
)
@click.option(
    "--read-token-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Holds the token for reading only; or set LINGAPE_READ_TOKEN.",
)
@notice
@as_json
def serve(
    db: str,
    db_password_file: str | None,
    host: str,
    port: int,
    workers: int,
    write_token_file: str | None,
    read_token_file: str | None,
    notice: "Notice | None",
    json: bool,
) -> None:
    """Serve the experiments in a database over HTTP, with a page to watch them.

    The address that it prints is a read-only page for browsers, and the URL for lingape live, for
    Client in Python, and for requests of your own (/openapi.json lists them). The database is
    created if there is none.

    Without tokens it serves this machine only, and anyone on it can do everything. To serve other
    machines (--host 0.0.0.0), give it a token, as from `openssl rand -hex 32`: clients send it as
    "Authorization: Bearer TOKEN", lingape live takes it from LINGAPE_WRITE_TOKEN, and the page
    asks for it. A second token is for reading only. Use this on a network that you trust: HTTP
    encrypts neither tokens nor rewards, and the number of requests is not limited. On the open
    internet, put a proxy with TLS in front (https://lingape.github.io/lingape/live.html).

    --on-settled and --webhook announce questions that are answered by rewards told to this server.

    Ctrl-C or SIGTERM stops it after the requests under way. It may also be killed: what was
    acknowledged is on disk, and clients continue when it is back. Several servers may share a
    database, on one machine with SQLite, on any number with PostgreSQL.

    \b
    Example:
      lingape serve --db sqlite:///run.db
      lingape live new http://127.0.0.1:8000 ads arms.csv --binary
      lingape live ask http://127.0.0.1:8000 ads
    """
    from ..live.serving import Service, serve

    service = Service(
        url=db if db_password_file is None else _with_password(db, db_password_file),
        host=host,
        port=port,
        workers=workers,
        read_token=_token(read_token_file, "LINGAPE_READ_TOKEN"),
        write_token=_token(write_token_file, "LINGAPE_WRITE_TOKEN"),
        notice=notice,
    )

    def ready(url: str) -> None:
        say(jsonlib.dumps({"url": url}) if json else _welcome(url, service))

    with one_thread():  # also for the processes that it starts
        serve(service, ready=ready)


def _welcome(url: str, service: "Service") -> str:
    """Return what to know about a server that has just started."""
    from ..live.addresses import loopback

    if service.write_token is None:
        access = "No token is set: anyone on this machine can read and write."
    elif service.read_token is None:
        access = "Clients need the token, also for reading."
    else:
        access = "Clients need the write token, or the read token for reading only."
    if service.host in ("0.0.0.0", "::"):
        access = f"Elsewhere, use this machine's name in place of {service.host}. {access}"
    if not loopback(service.host):
        access += "\nFor a network that you trust; on the open internet, only behind a TLS proxy."
    return (
        f"Serving experiments at {url}\n"
        f"- to watch them, open it in a browser;\n"
        f"- to take part: lingape live new|ask|tell|run {url} NAME ..., or Client({url!r});\n"
        f"- to stop: Ctrl-C. Nothing that was acknowledged is lost.\n"
        f"{access}"
    )


def _with_password(db: str, path: str) -> str:
    """Return the URL of a database, with the password that a file holds."""
    if not db.startswith(("postgresql://", "postgres://")):
        raise click.BadParameter(
            "is for databases given as postgresql://USER@HOST/DATABASE; --db begins with "
            f"{db.partition(':')[0]}. Leave it out.",
            param_hint="--db-password-file",
        )
    # Bytes that are not UTF-8 become characters that are not printable.
    password = Path(path).read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
    if not password or not password.isprintable():
        raise click.BadParameter(
            f"must hold a password: one line of printable characters in UTF-8. {path} does not; "
            "`openssl rand -hex 32` makes one.",
            param_hint="--db-password-file",
        )
    db = db.rstrip("?&")
    return f"{db}{'&' if '?' in db else '?'}password={quote(password, safe='')}"


def _token(path: str | None, variable: str) -> str | None:
    if path is not None:
        # Bytes that are not UTF-8 become a character that no token has, so they are refused.
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    return os.environ.get(variable) or None
