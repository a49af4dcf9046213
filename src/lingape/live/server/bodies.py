"""What comes in: the bodies of requests, and the parts of their addresses."""

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from ...arrays import FloatArray
from ...errors import InvalidArgument
from ...problem import LARGEST, Problem
from ..experiment import MOST
from ..texts import LONGEST
from .limits import Limits

NAME = r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,99}$"

Text = Annotated[str, Field(max_length=LONGEST)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Range = Annotated[list[Number], Field(min_length=2, max_length=2)]
Reward = Annotated[float, Field(allow_inf_nan=False, ge=-LARGEST, le=LARGEST)]
Name = Annotated[str, Path(pattern=NAME, description="The experiment.", examples=["ads"])]
Key = Annotated[str | None, Header(max_length=LONGEST, description="The same as key.")]
Points = Annotated[int, Query(ge=2, le=2_000, description="At most so many.")]
After = Annotated[int, Query(ge=0, le=2**53 - 1, description="An event's number.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many.")]


def _matrix(rows: Any) -> FloatArray:
    """Return rows of numbers as an array, and empty them: as lists they take far more memory."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError("must be a list with a list of numbers for each arm")
    if len({len(row) for row in rows}) > 1:
        raise ValueError("must have as many features for each arm")
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


Arms = Annotated[
    FloatArray,
    PlainValidator(_matrix),
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
]

EXAMPLE: dict[str, Any] = {
    "name": "ads",
    "problem": {
        "arms": [[1, 0], [0, 1], [0.7, 0.7]],
        "names": ["red", "blue", "both"],
        "noise_scale": 0.5,
        "epsilon": 0.05,
    },
    "explorer": "lingape",
    "seed": 0,
}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ProblemBody(_Body):
    """The question: arms with features, and what counts as an answer."""

    arms: Arms = Field(description="One row of features per arm.")
    names: list[Text] | None = Field(None, description="One name per arm.")
    noise_scale: Number = Field(1.0, description="R: rewards have R-sub-Gaussian noise.")
    norm_bound: Number | None = Field(None, description="S with ‖θ‖ ≤ S, for some bounds.")
    epsilon: Number = Field(0.0, description="How far from the best arm the answer may be.")
    delta: Number = Field(0.05, description="The probability with which it may be wrong.")
    pullable: list[int] | None = Field(None, description="Which arms can be pulled, if not all.")
    answers: list[int] | None = Field(None, description="Which can be the answer, if not all.")

    def to_problem(self, limits: Limits) -> Problem:
        """Return the problem, or raise InvalidArgument if it is none, or too large."""
        count, width = self.arms.shape
        if count > limits.arms or width > limits.features:
            raise InvalidArgument(
                f"This server takes at most {limits.arms} arms with {limits.features} features; "
                f"got {count} with {width}. Leave some out, or use a database of your own."
            )
        return Problem(**dict(self))


class NewBody(_Body):
    """An experiment to begin."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: str = Field(pattern=NAME, description="1 to 100 letters and digits.")
    problem: ProblemBody
    rewards: Literal["binary"] | Range | None = Field(
        None,
        description='"binary" for 0 and 1, [low, high] for a range.',
    )
    explorer: Text = Field("lingape", description="Who chooses arms, with settings if need be.")
    seed: int = Field(0, ge=0, le=2**53 - 1, description="Of explorers that draw.")


class AskBody(_Body):
    """How many arms to hand out, and to whom."""

    n: int = Field(1, ge=1, le=MOST, description="How many arms.")
    worker: Text | None = Field(None, description="Who asks, for the log.")
    ttl: Text | Number | None = Field(
        "1d",
        description='For how long to count on the rewards: seconds, "90s", "30m", "6h", "2d", or '
        "null for no deadline.",
        examples=["6h"],
    )
    key: Text | None = Field(
        None, description="Asking again with the same key gives the same tickets."
    )

    def checked_number(self, limits: Limits) -> int:
        """Return how many tickets to hand out, or raise InvalidArgument if they are too many."""
        if self.n > limits.tickets:
            raise InvalidArgument(
                f"This server hands out at most {limits.tickets} tickets at once; got {self.n}. "
                "Ask for fewer."
            )
        return self.n

    def checked_key(self, header: str | None) -> str | None:
        """Return the key, from the body or from the header Idempotency-Key."""
        if header is not None and self.key not in (None, header):
            raise InvalidArgument(
                "The header Idempotency-Key and key are the same thing and must not differ. Send "
                "one of them."
            )
        return self.key if header is None else header


class TellBody(_Body):
    """A ticket's reward."""

    ticket: Text = Field(examples=["2-0-k3wzq5ab"])
    reward: Reward


class VoidBody(_Body):
    """A ticket that will have no reward."""

    ticket: Text = Field(examples=["2-0-k3wzq5ab"])
    reason: Text = Field(
        "none given", min_length=1, description="Why; it must not depend on the reward."
    )


class AddBody(_Body):
    """A reward that no ticket asked for."""

    arm: int = Field(ge=0, description="The arm's number.", examples=[0])
    reward: Reward
    key: Text | None = Field(None, description="Adding again with the same key changes nothing.")
