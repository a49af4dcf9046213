"""Draw runs: how long they took, where the pulls went, how the question was settled.

Every function returns a matplotlib Figure, and `save` writes it. Needs the extra `plot`, which is
imported when something is drawn; pyplot is never touched, so it works without a display. Explorers
differ in colour (Okabe and Ito's, which the colour-blind can tell apart) and in marker, line and
hatch, so that a figure can be read in print without colour.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol

import numpy as np
import numpy.typing as npt

from .arrays import FloatArray
from .errors import InvalidArgument, MissingExtra
from .explorers import Explorer, XYOracle
from .explorers.by_arm import ByArmExplorer
from .explorers.skeleton import GapExplorer
from .problem import Problem
from .runs import Ending
from .trace import Moment, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

P = ParamSpec("P")

# Okabe and Ito, black last; yellow is left out, too pale for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")
GREY = "#666666"
WIDTH = 5.0  # inches; with letters of 10 points it can be shrunk to a column of 3.4
WIDEST = 14.0
STYLE = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.6,
    "text.usetex": False,
}
MOST_ARMS = 30  # more cannot be read
MOST_CONTESTS = 5
RESAMPLES = 2_000


class Row(Protocol):
    """What came of one run of a study."""

    @property
    def explorer(self) -> str: ...
    @property
    def instance(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def pulls(self) -> int: ...
    @property
    def ending(self) -> str:
        """The word "settled", or anything else for a run that was stopped before."""
        ...


def _styled(draw: Callable[P, "Figure"]) -> Callable[P, "Figure"]:
    """Let a function draw in this module's style, whatever style others have set."""

    @wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> "Figure":
        with _matplotlib().rc_context(STYLE):
            figure = draw(*args, **kwargs)
            # Fix the layout: it would move by a hair with every drawing, and so would the bytes.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            return figure

    return styled


@_styled
def stopping_times(
    rows: Iterable[Row],
    *,
    log: bool = True,
    lower_bounds: Mapping[str, float | None] | None = None,
) -> "Figure":
    """Draw the pulls of every run, side by side for each instance, with their means.

    The bars are 95 % bootstrap intervals for the mean. Runs that were stopped at the limit are
    hollow; a mean over any of them is hollow too, and can only be too small.

    lower_bounds: for each instance the samples that no algorithm can do without on average, or
        None where that is not known.
    """
    groups = _grouped(rows)
    explorers = _in_order(name for name, _ in groups)
    instances = _in_order(name for _, name in groups)
    figure, axes = _panel(_width(1.5 + 0.45 * len(explorers) * len(instances)), 3.6)
    step = 0.8 / len(explorers)
    for (explorer, instance), group in groups.items():
        look = _Look.of(explorers.index(explorer))
        x = instances.index(instance) + step * (explorers.index(explorer) - _middle(explorers))
        # Spread in the order of the rows, not at random: the same data give the same figure.
        spread = x + step * (0.4 * _sway(len(group.pulls)) - 0.35)
        for kept, fill in ((group.settled, look.colour), (~group.settled, "none")):
            if kept.any():
                axes.scatter(
                    spread[kept],
                    group.pulls[kept],
                    s=9,
                    marker=look.marker,
                    facecolors=fill,
                    edgecolors=look.colour,
                    linewidths=0.6,
                    alpha=0.45 if fill != "none" else 0.9,
                )
        _mean(axes, x + 0.25 * step, group, look)
    for name, samples in (lower_bounds or {}).items():
        if name not in instances:
            raise InvalidArgument(
                f"lower_bounds must be about instances in the rows; got {name!r}, and there are "
                f"{', '.join(instances)}."
            )
        if samples is None:
            continue
        x = instances.index(name)
        axes.hlines(samples, x - 0.42, x + 0.42, colors="black", linestyles="--", linewidth=1.2)
    axes.set_xticks(range(len(instances)), [_plain(name) for name in instances])
    axes.set_xlim(-0.6, len(instances) - 0.4)
    _count_axis(axes.yaxis, log=log)
    axes.set_ylabel("pulls until settled\n(mean, 95 % bootstrap interval)")
    _slant(figure, axes, instances)
    handles = [_key(name, _Look.of(i)) for i, name in enumerate(explorers)]
    if any(samples is not None for samples in (lower_bounds or {}).values()):
        handles.append(_line("lower bound on the mean", color="black", linestyle="--"))
    _legend(figure, handles + _hollow_key(groups.values()))
    return figure


