"""LinGapE: pull whichever arm best settles the closest contest.

Algorithms 1 and 2 of Xu, Honda and Sugiyama (AISTATS 2018). Numbers in parentheses are its
equations; docs/notation.md pairs its symbols with the names used here.
"""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import BOUNDS, Bound, Mixture
from ..certificate import Certificate, certify
from ..errors import (
    ExplorationOver,
    IllConditioned,
    InvalidArgument,
    InvalidBound,
    InvalidReward,
    InvalidState,
    MissingExtra,
)
from ..least_squares import LeastSquares
from ..problem import LARGEST, Problem, as_float
from ..pulls import PULLS, PullRule, greedy
from ..registry import describe, revive
from ..ties import LEADER, RIVAL, first_max

if TYPE_CHECKING:
    from ..kernels.lane import Lane


class Contest(NamedTuple):
    leader: int  # i_t, the largest estimated mean
    rival: int  # j_t, the arm that may still beat it by most
    margin: float  # B(t), by how much at most


class LinGapE:
    """Find an ε-best arm with probability 1 - δ, adapting at every pull.

    bound: gives the width β_t of the interval on each gap (8); it has to hold when past rewards
        choose the next arm. SelfNormalized() is the paper's.
    pull: picks the arm that settles a contest, `greedy` (9) or `Tracking()` (12).
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).

    >>> problem = Problem([[1, 0], [0, 1]], noise_scale=0.1)
    >>> explorer = LinGapE(problem)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend()
    0
    """

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        pull: PullRule = greedy,
        ridge: float | None = None,
    ) -> None:
        _check_parts(problem, bound, pull)
        if not bound.adaptive:
            raise InvalidBound(
                f"LinGapE lets past rewards choose the next arm, but {bound} holds only for pulls "
                "fixed in advance. Pass Mixture() or SelfNormalized(), or fix the pulls."
            )
        self.problem, self.bound, self.pull = problem, bound, pull
        self.estimate = bound.estimate(problem, ridge)
        self._all_distinct = bool((problem.twins == np.arange(len(problem))).all())
        self._contest: Contest | None = None  # until every arm has been pulled once
        self._verdict: Certificate | None = None  # the certificate that ended exploration

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
        if self._contest is None:
            return int(self.estimate.counts.argmin())
        return self.pull(self.estimate, self._contest.leader, self._contest.rival)

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
        for arm in _several("pending", pending):
            imagined.pretend(self.problem.check_arm(arm))
        chosen: list[int] = []
        while len(chosen) < n:
            if self._contest is None:
                arm = int(imagined.counts.argmin())
            else:
                contest = self._closest_contest(imagined)
                arm = self.pull(imagined, contest.leader, contest.rival)
            chosen.append(arm)
            imagined.pretend(arm)
        return chosen

    def tell(self, arm: int, reward: float) -> None:
        """Learn that pulling `arm` paid `reward`."""
        self._update(self.problem.check_arm(arm), checked_reward(reward))

    def tell_many(self, arms: Iterable[int], rewards: Iterable[float]) -> None:
        """Learn several rewards, in order; if any is refused, none is recorded."""
        indices = [self.problem.check_arm(arm) for arm in _several("arms", arms)]
        values = [checked_reward(reward) for reward in _several("rewards", rewards)]
        if len(indices) != len(values):
            raise InvalidArgument(
                f"tell_many needs one reward per arm; got {len(indices)} arms and {len(values)} "
                "rewards. Nothing was recorded."
            )
        before = self.estimate.copy(), self._contest, self._verdict
        try:
            for index, value in zip(indices, values, strict=True):
                self._update(index, value)
        except IllConditioned:
            self.estimate, self._contest, self._verdict = before
            raise

    def recommend(self) -> int:
        """Return the arm that won, or the best-looking one while not `done`."""
        if self._verdict is not None:
            return self._verdict.arm
        if self._contest is not None:
            return self._contest.leader
        pulled = self.estimate.counts > 0
        averages = self.estimate.sums / np.maximum(self.estimate.counts, 1)
        return int(np.where(pulled, averages, -np.inf).argmax())

    def certificate(self) -> Certificate:
        """Return what is proven now; once done, the proof that ended exploration."""
        return self._verdict or self._certify(settled=False)

    def _certify(self, *, settled: bool) -> Certificate:
        return certify(
            self.problem,
            self.bound,
            arm=self.recommend(),
            margin=math.inf if self._contest is None else self._contest.margin,
            pulls=self.estimate.pulls,
            settled=settled,
        )

    def _refuse_if_done(self) -> None:
        if self._verdict is not None:
            raise ExplorationOver(
                f"There is nothing left to pull: LinGapE settled on {self._verdict.name} "
                f"(arm {self._verdict.arm}) after {self._verdict.pulls} pulls. "
                "Read certificate(); to ask for more, start again with a smaller epsilon or delta."
            )

    def _update(self, arm: int, reward: float) -> None:
        self.estimate.update(arm, reward)
        if self._contest is None and not self.estimate.counts.all():
            return
        self._contest = self._closest_contest(self.estimate)
        if self._contest.margin <= self.problem.epsilon and not self.done:
            if not self.estimate.fresh:  # a verdict deserves a fresh solve
                self.estimate.rebuild()
                self._contest = self._closest_contest(self.estimate)
            if self._contest.margin <= self.problem.epsilon:
                self._verdict = self._certify(settled=True)

    def _closest_contest(self, estimate: LeastSquares) -> Contest:
        """Select-direction (Algorithm 2), over rivals other than the leader.

        The paper also admits j = i, whose margin is 0. That floors B(t) at 0 but never changes
        B(t) ≤ ε, and a rounding error is a poor thing to compare with 0. The same goes for exact
        duplicates of the leader.
        """
        means = estimate.means
        top = float(means[means.argmax()])
        leader = first_max(means, LEADER * (self.problem.noise_scale + abs(top)))  # i_t
        widths = self.bound.widths(self.problem, estimate, leader)  # β_t(·, i_t)
        margins = means + widths
        margins[self._twins_of(leader)] = -np.inf
        closest = int(margins.argmax())
        margin = float(margins[closest] - means[leader])  # B(t)
        if margin == -np.inf:  # all arms are the same arm
            return Contest(leader, (leader + 1) % len(means), 0.0)
        return Contest(leader, first_max(margins, RIVAL * float(widths[closest])), margin)

    def _twins_of(self, arm: int) -> IntArray | int:
        twins = self.problem.twins
        return arm if self._all_distinct else np.flatnonzero(twins == twins[arm])

    def compiled(self) -> "Lane | None":
        """Return a compiled lane that goes on from here, if there is one for these parts.

        Raises MissingExtra without numba. `adopt` takes the lane's data back.
        """
        try:
            from ..kernels.lane import Lane
        except ImportError as reason:
            raise MissingExtra(
                "The compiled lane needs numba, which is not installed: "
                "pip install 'lingape[sim]', or use lane='plain'."
            ) from reason
        if self.done or not Lane.serves(self.bound, self.pull):
            return None
        return Lane(self.problem, self.bound, self.pull, self.estimate)

    def adopt(self, lane: "Lane") -> None:
        """Take over what a compiled lane was paid, as if it had been told."""
        self.estimate.load(lane.counts, lane.sums)
        if lane.contest is None:
            return
        self._contest = Contest(*lane.contest)
        if lane.settled:
            self._verdict = self._certify(settled=True)

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on later, as JSON-able data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "problem": self.problem.to_dict(),
            "bound": describe(self.bound, BOUNDS),
            "pull": describe(self.pull, PULLS),
            "ridge": self.estimate.ridge,
            "estimate": self.estimate.state(),
            "verdict": None if self._verdict is None else self._verdict.to_dict(),
        }

    @classmethod
    def from_state(
        cls, state: dict[str, Any], *, bound: Bound | None = None, pull: PullRule | None = None
    ) -> Self:
        """Return the explorer that `state` was taken from, to the last bit.

        bound, pull: needed only for parts of your own that are not registered.
        """
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise InvalidState(
                f"A saved state must be a dict with format {FORMAT!r}; got "
                f"{state.get('format') if isinstance(state, dict) else type(state).__name__!r}. "
                "Pass what state() returned."
            )
        if state.get("version") != VERSION:
            raise InvalidState(
                f"This version reads states of version {VERSION}; got {state.get('version')!r}. "
                "Read it with the version of lingape that wrote it."
            )
        try:
            problem = Problem(**state["problem"])
            ridge, estimate, verdict = state["ridge"], state["estimate"], state["verdict"]
            explorer = cls(
                problem,
                bound=bound or revive(state["bound"], BOUNDS, argument="bound"),
                pull=pull or revive(state["pull"], PULLS, argument="pull"),
                ridge=ridge,
            )
        except (KeyError, TypeError, ValueError) as reason:
            if isinstance(reason, InvalidState):
                raise
            raise InvalidState(
                f"The saved state is damaged: {reason!r}. Restore an undamaged copy."
            ) from reason
        explorer.estimate.restore(estimate, noise_scale=problem.noise_scale)
        if explorer.estimate.counts.all():
            explorer._contest = explorer._closest_contest(explorer.estimate)
        if verdict is not None:
            explorer._verdict = explorer._revived(verdict)
        return explorer

    def _revived(self, verdict: Any) -> Certificate:
        """Return a saved verdict, after checking that it is about this problem."""
        try:
            arm, margin, pulls = verdict["arm"], verdict["gap_bound"], verdict["pulls"]
            fine = (
                self.estimate.counts.all()
                and 0 <= margin <= self.problem.epsilon
                and len(self.problem) <= pulls <= self.estimate.pulls
            )
            again = certify(
                self.problem,
                self.bound,
                arm=self.problem.check_arm(arm),
                margin=float(margin),
                pulls=pulls,
                settled=True,
            )
        except (KeyError, TypeError, ValueError) as reason:
            raise InvalidState(
                f"The saved verdict is damaged: {reason!r}. Restore an undamaged copy."
            ) from reason
        if not fine or again.to_dict() != verdict:
            raise InvalidState(
                "The saved verdict does not follow from the saved problem, bound and counts. "
                "Restore an undamaged copy."
            )
        return again


FORMAT = "lingape explorer state: LinGapE"
VERSION = 1


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


def _check_parts(problem: Any, bound: Any, pull: Any) -> None:
    """Raise InvalidArgument if a part is not what it should be."""
    if not isinstance(problem, Problem):
        raise InvalidArgument(
            f"LinGapE explores a Problem; got {type(problem).__name__}. "
            "Wrap the arms: Problem(arms)."
        )
    if isinstance(bound, type) or not hasattr(bound, "widths"):
        raise InvalidArgument(
            f"bound must be a bound such as Mixture(); got {bound!r}. Mind the parentheses."
        )
    if isinstance(pull, type) or not callable(pull):
        raise InvalidArgument(
            f"pull must be a pull rule, greedy or Tracking(); got {pull!r}. Mind the parentheses."
        )


def _several(name: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise InvalidArgument(
            f"{name} must be a sequence; got {values!r}. Nothing was recorded."
        ) from None
