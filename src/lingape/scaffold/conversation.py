"""The conversation: an explorer is asked which arm to pull and told what it paid.

A subclass of Conversation says which arm comes next (`_pick`) and what a reward changes
(`_update`). ContestExplorer makes both from parts: how it begins (an opening, below), which
contest is closest, what to pull for it, and when it is over. How a conversation is saved is in
saving.py.
"""

import copy
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds import Bound, Mixture
from ..certificate import Certificate, counted
from ..checks import checked_whole
from ..contests import ByGap, Contest, Contests
from ..contests.shortlist import are_worth_while
from ..errors import (
    ExplorationOver,
    InvalidArgument,
    InvalidArm,
    InvalidBound,
    LingapeError,
)
from ..html import MOST, as_html
from ..least_squares import LeastSquares
from ..many_arms import ManyArms
from ..problem import Problem
from ..pulls import PullRule
from ..pulls.base import Learner
from ..stopping import Eliminating, Margin, StoppingRule
from ..tall import is_tall
from .saving import Savable

#: How an explorer begins: "each" pulls every arm once, "spanning" only as many arms as there are
#: dimensions, and "auto" does the second where arms are many.
Start: TypeAlias = Literal["each", "spanning", "auto"]
# "auto" starts from a spanning set where there are more arms for each dimension than this. Such a
# start took from 94 % fewer samples to 3 % more; with fewer arms there is little to save
# (docs/how-to-choose.md).
MANY = 2
# After so many pulls for each dimension a pull moves the estimate of very many arms by so little
# that a round can do with looking at few of them.
EARLY = 5
#: What it changes that a leader has once beaten a rival (Tirinzoni and Degenne 2022): nothing,
#: when to stop, or also what to pull.
Elimination: TypeAlias = Literal["none", "stop", "sample"]