@_styled
def stopping_curve(
    rows: Iterable[Row],
    x: Mapping[str, float],
    *,
    xlabel: str,
    log: bool = True,
    reported: Mapping[str, Mapping[float, float]] | None = None,
) -> "Figure":
    """Draw the mean pulls of each explorer against a number that tells the instances apart.

    The bars are 95 % bootstrap intervals for the mean. A mean over runs of which some were stopped
    at the limit is hollow, and can only be too small.

    x: for each instance its place on the axis.
    reported: what others published, by label: pulls for each x. Drawn thin and grey, with the
        marker of the explorer of the same name.
    """
    groups = _grouped(rows)
    missing = [name for _, name in groups if name not in x]
    if missing:
        raise InvalidArgument(
            f"x must say where each instance lies; {missing[0]!r} is not among {list(x)}."
        )
    explorers = _in_order(name for name, _ in groups)
    figure, axes = _panel(WIDTH, 3.6)
    handles = []
    for i, explorer in enumerate(explorers):
        look = _Look.of(i)
        points = sorted(
            (
                (x[instance], group)
                for (name, instance), group in groups.items()
                if name == explorer
            ),
            key=lambda point: point[0],
        )
        axes.plot(
            [place for place, _ in points],
            [group.mean for _, group in points],
            color=look.colour,
            linestyle=look.line,
            linewidth=1.4,
        )
        for place, group in points:
            _mean(axes, place, group, look)
        handles.append(_key(explorer, look, line=True))
    for j, (label, values) in enumerate((reported or {}).items()):
        look = _Look.of(explorers.index(label) if label in explorers else len(explorers) + j)
        style: dict[str, Any] = dict(
            color=GREY, linestyle=look.line, linewidth=0.8, marker=look.marker, markersize=4
        )
        places = sorted(values)
        axes.plot(places, [values[place] for place in places], zorder=1.5, **style)
        handles.append(_line(f"{label}, reported", **style))
    places = sorted({float(x[name]) for _, name in groups})
    if len(places) <= 10:
        axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.set_xlabel(_plain(xlabel))
    _count_axis(axes.yaxis, log=log)
    axes.set_ylabel("pulls until settled\n(mean, 95 % bootstrap interval)")
    _legend(figure, handles + _hollow_key(groups.values()))
    return figure


