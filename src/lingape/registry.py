"""Write parts such as bounds as plain data, and read them back by name."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from .errors import InvalidState


def describe(part: Any, registry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON-able description of a registered part: its name and its settings."""
    for name, kind in registry.items():
        if part is kind:
            return {"name": name}
        if isinstance(kind, type) and type(part) is kind:
            settings = fields(part) if is_dataclass(part) else ()
            return {"name": name} | {f.name: _plain(part, f.name) for f in settings if f.init}
    return {"name": repr(part)}  # not registered: `revive` asks the caller for it


def _plain(part: Any, name: str) -> Any:
    value = getattr(part, name)
    return value.item() if hasattr(value, "item") else value  # NumPy's numbers are not JSON


def revive(description: Any, registry: Mapping[str, Any], *, argument: str) -> Any:
    """Return the part that `describe` described."""
    if not isinstance(description, Mapping) or not isinstance(description.get("name"), str):
        raise InvalidState(
            f"The saved {argument} must be a mapping with a name; got {description!r}. "
            "Restore an undamaged copy of the state."
        )
    settings = dict(description)
    name = settings.pop("name")
    if name not in registry:
        raise InvalidState(
            f"The saved {argument} {name!r} is not one of {', '.join(registry)}. "
            f"If it is your own, pass it: from_state(state, {argument}=...)."
        )
    kind = registry[name]
    if not isinstance(kind, type):
        return kind
    try:
        return kind(**settings)
    except (TypeError, ValueError) as reason:
        raise InvalidState(
            f"The saved {argument} {name!r} has settings {settings!r} that it does not take: "
            f"{reason} Restore an undamaged copy of the state."
        ) from reason