class Conversation(Savable):
    """Ask, tell and certify.

    problem: the arms, and what counts as an answer.
    bound: brings the estimate, and says what is proven.
    ridge: λ of the estimate, for bounds around a ridge estimate.

    A subclass says which arm comes next, what a reward changes, and what else a saved state has:

    >>> from lingape import Mixture, Problem
    >>> from lingape.scaffold import Conversation
    >>> class InTurn(Conversation):
    ...     def _pick(self, estimate):
    ...         return int(estimate.counts.argmin())
    ...     def _update(self, arm, reward):
    ...         self.estimate.update(arm, reward)
    ...     def _kept(self):
    ...         return {}
    ...     def _restore(self, kept):
    ...         pass
    >>> explorer = InTurn(Problem([[1, 0], [0, 1]], noise=1.0), bound=Mixture(), ridge=None)
    >>> explorer.tell(explorer.ask(), reward=1.0)
    >>> explorer.ask_many(3), explorer.recommend()
    ([1, 0, 1], 0)
    """

    # Whether it copes with arms that cannot be pulled, or be the answer.
    transductive: ClassVar[bool] = False
    # Whether it copes with noise whose scale is not known, such as Normal().
    learns_scale: ClassVar[bool] = False
    m = 1  # how many arms are to be found

    def __init__(self, problem: Problem, *, bound: Bound, ridge: float | None) -> None:
        if not isinstance(problem, Problem):
            raise InvalidArgument(
                f"{type(self).__name__} explores a Problem; got {type(problem).__name__}. "
                "Wrap the arms: Problem(arms, noise=...)."
            )
        if not self.learns_scale:
            problem.scale_for(type(self).__name__)
        if isinstance(bound, type) or not hasattr(bound, "widths"):
            raise InvalidArgument(
                f"bound must be a bound such as Mixture(); got {bound!r}. Pass an instance, not "
                "the class."
            )
        if lacking := [name for name in ("assumptions", "caveat") if not hasattr(bound, name)]:
            raise InvalidArgument(
                f"A bound has to say what it assumes, and whether it is proven; {bound!r} lacks "
                f"{' and '.join(lacking)} (lingape.Bound)."
            )
        if not problem.plain and not self.transductive:
            raise InvalidArgument(
                f"{type(self).__name__} needs arms that can all be pulled and be the answer. "
                "Race, LinGapE and RAGE take problems with pullable or answers."
            )
        self.problem, self.bound = problem, bound
        self.estimate = bound.estimate(problem, ridge)
        self.estimate.pullable = None if problem.can_pull.all() else problem.can_pull
        self._contest: Contest | None = None  # until there is an estimate to compare arms with
        self._verdict: Certificate | None = None  # the certificate that ended exploration

    def __repr__(self) -> str:
        pulls = counted(int(self.counts.sum()))
        if self._verdict is None:
            return f"<{type(self).__name__} of {self.problem!r} after {pulls}>"
        return f"<{type(self).__name__} of {self.problem!r}, settled on {self._verdict.name!r}>"

    def _repr_html_(self) -> str:
        counts, p_values = self.counts, self.p_values
        rows: list[list[object]] = [["arm", "pulls"]]
        if p_values is not None:
            rows[0].append("p-value of being best")
        for arm in np.argsort(-counts, kind="stable")[:MOST].tolist():
            evidence = [] if p_values is None else [f"{p_values[arm]:.4g}"]
            rows.append([self.problem.name(arm), f"{counts[arm]:,}", *evidence])
        text, more = f"{self.problem!r}\n{self.certificate()}", len(counts) - MOST
        return as_html(type(self).__name__, text, rows, more=more)

    @abstractmethod
    def _pick(self, estimate: LeastSquares) -> int:
        """Return the arm to pull next.

        estimate: the explorer's own, or one that imagines that arms under way have been told.
        """

    @abstractmethod
    def _update(self, arm: int, reward: float) -> None:
        """Learn that pulling `arm` paid `reward`; both have been checked."""

    def _allow(self, arm: int) -> None:
        """Raise if `arm` may not be told; by default all may."""
        return

    @property
    def done(self) -> bool:
        """Whether the question is answered; later tells do not take it back."""
        return self._verdict is not None

    @property
    def contest(self) -> Contest | None:
        """The closest contest now, or None until arms can be compared."""
        return self._contest

    @property
    def counts(self) -> IntArray:
        """How often each arm has been told."""
        return self.estimate.counts.copy()

    @property
    def p_values(self) -> FloatArray | None:
        """For each arm a p-value of its being best, if the explorer has them."""
        return None

    @property
    def theta(self) -> FloatArray:
        """The estimate of θ, the shortest one if the arms do not span the space."""
        means = self.problem.gain(1.0) * self.estimate.means
        solution = np.linalg.lstsq(self.problem.arms, means, rcond=None)[0]
        return np.asarray(solution, dtype=np.float64)

    def ask(self) -> int:
        """Return the arm to pull next. Asking changes nothing; only `tell` does."""
        self._refuse_if_done()
        self._refuse_unknown()
        return self._pick(self.estimate)

    def ask_many(self, n: int, *, pending: Iterable[int] = ()) -> list[int]:
        """Return `n` arms to pull side by side.

        pending: arms pulled but not told yet. They, and the arms chosen on the way to `n`, count
            in the design when choosing, so that workers get different arms where that helps; they
            never count in the estimate or in the decision to stop.
        """
        self._refuse_if_done()
        self._refuse_unknown()
        n = checked_whole("n", n, least=1)
        imagined = self.estimate.copy()
        imagined.pretend_many(
            [self.problem.check_pull(arm) for arm in several("pending", pending)]
        )
        chosen: list[int] = []
        while len(chosen) < n:
            chosen.append(self._pick(imagined))
            imagined.pretend(chosen[-1])
        return chosen

    def tell(self, arm: int, reward: float) -> None:
        """Learn that pulling `arm` paid `reward`."""
        index, value = self.problem.check_pull(arm), self.problem.check_reward(reward)
        self._refuse_unknown()
        self._allow(index)
        self._update(index, self.problem.gain(value))

    def tell_many(self, arms: Iterable[int], rewards: Iterable[float]) -> None:
        """Learn several rewards, in order; if any is refused, none is recorded.

        arms, rewards: equally many of each.
        """
        indices = [self.problem.check_pull(arm) for arm in several("arms", arms)]
        values = [self.problem.check_reward(reward) for reward in several("rewards", rewards)]
        if len(indices) != len(values):
            raise InvalidArgument(
                f"tell_many needs one reward per arm; got {len(indices)} arms and {len(values)} "
                "rewards. Nothing was recorded."
            )
        self._refuse_unknown()
        before = copy.deepcopy(self.__dict__)
        try:
            for index, value in zip(indices, values, strict=True):
                self._allow(index)
                self._update(index, self.problem.gain(value))
        except LingapeError:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def continue_from(self, before: "Conversation") -> None:
        """Go on where another explorer was before arms were added or retired.

        This one has to be new, and its problem to follow from the other's by `with_arms` and
        `with_retired`.
        """
        raise InvalidArgument(
            f"{type(self).__name__} plans its pulls for the arms that there are at first, so none "
            "can be added or retired. Race and LinGapE with Mixture() let arms come and go."
        )

    @property
    def _knowable(self) -> bool:
        """Whether there will be an estimate: not if arms were retired before they had rewards."""
        return self.problem.reach == self.problem.rank or self.estimate.ready

    def _refuse_unknown(self) -> None:
        """Raise if no arm that is left says what a retired one pays, which has no reward."""
        if not self._knowable:
            raise InvalidArm(
                "The arms that are left say nothing about what a retired one pays, and it has no "
                "reward yet. Begin without it (problem.anew() leaves it out), or retire it once "
                "it has one."
            )

    def recommend(self) -> int:
        """Return the arm that won, or the best-looking one while not `done`."""
        return self.top()[0]

    def top(self) -> list[int]:
        """Return the m arms that won, or the best-looking ones while not `done`, best first."""
        return self._looks_best() if self._verdict is None else list(self._verdict.arms)

    def _looks_best(self) -> list[int]:
        """Return the m answers with the best average rewards; those never pulled come last."""
        counts = self.estimate.counts
        averages = np.where(counts > 0, self.estimate.sums / np.maximum(counts, 1), -1e300)
        order = np.argsort(-np.where(self.problem.can_answer, averages, -np.inf), kind="stable")
        return [int(arm) for arm in order[: self.m]]

    def certificate(self) -> Certificate:
        """Return what is proven now; once done, the proof that ended exploration."""
        return self._verdict or self._certified(self._proven(), settled=False)

    def _proven(self) -> float:
        """Return how much better than the answer another arm can be."""
        return np.inf

    def _certified(self, margin: float, *, settled: bool) -> Certificate:
        """Return what follows if other arms are at most `margin` better than the answer."""
        return self._certificate(self.top(), margin, int(self.counts.sum()), settled)

    def _certificate(
        self, arms: Sequence[int], margin: float, pulls: int, settled: bool
    ) -> Certificate:
        problem, p_values = self.problem, self.p_values
        return Certificate(
            arm=arms[0],
            arms=tuple(arms),
            name=", ".join(problem.name(arm) for arm in arms),
            gap_bound=np.inf if np.isnan(margin) else max(0.0, margin),  # NaN proves nothing
            settled=settled,
            epsilon=problem.epsilon,
            delta=problem.delta,
            pulls=pulls,
            bound=repr(self.bound),
            assumptions=self._assumptions(),
            caveat=self._caveat(),
            noun="arm" if problem.answers is None else "answer",
            p_values=None if p_values is None else tuple(p_values.tolist()),
            retired=problem.retired,
        )

    def _assumptions(self) -> tuple[str, ...]:
        """Return what has to be true for a certificate to hold: by default, for the bound."""
        return self.bound.assumptions(self.problem)

    def _caveat(self) -> str:
        """Return why a certificate guarantees nothing, or "" if it is proven."""
        return self.bound.caveat(self.problem, self.estimate.ridge)

    def _refuse_if_done(self) -> None:
        if self._verdict is not None:
            raise ExplorationOver(
                f"There is nothing left to pull: {type(self).__name__} settled on "
                f"{self._verdict.name} (arm {self._verdict.arm}) after {self._verdict.pulls} "
                "pulls. Read certificate(); to ask for more, start again with a smaller epsilon "
                "or delta."
            )