@_styled
def allocation(counts_by_label: Mapping[str, npt.ArrayLike], names: Sequence[str]) -> "Figure":
    """Draw how often each arm was pulled, in one run or several.

    counts_by_label: for each run the pulls of each arm. Of many arms, those pulled most are drawn.
    names: of the arms.
    """
    counts = {label: _numbers(values) for label, values in counts_by_label.items()}
    if not counts:
        raise InvalidArgument("allocation needs the counts of at least one run; got none.")
    for label, values in counts.items():
        if len(values) != len(names) or not (values >= 0).all():
            raise InvalidArgument(
                f"allocation needs a number of pulls for each of the {len(names)} names; for "
                f"{label!r} got {len(values)} numbers, the least {values.min(initial=0):g}. Pass "
                "result.counts."
            )
    most = np.max(list(counts.values()), axis=0)
    drawn = np.sort(np.argsort(-most, kind="stable")[:MOST_ARMS])
    figure, axes = _panel(_width(1.2 + 0.16 * len(drawn) * len(counts)), 3.4)
    step = 0.84 / len(counts)
    floor = 0.7  # below one pull, so that one pull can be seen
    for i, (label, values) in enumerate(counts.items()):
        look = _Look.of(i)
        x = np.arange(len(drawn)) + step * (i - _middle(counts))
        axes.bar(
            x,
            values[drawn],
            width=0.9 * step,
            color=look.colour,
            edgecolor="white",
            hatch=look.hatch,
            linewidth=0,
            label=_plain(label),
        )
        for place in x[values[drawn] == 0]:
            axes.text(place, floor * 1.05, "0", ha="center", va="bottom", fontsize=8)
    axes.set_ylim(floor, max(10.0, 1.5 * float(most.max())))
    _count_axis(axes.yaxis, log=True)
    axes.set_ylabel("pulls")
    axes.set_xticks(range(len(drawn)), [_plain(_short(names[k])) for k in drawn])
    axes.set_xlim(-0.6, len(drawn) - 0.4)
    _slant(figure, axes, [_short(names[k]) for k in drawn])
    left_out = np.delete(most, drawn)
    if len(left_out):
        axes.set_xlabel(f"{len(left_out):,} more arms: at most {left_out.max():,.0f} pulls each")
    handles, _ = axes.get_legend_handles_labels()
    _legend(figure, handles)
    return figure


@_styled
def margin(trace: Trace) -> "Figure":
    """Draw B(t) over the pulls of a run, and below it which two arms it hung on.

    The run stops when B(t) falls to ε. The axis of B(t) is logarithmic, but even near 0.
    """
    moments = trace.moments
    if not moments:
        raise InvalidArgument(
            "margin draws the closest contest, and there was none in this run: it ended before "
            "arms could be compared, or its explorer judges only now and then (XYAdaptive). "
            "Trace a longer run, or another explorer."
        )
    problem, result = trace.problem, trace.result
    stretches = _stretches(problem, moments)
    beside = 0.06 * max(len(label) for label, _ in stretches)  # inches that the names take
    figure = _figure(max(WIDTH, 3.6 + beside), 3.0 + 0.2 * len(stretches))
    axes, strip = figure.subplots(
        2, 1, sharex=True, height_ratios=[3.0 / (0.25 * len(stretches) + 0.05), 1]
    )
    pulls, values = [m.pulls for m in moments], np.array([m.margin for m in moments])
    axes.plot(pulls, values, color=COLOURS[0], linewidth=1.4)
    axes.plot(pulls[-1:], values[-1:], color=COLOURS[0], marker="o", markersize=5)
    axes.axhline(problem.epsilon, color="black", linestyle="--", linewidth=1.0)
    _margin_axis(axes, np.append(values, problem.epsilon))
    axes.set_ylabel("B(t), how much better\na rival may be")
    settled = result.ending is Ending.SETTLED
    ending = f"settled after {result.pulls:,} pulls" if settled else "stopped at the limit"
    _legend(
        figure,
        [
            _line("B(t)", color=COLOURS[0]),
            _line(f"ε = {problem.epsilon:g}", color="black", linestyle="--"),
            _line(ending, color=COLOURS[0], linestyle="none", marker="o", markersize=5),
        ],
    )
    for i, (label, spans) in enumerate(stretches):
        colour = GREY if label == OTHERS else COLOURS[i % len(COLOURS)]
        strip.broken_barh(spans, (i - 0.38, 0.76), facecolors=colour, linewidth=0)
    strip.set_yticks(range(len(stretches)), [_plain(label) for label, _ in stretches])
    strip.set_ylim(len(stretches) - 0.4, -0.6)
    strip.tick_params(axis="y", length=0, labelsize=8)
    strip.set_xlabel("pulls")
    _count_axis(strip.xaxis, log=True)
    axes.tick_params(axis="x", labelbottom=False)
    return figure


