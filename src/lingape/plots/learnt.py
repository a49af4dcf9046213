"""What was learnt: the effects of factors, the values of arms, and how these compare."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..certificate import share
from ..errors import InvalidArgument
from ..values import Effects, Values, arm_called
from . import style
from .style import COLOURS, GREY, WIDTH, line_key, plain, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 30  # levels of a factor, or arms; more cannot be read
LINE = 0.24  # inches


@styled
def effects(effects: Effects) -> "Figure":
    """Draw how much each level of each factor adds, compared with the reference level.

    effects: what `effects()` of an experiment returns. All its intervals hold together. Of many
        levels, the first are drawn; those about which nothing is proven have no bar.

    >>> import numpy as np
    >>> from lingape import Factors, Problem, Values, plots
    >>> factors = Factors(tone=["plain", "polite"], length=["short", "long"])
    >>> counts, means = np.full(4, 50), np.array([0.2, 0.3, 0.6, 0.7])
    >>> found = Values(Problem(factors, noise=0.5), counts, means, np.full(4, 12.0)).effects()
    >>> [axes.get_ylabel() for axes in plots.effects(found).axes]
    ['tone', 'length']
    """
    if not isinstance(effects, Effects) or not effects.factors:
        raise InvalidArgument(
            f"effects draws what effects() of an experiment returns; got {effects!r:.60}."
        )
    sizes = [1 + min(len(factor.levels), MOST) for factor in effects.factors]
    figure = style.new_figure(WIDTH, 1.2 + LINE * sum(sizes) + 0.15 * len(sizes))
    panels = figure.subplots(len(sizes), 1, sharex=True, height_ratios=sizes, squeeze=False)[:, 0]
    for axes, factor in zip(panels, effects.factors, strict=True):
        drawn = factor.levels[:MOST]
        _reference(axes)
        bars = [(level.value, level.low, level.high) for level in drawn]
        _intervals(axes, bars, [level.interval for level in drawn])
        levels = [factor.reference, *(level.level for level in drawn)]
        names = style.told_apart(levels)
        if factor.proven and factor.best in levels:
            names[levels.index(factor.best)] += " (best)"
        _rows(axes, names)
        axes.set_ylabel(plain(short(factor.factor)))
    more = sum(len(factor.levels) for factor in effects.factors) - sum(sizes) + len(sizes)
    note = f"\n{more:,} more levels are not drawn" if more else ""
    panels[-1].set_xlabel(f"average reward, compared with the reference{note}")
    _legend(figure, "reference", effects.delta)
    return figure


@styled
def values(values: Values, *, control: int | str | None = None) -> "Figure":
    """Draw the value of each arm, or how much more it pays than a control, best first.

    values: what `values()` of an experiment returns. All its intervals hold together. Of many
        arms, the best-looking are drawn.
    control: the arm that others are compared with, by number or name; none unless given.

    >>> import numpy as np
    >>> from lingape import Factors, Problem, Values, plots
    >>> factors = Factors(tone=["plain", "polite"], length=["short", "long"])
    >>> counts, means = np.full(4, 50), np.array([0.2, 0.3, 0.6, 0.7])
    >>> found = Values(Problem(factors, noise=0.5), counts, means, np.full(4, 12.0))
    >>> plots.values(found, control=0).axes[0].get_xlabel()
    'average reward, compared with the control'
    """
    if not isinstance(values, Values):
        raise InvalidArgument(
            f"values draws what values() of an experiment returns; got {values!r:.60}."
        )
    problem = values.problem
    if not values.ready:
        raise InvalidArgument(
            f"There are too few rewards, {int(values.counts.sum())}, to estimate every arm."
        )
    base = None if control is None else arm_called(problem, control)
    found = dict(enumerate(values.arms() if base is None else values.gaps(base)))
    if base is not None:
        del found[base]
    order = sorted(found, key=lambda arm: -problem.gain(found[arm].value))
    drawn = order[:MOST]
    names = style.told_apart([problem.name(arm) for arm in drawn], 32)
    beside = 0.08 * max(map(len, names))  # inches that the names take
    figure, axes = style.new_panel(3.6 + beside, 1.2 + LINE * (len(drawn) + 1))
    label = "average reward"
    if base is not None:
        _reference(axes)
        names.insert(0, short(problem.name(base), 32))
        label = "average reward, compared with the control"
    bars = [found[arm] for arm in drawn]
    _intervals(axes, bars, ["nothing proven yet"] * len(drawn), first=len(names) - len(drawn))
    _rows(axes, names)
    more = len(order) - len(drawn)
    axes.set_xlabel(label + (f"\n{more:,} more arms are not drawn" if more else ""))
    _legend(figure, "control" if base is not None else None, problem.delta)
    return figure


def _reference(axes: "Axes") -> None:
    """Draw what others are compared with, at 0 in the first row."""
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.plot([0.0], [0], marker="D", color=COLOURS[1], markersize=5, linestyle="none")


def _intervals(
    axes: "Axes",
    bars: Sequence[tuple[float | None, float | None, float | None]],
    words: Sequence[str],
    *,
    first: int = 1,
) -> None:
    """Draw estimates with their intervals, one in a row, or say why there is none."""
    for y, ((value, low, high), why) in enumerate(zip(bars, words, strict=True), start=first):
        face = "white"
        if low is not None and high is not None and math.isfinite(high - low):
            axes.plot([low, high], [y, y], color=COLOURS[0], marker="|", markersize=5)
            face = COLOURS[0]
        else:
            axes.annotate(
                why,
                (value or 0.0, y),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=GREY,
            )
        if value is not None:
            axes.plot([value], [y], "o", color=COLOURS[0], markerfacecolor=face, markersize=4)


def _rows(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda value, _: style.signed_label(value))


def _legend(figure: "Figure", reference: str | None, delta: float) -> None:
    keys = [line_key(f"{share(delta)} interval", color=COLOURS[0], marker="o", markersize=4)]
    if reference is not None:
        keys.append(
            line_key(reference, color=COLOURS[1], linestyle="none", marker="D", markersize=5)
        )
    style.put_legend(figure, keys)