class Opening(Protocol):
    def pick(self, estimate: LeastSquares) -> int:
        """Return the arm to pull while the opening is not over."""
        ...

    def over(self, estimate: LeastSquares) -> bool:
        """Whether arms can be compared."""
        ...


@dataclass(frozen=True)
class EachArm:
    """Pull every arm once, as Algorithm 1 of the paper does.

    problem: the arms, of which those that can be pulled are.

    >>> from lingape import Mixture, Problem
    >>> from lingape.scaffold import EachArm
    >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=1.0)
    >>> estimate, opening = Mixture().estimate(problem), EachArm(problem)
    >>> estimate.update(0, reward=1.0)
    >>> opening.pick(estimate), opening.over(estimate)
    (1, False)
    """

    problem: Problem

    def pick(self, estimate: LeastSquares) -> int:
        """Return the next arm that was not pulled by `estimate`, or the one pulled least."""
        if (arm := estimate.first_unpulled()) is not None:
            return arm
        can_pull = self.problem.can_pull
        return int(np.where(can_pull, estimate.counts, estimate.pulls + 1).argmin())

    def over(self, estimate: LeastSquares) -> bool:
        """Whether all arms were pulled by `estimate`."""
        return estimate.first_unpulled() is None


@dataclass(frozen=True)
class Spanning:
    """Pull as many arms as there are dimensions, chosen to span them well: for many arms.

    problem: the arms, of which those in `problem.spanning` are pulled.

    >>> from lingape import Mixture, Problem
    >>> from lingape.scaffold import Spanning
    >>> problem = Problem([[2, 0], [0, 3], [1, 1]], noise=1.0)
    >>> estimate, opening = Mixture().estimate(problem), Spanning(problem)
    >>> while not opening.over(estimate):
    ...     estimate.update(opening.pick(estimate), reward=1.0)
    >>> estimate.counts.tolist()
    [1, 1, 0]
    """

    problem: Problem

    def pick(self, estimate: LeastSquares) -> int:
        """Return the next arm of the spanning set that was not pulled by `estimate`."""
        for arm in self.problem.spanning:
            if estimate.counts[arm] == 0:
                return arm
        return EachArm(self.problem).pick(estimate)

    def over(self, estimate: LeastSquares) -> bool:
        """Whether all means follow from the pulls in `estimate`."""
        return estimate.ready


