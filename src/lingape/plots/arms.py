"""Where did the pulls go, and how was the question settled?"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..errors import InvalidArgument
from ..explorers import Explorer, XYOracle
from ..problem import Problem
from ..runs import Ending
from ..scaffold import ContestExplorer
from ..trace import Trace, TracePoint
from . import style
from .style import COLOURS, GREY, WIDTH, Look, line_key, plain, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ARMS = 30  # more cannot be read
MOST_CONTESTS = 5
OTHERS = "others"


@styled
def allocation(counts_by_label: Mapping[str, npt.ArrayLike], names: Sequence[str]) -> "Figure":
    """Draw how often each arm was pulled, in one run or several.

    counts_by_label: for each run the pulls of each arm. Of many arms, those pulled most are drawn.
    names: of the arms.

    >>> from lingape import plots
    >>> counts = {"race": [12, 40, 3], "uniform": [30, 30, 30]}
    >>> figure = plots.allocation(counts, names=["a", "b", "c"])
    >>> type(figure).__name__
    'Figure'
    """
    counts = {label: style.as_numbers(values) for label, values in counts_by_label.items()}
    if not counts:
        raise InvalidArgument("allocation needs the counts of at least one run; got none.")
    for label, values in counts.items():
        if len(values) != len(names) or not (values >= 0).all():
            raise InvalidArgument(
                f"allocation needs a number of pulls for each of the {len(names)} names; for "
                f"{label!r} got {len(values)} numbers, the least {values.min(initial=0):g}. Pass "
                "result.counts."
            )
    most = np.stack(list(counts.values())).max(axis=0)
    drawn = np.sort(np.argsort(-most, kind="stable")[:MOST_ARMS])
    figure, axes = style.new_panel(1.2 + 0.16 * len(drawn) * len(counts), 3.4)
    step = 0.84 / len(counts)
    floor = 0.7  # below one pull, so that one pull can be seen
    for i, (label, values) in enumerate(counts.items()):
        look = Look.of(i)
        x = np.arange(len(drawn)) + step * (i - (len(counts) - 1) / 2)
        axes.bar(
            x,
            values[drawn],
            width=0.9 * step,
            color=look.colour,
            edgecolor="white",
            hatch=look.hatch,
            linewidth=0,
            label=plain(label),
        )
        for place in x[values[drawn] == 0]:
            axes.text(place, floor * 1.05, "0", ha="center", va="bottom", fontsize=8)
    axes.set_ylim(floor, max(10.0, 1.5 * float(most.max())))
    style.count_axis(axes.yaxis, log=True)
    axes.set_ylabel("pulls")
    labels = style.told_apart([names[k] for k in drawn])
    axes.set_xticks(range(len(drawn)), [plain(name) for name in labels])
    axes.set_xlim(-0.6, len(drawn) - 0.4)
    style.slant(figure, axes, labels)
    left_out = np.delete(most, drawn)
    if len(left_out):
        axes.set_xlabel(f"{len(left_out):,} more arms: at most {left_out.max():,.0f} pulls each")
    style.put_legend(figure, axes.get_legend_handles_labels()[0])
    return figure


@styled
def margin(trace: Trace) -> "Figure":
    """Draw B(t) over the pulls of a run, and below it the two arms in the closest contest.

    The run stops when B(t) falls to ε. The axis of B(t) is logarithmic, but linear near 0.

    trace: what `lingape.trace.trace` returned.

    >>> from lingape import LinGapE, canonical, plots
    >>> from lingape.trace import trace
    >>> instance = canonical(3, gap=1.0)
    >>> seen = trace(LinGapE(instance.problem()), instance.gaussian(), seed=1, lane="plain")
    >>> figure = plots.margin(seen)
    >>> figure.axes[-1].get_xlabel()
    'pulls'
    """
    points = trace.points
    if not points:
        raise InvalidArgument(
            "margin draws the closest contest, and there was none in this run: it ended before "
            "arms could be compared, or its explorer compares arms only between phases, as "
            "XYAdaptive does. Trace a longer run, or another explorer."
        )
    problem, result = trace.problem, trace.result
    stretches = _stretches(problem, points)
    beside = 0.06 * max(len(label) for label, _ in stretches)  # inches that the names take
    figure = style.new_figure(max(WIDTH, 3.6 + beside), 3.0 + 0.2 * len(stretches))
    axes, strip = figure.subplots(
        2, 1, sharex=True, height_ratios=[3.0 / (0.25 * len(stretches) + 0.05), 1]
    )
    pulls, values = [m.pulls for m in points], np.array([m.margin for m in points])
    axes.plot(pulls, values, color=COLOURS[0], linewidth=1.4)
    axes.plot(pulls[-1:], values[-1:], color=COLOURS[0], marker="o", markersize=5)
    axes.axhline(problem.epsilon, color="black", linestyle="--", linewidth=1.0)
    style.margin_axis(axes, np.append(values, problem.epsilon))
    axes.set_ylabel("B(t), how much better\na rival may be")
    ending = {
        Ending.SETTLED: f"settled after {result.pulls:,} pulls",
        Ending.SPENT: f"budget of {result.pulls:,} pulls spent",
        Ending.LIMIT: "stopped at the limit",
    }[result.ending]
    style.put_legend(
        figure,
        [
            line_key("B(t)", color=COLOURS[0]),
            line_key(f"ε = {problem.epsilon:g}", color="black", linestyle="--"),
            line_key(ending, color=COLOURS[0], linestyle="none", marker="o", markersize=5),
        ],
    )
    for i, (label, spans) in enumerate(stretches):
        colour = GREY if label == OTHERS else COLOURS[i % len(COLOURS)]
        strip.broken_barh(spans, (i - 0.38, 0.76), facecolors=colour, linewidth=0)
    strip.set_yticks(range(len(stretches)), [plain(label) for label, _ in stretches])
    strip.set_ylim(len(stretches) - 0.4, -0.6)
    strip.tick_params(axis="y", length=0, labelsize=8)
    strip.set_xlabel("pulls")
    style.count_axis(strip.xaxis, log=True)
    axes.tick_params(axis="x", labelbottom=False)
    return figure


@styled
def intervals(explorer: Explorer) -> "Figure":
    """Draw how much better than the leader each arm may be, by the explorer's own bound.

    The explorer stops when no interval but the leader's own reaches beyond ε. Of many arms, those
    that may still be best are drawn. The intervals of XYOracle with test="true" lie around the
    true gaps, with which it compares. For pulls fixed in advance only upper ends are proven
    (docs/bounds.md).

    explorer: one with estimates of all arms and a bound for the gaps between them.

    >>> from lingape import LinGapE, Problem, plots
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=0.5, names=["red", "blue"]))
    >>> for arm, reward in [(0, 0.2), (1, 0.9), (0, 0.1), (1, 0.8)]:
    ...     explorer.tell(arm, reward)
    >>> figure = plots.intervals(explorer)
    >>> figure.axes[0].get_xlabel()
    'estimated mean minus that of blue'
    """
    gaps, widths, leader, truth = _gaps(explorer)
    problem = explorer.problem
    order = np.argsort(-(gaps + widths), kind="stable")
    order = np.append(leader, order[order != leader])
    drawn, left_out = order[:MOST_ARMS], order[MOST_ARMS:]
    labels = style.told_apart([problem.name(int(k)) for k in drawn])
    figure, axes = style.new_panel(WIDTH, 1.4 + 0.22 * len(drawn))
    others, y = drawn[1:], np.arange(1, len(drawn))
    axes.errorbar(
        gaps[others],
        y,
        xerr=widths[others],
        fmt="o",
        color=COLOURS[0],
        markersize=4,
        capsize=2,
        linewidth=1.2,
    )
    axes.plot([0.0], [0], marker="*", color=COLOURS[1], markersize=10, linestyle="none")
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.axvline(problem.epsilon, color="black", linestyle="--", linewidth=1.0)
    axes.set_yticks(range(len(drawn)), [plain(name) for name in labels])
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    kind = "true" if truth else "estimated"
    note = _rest(float((gaps + widths)[left_out].max()), len(left_out)) if len(left_out) else ""
    leading = plain(labels[0])
    label = f"{kind} mean minus that of {leading}"
    if problem.minimize:
        label = f"that of {leading} minus {kind} mean"
    axes.set_xlabel(label + note)
    interval = f"{100 * (1 - problem.delta):g} % interval"
    style.put_legend(
        figure,
        [
            line_key("leader", color=COLOURS[1], linestyle="none", marker="*", markersize=9),
            line_key(interval, color=COLOURS[0], marker="o", markersize=4),
            line_key(f"ε = {problem.epsilon:g}", color="black", linestyle="--"),
        ],
    )
    return figure


def _gaps(explorer: Explorer) -> tuple[FloatArray, FloatArray, int, bool]:
    """Return each arm's gap to the leader, its half-width, the leader, and whether gaps are true.

    They are those of the explorer's own stopping rule, so that the highest upper end but the
    leader's is B(t).
    """
    name = type(explorer).__name__
    if hasattr(explorer, "phase"):
        raise InvalidArgument(
            f"{name} compares arms at the end of a phase only, and then forgets: it has no "
            "intervals to show. Use another explorer, or read certificate()."
        )
    if not isinstance(explorer, ContestExplorer):
        raise InvalidArgument(
            f"intervals needs an explorer with one estimate and one bound; got {name}. Draw "
            "where its pulls went, with allocation, or what each arm of a live experiment is "
            "worth, with values."
        )
    problem, estimate = explorer.problem, explorer.estimate
    if explorer.contest is None:
        raise InvalidArgument(
            f"{name} cannot compare arms yet, after {estimate.pulls} pulls of "
            f"{len(problem)} arms. Tell it more, until `contest` is not None."
        )
    leader = explorer.contest.leader
    truth = isinstance(explorer, XYOracle) and explorer.test == "true"
    means = explorer.truth if truth else estimate.means  # type: ignore[attr-defined]
    half_widths = explorer.parts.contests.half_widths(estimate, leader)
    return means - means[leader], half_widths, leader, truth


def _rest(upper: float, arms: int) -> str:
    """Return a note on the arms not drawn, whose highest upper end is `upper`."""
    label = style.signed_label(abs(upper))
    end = f"at most {label} better" if upper > 0 else f"at least {label} worse"
    return f"\n{arms:,} more arms: {end}"


def _stretches(
    problem: Problem, points: Sequence[TracePoint]
) -> list[tuple[str, list[tuple[float, float]]]]:
    """Return where (start, length) each contest was the closest, the longest ones first.

    What happens between two points is unknown; the border is placed halfway.
    """
    pulls = np.array([point.pulls for point in points], dtype=np.float64)
    borders = np.sqrt(pulls[1:] * pulls[:-1])
    first, last = (pulls[0], pulls[-1]) if len(pulls) > 1 else (pulls[0] / 1.1, pulls[0] * 1.1)
    edges = np.concatenate([[first], borders, [last]])
    lives: dict[tuple[int, int], float] = {}
    spans: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for point, (start, end) in zip(points, pairwise(edges.tolist()), strict=True):
        pair = (point.leader, point.rival)
        lives[pair] = lives.get(pair, 0.0) + math.log(end / start)
        own = spans.setdefault(pair, [])
        if own and sum(own[-1]) == start:
            start = own.pop()[0]
        own.append((start, end - start))
    ranked = sorted(lives, key=lambda pair: -lives[pair])
    # A line "others" for a single contest would say less in the same space.
    shown = ranked if len(ranked) <= MOST_CONTESTS + 1 else ranked[:MOST_CONTESTS]
    arms = sorted({k for pair in shown for k in pair})
    labels = style.told_apart([problem.name(k) for k in arms], 16)
    name = dict(zip(arms, labels, strict=True))
    found = [(f"{name[i]} leads {name[j]}", spans[i, j]) for i, j in shown]
    if len(shown) < len(ranked):
        rest = sorted(span for pair in ranked[len(shown) :] for span in spans[pair])
        found.append((OTHERS, rest))
    return found