@_styled
def intervals(explorer: Explorer) -> "Figure":
    """Draw how much better than the leader each arm may be, by the explorer's own bound.

    The explorer stops when no interval but the leader's own reaches beyond ε. Of many arms, those
    that may still be best are drawn. The intervals of XYOracle with test="true" lie around the
    true gaps, with which it compares.
    """
    gaps, widths, leader, truth = _gaps(explorer)
    problem = explorer.problem
    order = np.argsort(-(gaps + widths), kind="stable")
    order = np.append(leader, order[order != leader])
    drawn, left_out = order[:MOST_ARMS], order[MOST_ARMS:]
    figure, axes = _panel(WIDTH, 1.4 + 0.22 * len(drawn))
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
    axes.set_yticks(range(len(drawn)), [_plain(_short(problem.name(int(k)))) for k in drawn])
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    kind = "true" if truth else "estimated"
    note = _rest(float((gaps + widths)[left_out].max()), len(left_out)) if len(left_out) else ""
    axes.set_xlabel(f"{kind} mean minus that of {_plain(_short(problem.name(leader)))}{note}")
    _legend(
        figure,
        [
            _line("leader", color=COLOURS[1], linestyle="none", marker="*", markersize=9),
            _line(
                f"{100 * (1 - problem.delta):g} % interval",
                color=COLOURS[0],
                marker="o",
                markersize=4,
            ),
            _line(f"ε = {problem.epsilon:g}", color="black", linestyle="--"),
        ],
    )
    return figure


@_styled
def distribution(
    samples_by_label: Mapping[str, npt.ArrayLike], *, xlabel: str = "pulls until settled"
) -> "Figure":
    """Draw the share of runs that were settled within so many pulls.

    samples_by_label: for each label the pulls of each run, `math.inf` for runs that a limit (the
        same for all of them) stopped before: their curve stays below 100 %.
    """
    if not samples_by_label:
        raise InvalidArgument("distribution needs the samples of at least one label; got none.")
    figure, axes = _panel(WIDTH, 3.6)
    handles, ends = [], []
    for i, (label, values) in enumerate(samples_by_label.items()):
        samples = np.sort(_numbers(values))
        if not len(samples) or not (samples > 0).all():
            raise InvalidArgument(
                f"distribution needs pulls above 0, or infinity for runs that did not settle; for "
                f"{label!r} got {values!r}."
            )
        look = _Look.of(i)
        finite = samples[np.isfinite(samples)]
        share = np.arange(len(finite) + 1) / len(samples)
        if len(finite):
            x = np.append(finite[0], finite)
            line = axes.step(
                x, share, where="post", color=look.colour, linestyle=look.line, linewidth=1.4
            )[0]
            ends.append((line, x, share))
        marks = [(p, samples[math.ceil(p * len(samples) - 1e-9) - 1]) for p in (0.5, 0.9)]
        for p, n in marks:
            if math.isfinite(n):
                axes.plot([n], [p], marker=look.marker, color=look.colour, markersize=5.5)
        text = ", ".join(f"{100 * p:g} % in {n:,.0f}" for p, n in marks if math.isfinite(n))
        text = text or "most hit the limit"
        handles.append(_key(f"{label}: {text}", look, line=True))
    for p in (0.5, 0.9):
        axes.axhline(p, color=GREY, linewidth=0.6, linestyle=(0, (1, 3)))
    axes.set_ylim(0, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 0.9, 1], ["0", "25 %", "50 %", "75 %", "90 %", "100 %"])
    _count_axis(axes.xaxis, log=True)
    right = axes.get_xlim()[1]
    for line, x, share in ends:  # nothing more happens to the right of the last run
        line.set_data(np.append(x, right), np.append(share, share[-1]))
    axes.set_xlim(right=right)
    axes.set_xlabel(_plain(xlabel))
    axes.set_ylabel("share of runs")
    _legend(figure, handles)
    return figure