@dataclass(frozen=True)
class NoOpening:
    """Compare arms from the first pull on, for estimates with a prior.

    >>> from lingape import Mixture, Problem
    >>> from lingape.scaffold import NoOpening
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> NoOpening().over(Mixture().estimate(problem))
    True
    """

    def pick(self, estimate: LeastSquares) -> int:
        raise AssertionError("arms can be compared from the start")

    def over(self, estimate: LeastSquares) -> bool:
        return True


class Parts(NamedTuple):
    """What a ContestExplorer is a choice of.

    opening: what to pull before arms can be compared.
    contests: which comparison is closest.
    pull: which arm settles it.
    stopping: whether the question is answered.

    >>> from lingape import Mixture, Problem, greedy
    >>> from lingape.contests import ByGap
    >>> from lingape.scaffold import EachArm, Parts
    >>> from lingape.stopping import Margin
    >>> problem, bound = Problem([[1, 0], [0, 1]], noise=1.0), Mixture()
    >>> parts = Parts(EachArm(problem), ByGap(problem, bound), greedy, Margin(problem))
    >>> parts.pull, parts.opening.pick(bound.estimate(problem))
    (greedy, 0)
    """

    opening: Opening
    contests: Contests
    pull: PullRule
    stopping: StoppingRule


class ContestExplorer(Conversation):
    """Settle the closest contest until the question is answered. A subclass sets `parts`.

    problem, bound, ridge: as for Conversation.

    >>> from lingape import Mixture, Problem
    >>> from lingape.contests import ByGap
    >>> from lingape.scaffold import ContestExplorer, EachArm, Parts
    >>> from lingape.stopping import Margin
    >>> class LessPulled(ContestExplorer):
    ...     def __init__(self, problem, *, bound=Mixture(), ridge=None):
    ...         super().__init__(problem, bound=bound, ridge=ridge)
    ...         contests = ByGap(problem, bound)
    ...         self.parts = Parts(EachArm(problem), contests, self.less_pulled, Margin(problem))
    ...     def less_pulled(self, estimate, leader, rival):
    ...         return min(leader, rival, key=lambda arm: estimate.counts[arm])
    >>> explorer = LessPulled(Problem([[1, 0], [0, 1]], noise=1.0))
    >>> explorer.tell_many([0, 1, 0], [1.0, 0.0, 1.0])
    >>> explorer.ask()
    1
    """

    parts: Parts

    def _pick(self, estimate: LeastSquares) -> int:
        opening, contests, pull, stopping = self.parts
        contest = self._contest
        if contest is None:
            return opening.pick(estimate)
        if estimate is not self.estimate:
            contest = contests.closest(estimate, stopping.unasked)
        leader, rival, _ = contest
        if estimate.twins[leader] == estimate.twins[rival]:  # all arms are the same arm
            return leader
        return pull(estimate, leader, rival)

    def _update(self, arm: int, reward: float) -> None:
        self.estimate.update(arm, reward)
        self._look_at_fewer()
        self._look()

    def _look_at_fewer(self) -> None:
        """If arms are very many, keep the numbers of all up to date only while that pays.

        While an opening goes on nobody reads them; later, until the first pulls have settled what
        is roughly true, the next round needs most of them.
        """
        estimate, (opening, contests, _, stopping) = self.estimate, self.parts
        soon = EARLY * estimate.features.shape[1]
        if (
            type(estimate) is LeastSquares
            and estimate.ready
            and is_tall(estimate.features)
            and are_worth_while(len(estimate.features))
            and isinstance(contests, ByGap)
            and contests.foreseeable
            and isinstance(stopping, Margin)
            and (estimate.pulls >= soon or not opening.over(estimate))
        ):
            self.estimate = ManyArms(estimate)

    def _look(self) -> None:
        """See which contest is closest now, and whether the question is answered."""
        estimate, (opening, contests, pull, stopping) = self.estimate, self.parts
        if self._contest is None and not opening.over(estimate):
            return
        self._contest = contests.closest(estimate, stopping.unasked)
        if self.done:
            return
        self._contest, settled = stopping.judge(contests, estimate, self._contest)
        if settled:
            self._verdict = self._certified(self._contest.margin, settled=True)
        elif isinstance(pull, Learner):
            pull.learn(estimate, self._contest.leader)

    def continue_from(self, before: Conversation) -> None:
        if type(self.bound) is not Mixture or hasattr(self.parts.pull, "allows"):
            super().continue_from(before)
        # The bound concerns all directions at all times, so nothing more is to be paid.
        counts, sums = before.estimate.counts, before.estimate.sums
        more = len(self.problem) - len(counts)
        self.estimate.load(np.pad(counts, (0, more)), np.pad(sums, (0, more)))
        self._refuse_unknown()
        self._look()

    def _allow(self, arm: int) -> None:
        allows = getattr(self.parts.pull, "allows", None)
        if allows is not None and not self.done and not allows(self.estimate, arm):
            raise InvalidArm(
                f"The pulls of {type(self).__name__} are fixed in advance; "
                f"{self.problem.name(arm)} is not due (arm {self._pick(self.estimate)} is). Pull "
                "what ask() says, or explore with LinGapE. Nothing was recorded."
            )

    def _looks_best(self) -> list[int]:
        if self._contest is None:
            return super()._looks_best()
        return self.parts.contests.leaders(self.estimate, self._contest)

    def _proven(self) -> float:
        return np.inf if self._contest is None else self._contest.margin

    def _kept(self) -> dict[str, Any]:
        pull = self.parts.pull
        memory = pull.memory._asdict() if isinstance(pull, Learner) else {}
        kept = {
            "stopping": self.parts.stopping.kept(),
            "memory": {name: array.tolist() for name, array in memory.items()},
        }
        return kept | {"many": True} if isinstance(self.estimate, ManyArms) else kept

    def _prepare(self, kept: dict[str, Any]) -> None:
        if kept.get("many"):
            self.estimate = ManyArms(self.estimate)

    def _restore(self, kept: dict[str, Any]) -> None:
        opening, contests, pull, stopping = self.parts
        stopping.restore(kept["stopping"])
        if isinstance(pull, Learner):
            for name, array in pull.memory._asdict().items():
                values = np.array(kept["memory"][name], dtype=array.dtype).reshape(array.shape)
                if not np.isfinite(values).all():
                    raise ValueError(f"{name} must be finite")
                array[...] = values
        if opening.over(self.estimate):
            self._contest = contests.closest(self.estimate, stopping.unasked)

    def adopt(self, lane: Any) -> None:
        """Take over what a compiled run, `lane` (lanes/compiled.py), was paid, as if told."""
        _, _, pull, stopping = self.parts
        self.estimate.load(lane.counts, lane.sums)
        lane.hand_over(pull, stopping)
        if lane.contest is None:
            return
        self._contest = lane.contest
        if lane.settled:
            self._verdict = self._certified(self._contest.margin, settled=True)
        elif isinstance(pull, Learner) and pull.memory.learned[0] != self.estimate.pulls:
            pull.learn(self.estimate, self._contest.leader)


