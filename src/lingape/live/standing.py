"""How an experiment stands: in a line, in full, and arm by arm.

The words are the same in Python, over HTTP and in the shell.
"""

from collections import Counter
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from ..certificate import share, upward
from ..data import Data
from ..explorers import Contest
from ..html import as_html
from ..printable import columns_of, printable
from ..remaining import Remaining, remaining
from ..scaffold import ContestExplorer
from ..values import Values, as_interval, ends_of, verdict
from .model_check import ModelCheck, certified, check
from .replay import LogCertificate, Replay

MOST_ARMS = 500  # in a status
SHOWN = 20  # in words
STATES = {
    (False, False): "running",
    (False, True): "running, but doubtful",
    (True, False): "settled",
    (True, True): "settled, but doubtful",
}  # settled, warned of


class Standing(NamedTuple):
    """How an arm stands: its pulls, and how much better than the leader it is.

    arm, name: which arm it is.
    pulls: how many rewards it has.
    pending, overdue, voided: how many of its tickets are awaited, late, and without a reward.
    gap: estimated mean minus the leader's; None until arms can be compared.
    low: it is at least this.
    high: it is at most this.
    value: the estimated mean; None until there is one.
    value_low: it is at least this.
    value_high: it is at most this.
    lift: estimated mean minus the control's, if there is a control.
    lift_low: it is at least this.
    lift_high: it is at most this.
    p_value: of this arm being best, as in a certificate; None if the explorer has none, or the arm
        cannot be the answer.
    retired: whether it was taken out.
    """

    arm: int
    name: str
    pulls: int
    pending: int
    overdue: int
    voided: int
    gap: float | None
    low: float | None
    high: float | None
    value: float | None
    value_low: float | None
    value_high: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    p_value: float | None
    retired: bool


class Unreadable(NamedTuple):
    """An experiment whose log is damaged, or of another version.

    name: of the experiment.
    error: what is wrong, and what to do about it.
    """

    name: str
    error: str


@dataclass(frozen=True)
class Summary(Data):
    """How an experiment stands, in a line.

    name: of the experiment.
    explorer: who explores.
    arms: how many there are.
    factors: what they are combinations of, if that was said.
    pulls: rewards, told and added.
    pending: tickets whose reward is awaited.
    overdue: tickets past their deadline; their rewards still count.
    voided: tickets that will have no reward.
    settled: whether the question is answered.
    answer, answer_name: the arm that the certificate names, once settled.
    leader, leader_name: the arm that looks best now; None until arms can be compared.
    rival, rival_name: the arm that may still beat it by most; of explorers with p-values, the one
        with the largest.
    gap_bound: B(t): how much better than the leader the best arm may be, at most; None while
        nothing is proven.
    ruled_out: how many arms are ruled out as best; None if the explorer has no p-values.
    minimize: whether the lowest average is the best.
    retired: how many arms were taken out.
    corrections: how many times a reward was corrected.
    epsilon, delta: the problem's.
    archived: whether it was taken off the list.
    event: the number of the last event.
    digest: the hash of the log up to it.
    warnings: why the certificate may be wrong; see check.
    """

    name: str
    explorer: str
    arms: int
    factors: tuple[str, ...]
    pulls: int
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
    minimize: bool
    retired: int
    corrections: int
    epsilon: float
    delta: float
    archived: bool
    event: int
    digest: str
    warnings: tuple[str, ...]

    @property
    def state(self) -> str:
        """Whether it is settled, and whether there are warnings, in words.

        >>> sorted(STATES.values())
        ['running', 'running, but doubtful', 'settled', 'settled, but doubtful']
        """
        return STATES[self.settled, bool(self.warnings)]