def save(figure: "Figure", *paths: str | Path) -> list[Path]:
    """Write a figure, and return the files written.

    paths: with the ending .png, .svg or .pdf, that file; anything else is a stem, and gets a PNG
        and an SVG. The same figure gives the same bytes, with the same version of matplotlib.

    Folders that do not exist are made.
    """
    if not paths:
        raise InvalidArgument("save needs to know where; pass a path, such as 'figures/margin'.")
    files: list[Path] = []
    for path in map(Path, paths):
        known = path.suffix.lower() in _METADATA
        files += [path] if known else [Path(f"{path}{kind}") for kind in (".png", ".svg")]
    with _matplotlib().rc_context({"svg.hashsalt": "lingape", "svg.fonttype": "path"}):
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            kind = file.suffix.lower()
            figure.savefig(file, format=kind[1:], dpi=150, metadata=_METADATA[kind])
    return files


# What matplotlib would write about itself and the date, left out.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

OTHERS = "others"


class _Look(NamedTuple):
    colour: str
    marker: str
    line: Any
    hatch: str

    @classmethod
    def of(cls, i: int) -> "_Look":
        """Return the i-th look. The lists have different lengths, so that looks hardly repeat."""
        lists: tuple[Sequence[Any], ...] = (COLOURS, MARKERS, LINES, HATCHES)
        return cls(*(choices[i % len(choices)] for choices in lists))