def opening_for(start: Any, problem: Problem) -> Opening:
    """Return the opening that a setting `start` names, or raise.

    start: "each", "spanning" or "auto".
    problem: the arms to begin with.

    >>> from lingape import Problem
    >>> from lingape.scaffold import opening_for
    >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=1.0)
    >>> type(opening_for("spanning", problem)).__name__
    'Spanning'
    """
    if start not in get_args(Start):
        raise InvalidArgument(f'start must be "each", "spanning" or "auto"; got {start!r}.')
    if start == "auto":
        start = "spanning" if problem.can_pull.sum() > MANY * problem.rank else "each"
    return Spanning(problem) if start == "spanning" else EachArm(problem)


def stopping_for(elimination: Any, problem: Problem) -> Margin | Eliminating:
    """Return the stopping rule that a setting `elimination` names, or raise.

    elimination: "none", "stop" or "sample".
    problem: the arms, and what counts as an answer.

    >>> from lingape import Problem
    >>> from lingape.scaffold import stopping_for
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> type(stopping_for("none", problem)).__name__, stopping_for("sample", problem).sample
    ('Margin', True)
    """
    if elimination not in get_args(Elimination):
        raise InvalidArgument(
            f'elimination must be "none", "stop" or "sample"; got {elimination!r}.'
        )
    if elimination == "none":
        return Margin(problem)
    return Eliminating(problem, sample=elimination == "sample")


