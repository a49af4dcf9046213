"""What goes out, for the OpenAPI document: the library's own words, field by field.

Answers are made by the `to_dict` of Status, Summary, LogCertificate and so on; that these models
say the same is tested.
"""

import json
from typing import Any

from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field


class Health(BaseModel):
    status: str
    version: str


class Summary(BaseModel):
    """How an experiment stands, in a line."""

    name: str
    explorer: str
    arms: int = Field(description="How many there are.")
    pulls: int = Field(description="Rewards, of tickets and added.")
    pending: int = Field(description="Tickets whose reward is awaited.")
    overdue: int = Field(description="Tickets past their deadline; late rewards are welcome.")
    voided: int = Field(description="Tickets that will have no reward.")
    settled: bool
    answer: int | None = Field(description="The arm that the certificate names, once settled.")
    answer_name: str | None
    leader: int | None = Field(description="The arm that looks best now.")
    leader_name: str | None
    rival: int | None = Field(description="The arm that may still beat it by most.")
    rival_name: str | None
    gap_bound: float | None = Field(
        description="B(t): how much better than the leader the best arm may be, at most; null "
        "while nothing is proven."
    )
    epsilon: float
    delta: float
    event: int = Field(description="The number of the last event.")
    digest: str = Field(description="The hash of the log up to it.")
    warnings: list[str] = Field(description="Why the certificate may be wrong: see check.")


class Unreadable(BaseModel):
    """An experiment whose log is damaged, or of another version."""

    name: str
    error: str


class Summaries(BaseModel):
    experiments: list[Summary]
    unreadable: list[Unreadable]


class Certificate(BaseModel):
    """What is proven, and the log that proves it."""

    arm: int
    arms: list[int]
    name: str
    gap_bound: float | None = Field(description="null while nothing is proven.")
    settled: bool
    epsilon: float
    delta: float
    pulls: int
    bound: str
    assumptions: list[str]
    proven: bool = Field(description="false where there is no proof: caveat says why.")
    caveat: str = Field(description="Why it is not proven, or empty.")
    noun: str = Field(description="What is compared: arm, or answer where not every arm is one.")
    statement: str = Field(description="What is proven, in words.")
    experiment: str
    event: int = Field(description="The event by which it is proven.")
    digest: str = Field(description="The hash of the log up to it.")


class ArmFit(BaseModel):
    """How far an arm's average reward lies from the linear model fitted to all."""

    arm: int
    name: str
    pulls: int
    average: float
    fitted: float
    z: float = Field(description="The difference in its standard deviations.")


class Check(BaseModel):
    """Whether rewards look as supposed."""

    arms: list[ArmFit] = Field(description="Pulled ones, worst fit first, at most 500.")
    linear_p: float | None = Field(description="The chance of so bad a fit, if it is linear.")
    noise_scale: float = Field(description="R, as stated.")
    noise: float | None = Field(description="How much rewards of the same arm vary.")
    noise_p: float | None = Field(description="The chance of so much noise, if it is R.")
    voided_p: float | None = Field(
        description="The chance that arms ever differ so much in voided tickets, if all are "
        "voided alike, is at most this; null if none is."
    )
    overdue_p: float | None = Field(description="The same for tickets open for too long.")
    warnings: list[str] = Field(description="What contradicts the assumptions.")
    statement: str


class Standing(BaseModel):
    """An arm, and how much better than the leader it is; null until arms can be compared."""

    arm: int
    name: str
    pulls: int
    pending: int
    overdue: int
    voided: int
    gap: float | None = Field(description="Estimated mean minus the leader's.")
    low: float | None = Field(description="It is at least this.")
    high: float | None = Field(description="It is at most this.")


class Status(Summary):
    """How an experiment stands, what is proven, and how each arm compares."""

    certificate: Certificate
    check: Check
    standings: list[Standing] = Field(
        description="At most 500 arms, those that may be best first; if there are more, those "
        "most pulled are among them."
    )


class Ticket(BaseModel):
    id: str
    arm: int
    name: str
    features: list[float]
    deadline: float | None = Field(description="Seconds since 1970.")


class Tickets(BaseModel):
    tickets: list[Ticket]


class Progress(BaseModel):
    pulls: int
    settled: bool


class Point(BaseModel):
    pulls: int
    leader: int
    rival: int
    gap_bound: float | None


class History(BaseModel):
    points: list[Point]
    event: int = Field(description="The number of the last event read.")
    complete: bool = Field(description="false: the log is long; ask again to read on.")


class Events(BaseModel):
    events: list[dict[str, Any]]
    words: dict[str, str] = Field(description="For each kind; {name} stands for a field.")


class Error(BaseModel):
    error: str = Field(description="The rule, the value that broke it, and the way out.")
    kind: str | None = Field(None, description="The name of the exception.")


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Error},
    "500": {"model": Error},
    "503": {"model": Error},
}


def answers(model: type[BaseModel], status: int = 200) -> dict[str, Any]:
    """Return what to tell FastAPI about a route that makes its own JSON."""
    return {
        "status_code": status,
        "response_model": None,
        "responses": {status: {"model": model}, **ERRORS},
    }


def streams(media_type: str) -> dict[str, Any]:
    """Return what to tell FastAPI about a route that sends text bit by bit."""
    text = {"content": {media_type: {"schema": {"type": "string"}}}}
    return {
        "response_class": StreamingResponse,
        "response_model": None,
        "responses": {200: text, **ERRORS},
    }


def as_json(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in ASCII: texts may hold letters that UTF-8 has no way to write."""
    body = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Response(body, status, headers, "application/json")
