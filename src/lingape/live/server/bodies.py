"""What comes in: the bodies of requests, and the parts of their addresses."""

from typing import Annotated, Any

from fastapi import Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from ...errors import InvalidArgument, LingapeError, in_words
from ...problem import LARGEST, Problem
from ..experiment import MOST
from ..replay import make_explorer
from ..texts import LONGEST
from .limits import Limits

NAME = r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,99}$"

Text = Annotated[str, Field(max_length=LONGEST)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Reward = Annotated[float, Field(allow_inf_nan=False, ge=-LARGEST, le=LARGEST)]
Name = Annotated[str, Path(pattern=NAME, description="The experiment.", examples=["ads"])]
Key = Annotated[str | None, Header(max_length=LONGEST, description="The same as key.")]
Points = Annotated[int, Query(ge=2, le=2_000, description="At most so many.")]
After = Annotated[int, Query(ge=0, le=2**53 - 1, description="An event's number.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many.")]

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

    arms: list[list[Number]] = Field(description="One row of features per arm.")
    names: list[Text] | None = Field(None, description="One name per arm.")
    noise_scale: Number = Field(1.0, description="R: rewards have R-sub-Gaussian noise.")
    norm_bound: Number | None = Field(None, description="S with ‖θ‖ ≤ S, for some bounds.")
    epsilon: Number = Field(0.0, description="How far from the best arm the answer may be.")
    delta: Number = Field(0.05, description="The probability with which it may be wrong.")
    pullable: list[int] | None = Field(None, description="Which arms can be pulled, if not all.")
    answers: list[int] | None = Field(None, description="Which can be the answer, if not all.")

    def to_problem(self, limits: Limits) -> Problem:
        """Return the problem, or raise InvalidArgument if it is none, or too large."""
        width = max((len(row) for row in self.arms), default=0)
        if len(self.arms) > limits.arms or width > limits.features:
            raise InvalidArgument(
                f"This server takes at most {limits.arms} arms with {limits.features} features; "
                f"got {len(self.arms)} with {width}. Leave some out, or use a database of your "
                "own."
            )
        return Problem(**self.model_dump())


class NewBody(_Body):
    """An experiment to begin."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: str = Field(pattern=NAME, description="1 to 100 letters and digits.")
    problem: ProblemBody
    explorer: Text = Field("lingape", description="Who chooses arms, with settings if need be.")
    seed: int = Field(0, ge=0, le=2**53 - 1, description="Of explorers that draw.")

    def checked_problem(self, limits: Limits) -> Problem:
        """Return the problem, or raise InvalidArgument if the explorer cannot explore it."""
        problem = self.problem.to_problem(limits)
        try:
            make_explorer(self.explorer, problem, self.seed)
        except LingapeError:
            raise
        except Exception as reason:  # settings that no explorer has words of its own about
            raise InvalidArgument(
                f"{self.explorer!r} cannot explore this problem ({in_words(reason)}). Try "
                "'lingape'."
            ) from reason
        return problem


class AskBody(_Body):
    """How many arms to hand out, and to whom."""

    n: int = Field(1, ge=1, le=MOST, description="How many arms.")
    worker: Text | None = Field(None, description="Who asks, for the log.")
    ttl: Text | Number | None = Field(
        "1d",
        description='For how long to count on the rewards: seconds, "90s", "30m", "6h", "2d", or '
        "null for ever.",
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
