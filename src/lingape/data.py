"""Results as JSON-able data, and made from it again, by the types of their fields."""

from dataclasses import fields
from functools import cache
from types import NoneType
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Data:
    """What a dataclass inherits to be shown as data."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {name: to_data(value) for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return what `to_dict` wrote as `data`."""
        result: Self = _from_fields(cls, data)
        return result


@cache
def types_of(kind: type) -> dict[str, Any]:
    """Return the fields of a dataclass or NamedTuple, and their types."""
    hints = get_type_hints(kind)
    names = getattr(kind, "_fields", None) or [field.name for field in fields(kind)]
    return {name: hints[name] for name in names}


def to_data(value: Any) -> Any:
    """Return a result as JSON-able data, and so everything in it."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "_asdict"):
        return to_data(value._asdict())
    if isinstance(value, dict):
        return {name: to_data(part) for name, part in value.items()}
    return [to_data(part) for part in value] if isinstance(value, list | tuple) else value


def restored(kind: type[T], data: Any) -> T:
    """Return the result of a type that `to_data` wrote."""
    given: Any = kind
    made: T = data
    if NoneType in get_args(given):
        if data is None:
            return made
        given = get_args(given)[0]
    if get_origin(given) in (list, tuple):
        made = get_origin(given)(restored(get_args(given)[0], part) for part in data)
    elif hasattr(given, "from_dict"):
        made = given.from_dict(data)
    elif hasattr(given, "_fields"):
        made = _from_fields(given, data)
    return made


def _from_fields(kind: Any, data: Any) -> Any:
    return kind(**{name: restored(hint, data[name]) for name, hint in types_of(kind).items()})
