"""How long did runs take?"""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..errors import InvalidArgument
from ..study import Row
from . import style
from .style import GREY, WIDTH, Look, plain, styled, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESAMPLES = 2_000


@styled
def stopping_times(
    rows: Iterable[Row],
    *,
    log: bool = True,
    lower_bounds: Mapping[str, float | None] | None = None,
) -> "Figure":
    """Draw the pulls of every run, side by side for each instance, with their means.

    The bars are 95 % bootstrap intervals for the mean. Runs that were stopped at the limit are
    hollow; a mean over any of them is hollow too, and can only be too small.

    rows: those of a study's results.
    log: whether the axis of pulls is logarithmic.
    lower_bounds: for each instance the samples that every algorithm needs on average, or None
        where that is unknown.

    >>> from lingape import Row, plots
    >>> pulls = {"race": [310, 275, 402], "lingape": [650, 590, 702]}
    >>> rows = [
    ...     Row(name, "soare(5, 0.1)", seed, 0, True, n, (n,), "settled", 0.01)
    ...     for name in pulls
    ...     for seed, n in enumerate(pulls[name])
    ... ]
    >>> type(plots.stopping_times(rows, lower_bounds={"soare(5, 0.1)": 150.0})).__name__
    'Figure'
    """
    groups = _grouped(rows)
    explorers = _in_order(name for name, _ in groups)
    instances = _in_order(name for _, name in groups)
    figure, axes = style.new_panel(1.5 + 0.45 * len(explorers) * len(instances), 3.6)
    step = 0.8 / len(explorers)
    for (explorer, instance), group in groups.items():
        number = explorers.index(explorer)
        look = Look.of(number)
        x = instances.index(instance) + step * (number - (len(explorers) - 1) / 2)
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
    axes.set_xticks(range(len(instances)), [plain(name) for name in instances])
    axes.set_xlim(-0.6, len(instances) - 0.4)
    style.count_axis(axes.yaxis, log=log)
    axes.set_ylabel("pulls until settled\n(mean, 95 % bootstrap interval)")
    style.slant(figure, axes, instances)
    handles = [style.key_of(name, Look.of(i)) for i, name in enumerate(explorers)]
    if any(samples is not None for samples in (lower_bounds or {}).values()):
        handles.append(style.line_key("lower bound on the mean", color="black", linestyle="--"))
    style.put_legend(figure, handles + _hollow_key(groups.values()))
    return figure


@styled
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

    rows: those of a study's results.
    x: for each instance its place on the axis.
    xlabel: what to write below the axis.
    log: whether the axis of pulls is logarithmic.
    reported: what others published, by label: pulls for each x. Drawn thin and grey, with the
        marker of the explorer of the same name.

    >>> from lingape import Row, plots
    >>> gaps = {"canonical(5, 0.5)": 0.5, "canonical(5, 1)": 1.0}
    >>> rows = [
    ...     Row("race", name, seed, 0, True, n, (n,), "settled", 0.01)
    ...     for name, pulls in zip(gaps, [[410, 380], [120, 95]])
    ...     for seed, n in enumerate(pulls)
    ... ]
    >>> plots.stopping_curve(rows, gaps, xlabel="gap").axes[0].get_xlabel()
    'gap'
    """
    groups = _grouped(rows)
    missing = [name for _, name in groups if name not in x]
    if missing:
        raise InvalidArgument(
            f"x must say where each instance lies; {missing[0]!r} is not among {list(x)}."
        )
    explorers = _in_order(name for name, _ in groups)
    figure, axes = style.new_panel(WIDTH, 3.6)
    handles = []
    for number, explorer in enumerate(explorers):
        look = Look.of(number)
        own = [(x[i], group) for (name, i), group in groups.items() if name == explorer]
        points = sorted(own, key=lambda point: point[0])
        axes.plot(
            [place for place, _ in points],
            [group.mean for _, group in points],
            color=look.colour,
            linestyle=look.line,
            linewidth=1.4,
        )
        for place, group in points:
            _mean(axes, place, group, look)
        handles.append(style.key_of(explorer, look, line=True))
    handles += _reported(axes, reported or {}, explorers)
    places = sorted({float(x[name]) for _, name in groups})
    if len(places) <= 10:
        axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.set_xlabel(plain(xlabel))
    style.count_axis(axes.yaxis, log=log)
    axes.set_ylabel("pulls until settled\n(mean, 95 % bootstrap interval)")
    style.put_legend(figure, handles + _hollow_key(groups.values()))
    return figure


def _reported(
    axes: "Axes", reported: Mapping[str, Mapping[float, float]], explorers: list[str]
) -> list[Any]:
    """Draw published pulls, and return their entries for the legend."""
    handles = []
    for j, (label, values) in enumerate(reported.items()):
        look = Look.of(explorers.index(label) if label in explorers else len(explorers) + j)
        thin: dict[str, Any] = dict(
            color=GREY, linestyle=look.line, linewidth=0.8, marker=look.marker, markersize=4
        )
        places = sorted(values)
        axes.plot(places, [values[place] for place in places], zorder=1.5, **thin)
        handles.append(style.line_key(f"{label}, reported", **thin))
    return handles


@styled
def distribution(
    samples_by_label: Mapping[str, npt.ArrayLike], *, xlabel: str = "pulls until settled"
) -> "Figure":
    """Draw the share of runs that were settled against the number of pulls.

    samples_by_label: for each label the pulls of each run, `math.inf` for runs that a limit (the
        same for all of them) stopped before: their curve stays below 100 %.
    xlabel: what to write below the axis.

    >>> import math
    >>> from lingape import plots
    >>> figure = plots.distribution({"race": [310, 275, 402], "lingape": [650, 590, math.inf]})
    >>> figure.axes[0].get_xlabel()
    'pulls until settled'
    """
    if not samples_by_label:
        raise InvalidArgument("distribution needs the samples of at least one label; got none.")
    figure, axes = style.new_panel(WIDTH, 3.6)
    handles, ends = [], []
    for i, (label, values) in enumerate(samples_by_label.items()):
        samples = np.sort(style.as_numbers(values))
        if not len(samples) or not (samples > 0).all():
            raise InvalidArgument(
                f"distribution needs pulls above 0, or infinity for runs that did not settle; for "
                f"{label!r} got {values!r}."
            )
        look = Look.of(i)
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
        handles.append(style.key_of(f"{label}: {text}", look, line=True))
    for p in (0.5, 0.9):
        axes.axhline(p, color=GREY, linewidth=0.6, linestyle=(0, (1, 3)))
    axes.set_ylim(0, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 0.9, 1], ["0", "25 %", "50 %", "75 %", "90 %", "100 %"])
    style.count_axis(axes.xaxis, log=True)
    right = axes.get_xlim()[1]
    for line, x, share in ends:  # nothing more happens to the right of the last run
        line.set_data(np.append(x, right), np.append(share, share[-1]))
    axes.set_xlim(right=right)
    axes.set_xlabel(plain(xlabel))
    axes.set_ylabel("share of runs")
    style.put_legend(figure, handles)
    return figure


class _Sample(NamedTuple):
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


def _grouped(rows: Iterable[Row]) -> dict[tuple[str, str], _Sample]:
    """Return the runs by explorer and instance, in order of appearance."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.explorer, row.instance), []).append(row)
    if not found:
        raise InvalidArgument("There must be at least one run to draw; got no rows.")
    return {
        key: _Sample(
            np.array([row.pulls for row in group], dtype=np.float64),
            np.array([row.finished for row in group]),
        )
        for key, group in found.items()
    }