@dataclass(frozen=True)
class Status(Summary):
    """How an experiment stands, what is proven, and how each arm compares.

    What is said in a line is as for Summary.
    check: whether rewards look as assumed.
    certificate: what is proven; if there are more than 500 arms, without its p_values.
    standings: at most 500 arms, those that may be best first; if there are more, those most
        pulled are among them.
    remaining: how many more pulls are needed if estimates are about right; None where that cannot
        be told.
    per_hour: rewards in an hour, by the last 100; None while there are fewer than two.
    """

    certificate: LogCertificate
    check: ModelCheck
    standings: tuple[Standing, ...]
    remaining: Remaining | None
    per_hour: float | None

    def __str__(self) -> str:
        first, *rest = self._sentences()
        return "\n".join([first, str(self.certificate), self.table(), *rest])

    def _repr_html_(self) -> str:
        first, *rest = self._sentences()
        text = "\n".join([first, str(self.certificate), *rest])
        return as_html(self.name, text, self._rows(), more=self.arms - SHOWN)

    def _sentences(self) -> list[str]:
        rewards = "1 reward" if self.pulls == 1 else f"{self.pulls} rewards"
        return [
            f"{self.name}: {rewards} for {self.arms} arms; {self.pending} awaited, "
            f"{self.overdue} overdue, {self.voided} voided{self._corrected()}.",
            *self._time_left(),
        ]

    def _corrected(self) -> str:
        if not self.corrections:
            return ""
        return f", {self.corrections} correction{'s' if self.corrections > 1 else ''}"

    def _time_left(self) -> list[str]:
        """Return a sentence on how long it will take, if that can be told."""
        left = self.remaining
        if left is None:
            return []
        said = [f"Still to go: {left}."]
        if left.median is not None and self.per_hour:
            said.append(f"At the present pace that is {in_time(left.median / self.per_hour)}.")
        return [" ".join(said)]

    def table(self) -> str:
        """Return how the foremost arms stand, in columns, each with its value."""
        rows = self._rows()
        lines = [columns_of(rows)]
        if (rest := self.arms - len(rows) + 1) > 0:
            lines.append(f"  and {rest:,} more")
        return "\n".join(lines)

    def _rows(self) -> list[list[str]]:
        shown, raced = self.standings[:SHOWN], self.ruled_out is not None
        lifted = any(one.lift is not None for one in shown)
        rows = [
            [
                "arm",
                "pulls",
                "average",
                f"{share(self.delta)} interval",
                *(["against control", "verdict"] if lifted else []),
                *(["p-value of being best"] if raced else []),
            ]
        ]
        for one in shown:
            lift = as_interval(one.lift, one.lift_low, one.lift_high)
            rows.append(
                [
                    printable(one.name) + (" (retired)" if one.retired else ""),
                    f"{one.pulls:,}",
                    "–" if one.value is None else f"{one.value:.4g}",
                    ends_of(one.value_low, one.value_high),
                    *([str(lift), verdict(lift, self.minimize)] if lifted else []),
                    *([self._evidence(one)] if raced else []),
                ]
            )
        return rows

    def _evidence(self, one: Standing) -> str:
        """Return the evidence that an arm is not best, in a word."""
        if one.p_value is None:
            return "–"
        out = one.p_value <= self.delta and one.arm != self.answer
        return "ruled out" if out else upward(one.p_value)


def p_values_of(replay: Replay) -> list[float | None]:
    """Return the p-value of each arm, or None where there is none."""
    p_values, can_answer = replay.explorer.p_values, replay.problem.can_answer
    if p_values is None:
        return [None] * len(can_answer)
    pairs = zip(p_values.tolist(), can_answer.tolist(), strict=True)
    return [p if answer else None for p, answer in pairs]


def status_of(replay: Replay, now: float) -> Status:
    """Return how an experiment stands, at a time on the clock."""
    found, values = check(replay, now), replay.values()
    certificate = certified(replay, found, values)
    if len(replay.problem) > MOST_ARMS:
        certificate = replace(certificate, p_values=None)
    return Status(
        **vars(summary_of(replay, now, found.warnings)),
        certificate=certificate,
        check=found,
        standings=_standings(replay, now, values),
        remaining=None if replay.settled is not None else remaining(replay.explorer),
        per_hour=replay.pace,
    )


def summary_of(replay: Replay, now: float, warnings: tuple[str, ...] | None = None) -> Summary:
    """Return how an experiment stands in a line, at a time on the clock.

    warnings: those of the model check, if known.
    """
    problem, contest = replay.problem, contest_in(replay)
    pending = len(replay.pending(now))
    answer = None if replay.settled is None else replay.certificate()
    return Summary(
        name=replay.created.name,
        explorer=replay.created.explorer,
        arms=len(problem),
        factors=tuple(factor.name for factor in problem.factors.factors)
        if problem.factors
        else (),
        pulls=replay.told + replay.added,
        pending=pending,
        overdue=len(replay.open) - pending,
        voided=replay.voided,
        settled=replay.settled is not None,
        answer=None if answer is None else answer.arm,
        answer_name=None if answer is None else answer.name,
        leader=None if contest is None else contest.leader,
        leader_name=None if contest is None else problem.name(contest.leader),
        rival=None if contest is None else contest.rival,
        rival_name=None if contest is None else problem.name(contest.rival),
        gap_bound=None if contest is None else gap_bound_of(contest),
        ruled_out=replay.explorer.certificate().ruled_out,
        minimize=problem.minimize,
        retired=len(problem.retired),
        corrections=replay.corrected,
        epsilon=problem.epsilon,
        delta=problem.delta,
        archived=replay.archived,
        event=replay.head.seq,
        digest=replay.head.digest,
        warnings=check(replay, now).warnings if warnings is None else warnings,
    )