class _Group(NamedTuple):
    """The runs of one explorer on one instance."""

    pulls: FloatArray
    settled: npt.NDArray[np.bool_]

    @property
    def mean(self) -> float:
        return float(self.pulls.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The middle 95 % of the means of samples drawn from these runs with replacement."""
        n, rng = len(self.pulls), np.random.default_rng(0)
        means = [self.pulls[rng.integers(n, size=n)].mean() for _ in range(RESAMPLES)]
        low, high = np.quantile(means, [0.025, 0.975])
        return float(low), float(high)


def _grouped(rows: Iterable[Row]) -> dict[tuple[str, str], _Group]:
    """Return the runs by explorer and instance, in the order in which they come."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.explorer, row.instance), []).append(row)
    if not found:
        raise InvalidArgument("There must be at least one run to draw; got no rows.")
    settled = (Ending.SETTLED, Ending.SETTLED.value)
    return {
        key: _Group(
            np.array([row.pulls for row in group], dtype=np.float64),
            np.array([row.ending in settled for row in group]),
        )
        for key, group in found.items()
    }


def _gaps(explorer: Explorer) -> tuple[FloatArray, FloatArray, int, bool]:
    """Return each arm's gap to the leader, its half-width, the leader, and whether gaps are true.

    They are those of the explorer's own stopping rule, so that the highest upper end but the
    leader's is B(t).
    """
    name = type(explorer).__name__
    if not isinstance(explorer, GapExplorer):
        raise InvalidArgument(
            f"intervals needs an explorer with one estimate and one bound; got {name}."
        )
    problem, estimate, bound = explorer.problem, explorer.estimate, explorer.bound
    if explorer.contest is None:
        phases = hasattr(explorer, "phase")
        raise InvalidArgument(
            f"{name} compares arms at the end of a phase only, and then forgets: it has no "
            "intervals to show. Use another explorer, or read certificate()."
            if phases
            else f"{name} cannot compare arms yet, after {estimate.pulls} pulls of "
            f"{len(problem)} arms. Tell it more, until `contest` is not None."
        )
    leader = explorer.contest.leader
    truth = isinstance(explorer, XYOracle) and explorer.test == "true"
    means = explorer.truth if truth else estimate.means  # type: ignore[attr-defined]
    if isinstance(explorer, ByArmExplorer):  # intervals on single arms, laid end to end
        own = np.sqrt(estimate.variances) * explorer.bound.radius(problem, estimate)
        widths = np.where(problem.twins == problem.twins[leader], 0.0, own + own[leader])
    else:
        widths = bound.widths(problem, estimate, leader)
    return means - means[leader], widths, leader, truth


def _rest(upper: float, arms: int) -> str:
    """Return a note on the arms not drawn, whose highest upper end is `upper`."""
    end = f"at most {_signed(upper)} better" if upper > 0 else f"at least {_signed(-upper)} worse"
    return f"\n{arms:,} more arms: {end}"


def _stretches(
    problem: Problem, moments: Sequence[Moment]
) -> list[tuple[str, list[tuple[float, float]]]]:
    """Return where (start, length) each contest was the closest, the longest-lived ones first.

    What happens between two moments is not known; the border is put halfway.
    """
    pulls = np.array([moment.pulls for moment in moments], dtype=np.float64)
    borders = np.sqrt(pulls[1:] * pulls[:-1])
    first, last = (pulls[0], pulls[-1]) if len(pulls) > 1 else (pulls[0] / 1.1, pulls[0] * 1.1)
    edges = np.concatenate([[first], borders, [last]])
    lives: dict[tuple[int, int], float] = {}
    spans: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for moment, (start, end) in zip(moments, pairwise(edges.tolist()), strict=True):
        pair = (moment.leader, moment.rival)
        lives[pair] = lives.get(pair, 0.0) + math.log(end / start)
        own = spans.setdefault(pair, [])
        if own and sum(own[-1]) == start:
            start = own.pop()[0]
        own.append((start, end - start))
    ranked = sorted(lives, key=lambda pair: -lives[pair])
    # A line "others" for a single contest would say less in the same space.
    shown = ranked if len(ranked) <= MOST_CONTESTS + 1 else ranked[:MOST_CONTESTS]
    name = {k: _short(problem.name(k), 16) for pair in shown for k in pair}
    found = [(f"{name[i]} leads {name[j]}", spans[i, j]) for i, j in shown]
    if len(shown) < len(ranked):
        rest = sorted(span for pair in ranked[len(shown) :] for span in spans[pair])
        found.append((OTHERS, rest))
    return found


def _matplotlib() -> Any:
    """Return matplotlib, or raise MissingExtra."""
    try:
        import matplotlib
    except ImportError as reason:
        raise MissingExtra(
            "Drawing needs matplotlib, which is not installed: pip install 'lingape[plot]'."
        ) from reason
    return matplotlib


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _panel(width: float, height: float) -> tuple["Figure", "Axes"]:
    figure = _figure(width, height)
    return figure, figure.add_subplot()


def _width(needed: float) -> float:
    return min(max(WIDTH, needed), WIDEST)


def _mean(axes: "Axes", x: float, group: _Group, look: _Look) -> None:
    """Draw a mean with its interval; hollow if some run was cut short."""
    low, high = group.interval
    axes.errorbar(
        [x],
        [group.mean],
        yerr=[[max(0.0, group.mean - low)], [max(0.0, high - group.mean)]],
        marker=look.marker,
        color=look.colour,
        markerfacecolor=look.colour if group.settled.all() else "white",
        markersize=6,
        capsize=2.5,
        linewidth=1.2,
        linestyle="none",
    )


def _line(label: str, **style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=_plain(label), **style)


def _key(label: str, look: _Look, *, line: bool = False) -> Any:
    style = look.line if line else "none"
    return _line(label, color=look.colour, marker=look.marker, linestyle=style, markersize=5.5)


def _hollow_key(groups: Iterable[_Group]) -> list[Any]:
    """Return what explains hollow markers, where there are any."""
    if all(group.settled.all() for group in groups):
        return []
    return [
        _line(
            "hollow: hit the limit",
            color=GREY,
            marker="o",
            markerfacecolor="white",
            linestyle="none",
            markersize=5.5,
        )
    ]


def _legend(figure: "Figure", handles: list[Any]) -> None:
    """Put the legend above the panels, where it hides no data, in as few lines as fit."""
    widths = [0.55 + 0.075 * len(handle.get_label()) for handle in handles]  # inches, about

    def fits(columns: int) -> bool:
        # Columns are filled one after the other, each as wide as its widest entry.
        total = sum(float(part.max()) for part in np.array_split(widths, columns))
        return total <= figure.get_figwidth()

    columns = next((n for n in range(len(handles), 1, -1) if fits(n)), 1)
    _grow(figure, 0.2 * (math.ceil(len(handles) / columns) - 1))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, handlelength=2.4)


