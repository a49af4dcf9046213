"""Explorers and instances as text: `lingape(bound=self-normalized(comparisons=K^2))`.

A name from a registry, with settings in parentheses if need be. A setting is a number, true or
false, a word, a quoted text, or for `bound` and `pull` again a name with settings.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .arrays import FloatArray
from .bounds import BOUNDS
from .environments import INSTANCES, Instance
from .errors import InvalidArgument
from .explorers import BUDGET_EXPLORERS, EXPLORERS, Explorer
from .problem import Problem
from .pulls import PULLS

_TOKEN = re.compile(r"""\s*(?:([(),=])|"([^"]*)"|'([^']*)'|([^\s(),=]+))""")


class Call(NamedTuple):
    """A name with settings, as read."""

    name: str
    positional: list[Any]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """How to make an explorer for a problem, written as text.

    >>> Recipe.read("xy-static(design=greedy)")
    Recipe('xy-static(design=greedy)')
    """

    text: str
    kind: type[Explorer] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return f"Recipe({self.text!r})"

    @classmethod
    def read(cls, text: str) -> "Recipe":
        """Return the recipe that a text describes."""
        call = parse(text)
        kind = _known(call.name, EXPLORERS | BUDGET_EXPLORERS, "explorer")
        if call.positional:
            raise InvalidArgument(
                f"Settings of explorers have names; got {call.positional[0]!r} in {text!r}. "
                f"Write for example {call.name}(bound=mixture)."
            )
        settings = {
            name: _part(value, {"bound": BOUNDS, "pull": PULLS}.get(name))
            for name, value in call.settings.items()
        }
        _fits(kind, (None,), settings, text, given={"theta"})
        return cls(text, kind, settings)

    def __call__(self, problem: Problem, theta: FloatArray) -> Explorer:
        """Return the explorer; only yardsticks look at θ."""
        return make(self.kind, problem, theta, **self.settings)


def make(
    build: Callable[..., Explorer], problem: Problem, theta: FloatArray, **settings: Any
) -> Explorer:
    """Call an explorer's class, or a function like it; whoever has a parameter theta gets θ."""
    if "theta" in inspect.signature(build).parameters:
        settings["theta"] = theta
    return build(problem, **settings)


def instance(text: str) -> Instance:
    """Return the instance that a text describes.

    >>> instance("soare(5, angle=0.1)").name
    'soare(5, 0.1)'
    """
    call = parse(text)
    kind: Callable[..., Instance] = _known(call.name, INSTANCES, "instance")
    _fits(kind, tuple(call.positional), call.settings, text)
    return kind(*call.positional, **call.settings)


def parse(text: str) -> Call:
    """Return the name and settings that a text is made of.

    >>> parse("soare(5, angle=0.1)")
    Call(name='soare', positional=[5], settings={'angle': 0.1})
    """
    tokens = _tokens(text)
    value, rest = _value(tokens, text)
    if rest:
        raise _unreadable(text, f"{rest[0][1]!r} comes after its end")
    if isinstance(value, str):
        value = Call(value, [], {})
    if not isinstance(value, Call):
        raise _unreadable(text, "it has no name")
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return the kinds and texts of tokens; the kind of a mark is the mark itself."""
    tokens, place = [], 0
    stripped = text.strip()
    while place < len(stripped):
        match = _TOKEN.match(stripped, place)
        if match is None:
            raise _unreadable(text, "a quotation mark is not closed")
        mark, double, single, word = match.groups()
        if mark is not None:
            tokens.append((mark, mark))
        elif word is not None:
            tokens.append(("word", word))
        else:
            tokens.append(("text", double if double is not None else single))
        place = match.end()
    return tokens


def _value(tokens: list[tuple[str, str]], text: str) -> tuple[Any, list[tuple[str, str]]]:
    """Return the first value and the tokens after it."""
    if not tokens or tokens[0][0] not in ("word", "text"):
        raise _unreadable(text, "a name or a value is missing")
    (kind, first), rest = tokens[0], tokens[1:]
    if not rest or rest[0][0] != "(":
        return (first if kind == "text" else _plain(first)), rest
    call, rest = Call(first, [], {}), rest[1:]
    while rest and rest[0][0] != ")":
        if len(rest) > 1 and rest[1][0] == "=":
            name = rest[0][1]
            if name in call.settings:
                raise _unreadable(text, f"{name} is given twice")
            call.settings[name], rest = _value(rest[2:], text)
        else:
            value, rest = _value(rest, text)
            call.positional.append(value)
        if rest and rest[0][0] == ",":
            rest = rest[1:]
        elif rest and rest[0][0] != ")":
            raise _unreadable(text, f"a comma is missing before {rest[0][1]!r}")
    if not rest:
        raise _unreadable(text, "a parenthesis is not closed")
    return call, rest[1:]


def _plain(word: str) -> Any:
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _unreadable(text: str, why: str) -> InvalidArgument:
    return InvalidArgument(
        f"Explorers and instances are written name(setting=value, ...); in {text!r} {why}."
    )


def _part(value: Any, registry: Mapping[str, Any] | None) -> Any:
    """Return a bound or a pull rule by its name; other settings as they are."""
    if registry is None:
        if isinstance(value, Call):
            raise InvalidArgument(
                f"Only bound and pull have settings of their own; got {value.name}(...)."
            )
        return value
    call = value if isinstance(value, Call) else Call(str(value), [], {})
    kind = _known(call.name, registry, "part")
    if not isinstance(kind, type):
        return kind
    _fits(kind, tuple(call.positional), call.settings, call.name)
    return kind(*call.positional, **call.settings)


def _known(name: str, registry: Mapping[str, Any], what: str) -> Any:
    if name not in registry:
        raise InvalidArgument(f"No {what} is called {name!r}; there are {', '.join(registry)}.")
    return registry[name]


def _fits(
    kind: Callable[..., Any],
    positional: tuple[Any, ...],
    settings: Mapping[str, Any],
    text: str,
    *,
    given: frozenset[str] | set[str] = frozenset(),
) -> None:
    """Raise unless the settings are ones that it takes."""
    signature = inspect.signature(kind)
    known = {name: None for name in given if name in signature.parameters}
    try:
        signature.bind(*positional, **settings, **known)
    except TypeError as reason:
        names = [name for name in signature.parameters if name not in ("problem", *given)]
        raise InvalidArgument(
            f"{text!r} does not fit: {_misfit(str(reason))}. Its settings are "
            f"{', '.join(names) or 'none'}."
        ) from reason


def _misfit(reason: str) -> str:
    """Return in words what inspect says of arguments that do not bind."""
    for ours, theirs in {
        "there is no setting": "got an unexpected keyword argument",
        "it needs": "missing a required argument:",
        "there are too many values": "too many positional arguments",
        "given twice is": "multiple values for argument",
    }.items():
        reason = reason.replace(theirs, ours)
    return reason