def _mean(axes: "Axes", x: float, group: _Sample, look: Look) -> None:
    """Draw a mean with its interval; hollow if some run hit the limit."""
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


def _hollow_key(groups: Iterable[_Sample]) -> list[Any]:
    """Return what explains hollow markers, where there are any."""
    if all(group.settled.all() for group in groups):
        return []
    return [
        style.line_key(
            "hollow: hit the limit",
            color=GREY,
            marker="o",
            markerfacecolor="white",
            linestyle="none",
            markersize=5.5,
        )
    ]


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _sway(n: int) -> FloatArray:
    """Return n numbers in [0, 1) that fill it evenly for any n (multiples of the golden ratio)."""
    golden = (math.sqrt(5) - 1) / 2
    return np.asarray(np.arange(1, n + 1) * golden % 1.0)


@styled
def relative(means: Mapping[tuple[str, str], tuple[float, bool]], *, to: str) -> "Figure":
    """Draw the mean pulls of explorers on instances, as multiples of those of one explorer.

    means: by (explorer, instance): the mean, and whether it can only be too small.
    to: the explorer that is 1.

    >>> from lingape import plots
    >>> means = {
    ...     ("lingape", "soare(5, 0.1)"): (650.0, False),
    ...     ("race", "soare(5, 0.1)"): (325.0, False),
    ... }
    >>> figure = plots.relative(means, to="lingape")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['0.50', '1.00']
    """
    explorers = _in_order(explorer for explorer, _ in means)
    instances = _in_order(instance for _, instance in means)
    table = np.full((len(explorers), len(instances)), np.nan)
    for (explorer, instance), (mean, _) in means.items():
        if (to, instance) in means:
            row, column = explorers.index(explorer), instances.index(instance)
            table[row, column] = mean / means[to, instance][0]
    order = np.argsort(np.nanmean(np.log(table), axis=1), kind="stable")
    width, height = 3.2 + 0.75 * len(instances), 1.6 + 0.27 * len(explorers)
    figure, axes = style.new_panel(max(7.0, width), height)
    # Brown for more samples, purple for fewer: a scale that the colour-blind can read.
    axes.imshow(np.log10(table[order]), cmap="PuOr_r", vmin=-1.5, vmax=1.5, aspect="auto")
    for row, k in enumerate(order):
        for column, instance in enumerate(instances):
            value = table[k, column]
            if np.isfinite(value):
                cut = "≥" if means[explorers[k], instance][1] else ""
                colour = "white" if abs(np.log10(value)) > 0.9 else "black"
                text = f"{cut}{value:.2f}" if value < 10 else f"{cut}{value:,.0f}"
                axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    names = [plain(name) for name in told_apart([explorers[k] for k in order], 44)]
    axes.set_yticks(range(len(explorers)), names)
    names = [plain(name) for name in told_apart(instances)]
    axes.set_xticks(range(len(instances)), names, rotation=40, ha="right")
    figure.suptitle(plain(f"mean pulls until settled, as multiples of those of {to}"), size=10)
    return figure
