"""The same arms and all rewards so far, with another model or another goal."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgument
from ..problem import Problem
from .events import Added, Carried, Event, Told
from .replay import Replay


def remodelled(
    problem: Problem,
    *,
    interactions: str | Iterable[Sequence[str]] | None,
    per_arm: bool,
    **settings: Any,
) -> Problem:
    """Return the question without retired arms, with other features and other settings.

    What is None stays as it was. A bound on the length of θ is lost with the features it is for,
    unless there is another.
    """
    found = problem.anew()
    changes = {name: value for name, value in settings.items() if value is not None}
    if interactions is None and not per_arm:
        return found.replace(**changes)
    if found.factors is not None:
        model = found.factors.model(interactions=interactions or (), per_arm=per_arm)
        changes |= {"arms": model.features, "factors": model}
    elif per_arm and not interactions:
        changes["arms"] = np.eye(len(found))
    else:
        raise InvalidArgument(
            "These arms have features but no factors, so there are no interactions to add. Pass "
            "per_arm=True for one feature per arm."
        )
    return found.replace(**{"norm_bound": None} | changes)


def heritage(
    replay: Replay, events: Iterable[Event], doubts: Iterable[str], now: float
) -> Carried:
    """Return the second event of a successor: the rewards so far, as corrected, in their order.

    replay: the state of the experiment that they are taken from.
    events: of its log, up to that state.
    doubts: what its tickets say against its assumptions.
    """
    problem, head = replay.problem, replay.head
    place = {arm: new for new, arm in enumerate(problem.present)}
    rewards: list[tuple[int, float | None]] = []
    for event in events:
        if isinstance(event, Told | Added):
            rewards.append((event.arm, replay.as_corrected(event.seq, event.reward)))
        elif isinstance(event, Carried):
            rewards += event.rewards
    before = replay.carried
    joined = len(problem) - (problem.began or len(problem))
    return Carried(
        seq=2,
        time=now,
        experiment=replay.created.name,
        upto=head.seq,
        digest=head.digest,
        rewards=tuple(
            (place[arm], reward) for arm, reward in rewards if arm in place and reward is not None
        ),
        corrections=len(replay.corrections) + (before.corrections if before else 0),
        changes=joined + len(problem.retired) + (before.changes if before else 0),
        doubts=tuple(doubts),
    )
