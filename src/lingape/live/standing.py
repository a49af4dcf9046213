"""How an experiment stands: in full, and arm by arm.

The words are the same in Python, over HTTP and in the shell.
"""

from collections import Counter
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard, get_args

import numpy as np

from ..arrays import FloatArray, IntArray
from ..certificate import share, upward
from ..checks import checked_whole, glimpse
from ..errors import InvalidArgument
from ..html import as_html
from ..printable import columns_of, printable
from ..scaffold import ContestExplorer, Conversation
from ..scaffold.budget import BudgetExplorer
from ..values import Interval, Values, as_interval, ends_of, verdict
from .model_check import ModelCheck, certified, check
from .replay import LogCertificate, Replay
from .summary import Summary, contest_in, summary_of
from .texts import checked_text
from .verdicts import remarks_on, verdict_of

MOST_ARMS = 500  # in a status
SHOWN = 20  # in words
#: What comes first in a list of arms; see Experiment.arms.
Order: TypeAlias = Literal["best", "value", "pulls", "voided", "name"]


class Standing(NamedTuple):
    """How an arm stands: its pulls, and how much better than the leader it is.

    arm: its number.
    name: what it is called.
    pulls: how many rewards it has.
    pending: how many of its tickets are awaited.
    overdue: how many are past their deadline; their rewards still count.
    voided: how many will have no reward.
    gap: estimated mean minus the leader's; None until arms can be compared.
    low: the gap is at least this.
    high: the gap is at most this.
    value: the estimated mean; None until there is one.
    value_low: the mean is at least this.
    value_high: the mean is at most this.
    lift: estimated mean minus the control's, if there is a control.
    lift_low: the lift is at least this.
    lift_high: the lift is at most this.
    p_value: of this arm being best, as in a certificate; None if the explorer has none, or the arm
        cannot be the answer.
    retired: whether it was taken out.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.add(arm=1, reward=0.3)
    ...     standings = experiment.status().standings
    >>> sorted((one.name, one.pulls) for one in standings)
    [('arm 0', 0), ('arm 1', 1)]
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


class ArmsPage(NamedTuple):
    """Some of the arms, and how they stand.

    standings: of each of them.
    total: how many arms match the search.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     page = experiment.arms(sort="name", limit=2)
    >>> [one.name for one in page.standings], page.total
    (['arm 0', 'arm 1'], 3)
    """

    standings: tuple[Standing, ...]
    total: int


@dataclass(frozen=True)
class Status(Summary):
    """How an experiment stands, what is proven, and how each arm compares.

    Fields that are not explained here are as for Summary.
    notes: what else people should know, if that was said.
    verdict: what is known so far, in sentences for people who do not read bounds.
    remarks: sentences on what may surprise them.
    control: the arm that others are compared with, if there is one.
    control_name: what it is called.
    answer_pulls: how many rewards the arm has that is the answer, or leads until then.
    settled_pulls: how many rewards there were when the question was answered, once it is.
    check: whether rewards look as assumed.
    certificate: what is proven; if there are more than 500 arms, without its p_values.
    standings: at most 500 arms, those that may be best first; if there are more, those most
        pulled are among them.

    >>> import tempfile
    >>> from lingape import Experiment, Problem
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> with Experiment.open(url, "ads", create=problem) as experiment:
    ...     progress = experiment.add(arm=1, reward=0.3)
    ...     status = experiment.status()
    >>> status.pulls, status.settled, status.check.fine
    (1, False, True)
    >>> print(status.verdict[0])
    Too early to say: there are too few rewards to compare arms.
    """

    notes: str | None
    verdict: tuple[str, ...]
    remarks: tuple[str, ...]
    control: int | None
    control_name: str | None
    answer_pulls: int | None
    settled_pulls: int | None
    certificate: LogCertificate
    check: ModelCheck
    standings: tuple[Standing, ...]

    def __str__(self) -> str:
        return "\n".join([*self._sentences(), self.table(), *self.remarks])

    def _repr_html_(self) -> str:
        text = "\n".join([*self._sentences(), *self.remarks])
        return as_html(self.name, text, self._rows(), more=self.arms - SHOWN)

    def _sentences(self) -> list[str]:
        rewards = "1 reward" if self.pulls == 1 else f"{self.pulls} rewards"
        return [
            *([printable(self.question)] if self.question else []),
            " ".join(self.verdict),
            f"{self.name}: {rewards} for {self.arms} arms; {self.pending} awaited, "
            f"{self.overdue} overdue, {self.voided} voided{self._corrected()}.",
            str(self.certificate),
        ]

    def _corrected(self) -> str:
        if not self.corrections:
            return ""
        return f", {self.corrections} correction{'s' if self.corrections > 1 else ''}"

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
            words = "the control" if one.arm == self.control else verdict(lift, self.minimize)
            rows.append(
                [
                    printable(one.name) + (" (retired)" if one.retired else ""),
                    f"{one.pulls:,}",
                    "–" if one.value is None else f"{one.value:.4g}",
                    ends_of(one.value_low, one.value_high),
                    *([str(lift), words] if lifted else []),
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


def status_of(replay: Replay, now: float) -> Status:
    """Return how an experiment stands, at a time on the clock."""
    found, values, problem = check(replay, now), replay.values(), replay.problem
    certificate = certified(replay, found, values)
    if len(problem) > MOST_ARMS:
        certificate = replace(certificate, p_values=None)
    summary = summary_of(replay, now, found.warnings, values)
    ranking, foremost = _Ranking(replay), summary.foremost
    return Status(
        **vars(summary),
        notes=replay.created.notes,
        verdict=verdict_of(replay, summary, certificate),
        remarks=remarks_on(replay, summary, certificate),
        control=problem.control,
        control_name=None if problem.control is None else problem.name(problem.control),
        answer_pulls=None if foremost is None else int(replay.averages.counts[foremost]),
        settled_pulls=replay.settled_pulls if summary.settled else None,
        certificate=certificate,
        check=found,
        standings=ranking.standings(now, values, ranking.foremost()),
    )


def arms_of(
    replay: Replay, now: float, search: str, sort: Order, start: int, limit: int
) -> ArmsPage:
    """Return how some of the arms stand; see Experiment.arms."""
    problem, text = replay.problem, (checked_text("search", search) or "").casefold()
    start = checked_whole("start", start)
    limit = checked_whole("limit", limit, least=1, most=MOST_ARMS)
    ranking, values = _Ranking(replay), replay.values()
    order = ranking.in_order(sort, values)
    if text:
        matching = [
            str(arm) == text or text in problem.name(arm).casefold() for arm in range(len(problem))
        ]
        order = order[np.array(matching)[order]]
    chosen = order[start : start + limit]
    return ArmsPage(ranking.standings(now, values, chosen), len(order))


def _has_widths(explorer: Conversation) -> TypeGuard[ContestExplorer]:
    """Whether the intervals by which an explorer compares arms are proven."""
    return isinstance(explorer, ContestExplorer) and not isinstance(explorer, BudgetExplorer)


class _Ranking:
    """The arms in an order, by how they compare with the leader."""

    def __init__(self, replay: Replay) -> None:
        self._replay, self._contest = replay, contest_in(replay)
        problem, explorer = replay.problem, replay.explorer
        estimate, self._p_values = explorer.estimate, explorer.p_values
        gaps = low = high = np.full(len(problem), np.nan)
        if self._contest is not None and estimate.ready:
            gaps = estimate.means - estimate.means[self._contest.leader]
            if _has_widths(explorer):
                widths = explorer.parts.contests.half_widths(estimate, self._contest.leader)
                low, high = gaps - widths, gaps + widths
        self._gaps = gaps, low, high
        # Those that may be best by most, or with the least evidence against them.
        promise = high if self._p_values is None else self._p_values
        self._order = np.lexsort((-gaps, -np.where(problem.can_answer, promise, -np.inf)))

    def foremost(self) -> IntArray:
        """Return the arms to show if there is no room for all."""
        problem, chosen = self._replay.problem, self._order[:MOST_ARMS]
        if len(problem) > MOST_ARMS:  # half for those that may be best, half for those most pulled
            counts = self._replay.averages.counts
            most_pulled = np.argsort(-counts, kind="stable")[: MOST_ARMS // 2]
            wanted = np.isin(self._order, most_pulled)
            wanted |= np.cumsum(~wanted) <= MOST_ARMS - len(most_pulled)
            chosen = self._order[wanted]
        if self._contest is not None and self._contest.leader not in chosen:
            chosen[-1] = self._contest.leader
        return chosen

    def in_order(self, sort: Order, values: Values) -> IntArray:
        """Return all arms in an order; where that leaves it open, those that may be best first."""
        problem, order = self._replay.problem, self._order
        if sort not in get_args(Order):
            raise InvalidArgument(
                f"sort must be one of {', '.join(get_args(Order))}; got {glimpse(sort)}."
            )
        if sort == "best":
            return order
        if sort == "name":
            by_name: Any = range(len(problem))
            if problem.names is not None:
                folded = [name.casefold() for name in problem.names]
                by_name = sorted(by_name, key=folded.__getitem__)
            return np.array(by_name, dtype=np.int64)
        by: dict[str, FloatArray | IntArray] = {
            "value": problem.gain(1.0) * values.estimates,
            "pulls": self._replay.averages.counts,
            "voided": self._replay.closings.voided,
        }
        return order[np.argsort(-by[sort][order], kind="stable")]

    def standings(self, now: float, values: Values, chosen: IntArray) -> tuple[Standing, ...]:
        """Return how arms stand.

        now: the time on the clock.
        values: what rewards say about values.
        chosen: which arms.
        """
        replay, contest, p_values = self._replay, self._contest, self._p_values
        problem, explorer = replay.problem, replay.explorer
        pending = Counter(replay.pending(now))
        waiting = Counter(ticket.arm for ticket in replay.open.values())
        rows: list[Any] = [row[chosen].tolist() for row in self._gaps]
        if contest is not None and not _has_widths(explorer):
            rows = _columns(values.gaps(contest.leader, chosen))
            if problem.minimize:
                rows = [[-gap for gap in row] for row in (rows[0], rows[2], rows[1])]
        rows += _columns(values.arms(chosen))
        if problem.control is not None:
            rows += _columns(values.gaps(problem.control, chosen))
        else:
            rows += [[None] * len(chosen)] * 3
        if p_values is not None:
            rows.append(np.where(problem.can_answer, p_values, np.nan)[chosen].tolist())
        else:
            rows.append([None] * len(chosen))
        rows = [[_finite(value) for value in row] for row in rows]
        rows.append([arm in problem.retired for arm in chosen.tolist()])
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
            for arm, count, gone, *rest in zip(
                chosen.tolist(),
                replay.averages.counts[chosen].tolist(),
                replay.closings.voided[chosen].tolist(),
                *rows,
                strict=True,
            )
        )


def _columns(intervals: list[Interval]) -> list[list[float]]:
    """Return the values, the lower ends and the upper ends of intervals."""
    return [[interval[place] for interval in intervals] for place in range(3)]


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
