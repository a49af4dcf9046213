"""What is proven, in words and as data, and what it assumes."""

import decimal
import math
from dataclasses import asdict, dataclass
from typing import Any

from .html import as_html
from .printable import printable, stated
from .problem import Problem

UPWARD = decimal.Context(prec=4, rounding=decimal.ROUND_CEILING)
ROUNDING = 1e-6  # of p-values, relative, on machines that add up in another order


@dataclass(frozen=True)
class Certificate:
    """With probability at least 1 - `delta`, `arm` is within `gap_bound` of the best arm.

    For the m best arms: none of `arms` is worse by more than that than any arm not among them.
    Where only some arms can be the answer, the best of those is meant.
    The bound behind it holds at all times at once, so a certificate may be asked for as often as
    one likes, and looking at it to decide when to stop costs nothing.

    arm: the answer, or what looks best so far.
    arms: the m arms asked for, best first; just `arm` unless m > 1.
    name: of the arm, or names of the arms.
    gap_bound: infinite while nothing is proven, null in JSON.
    settled: whether gap_bound ≤ epsilon: the question is answered.
    epsilon: how far from the best arm the answer may be, as the problem says.
    delta: the probability with which what is proven may be wrong, as the problem says.
    pulls: after how many rewards.
    bound: what proves it, as text.
    assumptions: what has to be true for it to hold, as sentences.
    caveat: why nothing is guaranteed, where that is so.
    noun: what is compared: "answer" where some arms cannot be the answer.
    retired: arms that it does not speak of, as they were taken out.
    remarks: sentences on what happened on the way.
    p_values: for each arm a p-value of its being best, valid at all times at once, if the explorer
        has them; an arm is ruled out if it is at most delta. 1 for arms that cannot be the answer.
        With probability at least 1 - delta, no arm that was given in advance and is best is ever
        ruled out, so that a best arm is among those that are left.

    >>> from lingape import LinGapE, Problem
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=0.1, names=["plain", "picture"]))
    >>> explorer.tell_many([0, 1], [0.2, 1.0])
    >>> certificate = explorer.certificate()
    >>> print(certificate.claim)
    Settled. No arm is better than picture, with probability at least 95 % (2 pulls).
    >>> certificate.settled, certificate.proven, certificate.bound
    (True, True, 'Mixture(scales=8, base=16.0, refined=False)')
    """

    arm: int
    arms: tuple[int, ...]
    name: str
    gap_bound: float
    settled: bool
    epsilon: float
    delta: float
    pulls: int
    bound: str
    assumptions: tuple[str, ...]
    caveat: str = ""
    noun: str = "arm"
    p_values: tuple[float, ...] | None = None
    retired: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def ruled_out(self) -> int | None:
        """How many arms are ruled out, if there are p-values."""
        if self.p_values is None:
            return None
        return sum(p <= self.delta for arm, p in enumerate(self.p_values) if arm not in self.arms)

    @property
    def proven(self) -> bool:
        """Whether there is a proof behind it; if not, `caveat` says why."""
        return not self.caveat

    @property
    def _shown(self) -> str:
        return printable(self.name)

    def __str__(self) -> str:
        if not self.proven:
            return (
                f"{self._shown} looks best after {counted(self.pulls)}, but there is NO "
                f"GUARANTEE: {self.caveat}"
            )
        if not math.isfinite(self.gap_bound) and not self.ruled_out:
            return "\n".join([self.claim, *self.remarks])
        lines = [self.claim, *self.remarks, f"By the bound {self.bound}, provided that:"]
        return "\n".join(lines + [f"- {assumption}" for assumption in self.assumptions])

    def _repr_html_(self) -> str:
        return as_html("Certificate", str(self))

    @property
    def claim(self) -> str:
        """What is proven, in a sentence."""
        confidence, pulls = f"with probability at least {share(self.delta)}", counted(self.pulls)
        if not math.isfinite(self.gap_bound):
            if self.ruled_out:
                return f"Not settled after {pulls}. {self._exclusion()}"
            return f"Nothing is proven yet, after {pulls}."
        if len(self.arms) > 1:
            return (
                f"{'Settled' if self.settled else 'Not settled'} after {pulls}: no other "
                f"{self.noun} is more than {upward(self.gap_bound)} better than any of "
                f"{self._shown}, {confidence}; the goal is ε = {self.epsilon:g}."
            )
        if self.settled:
            return f"Settled. {self._comparison()}, {confidence} ({pulls})."
        so_far = (
            f"Not settled after {pulls}. So far the best {self.noun} is at most "
            f"{upward(self.gap_bound)} better than {self._shown}, {confidence}; "
        )
        if self.p_values is None:
            return f"{so_far}to stop, that has to fall to ε = {self.epsilon:g}."
        goal = f"{so_far}the goal is ε = {self.epsilon:g}."
        return f"{goal} {self._exclusion()}" if self.ruled_out else goal

    def _exclusion(self) -> str:
        """Return what discarding arms has proven, as a sentence."""
        out, confidence = self.ruled_out or 0, f"with probability at least {share(self.delta)}"
        of_all, others = "", "others"
        if self.noun == "arm" and self.p_values is not None:
            count = len(self.p_values) - len(self.retired)
            of_all, others = f" of {count}", f"other {count - out}"
        noun = self.noun if out == 1 and not of_all else f"{self.noun}s"
        return (
            f"{out}{of_all} {noun} {'is' if out == 1 else 'are'} ruled out: a best {self.noun} is "
            f"among the {others}, {confidence}."
        )

    def _comparison(self) -> str:
        """Return how the best compares with the one that was found."""
        if self.gap_bound == 0:
            return f"No {self.noun} is better than {self._shown}"
        return (
            f"The best {self.noun} is at most {upward(self.gap_bound)} better than {self._shown}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data; an infinite gap bound becomes None."""
        data = asdict(self) | {
            "arms": list(self.arms),
            "assumptions": list(self.assumptions),
            "retired": list(self.retired),
            "remarks": list(self.remarks),
            "p_values": None if self.p_values is None else list(self.p_values),
            "proven": self.proven,
            "statement": str(self),
        }
        if not math.isfinite(self.gap_bound):
            data["gap_bound"] = None
        return data


def same_p_values(saved: Any, found: tuple[float, ...] | None) -> bool:
    """Whether what was saved are the p-values that were found, but for rounding."""
    if saved is None or found is None:
        return saved is found
    if not isinstance(saved, list) or len(saved) != len(found):
        return False
    return all(
        isinstance(p, float) and 0 <= p <= 1 and math.isclose(p, q, rel_tol=ROUNDING)
        for p, q in zip(saved, found, strict=True)
    )


def upward(value: float) -> str:
    """Return a bound to four digits, never less than it is but for rounding in the twelfth.

    >>> upward(0.12341), upward(0.1 + 0.2)
    ('0.1235', '0.3')
    """
    return f"{float(UPWARD.plus(decimal.Decimal(f'{value:.12g}'))):.4g}"


def share(delta: float) -> str:
    """Return 1 - δ as a percentage if ten digits hold it, never more than it is.

    >>> share(0.05), share(1e-12)
    ('95 %', '1 - 1e-12')
    """
    percent = 100 * (1 - decimal.Decimal(repr(delta)))
    text = f"{float(percent):.10g}"
    exact = decimal.Decimal(text) == percent < 100
    return f"{text} %" if exact else f"1 - {delta!r}"


def counted(pulls: int) -> str:
    """Return a number of pulls in words."""
    return "1 pull" if pulls == 1 else f"{pulls} pulls"


def norm_assumption(problem: Problem) -> str:
    return stated(
        "The weights of the features are limited in size.",
        f"‖θ‖ is at most {problem.norm_bound:g}.",
    )


TELLING_ASSUMPTION = stated(
    "No reward is left out or reported late because it is high or low.",
    "which rewards are told, and when, does not depend on rewards that have not been told.",
)