def _grow(figure: "Figure", inches: float) -> None:
    """Make a figure higher, so that what surrounds a panel does not squeeze it."""
    figure.set_figheight(figure.get_figheight() + inches)


def _slant(figure: "Figure", axes: "Axes", names: Sequence[str]) -> None:
    """Turn the names on the x-axis where they would run into each other."""
    longest = max(len(name) for name in names)
    if longest > figure.get_figwidth() * 10 / len(names):
        _grow(figure, 0.05 * longest)
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")


def _count_axis(axis: "Axis", *, log: bool) -> None:
    """Make an axis one of counts: thousands apart, powers of ten where that gets long."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes: Any = axis.axes
    if not log:
        if axis.axis_name == "y":  # type: ignore[attr-defined]
            axes.set_ylim(bottom=0)
        axis.set_major_formatter(FuncFormatter(lambda value, _: _count(value)))
        return
    axes.set(**{f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]

    def minor(value: float, _: int | None) -> str:
        low, high = axis.get_view_interval()
        decades = math.log10(high / low)
        digit = round(value / 10.0 ** math.floor(math.log10(value) + 1e-9))
        shown = range(2, 10) if decades < 0.5 else (2, 5) if decades < 1.6 else ()
        return _count(value) if digit in shown else ""

    axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=99))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _count(value)))
    axis.set_minor_formatter(FuncFormatter(minor))
    axis.set_tick_params(which="minor", pad=5)  # with the labels of the longer major ticks


def _margin_axis(axes: "Axes", values: FloatArray) -> None:
    """Make the y-axis logarithmic down to the small values, and even from there through 0."""
    from matplotlib.ticker import FuncFormatter

    positive = values[values > 0]
    small = float(np.quantile(positive, 0.1)) if len(positive) else 0.0
    if small > 0 and positive.max() > 10 * small:
        even = 10.0 ** math.floor(math.log10(small))
        axes.set_yscale("symlog", linthresh=even, linscale=0.6)
        axes.set_ylim(min(-0.35 * even, 1.3 * float(values.min())), 1.5 * float(positive.max()))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _signed(value)))


_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def _count(value: float) -> str:
    """Return 20,000 or 5·10⁶, or nothing between whole numbers below 1."""
    if value < 1e6:
        return f"{value:,.0f}" if value >= 1 or value == 0 else ""
    return _scientific(value)


def _signed(value: float) -> str:
    """Return 0.25, 3·10⁻⁴ or −2."""
    sign, size = "−" if value < 0 else "", abs(value)
    return sign + (f"{size:.3g}" if size == 0 or 1e-3 <= size < 1e4 else _scientific(size))


def _scientific(value: float) -> str:
    exponent = math.floor(math.log10(value) + 1e-12)
    digits = f"{value / 10.0**exponent:.3g}"
    power = f"10{exponent}"[:2] + str(exponent).translate(_SUPERSCRIPTS)
    return power if digits == "1" else f"{digits}·{power}"


def _plain(text: str) -> str:
    """Keep matplotlib from reading dollars as formulas."""
    return text.replace("$", r"\$")


def _short(name: str, most: int = 24) -> str:
    """Return a name without its middle if it is long: names often differ at the end."""
    half = most // 2
    return name if len(name) <= most else f"{name[: half - 1]}…{name[-half:]}"


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _middle(things: Iterable[Any]) -> float:
    return (len(list(things)) - 1) / 2


def _sway(n: int) -> FloatArray:
    """Return n numbers in [0, 1) that fill it evenly, whatever n (the golden section's)."""
    golden = (math.sqrt(5) - 1) / 2
    return np.asarray(np.arange(1, n + 1) * golden % 1.0)


def _numbers(values: npt.ArrayLike) -> FloatArray:
    try:
        return np.array(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as reason:
        raise InvalidArgument(f"There must be a sequence of numbers; got {values!r}.") from reason
