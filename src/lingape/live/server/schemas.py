"""What comes in and what goes out, derived from the library's own methods and classes.

The body of a request has the parameters of the method that it calls: names and defaults from its
signature, descriptions from its docstring, limits from `PARAMETERS`. An answer has the fields of
the class that it shows, with their types and the descriptions in its docstring.
"""

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from fastapi import Header, Path, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema, create_model

from ...arrays import FloatArray
from ...checks import LARGEST
from ...data import to_data, types_of
from ...errors import InvalidProblem
from ...noise import Noise, checked_noise
from ...problem import Problem
from ..client import Client
from ..experiment import MOST, Experiment
from ..model_check import ModelCheck
from ..replay import LogCertificate
from ..standing import MOST_ARMS, Order
from ..texts import LONGEST, LONGEST_NOTES, NAME

WHOLE = 2**53 - 1  # the largest whole number that every JSON library reads exactly
# Parameters, in a docstring.
DESCRIBED = re.compile(r"^((?:\w+, )*\w+): (.*(?:\n    .*)*)", re.MULTILINE)


def purpose_of(thing: Any) -> str:
    """Return what a docstring says before it comes to parameters and examples, as _in_json."""
    text = inspect.cleandoc(thing.__doc__ or "").partition("\n>>>")[0]
    return _in_json(DESCRIBED.split(text)[0].strip())


def _descriptions(thing: Any) -> dict[str, str]:
    """Return what docstrings say about each parameter or field, in the words of JSON."""
    found: dict[str, str] = {}
    for each in reversed(getattr(thing, "__mro__", (thing,))):
        for names, text in DESCRIBED.findall(inspect.cleandoc(each.__doc__ or "")):
            words = _in_json(" ".join(text.split()))
            first = words[0].upper() if words[0].isascii() else words[0]  # δ is a symbol
            found |= dict.fromkeys(names.split(", "), first + words[1:])
    return found


def _in_json(text: str) -> str:
    """Return a text about values of Python with the words that JSON has for them."""
    words = {"None": "null", "True": "true", "False": "false"}
    return re.sub(r"\b(None|True|False)\b", lambda found: words[found[0]], text)


