"""How an experiment stands, in a line."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from ..data import Data
from ..explorers import Contest
from ..remaining import Remaining, remaining
from ..scaffold.budget import BudgetExplorer
from ..values import Values, finite
from .model_check import check
from .replay import Replay

STATES = {
    (False, False): "running",
    (False, True): "running, but doubtful",
    (True, False): "settled",
    (True, True): "settled, but doubtful",
}  # settled, warned of


class Unreadable(NamedTuple):
    """An experiment whose log is damaged, or of another version.

    name: of the experiment.
    error: what is wrong, and what to do about it.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> from lingape.live import Unreadable, experiments
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> Experiment.open(url, "ads", create=Problem([[1, 0], [0, 1]], noise=1.0)).close()
    >>> [line.error for line in experiments(url) if isinstance(line, Unreadable)]
    []
    """

    name: str
    error: str


@dataclass(frozen=True)
class Summary(Data):
    """How an experiment stands, in a line.

    name: of the experiment.
    question: what it is to find out, in words for people, if that was said.
    owner: whom to ask about it, if that was said.
    explorer: who explores.
    arms: how many there are.
    contenders: how many of them can be the answer.
    factors: what they are combinations of, if that was said.
    pulls: rewards, told and added.
    today: how many of them came since midnight, where this is run.
    pending: tickets whose reward is awaited.
    overdue: tickets past their deadline; their rewards still count.
    voided: tickets that will have no reward.
    settled: whether the question is answered.
    answer: the arm that the certificate names, once settled.
    answer_name: what it is called.
    leader: the arm that looks best now; None until arms can be compared.
    leader_name: what it is called.
    rival: the arm that may still beat it by most; of explorers with p-values, the one with the
        largest.
    rival_name: what it is called.
    gap_bound: B(t): how much better than the leader the best arm may be, at most; None while
        nothing is proven.
    ruled_out: how many arms are ruled out as best; None if the explorer has no p-values.
    value: the estimated mean of the answer, or of the leader before; None until there is one.
    value_low: the mean is at least this.
    value_high: the mean is at most this.
    lift: that mean minus the control's, if there is a control.
    lift_low: the lift is at least this.
    lift_high: the lift is at most this.
    minimize: whether the lowest average is the best.
    retired: how many arms were taken out.
    corrections: how many times a reward was corrected.
    epsilon: how far from the best arm the answer may be.
    delta: the probability with which the answer may be wrong.
    archived: whether it was taken off the list.
    began: when the first event was, in seconds since 1970.
    last: when the last event was, in seconds since 1970.
    remaining: how many more pulls are needed if estimates are about right; None where that cannot
        be told.
    per_hour: rewards in an hour, by the last 100; None while there are fewer than two.
    share_done: the share of all pulls needed that are done, by that; 1 once settled. None where
        that cannot be told, and where no end is in sight.
    event: the number of the last event.
    digest: the hash of the log up to it.
    warnings: why the certificate may be wrong; see check.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> from lingape.live import experiments
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> Experiment.open(url, "ads", create=Problem([[1, 0], [0, 1]], noise=1.0)).close()
    >>> [line] = experiments(url)
    >>> line.name, line.explorer, line.arms, line.pulls
    ('ads', 'race', 2, 0)
    """

    name: str
    question: str | None
    owner: str | None
    explorer: str
    arms: int
    contenders: int
    factors: tuple[str, ...]
    pulls: int
    today: int
    pending: int
    overdue: int
    voided: int
    settled: bool
    answer: int | None
    answer_name: str | None
    leader: int | None
    leader_name: str | None
    rival: int | None
    rival_name: str | None
    gap_bound: float | None
    ruled_out: int | None
    value: float | None
    value_low: float | None
    value_high: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    minimize: bool
    retired: int
    corrections: int
    epsilon: float
    delta: float
    archived: bool
    began: float
    last: float
    remaining: Remaining | None
    per_hour: float | None
    share_done: float | None
    event: int
    digest: str
    warnings: tuple[str, ...]

    @property
    def state(self) -> str:
        """Whether it is settled, and whether there are warnings, in words.

        It is "running" or "settled", or one of these with ", but doubtful".

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> with Experiment.open(url, "ads", create=Problem([[1], [2]], noise=1.0)) as experiment:
        ...     experiment.status().state
        'running'
        """
        return STATES[self.settled, bool(self.warnings)]

    @property
    def foremost(self) -> int | None:
        """The arm that answers the question, or leads until then."""
        return self.answer if self.settled else self.leader


def summary_of(
    replay: Replay,
    now: float,
    warnings: tuple[str, ...] | None = None,
    values: Values | None = None,
) -> Summary:
    """Return how an experiment stands in a line, at a time on the clock.

    warnings: those of the model check, if known.
    values: those of the replay, if at hand.
    """
    problem, contest = replay.problem, contest_in(replay)
    pulls, pending = replay.progress.pulls, len(replay.pending(now))
    answer = None if replay.settled is None else replay.certificate()
    left = None if answer is not None else remaining(replay.explorer)
    leader = None if contest is None else contest.leader
    foremost = leader if answer is None else answer.arm
    value: tuple[float | None, ...] = (None, None, None)
    lift = value
    if foremost is not None:
        values = values or replay.values()
        value = finite(values.arms([foremost])[0])
        if problem.control is not None:
            lift = finite(values.gaps(problem.control, [foremost])[0])
    return Summary(
        name=replay.created.name,
        question=replay.created.question,
        owner=replay.created.owner,
        explorer=replay.created.explorer,
        arms=len(problem),
        contenders=int(np.count_nonzero(problem.can_answer)),
        factors=tuple(factor.name for factor in problem.factors.factors)
        if problem.factors
        else (),
        pulls=pulls,
        today=replay.diary.since(_midnight(now)),
        pending=pending,
        overdue=len(replay.open) - pending,
        voided=replay.voided,
        settled=answer is not None,
        answer=None if answer is None else answer.arm,
        answer_name=None if answer is None else answer.name,
        leader=leader,
        leader_name=None if contest is None else problem.name(contest.leader),
        rival=None if contest is None else contest.rival,
        rival_name=None if contest is None else problem.name(contest.rival),
        gap_bound=None if contest is None else gap_bound_of(contest),
        ruled_out=ruled_out_in(replay),
        value=value[0],
        value_low=value[1],
        value_high=value[2],
        lift=lift[0],
        lift_low=lift[1],
        lift_high=lift[2],
        minimize=problem.minimize,
        retired=len(problem.retired),
        corrections=replay.corrected,
        epsilon=problem.epsilon,
        delta=problem.delta,
        archived=replay.archived,
        began=replay.created.time,
        last=replay.last,
        remaining=left,
        per_hour=replay.pace,
        share_done=_share_done(pulls, answer is not None, left),
        event=replay.head.seq,
        digest=replay.head.digest,
        warnings=check(replay, now).warnings if warnings is None else warnings,
    )


def valid_until(replay: Replay, now: float) -> float:
    """Return until when only events matter: until a ticket becomes overdue, or the day ends."""
    deadlines = (ticket.deadline for ticket in replay.open.values() if ticket.awaited(now))
    first = min((deadline for deadline in deadlines if deadline is not None), default=inf)
    return min(first, _midnight(now, days=1))


def _midnight(now: float, days: int = 0) -> float:
    """Return when the day began, where this is run, or another one so many days later."""
    day = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return (day + timedelta(days)).timestamp()


def _share_done(pulls: int, settled: bool, left: Remaining | None) -> float | None:
    if settled or not pulls:
        return float(settled)
    if left is None or left.median is None:
        return None
    return pulls / (pulls + left.median)


def contest_in(replay: Replay) -> Contest | None:
    """Return the closest contest, or None while there is none."""
    explorer = replay.explorer
    p_values = explorer.p_values if explorer.done else None
    if p_values is None:
        contest = explorer.contest
        if contest is not None and isinstance(explorer, BudgetExplorer):
            # What guides its pulls proves nothing.
            return contest._replace(margin=explorer.certificate().gap_bound)
        return contest
    # Evidence ended this one, with no contest left or one whose gap bound is still above ε.
    verdict = explorer.certificate()
    others = np.flatnonzero(replay.problem.can_answer & (np.arange(len(p_values)) != verdict.arm))
    if not len(others):
        return None
    return Contest(verdict.arm, int(others[p_values[others].argmax()]), verdict.gap_bound)


def gap_bound_of(contest: Contest) -> float | None:
    """Return how much better than the leader the best arm may be, as a certificate says it."""
    return max(0.0, contest.margin) if isfinite(contest.margin) else None


def ruled_out_in(replay: Replay) -> int | None:
    """Return how many arms are ruled out as best, or None if the explorer has no p-values."""
    p_values = replay.explorer.p_values
    if p_values is None:
        return None
    out = p_values <= replay.problem.delta
    out[replay.explorer.top()] = False
    return int(np.count_nonzero(out))
