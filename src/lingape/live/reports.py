"""A report: an experiment as it stands, as one HTML file that needs nothing else.

It has the parts of the dashboard, and shows them with the dashboard's own scripts: these and the
data are in the file. A reader without scripts gets the status as text.
"""

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .. import __version__
from ..data import to_data
from .client import RemoteExperiment
from .experiment import Experiment
from .history import Point

PAGE = Path(__file__).parent / "dashboard"
POINTS = 300  # of curves
ARMS = 500  # in the table of all arms
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
BUNDLED = re.compile(r"export\{([^}]*)\};\s*$")  # as esbuild ends a file


def report(
    experiment: Experiment | RemoteExperiment, history: Sequence[Point] | None = None
) -> str:
    """Return an experiment's question, verdict, charts and certificate as an HTML file.

    It has no events: the hash in it says which log it is about, and the log is saved by `export`.
    experiment: on this machine, or of a service.
    history: how B(t) fell, if that is known; to find out, the log has to be replayed.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> from lingape.live import report
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     page = report(experiment)
    >>> page.startswith("<!doctype html>"), "<title>ads · lingape</title>" in page
    (True, True)
    """
    status = experiment.status()
    points = experiment.history(POINTS) if history is None else history
    answers: dict[str, Any] = {
        "": status,
        "/history": {"points": points, "complete": True},
        "/activity": experiment.activity(),
        "/arms": experiment.arms(limit=ARMS),
    }
    if status.factors:
        answers["/effects"] = experiment.effects()
    data = {"answers": answers, "made": time.time(), "version": __version__}
    # "<" would allow a name to end the element.
    text = json.dumps(to_data(data), allow_nan=False).replace("<", "\\u003c")
    script, style = "\n".join(_modules("report.js")), (PAGE / "style.css").read_text("utf-8")
    # Who copies the chart library has to copy its licences too.
    licences = (PAGE / "vendor/LICENSES.txt").read_text("utf-8")
    title = escape(status.question or status.name)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src \
'{_hash(script)}'; style-src 'unsafe-inline'; img-src blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · lingape</title>
<style>
{style}</style>
</head>
<body class="report">
<main id="main">
<noscript><h1>{title}</h1><pre>{escape(str(status))}</pre></noscript>
</main>
<script type="application/json" id="data">{text}</script>
<script type="module">{script}</script>
<!--
{licences}-->
</body>
</html>
"""


def _hash(script: str) -> str:
    """Return the hash by which a browser knows the script that may run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _modules(name: str, done: set[str] | None = None) -> Iterator[str]:
    """Yield the scripts that make up a module, those that it imports first.

    Each becomes a function of its own that returns what it exports, as one file cannot have
    several modules.
    """
    done = set() if done is None else done
    done.add(name)
    text = (PAGE / name).read_text("utf-8")
    for _, other in IMPORT.findall(text):
        if other not in done:
            yield from _modules(other, done)
    exported = {found: found for _, found in EXPORT.findall(text)}
    if bundled := BUNDLED.search(text):
        pairs = (pair.split(" as ") for pair in bundled[1].split(","))
        exported = {public: private for private, public in pairs}
    body = IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_variable(found[2])};\n", text)
    body = BUNDLED.sub("", EXPORT.sub(r"\1 \2", body))
    given = ", ".join(f"{public}: {private}" for public, private in exported.items())
    yield f"const {_variable(name)} = await (async () => {{\n{body}\nreturn {{ {given} }};\n}})();"


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name)