Text = Annotated[str, Field(max_length=LONGEST)]
ArmName = Annotated[str, Field(max_length=100 * LONGEST)]  # a prompt may be one
Name = Annotated[
    str, Path(pattern=f"^{NAME.pattern}$", description="The experiment.", examples=["ads"])
]
Key = Annotated[
    str | None,
    Header(max_length=LONGEST, description="The same as key; ignored where there is no key."),
]
Points = Annotated[int, Query(ge=2, le=2_000, description="The maximum number of points.")]
After = Annotated[int, Query(ge=0, le=WHOLE, description="The number of an event.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="The maximum number of events.")]
_SAID = _descriptions(Experiment.arms)
SearchText = Annotated[str, Query(max_length=LONGEST, description=_SAID["search"])]
Sort = Annotated[Order, Query(description=_SAID["sort"])]
FirstArm = Annotated[int, Query(ge=0, le=WHOLE, description=_SAID["start"])]
PageSize = Annotated[int, Query(ge=1, le=MOST_ARMS, description=_SAID["limit"])]


def _matrix(rows: Any) -> FloatArray:
    """Return rows of numbers as an array, and empty them: as lists they take far more memory."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError("must be a list with a list of numbers for each arm")
    if len({len(row) for row in rows}) > 1:
        raise ValueError("must have the same number of features for each arm")
    if not {type(value) for row in rows for value in row} <= {int, float}:
        raise ValueError("must have numbers for features")
    matrix = np.empty((len(rows), len(rows[0]) if rows else 0))
    try:
        for i, row in enumerate(rows):
            matrix[i] = row
            row.clear()
    except OverflowError:
        matrix[:] = np.inf
    if not np.isfinite(matrix).all():
        raise ValueError("must have finite numbers for features")
    return matrix


def _noise(given: Any) -> Noise:
    try:
        return checked_noise(given)
    except InvalidProblem:  # whose words are those of Python
        raise ValueError(
            'must be a number above 0, [low, high] with low < high, "binary" or "normal"'
        ) from None


Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
NoiseField: Any = Annotated[
    Noise,
    PlainValidator(_noise),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST},
                {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                {"type": "string", "enum": ["binary", "normal"]},
            ]
        }
    ),
]
# Types with limits; any other parameter has the type in the method's signature.
PARAMETERS: dict[str, Any] = {
    "arms": Annotated[
        FloatArray,
        PlainValidator(_matrix),
        WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
    ],
    "names": list[ArmName] | None,
    "name": Annotated[str, Field(pattern=f"^{NAME.pattern}$")],
    "noise": NoiseField,
    "explorer": Text,
    "seed": Annotated[int, Field(ge=0, le=WHOLE)],
    "n": Annotated[int, Field(ge=1, le=MOST)],
    "worker": Text | None,
    "ttl": Annotated[Text | float | None, Field(examples=["6h"])],
    "key": Text | None,
    "ticket": Annotated[Text, Field(examples=["2-0-k3wzq5ab"])],
    "reward": Number,
    "reason": Annotated[Text, Field(min_length=1)],
    "retired": list[Annotated[int, Field(ge=0)]],
    "control": Annotated[int, Field(ge=0)] | Text | None,
    "factors": dict[str, Any] | None,
    "question": Text | None,
    "notes": Annotated[str, Field(max_length=LONGEST_NOTES)] | None,
    "owner": Text | None,
    "what": Annotated[Text | int, Field(examples=["2-0-k3wzq5ab"])],
    "add_arms.arms": list[list[Number]] | list[dict[Text, ArmName | bool | int | Number]],
    "add_arms.names": list[ArmName],
    "correct.reward": Number | None,
    "refit.interactions": Text | list[list[Text]] | None,
    "refit.noise": NoiseField | None,
    "refit.explorer": Text | None,
    "arm": Annotated[int, Field(ge=0, examples=[0])],
}
# Not those of the method.
DEFAULTS: dict[str, Any] = {"reason": "none given", "Problem.noise": ...}
DESCRIPTIONS = {  # where Python has more ways to say it than JSON, or says it otherwise
    "arms": "One row of features per arm.",
    "factors": "What arms are combinations of, as Factors.to_dict() of the Python library has it.",
    "ticket": "Its id.",
    "noise": "What rewards are like: a number R for R-sub-Gaussian noise (its standard deviation "
    'if it is Gaussian), [low, high] for a range, "binary" for 0 and 1, or "normal" for Gaussian '
    "noise of unknown scale. Rewards outside of a range are refused.",
    "Problem.answers": "Which arms can be the answer, by number; all unless given.",
    "Problem.retired": "Arms, by number, that are no longer pulled, and cannot be the answer.",
    "Problem.began": "How many arms there were at first, if more came later.",
    "add_arms.arms": 'For each its levels, such as {"tone": "dry", "length": "long"}, if arms are '
    "made of factors; else a row of features.",
    "refit.interactions": 'Lists of factors whose effects depend on each other, or "all" for all '
    "pairs; as before unless given.",
    "refit.per_arm": "Whether each arm has an effect of its own; as before unless this is true or "
    "interactions are given.",
    "refit.noise": "As for a problem; as before unless given. It has to allow all rewards so far.",
    "refit.norm_bound": "As for a problem; as before unless given, and none if the features "
    "change.",
    "LogCertificate.gap_bound": "How much better than the answer another arm may be, at most; "
    "null while nothing is proven.",
    "LogCertificate.proven": "Whether there is a proof behind it; if not, caveat says why.",
    "LogCertificate.warnings": "Why the certificate may be wrong.",
    "Summary.warnings": "Why its certificate may be wrong.",
    "ModelCheck.statement": "All of it in words.",
    "Health.status": 'Always "ok".',
    "Health.version": "Of lingape on the server.",
    "Listing.experiments": "Those that can be read, by name.",
    "Listing.unreadable": "Those whose log is damaged, or of another version.",
    "Tickets.tickets": "One for each arm.",
    "Events.events": "As they are in the log.",
    "Events.words": "For each kind of event a sentence, in which {arm} stands for the field arm.",
    "ttl": 'How long to wait for the rewards: seconds, "90s", "30m", "6h", "2d", or null for no '
    "deadline.",
}
PROBLEM = {"arms": [[1, 0], [0, 1], [0.7, 0.7]], "names": ["red", "blue", "both"]}
EXAMPLE = {"name": "ads", "problem": PROBLEM | {"noise": "binary", "epsilon": 0.05}}


def body_model(call: Callable[..., Any], **settings: Any) -> type[BaseModel]:
    """Return the model of a body with the parameters of a method or class."""
    said = _descriptions(call) | DESCRIPTIONS
    content: dict[str, Any] = {}
    for name, parameter in inspect.signature(call).parameters.items():
        if name != "self":
            missing, whole = parameter.default is parameter.empty, f"{call.__name__}.{name}"
            default = DEFAULTS.get(name, ... if missing else parameter.default)
            default = DEFAULTS.get(whole, default)
            kind = PARAMETERS.get(whole) or PARAMETERS.get(name) or get_type_hints(call)[name]
            described = DESCRIPTIONS.get(whole, said.get(name))
            content[name] = (Annotated[kind, Field(description=described)], default)
    config: Any = {"extra": "forbid", "strict": True, "allow_inf_nan": False} | settings
    title = f"{call.__name__.title()}Body"
    return create_model(title, __config__=config, __doc__=purpose_of(call), **content)


PARAMETERS["problem"] = body_model(Problem)
RefitBody: Any = body_model(Experiment.refit)
CreateBody: Any = body_model(Client.create, json_schema_extra={"examples": [EXAMPLE]})


# Where `to_dict` adds to the fields, or changes them.
DIFFERENT: dict[type, dict[str, Any]] = {
    LogCertificate: {"gap_bound": float | None, "proven": bool},
    ModelCheck: {"statement": str},
}


class Refusal(BaseModel):
    """What was wrong."""

    error: str = Field(description="The rule, which value broke it, and what to do instead.")
    kind: str | None = Field(None, description="The name of the exception.")


ERRORS: dict[int | str, Any] = {code: {"model": Refusal} for code in ("4XX", "500", "503")}


def answers(kind: Any, status: int = 200) -> dict[str, Any]:
    """Return what FastAPI needs to know about a route that answers with such an object."""
    responses = {status: {"model": _shown(kind)}} | ERRORS
    return {"status_code": status, "response_model": None, "responses": responses}


def streams(media_type: str) -> dict[str, Any]:
    """Return what FastAPI needs to know about a route that sends text bit by bit."""
    responses = {200: {"content": {media_type: {"schema": {"type": "string"}}}}} | ERRORS
    return {"response_class": StreamingResponse, "response_model": None, "responses": responses}


@cache
def answer_model(kind: type) -> type[BaseModel]:
    """Return the model of a dataclass or NamedTuple as its data look in JSON."""
    said, shown = _descriptions(kind), types_of(kind) | DIFFERENT.get(kind, {})
    content: dict[str, Any] = {
        name: _described(kind.__name__, name, hint, said.get(name)) for name, hint in shown.items()
    }
    return create_model(kind.__name__, __doc__=purpose_of(kind), **content)


def envelope(title: str, **hints: Any) -> type[BaseModel]:
    """Return the model of an object with these fields."""
    fields = {name: _described(title, name, hint) for name, hint in hints.items()}
    return create_model(title, **fields)


def _described(title: str, name: str, hint: Any, said: str | None = None) -> Any:
    return _shown(hint), Field(description=DESCRIPTIONS.get(f"{title}.{name}", said))


def _shown(hint: Any) -> Any:
    """Return a type with models in place of dataclasses and NamedTuples."""
    if isinstance(hint, type) and (is_dataclass(hint) or hasattr(hint, "_fields")):
        return answer_model(hint)
    if get_origin(hint) in (list, tuple):
        return list[_shown(get_args(hint)[0])]  # type: ignore[misc]
    if get_origin(hint) in (Union, UnionType):
        return reduce(or_, map(_shown, get_args(hint)))
    return hint


def as_json(found: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in ASCII: texts may contain characters that UTF-8 cannot represent."""
    body = json.dumps(to_data(found), allow_nan=False, separators=(",", ":"))
    return Response(body, status, headers, "application/json")