def checked_pull(pull: Any) -> PullRule:
    """Return the pull rule, or raise.

    Raises InvalidArgument unless it can be called and is no class.

    >>> from lingape import Tracking
    >>> from lingape.scaffold import checked_pull
    >>> checked_pull(Tracking())
    Tracking()
    """
    if isinstance(pull, type) or not callable(pull):
        raise InvalidArgument(
            f"pull must be a pull rule, greedy or Tracking(); got {pull!r}. Pass an instance, not "
            "the class."
        )
    return pull  # type: ignore[no-any-return]


def adaptive_only(explorer: Conversation, bound: Any) -> None:
    """Raise unless `bound` holds when past rewards choose the next arm.

    Raises InvalidBound otherwise.

    explorer: named in the message.

    >>> from lingape import FixedDesign, InvalidBound, LinGapE, Problem
    >>> from lingape.scaffold import adaptive_only
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=1.0))
    >>> try:
    ...     adaptive_only(explorer, FixedDesign())
    ... except InvalidBound:
    ...     print("only for pulls fixed in advance")
    only for pulls fixed in advance
    """
    if not getattr(bound, "adaptive", True):
        raise InvalidBound(
            f"{type(explorer).__name__} lets past rewards choose the next arm, but "
            f"{type(bound).__name__}() holds only for pulls fixed in advance. Pass Mixture() or "
            "SelfNormalized(), or fix the pulls."
        )


def checked_m(m: Any, problem: Problem) -> int:
    """Return the number m of arms to find in a `problem`, or raise.

    Raises InvalidArgument unless it is a whole number below the number of answers.

    >>> from lingape import Problem
    >>> from lingape.scaffold import checked_m
    >>> checked_m(2, Problem([[1, 0], [0, 1], [1, 1]], noise=1.0))
    2
    """
    most = int(problem.can_answer.sum()) - 1
    return checked_whole("m", m, least=1, most=most, advice="Fewer than there are answers.")


def several(name: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise InvalidArgument(
            f"{name} must be a sequence; got {values!r}. Nothing was recorded."
        ) from None
