"""What figures have in common: colours, axes, legends, files."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..errors import InvalidArgument, imported
from ..printable import printable

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


def styled(draw: Callable[P, "Figure"]) -> Callable[P, "Figure"]:
    """Make a function draw in this module's style, whatever style is set."""

    @wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> "Figure":
        with _rc_context(STYLE):
            figure = draw(*args, **kwargs)
            # Fix the layout, or it and the file would change slightly with every drawing.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            return figure

    return styled


def save(figure: "Figure", *paths: str | Path) -> list[Path]:
    """Write a figure, and return the files written.

    figure: what the other functions here return.
    paths: with the ending .png, .svg or .pdf, that file; anything else is a stem, and gets a PNG
        and an SVG. The same figure gives the same bytes, with the same version of matplotlib.

    >>> import tempfile
    >>> from lingape import plots
    >>> figure = plots.distribution({"race": [310, 275, 402]})
    >>> [file.name for file in plots.save(figure, f"{tempfile.mkdtemp()}/race")]
    ['race.png', 'race.svg']
    """
    if not paths:
        raise InvalidArgument("save needs to know where; pass a path, such as 'figures/margin'.")
    files: list[Path] = []
    for path in map(Path, paths):
        known = path.suffix.lower() in _METADATA
        files += [path] if known else [Path(f"{path}{kind}") for kind in (".png", ".svg")]
    with _rc_context({"svg.hashsalt": "lingape", "svg.fonttype": "path"}):
        for file in files:
            kind = file.suffix.lower()
            figure.savefig(file, format=kind[1:], dpi=150, metadata=_METADATA[kind])
    return files


# What matplotlib would write about itself and the date, left out.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


class Look(NamedTuple):
    colour: str
    marker: str
    line: Any
    hatch: str

    @classmethod
    def of(cls, i: int) -> "Look":
        """Return the i-th look. The lists have different lengths, so looks rarely repeat."""
        lists: tuple[Sequence[Any], ...] = (COLOURS, MARKERS, LINES, HATCHES)
        return cls(*(choices[i % len(choices)] for choices in lists))


def import_matplotlib() -> Any:
    """Return matplotlib, or raise MissingExtra."""
    return imported("matplotlib", "Drawing needs", extra="plot")


def _rc_context(settings: dict[str, Any]) -> AbstractContextManager[None]:
    """Return a context in which matplotlib has these settings."""
    return import_matplotlib().rc_context(settings)  # type: ignore[no-any-return]


def new_figure(width: float, height: float) -> "Figure":
    from .figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def new_panel(width: float, height: float) -> tuple["Figure", "Axes"]:
    figure = new_figure(min(max(WIDTH, width), WIDEST), height)
    return figure, figure.add_subplot()


def line_key(label: str, **style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=plain(label), **style)


def key_of(label: str, look: Look, *, line: bool = False) -> Any:
    style = look.line if line else "none"
    return line_key(label, color=look.colour, marker=look.marker, linestyle=style, markersize=5.5)


def put_legend(figure: "Figure", handles: list[Any]) -> None:
    """Put the legend above the panels, where it hides no data, in as few lines as fit."""
    widths = [0.55 + 0.075 * len(handle.get_label()) for handle in handles]  # inches, about

    def fits(columns: int) -> bool:
        # Columns are filled one after the other, each as wide as its widest entry.
        total = sum(float(part.max()) for part in np.array_split(widths, columns))
        return total <= figure.get_figwidth()

    columns = next((n for n in range(len(handles), 1, -1) if fits(n)), 1)
    grow(figure, 0.2 * (math.ceil(len(handles) / columns) - 1))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, handlelength=2.4)


def grow(figure: "Figure", inches: float) -> None:
    """Make a figure taller, so that labels do not squeeze the panel."""
    figure.set_figheight(figure.get_figheight() + inches)


def slant(figure: "Figure", axes: "Axes", names: Sequence[str]) -> None:
    """Rotate the names on the x-axis where they would overlap."""
    longest = max(len(name) for name in names)
    if longest > figure.get_figwidth() * 10 / len(names):
        grow(figure, 0.05 * longest)
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")


def count_axis(axis: "Axis", *, log: bool) -> None:
    """Label an axis with counts: with thousands separators, or powers of ten for large ones."""
    from matplotlib.ticker import LogLocator

    axes: Any = axis.axes
    if not log:
        if axis.axis_name == "y":  # type: ignore[attr-defined]
            axes.set_ylim(bottom=0)
        axis.set_major_formatter(lambda value, _: count_label(value))
        return
    axes.set(**{f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]

    def minor(value: float, _: float) -> str:
        low, high = axis.get_view_interval()
        decades = math.log10(high / low)
        digit = round(value / 10.0 ** math.floor(math.log10(value) + 1e-9))
        shown = range(2, 10) if decades < 0.5 else (2, 5) if decades < 1.6 else ()
        return count_label(value) if digit in shown else ""

    axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=99))
    axis.set_major_formatter(lambda value, _: count_label(value))
    axis.set_minor_formatter(minor)
    axis.set_tick_params(which="minor", pad=5)  # with the labels of the longer major ticks


def margin_axis(axes: "Axes", values: FloatArray) -> None:
    """Make the y-axis logarithmic down to the small values, and linear from there through 0."""
    positive = values[values > 0]
    small = float(np.quantile(positive, 0.1)) if len(positive) else 0.0
    if small > 0 and positive.max() > 10 * small:
        even = 10.0 ** math.floor(math.log10(small))
        axes.set_yscale("symlog", linthresh=even, linscale=0.6)
        axes.set_ylim(min(-0.35 * even, 1.3 * float(values.min())), 1.5 * float(positive.max()))
    axes.yaxis.set_major_formatter(lambda value, _: signed_label(value))


_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def count_label(value: float) -> str:
    """Return 20,000 or 5·10⁶, or nothing between whole numbers below 1."""
    if value < 1e6:
        return f"{value:,.0f}" if value >= 1 or value == 0 else ""
    return _scientific(value)


def signed_label(value: float) -> str:
    """Return 0.25, 3·10⁻⁴ or −2."""
    sign, size = "−" if value < 0 else "", abs(value)
    return sign + (f"{size:.3g}" if size == 0 or 1e-3 <= size < 1e4 else _scientific(size))


def _scientific(value: float) -> str:
    exponent = math.floor(math.log10(value) + 1e-12)
    digits = f"{value / 10.0**exponent:.3g}"
    power = f"10{exponent}"[:2] + str(exponent).translate(_SUPERSCRIPTS)
    return power if digits == "1" else f"{digits}·{power}"


def plain(text: str) -> str:
    """Keep matplotlib from reading dollars as formulas, and escape control characters."""
    return printable(text, keep="\n").replace("$", r"\$")


def short(name: str, most: int = 24) -> str:
    """Return a name without its middle if it is long: names often differ at the end."""
    half = most // 2
    return name if len(name) <= most else f"{name[: half - 1]}…{name[-half:]}"


def told_apart(names: Sequence[str], most: int = 24) -> list[str]:
    """Return names, short if they are long, but long enough to tell different ones apart."""
    different = len(set(names))
    while len({short(name, most) for name in names}) < different:
        most += 8
    return [short(name, most) for name in names]


def as_numbers(values: npt.ArrayLike) -> FloatArray:
    try:
        return np.array(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as reason:
        raise InvalidArgument(f"There must be a sequence of numbers; got {values!r}.") from reason
