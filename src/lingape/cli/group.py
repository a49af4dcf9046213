"""Groups of commands whose errors are one sentence, in terms of the command's options."""

import errno
import io
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import click

from ..errors import LingapeError, StorageFailed, in_words
from ..printable import printable
from .showing import INTERRUPTED, LAYOUT


class _Again(click.ClickException):
    """A database or server is unavailable now: the same command may work later."""

    exit_code = 5


class Group(click.Group):
    def main(self, *args: Any, **settings: Any) -> NoReturn:
        """Run the command line, and exit."""
        try:
            code = super().main(*args, **settings | {"standalone_mode": False})
        except click.ClickException as error:
            shown = io.StringIO()
            error.show(shown)  # click's own messages quote the input
            click.echo(printable(shown.getvalue(), keep=LAYOUT), err=True, nl=False)
            sys.exit(error.exit_code)
        except click.Abort:  # Ctrl-C, where the command does not handle it itself
            click.echo("Stopped.", err=True)
            sys.exit(INTERRUPTED)
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; show errors that users can fix as one sentence."""
        try:
            return super().invoke(ctx)
        except LingapeError as error:
            sentence = " ".join([str(error), *getattr(error, "__notes__", [])])
            kind = _Again if isinstance(error, StorageFailed) else click.ClickException
            raise kind(self._told(sentence, ctx)) from error
        except MemoryError as error:
            raise click.ClickException("There is not enough memory for this.") from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of our output is gone; click handles it
                raise
            what = f"{error.filename} cannot be used" if error.filename else "The system refused"
            sentence = f"{what}: {in_words(error)}."
            if isinstance(error, FileExistsError):
                sentence = f"{error.filename} exists. Remove it first, or write to another file."
            raise click.ClickException(printable(sentence)) from error

    def _told(self, sentence: str, ctx: click.Context) -> str:
        """Return an error on one line, safe to print, in terms of the command that failed."""
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        options = command.params if command is not None else []
        words = {rf"(?<![\w./]){name}\(\)": f"{ctx.command_path} {name}" for name in self.commands}
        return printable(in_options(sentence.replace("\n", " "), options, words))


# Quoted input in a message; not the apostrophe of a word.
QUOTED = re.compile(r"""((?<!\w)'[^']*'(?!\w)|(?<!\w)"[^"]*"(?!\w))""")
# Advice to users of Python or HTTP, and what to do in the shell instead.
IN_SHELL = {
    r"pass its problem as create": "use lingape live new",
    r"GET /api/experiments lists those that exist; POST there to begin one": (
        "lingape live list shows those that exist; lingape live new begins one"
    ),
    r"pass a mapping from labels to explorers": (
        "give them labels, in a file for lingape simulate"
    ),
    r" \(or seconds, or a timedelta\)": "",
    r"None for no deadline": "never for no deadline",
    r" /openapi\.json says what fits\.": "",
    r" Or pass different whole numbers from 0\.": "",
}
# The same, for commands with these options.
BY_OPTION = {
    "noise_scale": {r"\Anoise \(R\)": "--noise-scale (R)", r"noise=R\b": "--noise-scale R"},
    "bounded": {r"noise=Bounded\(low, high\)": "--bounded LOW HIGH"},
    "normal": {r"(noise=)?\bNormal\(\)": "--normal"},
    "header": {r"\bheader=True or header=False": "--header or --no-header"},
}
COLUMNS = {"name": "--name", "factors": "--factor", "numbers": "--number", "ignore": "--ignore"}
START = r"(?<![-\w./])"  # of a word that is not part of a file name


def in_options(
    sentence: str, options: list[click.Parameter], words: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return a message about arguments in Python, in terms of a command's options.

    What is quoted, and file names, stay as they are. `words` maps further patterns to what to say
    in the shell.

    >>> option = click.Option(["--noise-scale"])
    >>> in_options("noise_scale (R) must be above 0. Mixture() needs none.", [option])
    '--noise-scale (R) must be above 0. bound=mixture needs none.'
    """
    from ..bounds import BOUNDS

    for name, flag in COLUMNS.items():
        sentence = re.sub(rf"""\b{name}=\[?('[^']*'|"[^"]*")\]?""", rf"{flag} \1", sentence)
    bounds = {rf"\b{kind.__name__}\(\)": f"bound={name}" for name, kind in BOUNDS.items()}
    words = IN_SHELL | bounds | dict(words)
    for option in options:
        if isinstance(option, click.Option) and (name := option.name) is not None:
            flag = option.opts[-1]
            words |= BY_OPTION.get(name, {})
            words |= {rf"{START}{name}=True\b": flag, rf"{START}{name}=(?=\w)": f"{flag} "}
            # Words such as "delta" also stand for themselves, but not at the beginning.
            before = START if "_" in name else r"\A"
            words[rf"{before}{name}(?![\w/]|\.\w)"] = flag
            words[rf"(?<=[:;] ){name}(?= \()"] = flag  # in a list of settings
    parts = QUOTED.split(sentence)
    for place in range(0, len(parts), 2):
        for pattern, ours in words.items():
            if place == 0 or not pattern.startswith(r"\A"):
                parts[place] = re.sub(pattern, ours, parts[place])
    return "".join(parts)
