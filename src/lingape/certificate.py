"""What is proven, in words and as data."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .bounds import Bound
from .printable import printable
from .problem import Problem


@dataclass(frozen=True)
class Certificate:
    """With probability at least 1 - `delta`, `arm` is within `gap_bound` of the best arm.

    For the m best arms: none of `arms` is worse by more than that than any arm not among them.
    The bound behind it holds at all times at once, so a certificate may be asked for as often as
    one likes, and looking at it to decide when to stop costs nothing.
    """

    arm: int
    arms: tuple[int, ...]  # the m arms asked for, best first; just `arm` unless m > 1
    name: str  # or names
    gap_bound: float  # infinite while nothing is proven
    settled: bool  # gap_bound ≤ epsilon: the question is answered
    epsilon: float
    delta: float
    pulls: int
    bound: str
    assumptions: tuple[str, ...]
    proven: bool = True  # False for a bound without a proof: nothing is guaranteed

    def __str__(self) -> str:
        name = printable(self.name)
        if not self.proven:
            return (
                f"{name} looks best after {self.pulls} pulls, but there is NO GUARANTEE: "
                f"{self.bound} is a rule of thumb without a proof. The mixture bound has one."
            )
        percent = f"{100 * (1 - self.delta):.10g}"
        share = f"{percent} %" if percent != "100" else f"1 - {self.delta:g}"
        confidence = f"with probability at least {share}"
        pulls = "1 pull" if self.pulls == 1 else f"{self.pulls} pulls"
        if not math.isfinite(self.gap_bound):
            claim = f"Nothing is proven yet, after {pulls}."
        elif len(self.arms) > 1:
            claim = (
                f"{'Settled' if self.settled else 'Not settled'} after {pulls}: no "
                f"other arm is more than {self.gap_bound:.4g} better than any of {name}, "
                f"{confidence}; asked for was ε = {self.epsilon:g}."
            )
        elif self.settled and self.gap_bound == 0:
            claim = f"Settled. No arm is better than {name}, {confidence} ({pulls})."
        elif self.settled:
            claim = (
                f"Settled. The best arm is at most {self.gap_bound:.4g} better than {name}, "
                f"{confidence} ({pulls})."
            )
        else:
            claim = (
                f"Not settled after {pulls}. So far the best arm is at most "
                f"{self.gap_bound:.4g} better than {name}, {confidence}; to stop, that has "
                f"to fall to ε = {self.epsilon:g}."
            )
        lines = [claim, f"By the bound {self.bound}, provided that:"]
        return "\n".join(lines + [f"- {assumption}" for assumption in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data; an infinite gap bound becomes None."""
        data = asdict(self) | {
            "arms": list(self.arms),
            "assumptions": list(self.assumptions),
            "statement": str(self),
        }
        if not math.isfinite(self.gap_bound):
            data["gap_bound"] = None
        return data


def certify(
    problem: Problem,
    bound: Bound,
    *,
    arms: Sequence[int],
    margin: float,
    pulls: int,
    settled: bool,
) -> Certificate:
    """Return what follows from `arms` being at most `margin` worse than any other arm."""
    return Certificate(
        arm=arms[0],
        arms=tuple(arms),
        name=", ".join(problem.name(arm) for arm in arms),
        gap_bound=max(0.0, margin),
        settled=settled,
        epsilon=problem.epsilon,
        delta=problem.delta,
        pulls=pulls,
        bound=repr(bound),
        assumptions=bound.assumptions(problem),
        proven=getattr(bound, "proven", True),
    )
