"""What explorers share that keep one estimate, trust one bound, and stop when B(t) ≤ ε.

A subclass says which arm to pull next, in `_pick`. Everything else of an explorer's conversation
is here, so that a subclass reads like its paper.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import BOUNDS, Bound, Mixture
from ..certificate import Certificate
from ..errors import (
    ExplorationOver,
    InvalidArgument,
    InvalidReward,
    InvalidState,
    LingapeError,
    in_words,
)
from ..least_squares import LeastSquares
from ..problem import LARGEST, Problem, as_float
from ..registry import describe, revive
from ..ties import LEADER, RIVAL, first_max

if TYPE_CHECKING:
    from ..kernels.lane import Lane

VERSION = 1


class Contest(NamedTuple):
    """The two arms on which an answer hangs."""

    leader: int  # i_t, the largest estimated mean
    rival: int  # j_t, the arm that may still beat it by most
    margin: float  # B(t), by how much at most


# How rivals that are beaten once count (Tirinzoni and Degenne 2022): not at all, for stopping, or
# for stopping and for what to pull.
Elimination: TypeAlias = Literal["none", "stop", "sample"]


class GapExplorer(ABC):
    """Ask, tell, certify and save; the choice of arms is the subclass's.

    A subclass may keep data of its own that moves with each tell: `_learn`, `_memory`, `_recall`.
    """

    # What the constructor takes beside the problem and the bound, by name, as plain data.
    settings: ClassVar[tuple[str, ...]] = ()
    # Whether it copes with arms that cannot be pulled, or be the answer.
    transductive: ClassVar[bool] = False
    # Without these words of their own they compare all arms, for one answer.
    elimination: Elimination = "none"
    m = 1

    def __init__(self, problem: Problem, *, bound: Bound, ridge: float | None) -> None:
        if not isinstance(problem, Problem):
            raise InvalidArgument(
                f"{type(self).__name__} explores a Problem; got {type(problem).__name__}. "
                "Wrap the arms: Problem(arms)."
            )
        if isinstance(bound, type) or not hasattr(bound, "widths"):
            raise InvalidArgument(
                f"bound must be a bound such as Mixture(); got {bound!r}. Mind the parentheses."
            )
        if lacking := [name for name in ("assumptions", "caveat") if not hasattr(bound, name)]:
            raise InvalidArgument(
                f"A bound has to say what it assumes, and whether it is proven; {bound!r} lacks "
                f"{' and '.join(lacking)} (lingape.Bound)."
            )
        if not problem.plain and not self.transductive:
            raise InvalidArgument(
                f"{type(self).__name__} needs arms that can all be pulled and be the answer. "
                "LinGapE and RAGE take problems with pullable or answers."
            )
        self.problem, self.bound = problem, bound
        self.estimate = bound.estimate(problem, ridge)
        self.estimate.pullable = None if problem.pullable is None else problem.can_pull
        self._dropped: dict[int, dict[int, float]] = {}  # leader → rivals beaten → margin then
        self._contest: Contest | None = None  # until there is an estimate to compare arms with
        self._verdict: Certificate | None = None  # the certificate that ended exploration

    @abstractmethod
    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        """Return the arm to pull next, from an estimate and the closest contest in it."""

    def _begun(self, estimate: LeastSquares) -> bool:
        """Whether arms can be compared: by default once each has been pulled."""
        counts = estimate.counts
        return bool(
            counts.all() if self.problem.pullable is None else counts[estimate.pullable].all()
        )

    def _judged(self, estimate: LeastSquares) -> FloatArray:
        """Return the means by which arms are compared: the estimated ones."""
        return estimate.means

    def _learn(self) -> None:
        """Move what a subclass keeps of its own, after a tell, once arms can be compared."""
        return

    def _memory(self) -> dict[str, Any]:
        """Return what a subclass keeps of its own, as JSON-able data."""
        return {}

    def _recall(self, memory: dict[str, Any]) -> None:
        """Take over what `_memory` returned."""
        return

    def _allow(self, arm: int) -> None:
        """Raise if `arm` may not be told; by default all may."""
        return

    @property
    def done(self) -> bool:
        """Whether some B(t) was at most ε; later tells do not take it back."""
        return self._verdict is not None

    @property
    def contest(self) -> Contest | None:
        """The closest contest now, or None until every arm has been pulled once."""
        return self._contest

    @property
    def counts(self) -> IntArray:
        """How often each arm has been told."""
        return self.estimate.counts.copy()

    @property
    def theta(self) -> FloatArray:
        """The estimate of θ, the shortest one if the arms do not span the space."""
        solution = np.linalg.lstsq(self.problem.arms, self.estimate.means, rcond=None)[0]
        return np.asarray(solution, dtype=np.float64)

    def ask(self) -> int:
        """Return the arm to pull next. Asking changes nothing; only `tell` does."""
        self._refuse_if_done()
        return self._pick(self.estimate, self._contest)

    def ask_many(self, n: int, *, pending: Iterable[int] = ()) -> list[int]:
        """Return `n` arms to pull side by side.

        pending: arms pulled but not told yet. They, and the arms chosen on the way to `n`, count
        in the design when choosing, so that workers get different arms where that helps; they
        never count in the estimate or in the decision to stop.
        """
        self._refuse_if_done()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InvalidArgument(f"ask_many needs a whole number of arms from 1; got {n!r}.")
        imagined = self.estimate.copy()
        imagined.pretend_many(
            [self.problem.check_pull(arm) for arm in _several("pending", pending)]
        )
        chosen: list[int] = []
        while len(chosen) < n:
            contest = None if self._contest is None else self._closest_contest(imagined)
            chosen.append(self._pick(imagined, contest))
            imagined.pretend(chosen[-1])
        return chosen

    def tell(self, arm: int, reward: float) -> None:
        """Learn that pulling `arm` paid `reward`."""
        index, value = self.problem.check_pull(arm), checked_reward(reward)
        self._allow(index)
        self._update(index, value)

    def tell_many(self, arms: Iterable[int], rewards: Iterable[float]) -> None:
        """Learn several rewards, in order; if any is refused, none is recorded."""
        indices = [self.problem.check_pull(arm) for arm in _several("arms", arms)]
        values = [checked_reward(reward) for reward in _several("rewards", rewards)]
        if len(indices) != len(values):
            raise InvalidArgument(
                f"tell_many needs one reward per arm; got {len(indices)} arms and {len(values)} "
                "rewards. Nothing was recorded."
            )
        before = self._snapshot()
        try:
            for index, value in zip(indices, values, strict=True):
                self._allow(index)
                self._update(index, value)
        except LingapeError:
            self.__dict__.update(before)
            raise

    def _snapshot(self) -> dict[str, Any]:
        """Return the attributes as they are now, with copies of those that change in place."""
        return {name: _independent(value) for name, value in self.__dict__.items()}

    def recommend(self) -> int:
        """Return the arm that won, or the best-looking one while not `done`."""
        if self._verdict is not None:
            return self._verdict.arm
        return (self.top() if self._contest is not None else self._by_average())[0]

    def top(self) -> list[int]:
        """Return the m arms that won, or the best-looking ones while not `done`, best first."""
        if self._verdict is not None:
            return list(self._verdict.arms)
        if self.m == 1 and self._contest is not None:
            return [self._contest.leader]
        return self._by_average() if self._contest is None else self._leaders(self.estimate)

    def _by_average(self) -> list[int]:
        """Return m answers while arms cannot be compared: best averages first, then the others."""
        counts = self.estimate.counts
        averages = np.where(counts > 0, self.estimate.sums / np.maximum(counts, 1), -1e300)
        order = np.argsort(-np.where(self.problem.can_answer, averages, -np.inf), kind="stable")
        return [int(arm) for arm in order[: self.m]]

    def _leaders(self, estimate: LeastSquares) -> list[int]:
        """Return the m answers with the largest estimated means, best first."""
        means = np.where(self.problem.can_answer, self._judged(estimate), -np.inf)
        return [int(k) for k in np.argsort(-means, kind="stable")[: self.m]]

    def certificate(self) -> Certificate:
        """Return what is proven now; once done, the proof that ended exploration."""
        return self._verdict or self._certify(settled=False)

    def _certify(self, *, settled: bool, margin: float = math.inf) -> Certificate:
        return self._certificate(
            self._answers(),
            margin if self._contest is None else self._contest.margin,
            int(self.counts.sum()),
            settled,
        )

    def _certificate(
        self, arms: Sequence[int], margin: float, pulls: int, settled: bool
    ) -> Certificate:
        """Return what follows from `arms` being at most `margin` worse than any other."""
        problem = self.problem
        return Certificate(
            arm=arms[0],
            arms=tuple(arms),
            name=", ".join(problem.name(arm) for arm in arms),
            gap_bound=max(0.0, margin),
            settled=settled,
            epsilon=problem.epsilon,
            delta=problem.delta,
            pulls=pulls,
            bound=repr(self.bound),
            assumptions=self._assumptions(),
            caveat=self._caveat(),
            noun="arm" if problem.answers is None else "answer",
        )

    def _assumptions(self) -> tuple[str, ...]:
        """Return what has to be true for a certificate to hold: by default, for the bound."""
        return self.bound.assumptions(self.problem)

    def _caveat(self) -> str:
        """Return why a certificate guarantees nothing, or "" if it is proven."""
        return self.bound.caveat(self.problem, self.estimate.ridge)

    def _answers(self) -> list[int]:
        """Return the arms that a certificate is about."""
        return [self.recommend()] if self.m == 1 else self.top()

    def _refuse_if_done(self) -> None:
        if self._verdict is not None:
            raise ExplorationOver(
                f"There is nothing left to pull: {type(self).__name__} settled on "
                f"{self._verdict.name} (arm {self._verdict.arm}) after {self._verdict.pulls} "
                "pulls. Read certificate(); to ask for more, start again with a smaller epsilon "
                "or delta."
            )

    def _update(self, arm: int, reward: float) -> None:
        self.estimate.update(arm, reward)
        if not self._begun(self.estimate):
            return
        self._contest = self._closest_contest(self.estimate)
        if not self.done:
            self._settle()
        if not self.done:
            self._learn()

    def _settle(self) -> None:
        """Stop if the question is answered."""
        assert self._contest is not None
        if self.elimination != "none":
            self._eliminate(self._contest.leader)
            return
        epsilon = self.problem.epsilon
        if self._contest.margin <= epsilon and not self.estimate.fresh:
            self.estimate.rebuild()  # a verdict deserves a fresh solve
            self._contest = self._closest_contest(self.estimate)
        if self._contest.margin > epsilon:
            self._contest = self._refined() or self._contest
        if self._contest.margin <= epsilon:
            self._verdict = self._certify(settled=True)

    def _refined(self) -> Contest | None:
        """Return the closest contest by refined widths, if there are any and they settle it."""
        assert self._contest is not None
        if not getattr(self.bound, "refined", False) or not self.estimate.fresh:
            return None
        leaders = [self._contest.leader] if self.m == 1 else self._leaders(self.estimate)
        found = None
        for leader in leaders:
            margins, _ = self._margins(self.estimate, leader)
            margins[leaders] = -np.inf
            if not self._refine(leader, margins):
                return None
            rival = int(margins.argmax())
            if found is None or margins[rival] > found.margin:
                found = Contest(leader, rival, float(margins[rival]))
        return found

    def _refine(self, leader: int, margins: FloatArray) -> bool:
        """Shorten the margins of all rivals (those above -∞) if that settles it, or none."""
        if not isinstance(self.bound, Mixture) or not self.estimate.fresh:
            return False
        rivals, means = np.flatnonzero(margins > -np.inf), self._judged(self.estimate)
        widths = self.bound.settling_widths(self.problem, self.estimate, leader, rivals, means)
        if widths is not None:
            margins[rivals] = means[rivals] + widths - means[leader]
        return widths is not None

    def _eliminate(self, leader: int) -> None:
        """Drop the rivals that the leader beats now, for good, and stop if none is left.

        All intervals hold at all times together, so that whom the leader once beat it may take as
        beaten (Tirinzoni and Degenne 2022).
        """
        margins, _ = self._margins(self.estimate, leader)
        rivals, dropped = np.flatnonzero(margins > -np.inf), self._dropped.setdefault(leader, {})
        beaten, refined = rivals[margins[rivals] <= self.problem.epsilon], False
        dropped |= {k: float(margins[k]) for k in beaten.tolist() if k not in dropped}
        if len(dropped) < len(rivals):
            margins[list(dropped)] = -np.inf
            if refined := self._refine(leader, margins):
                dropped |= {k: float(margins[k]) for k in rivals.tolist() if k not in dropped}
        if len(dropped) == len(rivals):
            closest = self._closest_contest(self.estimate).rival
            rival = int(margins.argmax()) if refined else closest
            self._contest = Contest(leader, rival, max(dropped.values(), default=0.0))
            self._verdict = self._certify(settled=True)
        elif self.elimination == "sample":
            self._contest = self._closest_contest(self.estimate)

    def _closest_contest(self, estimate: LeastSquares) -> Contest:
        """Select-direction (Algorithm 2), over rivals other than the leader.

        The paper also admits j = i, whose margin is 0. That floors B(t) at 0 but never changes
        B(t) ≤ ε, and a rounding error is a poor thing to compare with 0. The same goes for exact
        duplicates of the leader.
        """
        if self.m > 1:
            return self._closest_of_many(estimate)
        means = self._judged(estimate)
        if self.problem.answers is not None:
            means = np.where(self.problem.can_answer, means, -np.inf)
        top = float(means[means.argmax()])
        leader = first_max(means, LEADER * (self.problem.noise_scale + abs(top)))  # i_t
        margins, widths = self._margins(estimate, leader)
        beaten = self._dropped.get(leader) if self.elimination == "sample" else None
        if beaten and len(beaten) < int((margins > -np.inf).sum()):
            margins[list(beaten)] = -np.inf
        closest = int(margins.argmax())
        margin = float(margins[closest])  # B(t)
        if margin == -np.inf:  # all arms are the same arm
            return Contest(leader, (leader + 1) % len(margins), 0.0)
        return Contest(leader, first_max(margins, RIVAL * float(widths[closest])), margin)

    def _margins(self, estimate: LeastSquares, leader: int) -> tuple[FloatArray, FloatArray]:
        """Return by how much each rival may be better than the leader, and the widths in it.

        Arms that are no rivals have a margin of -∞.
        """
        means = self._judged(estimate)
        widths = self.bound.widths(self.problem, estimate, leader)  # β_t(·, i_t)
        margins = means + widths
        margins -= means[leader]
        margins[estimate.twins == estimate.twins[leader]] = -np.inf
        if self.problem.answers is not None:
            margins[~self.problem.can_answer] = -np.inf
        return margins, widths

    def _closest_of_many(self, estimate: LeastSquares) -> Contest:
        """Return the closest contest between one of the m best-looking arms and one of the rest.

        Réda, Kaufmann and Delahaye-Duriez (2021): argmax over j ∈ J, i ∉ J of μ_i - μ_j + width.
        """
        leaders = self._leaders(estimate)
        found = Contest(leaders[-1], leaders[-1], -np.inf)
        largest = -np.inf  # B(t), by a hair more than the margin of the pair found first
        for leader in leaders:
            margins, _ = self._margins(estimate, leader)
            margins[leaders] = -np.inf
            rival = int(margins.argmax())
            largest = max(largest, float(margins[rival]))
            if margins[rival] > found.margin + RIVAL * self.problem.noise_scale:
                found = Contest(leader, rival, float(margins[rival]))
        if found.margin == -np.inf:  # nobody else, or only duplicates
            rest = [k for k in range(len(self.problem)) if k not in leaders]
            return Contest(leaders[-1], rest[0] if rest else leaders[0], 0.0)
        return found._replace(margin=largest)

    def adopt(self, lane: "Lane") -> None:
        """Take over what a compiled lane was paid, as if it had been told."""
        self.estimate.load(lane.counts, lane.sums)
        self._dropped = lane.dropped
        if lane.contest is None:
            return
        self._contest = Contest(*lane.contest)
        if lane.settled:
            self._verdict = self._certify(settled=True)

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on later, as JSON-able data."""
        return {"problem": self.problem.to_dict(), **self.progress()}

    def progress(self) -> dict[str, Any]:
        """Return the state but for the problem, which never changes and may be large."""
        return {
            "format": self._format(),
            "version": VERSION,
            "bound": describe(self.bound, BOUNDS),
            "ridge": self.estimate.ridge,
            "settings": {name: self._describe(name) for name in self.settings},
            "estimate": self.estimate.state(),
            "verdict": None if self._verdict is None else self._verdict.to_dict(),
            "dropped": [
                [leader, rival, margin]
                for leader, rivals in self._dropped.items()
                for rival, margin in rivals.items()
            ],
            "memory": self._memory(),
        }

    @classmethod
    def _format(cls) -> str:
        return f"lingape explorer state: {cls.__name__}"

    def _describe(self, name: str) -> Any:
        """Return a setting as plain data."""
        return getattr(self, name)

    @classmethod
    def _revive(cls, name: str, data: Any) -> Any:
        """Return a setting from plain data."""
        return data

    @classmethod
    def from_state(cls, state: dict[str, Any], **parts: Any) -> Self:
        """Return the explorer that `state` was taken from, to the last bit.

        parts: `bound`, or settings by name; needed only for parts of your own that are not
        registered.
        """
        if not isinstance(state, dict) or state.get("format") != cls._format():
            raise InvalidState(
                f"A saved state must be a dict with format {cls._format()!r}; got "
                f"{state.get('format') if isinstance(state, dict) else type(state).__name__!r}. "
                "Pass what state() returned."
            )
        if state.get("version") != VERSION:
            raise InvalidState(
                f"This version reads states of version {VERSION}; got {state.get('version')!r}. "
                "Read it with the version of lingape that wrote it."
            )
        try:
            problem, ridge = Problem(**state["problem"]), state["ridge"]
            if "bound" not in parts:
                parts["bound"] = revive(state["bound"], BOUNDS, argument="bound")
            for name in cls.settings:
                if name not in parts:
                    parts[name] = cls._revive(name, state["settings"][name])
            explorer = cls(problem, ridge=ridge, **parts)
        except (KeyError, TypeError, ValueError) as reason:
            if isinstance(reason, InvalidState):
                raise
            raise InvalidState(
                f"The saved state is damaged: {in_words(reason)}. Restore an undamaged copy."
            ) from reason
        explorer._take_over(state)
        return explorer

    def resumed(self, progress: dict[str, Any]) -> Self:
        """Return a copy of this explorer, which has no data, with those that `progress` saved.

        As `from_state`, for an explorer that is at hand: what follows from the problem alone is
        not computed again.
        """
        mine = self.progress()
        for part in ("format", "version", "bound", "ridge", "settings"):
            if progress.get(part) != mine[part]:
                raise InvalidState(
                    f"The saved {part} is {progress.get(part)!r}, and this explorer's "
                    f"{mine[part]!r}. Resume it by from_state."
                )
        explorer = copy.deepcopy(self)
        explorer._take_over(progress)
        return explorer

    def _take_over(self, state: dict[str, Any]) -> None:
        """Take over the data of a saved state, and its verdict."""
        if "verdict" not in state:
            raise InvalidState("The saved state lacks a verdict. Restore an undamaged copy.")
        self._restore(state)
        if (verdict := state["verdict"]) is not None:
            self._verdict = self._revived(verdict)

    def _restore(self, state: dict[str, Any]) -> None:
        """Take over the data of a saved state."""
        try:
            for leader, rival, margin in state.get("dropped", []):
                pair = self.problem.check_arm(leader), self.problem.check_arm(rival)
                self._dropped.setdefault(pair[0], {})[pair[1]] = float(margin)
            self._recall(state.get("memory", {}))
        except (KeyError, TypeError, ValueError) as reason:
            raise InvalidState(
                f"What was saved beside the estimate is damaged: {in_words(reason)}. Restore an "
                "undamaged copy."
            ) from reason
        self.estimate.restore(state.get("estimate"), noise_scale=self.problem.noise_scale)
        if self._begun(self.estimate):
            self._contest = self._closest_contest(self.estimate)

    def _revived(self, verdict: Any) -> Certificate:
        """Return a saved verdict, after checking that it is about this problem."""
        try:
            arms, margin, pulls = verdict["arms"], verdict["gap_bound"], verdict["pulls"]
            fine = 0 <= margin <= self.problem.epsilon and 0 < pulls <= self.counts.sum()
            found = [self.problem.check_arm(arm) for arm in arms]
            again = self._certificate(found, float(margin), pulls, settled=True)
        except (KeyError, TypeError, ValueError) as reason:
            raise InvalidState(
                f"The saved verdict is damaged: {in_words(reason)}. Restore an undamaged copy."
            ) from reason
        if not fine or again.to_dict() != verdict:
            raise InvalidState(
                "The saved verdict does not follow from the saved problem, bound and counts. "
                "Restore an undamaged copy."
            )
        return again


def _independent(value: Any) -> Any:
    """Return a copy of what changes in place, and other things as they are."""
    if isinstance(value, LeastSquares | np.ndarray | list):
        return value.copy()
    return copy.deepcopy(value) if isinstance(value, dict | tuple) else value


def checked_reward(reward: Any) -> float:
    """Return the reward as a float, or raise InvalidReward."""
    value = as_float(reward)
    if not abs(value) <= LARGEST:
        raise InvalidReward(
            f"A reward must be a finite number, at most {LARGEST:g} in size; got {reward!r}. "
            "Leave out trials that gave no result (if that does not depend on how they went). "
            "Nothing was recorded."
        )
    return value


def _several(name: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise InvalidArgument(
            f"{name} must be a sequence; got {values!r}. Nothing was recorded."
        ) from None
