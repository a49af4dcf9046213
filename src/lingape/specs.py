"""Explorers and instances as text: `lingape(bound=self_normalized(comparisons='K^2'), m=2)`.

The text is a name from a registry, with settings in parentheses if needed, in Python's syntax. A
setting is a number, true or false, a name, a text in quotes, for instances also a list, or for
`bound` and `pull` a name with settings again.
"""

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from .arrays import FloatArray
from .bounds import BOUNDS
from .environments import INSTANCES, Instance
from .errors import InvalidArgument
from .explorers import BUDGET_EXPLORERS, EXPLORERS, Explorer
from .problem import Problem
from .pulls import PULLS

LONGEST = 1000  # Python's parser may crash on texts that are very long and deeply nested


class Call(NamedTuple):
    """A name with settings, as `parse` reads it.

    name: of an explorer, an instance or a part.
    positional: settings without a name.
    settings: those with one.

    >>> call = parse("xy_static(design=greedy)")
    >>> call.name, call.settings
    ('xy_static', {'design': 'greedy'})
    """

    name: str
    positional: list[Any]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """How to make an explorer for a problem, written as text.

    text: as it was written.
    kind: the explorer's class.
    settings: what it is made with, beside the problem.

    >>> Recipe.read("xy_static(design=greedy)")
    Recipe('xy_static(design=greedy)')
    """

    text: str
    kind: Callable[..., Explorer] = field(repr=False)
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
        _fits(kind, (None,), settings, text)
        return cls(text, kind, settings)

    @cached_property
    def _told_theta(self) -> bool:
        return takes_theta(self.kind)

    def __call__(self, problem: Problem, theta: FloatArray) -> Explorer:
        """Return the explorer; θ is for explorers that have a parameter theta."""
        given = {"theta": theta} if self._told_theta else {}
        return self.kind(problem, **self.settings, **given)


def takes_theta(build: Callable[..., Explorer]) -> bool:
    """Whether an explorer's class, or a function like it, has a parameter theta.

    >>> from lingape import LinGapE, XYOracle
    >>> takes_theta(LinGapE), takes_theta(XYOracle)
    (False, True)
    """
    return "theta" in inspect.signature(build).parameters


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
    if len(text) > LONGEST:
        raise _unreadable(f"{text[:40]}...", f"it has more than {LONGEST:,} characters")
    if "\\" in text:  # Python's parser would warn about some of them
        raise _unreadable(text, "it has a backslash")
    if "\0" in text:  # some versions of Python say so as a SyntaxError, others not
        raise _unreadable(text, "it has a null byte")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise _unreadable(text, error.msg) from error
    except (ValueError, MemoryError, RecursionError) as error:
        raise _unreadable(text, "Python cannot parse it") from error
    value = _value(tree.body, text.strip())
    if isinstance(value, str):
        value = Call(value, [], {})
    if not isinstance(value, Call):
        raise _unreadable(text, "it has no name")
    return value


def _value(node: ast.expr, text: str) -> Any:
    """Return the value that a part of the text stands for."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=elements):
            return [_value(element, text) for element in elements]
        case ast.Name(id=name):
            return {"true": True, "false": False}.get(name, name)
        case ast.Call(func=ast.Name(id=name), args=positional, keywords=keywords):
            settings: dict[str, Any] = {}
            for keyword in keywords:
                if keyword.arg is None or keyword.arg in settings:
                    why = f"{keyword.arg} is given twice" if keyword.arg else "it has **"
                    raise _unreadable(text, why)
                settings[keyword.arg] = _value(keyword.value, text)
            return Call(name, [_value(argument, text) for argument in positional], settings)
    written = ast.get_source_segment(text, node) or text
    name = written.partition("(")[0].replace("-", "_")
    if any(name in names for names in (EXPLORERS, BUDGET_EXPLORERS, BOUNDS, INSTANCES)):
        raise _unreadable(text, f"names have no hyphens: write {name}")
    raise _unreadable(
        text,
        f"{written} is not a number, true, false or a name. Put other texts in quotes: "
        f"{written!r}",
    )


def _unreadable(text: str, why: str) -> InvalidArgument:
    return InvalidArgument(
        "Explorers and instances are written name(setting=value, ...), such as "
        f"lingape(bound=mixture, m=2); {text!r} is not: {why}."
    )


def _part(value: Any, registry: Mapping[str, Any] | None) -> Any:
    """Return a bound or a pull rule by its name; other settings as they are."""
    if registry is None:
        if isinstance(value, Call):
            raise InvalidArgument(
                f"Only bound and pull have settings of their own; got {value.name}(...)."
            )
        if isinstance(value, list):
            raise InvalidArgument(f"Only settings of instances are lists; got {value!r}.")
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
    kind: Callable[..., Any], positional: tuple[Any, ...], settings: Mapping[str, Any], text: str
) -> None:
    """Raise unless the settings are ones that it takes; θ is given to it."""
    signature = inspect.signature(kind)
    given = {"theta": None} if "theta" in signature.parameters else {}
    try:
        signature.bind(*positional, **settings, **given)
    except TypeError as reason:
        names = [name for name in signature.parameters if name not in ("problem", "theta")]
        raise InvalidArgument(
            f"{text!r} does not fit: {_misfit(str(reason))}. Its settings are "
            f"{', '.join(names) or 'none'}."
        ) from reason


def _misfit(reason: str) -> str:
    """Return in words what inspect says of arguments that do not bind; Python 3.13 says more."""
    for ours, theirs in {
        "there is no setting": "got an unexpected keyword argument",
        "it needs": "missing a required (keyword-only )?argument:",
        "there are too many values": "too many positional arguments",
        "given twice is": "multiple values for argument",
    }.items():
        reason = re.sub(theirs, ours, reason)
    return reason