def valid_until(replay: Replay, now: float) -> float:
    """Return when the next pending ticket becomes overdue: until then only events matter."""
    deadlines = (ticket.deadline for ticket in replay.open.values() if ticket.awaited(now))
    return min((deadline for deadline in deadlines if deadline is not None), default=inf)


def contest_in(replay: Replay) -> Contest | None:
    """Return the closest contest, or None while there is none."""
    explorer = replay.explorer
    p_values = explorer.p_values if explorer.done else None
    if p_values is None:
        return explorer.contest
    # Evidence ended this one, with no contest left or one whose gap bound is still above ε.
    verdict = explorer.certificate()
    others = np.flatnonzero(replay.problem.can_answer & (np.arange(len(p_values)) != verdict.arm))
    if not len(others):
        return None
    return Contest(verdict.arm, int(others[p_values[others].argmax()]), verdict.gap_bound)


def gap_bound_of(contest: Contest) -> float | None:
    """Return how much better than the leader the best arm may be, as a certificate says it."""
    return max(0.0, contest.margin) if isfinite(contest.margin) else None


def _standings(replay: Replay, now: float, values: Values) -> tuple[Standing, ...]:
    problem, explorer, contest = replay.problem, replay.explorer, contest_in(replay)
    gaps = low = high = np.full(len(problem), np.nan)
    estimate, p_values = explorer.estimate, p_values_of(replay)
    if contest is not None and estimate.ready:
        gaps = estimate.means - estimate.means[contest.leader]
        if isinstance(explorer, ContestExplorer):
            widths = explorer.parts.contests.half_widths(estimate, contest.leader)
            low, high = gaps - widths, gaps + widths
    pending = Counter(replay.pending(now))
    waiting = Counter(ticket.arm for ticket in replay.open.values())
    # Those that may be best by most, or with the least evidence against them.
    promise = high if explorer.p_values is None else explorer.p_values
    best_first = np.lexsort((-gaps, -np.where(problem.can_answer, promise, -np.inf)))
    chosen = best_first[:MOST_ARMS]
    if len(problem) > MOST_ARMS:  # half for those that may be best, half for those most pulled
        most_pulled = np.argsort(-replay.averages.counts, kind="stable")[: MOST_ARMS // 2]
        wanted = np.isin(best_first, most_pulled)
        wanted |= np.cumsum(~wanted) <= MOST_ARMS - len(most_pulled)
        chosen = best_first[wanted]
    if contest is not None and contest.leader not in chosen:
        chosen[-1] = contest.leader
    pulls = replay.averages.counts[chosen].tolist()
    voided = replay.closings.voided[chosen].tolist()
    rows = [row[chosen].tolist() for row in (gaps, low, high)]
    if contest is not None and not isinstance(explorer, ContestExplorer):
        gains = values.gaps(contest.leader, chosen)
        better = [gap.negated() if problem.minimize else gap for gap in gains]
        rows = [list(row) for row in zip(*better, strict=True)]
    rows += zip(*values.arms(chosen), strict=True)
    lifts: list[Any] = [[None] * len(chosen)] * 3
    if problem.control is not None:
        lifts = list(zip(*values.gaps(problem.control, chosen), strict=True))
    ends: list[list[Any]] = [[_finite(value) for value in row] for row in (*rows, *lifts)]
    ends.append([p_values[arm] for arm in chosen])
    ends.append([arm in problem.retired for arm in chosen.tolist()])
    return tuple(
        Standing(
            arm,
            problem.name(arm),
            count,
            pending[arm],
            waiting[arm] - pending[arm],
            gone,
            *rest,
        )
        for arm, count, gone, *rest in zip(chosen.tolist(), pulls, voided, *ends, strict=True)
    )


def in_time(hours: float) -> str:
    """Return a time in words, roughly.

    >>> in_time(0.2), in_time(30), in_time(100)
    ('12 minutes', '30 hours', '4.2 days')
    """
    for size, unit in ((72.0, "days"), (2.0, "hours"), (1 / 30, "minutes")):
        if hours >= size:
            value = hours / {"days": 24.0, "hours": 1.0, "minutes": 1 / 60}[unit]
            return f"{value:.2g} {unit}"
    return f"{3600 * hours:.2g} seconds"


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
