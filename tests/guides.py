"""The pages of the site with commands and code: run them, and compare or rewrite what they print.

A page is one session, in a folder with the files that lie beside the guides. Its Python blocks
share their names, and what one prints is in the text block after it. A console block holds
commands after "$ ", each with what it prints. Blocks that take long come after <!-- slow -->.
Those after <!-- needs PACKAGE --> are not compared. `make readme` rewrites all of it, these where
the package is installed.
"""

import contextlib
import importlib.util
import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

from console import ROOT, STEP, lasting, printed

GUIDES = ROOT / "docs" / "guides"
COMING_FROM = ROOT / "docs" / "coming-from"
SINGLE = [ROOT / "docs" / name for name in ("start.md", "trials.md", "simulations.md")]
PAGES = [*sorted([*GUIDES.glob("*.md"), *COMING_FROM.glob("*.md")]), *SINGLE]
BLOCK = re.compile(
    r"(?P<needs><!-- needs (?P<package>\w+) -->\n+)?(?P<slow><!-- slow -->\n+)?"
    r"```(?:console\n(?P<shell>\$ .*?)|python\n(?P<code>.*?))```"
    r"(?:\n+```text\n(?P<said>.*?)```)?",
    re.S,
)


class Session:
    """What runs the blocks of a page, one after the other."""

    def __init__(self, folder):
        self.folder, self.names = folder, {}
        for path in [*GUIDES.iterdir(), *COMING_FROM.iterdir()]:
            path.suffix == ".md" or shutil.copy(path, folder)

    def python(self, code):
        """Return what a block of Python prints."""
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, self.names)
        return output.getvalue()

    def shell(self, block):
        """Return a console block with what its commands print."""
        commands = [command for command, _ in STEP.findall(block)]
        steps = zip(commands, printed(commands, self.folder), strict=True)
        return "".join(f"$ {command}\n{output}" for command, output in steps)


def check(page, folder, *, slow):
    """Run the blocks of a page, slow ones too or not, and compare what they print."""
    session = Session(folder)
    for block in BLOCK.finditer(page.read_text("utf-8")):
        if block["needs"] or (block["slow"] and not slow):
            continue
        if block["shell"]:
            assert lasting(session.shell(block["shell"])) == lasting(block["shell"])
        else:
            assert lasting(session.python(block["code"])) == lasting(block["said"] or "")


def rewritten(text):
    """Return a page with what its blocks print now."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))

        def block(match):
            if match["needs"] and importlib.util.find_spec(match["package"]) is None:
                return match[0]
            start = (match["needs"] or "") + (match["slow"] or "")
            if match["shell"]:
                return f"{start}```console\n{session.shell(match['shell'])}```"
            output = session.python(match["code"])
            said = f"\n\n```text\n{output}```" if output else ""
            return f"{start}```python\n{match['code']}```{said}"

        return BLOCK.sub(block, text)


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(rewritten(page.read_text("utf-8")), "utf-8")
