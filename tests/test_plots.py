"""Plots: what is drawn is what was given."""

import math
import subprocess
import sys
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

from lingape import (
    Experiment,
    Factors,
    LinGapE,
    LinUGapE,
    Problem,
    UGapE,
    Uniform,
    Values,
    XYAdaptive,
    XYOracle,
    XYStatic,
    canonical,
    play,
    run,
    soare,
    sphere,
)
from lingape.cli import main
from lingape.errors import InvalidArgument, MissingExtra
from lingape.study import Row
from lingape.trace import Trace, TracePoint, trace

pytest.importorskip("matplotlib")
from matplotlib import rcParams
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba

from lingape import plots
from lingape.plots import arms, learnt, style
from lingape.plots.style import GREY

EASY = canonical(3, 1.0)


def row(explorer, instance, seed, pulls, ending="settled"):
    return Row(explorer, instance, seed, 0, True, pulls, (pulls,), ending, 0.0)


ROWS = [
    row(explorer, instance, seed, base * (1 + seed))
    for explorer, scale in [("LinGapE", 1), ("XYStatic", 10)]
    for instance, base in [("near", 100 * scale), ("far", 20 * scale)]
    for seed in range(4)
]
CUT = [*ROWS, row("XYStatic", "near", 4, 9_000, "stopped at the pull limit")]


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def dots(axes):
    return [c for c in axes.collections if isinstance(c, PathCollection)]


def told(explorer, world, pulls, seed=1):
    """Return the explorer after so many pulls by ask and tell."""
    for _ in play(explorer, world, seed=seed, max_pulls=pulls):
        pass
    return explorer


class TestStoppingTimes:
    def test_every_run_is_a_dot(self):
        (axes,) = plots.stopping_times(ROWS).axes
        drawn = np.concatenate([c.get_offsets()[:, 1] for c in dots(axes)])
        assert sorted(drawn) == sorted(row.pulls for row in ROWS)
        assert axes.get_yscale() == "log"
        assert [t.get_text() for t in axes.get_xticklabels()] == ["near", "far"]
        assert "pulls until settled" in axes.get_ylabel()
        assert "bootstrap" in axes.get_ylabel()

    def test_dots_stand_with_their_instance_and_apart_by_explorer(self):
        (axes,) = plots.stopping_times(ROWS).axes
        places = [c.get_offsets()[:, 0] for c in dots(axes)]
        centres = [round(float(np.mean(x))) for x in places]
        assert centres == [0, 1, 0, 1]
        assert places[0].max() < places[2].min()  # the first explorer left of the second
        assert places[2].max() < places[1].min()

    def test_means_and_intervals(self):
        (axes,) = plots.stopping_times(ROWS).axes
        bars = axes.containers
        means = [float(bar.lines[0].get_ydata()[0]) for bar in bars]
        assert means == [250, 50, 2500, 500]
        for bar, mean in zip(bars, means, strict=True):
            (low, high) = bar.lines[2][0].get_segments()[0][:, 1]
            assert mean * 0.4 <= low < mean < high <= mean * 1.6

    def test_runs_that_hit_the_limit_are_hollow(self):
        figure = plots.stopping_times(CUT)
        (axes,) = figure.axes
        hollow = [c for c in dots(axes) if not len(c.get_facecolors())]
        assert [c.get_offsets()[:, 1].tolist() for c in hollow] == [[9_000]]
        faces = [bar.lines[0].get_markerfacecolor() for bar in axes.containers]
        assert [face == "white" for face in faces] == [False, False, True, False]
        assert any("hollow" in label for label in labels(figure))
        assert not any("hollow" in label for label in labels(plots.stopping_times(ROWS)))

    def test_lower_bounds(self):
        figure = plots.stopping_times(ROWS, lower_bounds={"far": 7.0, "near": None})
        (axes,) = figure.axes
        segments = [
            c.get_segments()[0]
            for c in axes.collections
            if isinstance(c, LineCollection) and c.get_linestyle()[0][1]
        ]
        ((start, end),) = segments
        assert start[1] == end[1] == 7.0
        assert start[0] < 1 < end[0]
        assert "lower bound on the mean" in labels(figure)
        with pytest.raises(InvalidArgument, match="'middle'"):
            plots.stopping_times(ROWS, lower_bounds={"middle": 7.0})

    def test_evenly_from_zero(self):
        (axes,) = plots.stopping_times(ROWS, log=False).axes
        assert axes.get_yscale() == "linear"
        assert axes.get_ylim()[0] == 0

    def test_one_run_is_enough_and_none_is_not(self):
        plots.stopping_times(ROWS[:1]).draw_without_rendering()
        with pytest.raises(InvalidArgument, match="at least one run"):
            plots.stopping_times([])

    def test_looks_differ_in_more_than_colour(self):
        rows = [row(f"explorer {k}", "near", 0, 10 + k) for k in range(7)]
        keys = plots.stopping_times(rows).legends[0].legend_handles
        assert len({key.get_color() for key in keys}) == 7
        assert len({key.get_marker() for key in keys}) == 7


class TestStoppingCurve:
    PLACES: ClassVar = {"near": 2.0, "far": 1.0}

    def test_means_in_the_order_of_x(self):
        figure = plots.stopping_curve(CUT, self.PLACES, xlabel="angle")
        (axes,) = figure.axes
        lines = [line for line in axes.lines if len(line.get_xdata()) == 2]
        assert [list(line.get_xdata()) for line in lines] == [[1, 2], [1, 2]]
        assert list(lines[0].get_ydata()) == [50, 250]
        assert list(lines[1].get_ydata()) == [500, (10_000 + 9_000) / 5]
        assert lines[0].get_linestyle() != lines[1].get_linestyle()
        assert axes.get_xlabel() == "angle"
        assert axes.get_yscale() == "log"
        assert [t.get_text() for t in axes.get_xticklabels()] == ["1", "2"]
        assert labels(figure)[:2] == ["LinGapE", "XYStatic"]
        hollow = [bar for bar in axes.containers if bar.lines[0].get_markerfacecolor() == "white"]
        assert [bar.lines[0].get_ydata()[0] for bar in hollow] == [3800]

    def test_reported(self):
        reported = {"XYStatic": {2.0: 80.0, 1.0: 30.0}, "Oracle": {1.0: 5.0}}
        figure = plots.stopping_curve(ROWS, self.PLACES, xlabel="angle", reported=reported)
        (axes,) = figure.axes
        grey = [line for line in axes.lines if line.get_color() == style.GREY]
        assert [list(line.get_ydata()) for line in grey] == [[30, 80], [5]]
        ours = next(bar for bar in axes.containers if bar.lines[0].get_ydata()[0] == 500)
        assert grey[0].get_marker() == ours.lines[0].get_marker()
        assert labels(figure)[2:] == ["XYStatic, reported", "Oracle, reported"]

    def test_every_instance_needs_a_place(self):
        with pytest.raises(InvalidArgument, match="'far'"):
            plots.stopping_curve(ROWS, {"near": 1.0}, xlabel="angle")


class TestAllocation:
    def test_bars_are_the_counts(self):
        counts = {"LinGapE": np.array([5, 100, 1]), "XYStatic": [10, 20, 0]}
        figure = plots.allocation(counts, ["a", "b", "$c$"])
        (axes,) = figure.axes
        for bars, values in zip(axes.containers, counts.values(), strict=True):
            assert [bar.get_height() for bar in bars] == list(values)
        assert axes.get_yscale() == "log"
        assert axes.get_ylim()[0] < 1
        assert [text.get_text() for text in axes.texts] == ["0"]
        assert [t.get_text() for t in axes.get_xticklabels()] == ["a", "b", r"\$c\$"]
        assert labels(figure) == ["LinGapE", "XYStatic"]
        hatches = {bars[0].get_hatch() for bars in axes.containers}
        assert len(hatches) == 2
        figure.draw_without_rendering()

    def test_of_many_arms_those_pulled_most(self):
        counts = np.arange(50)
        (axes,) = plots.allocation({"run": counts}, [f"arm {k}" for k in range(50)]).axes
        assert [bar.get_height() for bar in axes.patches] == list(range(20, 50))
        assert axes.get_xlabel() == "20 more arms: at most 19 pulls each"

    def test_no_pulls_at_all(self):
        (axes,) = plots.allocation({"run": [0, 0]}, ["a", "b"]).axes
        assert [text.get_text() for text in axes.texts] == ["0", "0"]

    @pytest.mark.parametrize("counts", [{}, {"a": [1, 2]}, {"a": [1, 2, -3]}, {"a": ["x"] * 3}])
    def test_refusals(self, counts):
        with pytest.raises(InvalidArgument):
            plots.allocation(counts, ["a", "b", "c"])


class TestMargin:
    def test_the_line_is_the_trace(self):
        seen = trace(LinGapE(EASY.problem(epsilon=0.1)), EASY.gaussian(), lane="plain")
        figure = plots.margin(seen)
        axes, strip = figure.axes
        curve, end, epsilon = axes.lines
        assert list(curve.get_xdata()) == [m.pulls for m in seen.points]
        assert list(curve.get_ydata()) == [m.margin for m in seen.points]
        assert (end.get_xdata()[0], end.get_ydata()[0]) == (
            seen.result.pulls,
            seen.points[-1].margin,
        )
        assert list(epsilon.get_ydata()) == [0.1, 0.1]
        assert axes.get_xscale() == strip.get_xscale() == "log"
        assert axes.get_ylabel() == "B(t), how much better\na rival may be"
        low, high = axes.get_ylim()
        assert low < min(curve.get_ydata()) < max(curve.get_ydata()) < high
        assert labels(figure)[1:] == ["ε = 0.1", f"settled after {seen.result.pulls:,} pulls"]

    def test_the_strip_covers_the_run_once(self):
        seen = trace(LinGapE(EASY.problem()), EASY.gaussian(), lane="plain")
        strip = plots.margin(seen).axes[1]
        spans = sorted(
            (path.vertices[:, 0].min(), path.vertices[:, 0].max())
            for bars in strip.collections
            for path in bars.get_paths()
        )
        assert spans[0][0] == seen.points[0].pulls
        assert spans[-1][1] == seen.points[-1].pulls
        for (_, end), (start, _) in pairwise(spans):
            assert start == pytest.approx(end)

    def test_rows_are_the_contests_and_the_rest_are_others(self):
        moments = [TracePoint(2**k, 0, 1 + k % 9, 1.0 / (k + 1)) for k in range(18)]
        moments += [TracePoint(2 ** (18 + k), 3, 0, 0.01) for k in range(3)]
        result = run(LinGapE(EASY.problem()), EASY.gaussian(), max_pulls=20)
        problem = sphere(12, 4).problem()
        figure = plots.margin(Trace(problem, tuple(moments), result))
        rows = [t.get_text() for t in figure.axes[1].get_yticklabels()]
        assert len(rows) == arms.MOST_CONTESTS + 1
        assert rows[0] == "arm 3 leads arm 0"  # the longest-lived
        assert rows[-1] == "others"
        assert labels(figure)[-1] == "stopped at the limit"
        few = plots.margin(Trace(problem, tuple(moments[:6]), result))
        assert "others" not in [t.get_text() for t in few.axes[1].get_yticklabels()]

    def test_a_single_moment(self):
        seen = trace(LinGapE(EASY.problem()), EASY.gaussian(), max_pulls=3)
        assert len(seen.points) == 1
        plots.margin(seen).draw_without_rendering()

    def test_no_contest_no_plot(self):
        seen = trace(XYAdaptive(EASY.problem()), EASY.gaussian(), max_pulls=20, lane="plain")
        with pytest.raises(InvalidArgument, match="XYAdaptive"):
            plots.margin(seen)


INSTANCE = soare(4, 0.3)
COMPARING = {
    "LinGapE": lambda problem: LinGapE(problem),
    "XYStatic": lambda problem: XYStatic(problem),
    "Uniform": lambda problem: Uniform(problem),
    "UGapE": lambda problem: UGapE(problem),
    "LinUGapE": lambda problem: LinUGapE(problem),
    "XYOracle": lambda problem: XYOracle(problem, theta=INSTANCE.theta),
    "XYOracle, estimated": lambda p: XYOracle(p, theta=INSTANCE.theta, test="estimated"),
}


class TestIntervals:
    def drawn(self, axes):
        """Return the gap and the ends of each arm's interval, by name."""
        names = [t.get_text() for t in axes.get_yticklabels()]
        points, _, (bars,) = axes.containers[0].lines
        return {
            names[int(y)]: (gap, *segment[:, 0])
            for gap, y, segment in zip(*points.get_data(), bars.get_segments(), strict=True)
        }

    @pytest.mark.parametrize("name", COMPARING)
    def test_the_highest_upper_end_is_the_margin(self, name):
        explorer = told(COMPARING[name](INSTANCE.problem(epsilon=0.01)), INSTANCE.gaussian(), 40)
        (axes,) = plots.intervals(explorer).axes
        drawn, contest = self.drawn(axes), explorer.contest
        names = [t.get_text() for t in axes.get_yticklabels()]
        assert names[0] == f"arm {contest.leader}"
        assert names[1] == f"arm {contest.rival}"
        assert len(drawn) == 4  # every arm but the leader
        uppers = {arm: upper for arm, (_, _, upper) in drawn.items()}
        assert max(uppers.values()) == pytest.approx(contest.margin)
        means = INSTANCE.gaussian().means if name == "XYOracle" else explorer.estimate.means
        for arm, (gap, lower, upper) in drawn.items():
            k = int(arm.split()[1])
            assert gap == pytest.approx(means[k] - means[contest.leader])
            assert gap - lower == pytest.approx(upper - gap)
        assert axes.get_xlabel().startswith("true" if name == "XYOracle" else "estimated")
        assert any(line.get_xdata()[0] == 0.01 for line in axes.lines)

    def test_widths_are_those_of_the_bound(self):
        explorer = told(LinGapE(INSTANCE.problem()), INSTANCE.gaussian(), 40)
        leader = explorer.contest.leader
        widths = explorer.bound.widths(explorer.problem, explorer.estimate, leader)
        (axes,) = plots.intervals(explorer).axes
        for arm, (_, lower, upper) in self.drawn(axes).items():
            assert (upper - lower) / 2 == pytest.approx(widths[int(arm.split()[1])])

    def test_twins_of_the_leader_are_known_to_tie(self):
        problem = Problem(np.eye(3)[[0, 0, 1, 2]], noise=1.0)
        world = np.array([1.0, 1.0, 0.0, 0.0])
        explorer, rng = (
            LinUGapE(Problem(problem.arms, norm_bound=1.0, noise=1.0)),
            np.random.default_rng(0),
        )
        for arm in np.tile(range(4), 10):
            explorer.tell(arm, world[arm] + rng.normal())
        (axes,) = plots.intervals(explorer).axes
        twin = "arm 1" if explorer.contest.leader == 0 else "arm 0"
        assert self.drawn(axes)[twin] == pytest.approx((0, 0, 0))

    def test_of_many_arms_those_that_may_be_best(self):
        instance = sphere(45, 4)
        explorer = told(LinGapE(instance.problem()), instance.gaussian(), 300)
        figure = plots.intervals(explorer)
        (axes,) = figure.axes
        assert len(axes.get_yticklabels()) == arms.MOST_ARMS
        uppers = [upper for _, _, upper in self.drawn(axes).values()]
        assert uppers == sorted(uppers, reverse=True)
        assert "15 more arms: at" in axes.get_xlabel()
        figure.draw_without_rendering()

    def test_not_ready(self):
        with pytest.raises(InvalidArgument, match="cannot compare arms yet, after 2 pulls"):
            plots.intervals(told(LinGapE(EASY.problem()), EASY.gaussian(), 2))

    def test_explorers_without_intervals(self):
        with pytest.raises(InvalidArgument, match="end of a phase"):
            plots.intervals(told(XYAdaptive(EASY.problem()), EASY.gaussian(), 50))
        with pytest.raises(InvalidArgument, match="got object"):
            plots.intervals(object())


def test_notebooks_show_figures():
    assert plots.distribution({"a": [1, 2]})._repr_png_().startswith(b"\x89PNG")


def test_labels_tell_names_apart():
    names = [f"headline=a question, picture={x}, button=buy now" for x in ("none", "many")]
    assert len(set(map(style.short, names))) == 1
    assert len(set(style.told_apart(names))) == 2
    assert style.told_apart(["a" * 40, "a" * 40]) == [style.short("a" * 40)] * 2


class TestDistribution:
    def test_steps_are_the_shares(self):
        figure = plots.distribution({"a": [30, 10, 20, 40]}, xlabel="pulls")
        (axes,) = figure.axes
        line = axes.lines[0]
        assert list(line.get_xdata())[:5] == [10, 10, 20, 30, 40]
        assert list(line.get_ydata()) == [0, 0.25, 0.5, 0.75, 1, 1]
        assert line.get_drawstyle() == "steps-post"
        assert axes.get_xscale() == "log"
        assert axes.get_xlabel() == "pulls"
        assert labels(figure) == ["a: 50 % in 20, 90 % in 40"]
        marks = [(m.get_xdata()[0], m.get_ydata()[0]) for m in axes.lines if m.get_marker() == "o"]
        assert marks == [(20, 0.5), (40, 0.9)]

    def test_ten_runs_need_nine(self):
        figure = plots.distribution({"a": range(1, 11)})
        assert labels(figure) == ["a: 50 % in 5, 90 % in 9"]

    def test_runs_that_hit_the_limit_keep_the_curve_down(self):
        samples = {"a": [10, 20, 30, math.inf], "b": [15, math.inf, math.inf], "c": [math.inf]}
        figure = plots.distribution(samples)
        (axes,) = figure.axes
        curves = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
        assert [max(line.get_ydata()) for line in curves] == [0.75, pytest.approx(1 / 3)]
        assert {line.get_xdata()[-1] for line in curves} == {axes.get_xlim()[1]}
        assert labels(figure) == ["a: 50 % in 20", *(f"{x}: most hit the limit" for x in "bc")]

    @pytest.mark.parametrize("samples", [{}, {"a": []}, {"a": [math.nan]}, {"a": [0, 3]}])
    def test_refusals(self, samples):
        with pytest.raises(InvalidArgument):
            plots.distribution(samples)


class TestSave:
    def test_a_stem_gets_both_kinds(self, tmp_path):
        figure = plots.distribution({"a": [1, 2]})
        stem = tmp_path / "soare(5, 0.01)"
        files = plots.save(figure, stem, tmp_path / "x.SVG", str(tmp_path / "x.pdf"))
        assert [file.name for file in files] == [
            "soare(5, 0.01).png",
            "soare(5, 0.01).svg",
            "x.SVG",
            "x.pdf",
        ]
        heads = [file.read_bytes()[:5] for file in files]
        assert heads == [b"\x89PNG\r", b"<?xml", b"<?xml", b"%PDF-"]
        with pytest.raises(InvalidArgument, match="path"):
            plots.save(figure)
        with pytest.raises(FileNotFoundError):
            plots.save(figure, tmp_path / "new" / "x.png")
        assert not (tmp_path / "new").exists()

    def test_the_same_data_give_the_same_bytes(self, tmp_path):
        seen = trace(LinGapE(EASY.problem()), EASY.gaussian(), lane="plain")
        for draw in (
            lambda: plots.stopping_times(CUT, lower_bounds={"near": 9.0}),
            lambda: plots.margin(seen),
        ):
            first = plots.save(draw(), tmp_path / "a", tmp_path / "a.pdf")
            figure = draw()
            for _ in range(2):  # nor does saving change the figure
                second = plots.save(figure, tmp_path / "b", tmp_path / "b.pdf")
                for one, other in zip(first, second, strict=True):
                    assert one.read_bytes() == other.read_bytes()
            assert b"<dc:date>" not in first[1].read_bytes()


def test_the_style_of_others_is_neither_used_nor_changed(tmp_path):
    before = dict(rcParams)
    plain = plots.save(plots.distribution({"a": [1, 2]}), tmp_path / "plain.png")[0]
    assert dict(rcParams) == before
    rcParams["axes.spines.top"], rcParams["font.size"] = True, 30
    try:
        loud = plots.save(plots.distribution({"a": [1, 2]}), tmp_path / "loud.png")[0]
    finally:
        rcParams.update({key: before[key] for key in ("axes.spines.top", "font.size")})
    assert plain.read_bytes() == loud.read_bytes()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1, "1"), (20_000, "20,000"), (1e6, "10⁶"), (5e6, "5·10⁶"), (0.5, "")],
)
def test_counts_in_words(value, text):
    assert style.count_label(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-2, "−2"), (0.25, "0.25"), (0.001, "0.001"), (3e-4, "3·10⁻⁴"), (1e-7, "10⁻⁷")],
)
def test_margins_in_words(value, text):
    assert style.signed_label(value) == text


def test_dollars_are_no_formulas(tmp_path):
    names = ["$5 off, then $10", "50% off_today^", "\\frac"]
    problem = Problem(EASY.arms, names=names, noise=1.0)
    plots.save(
        plots.margin(trace(LinGapE(problem), EASY.gaussian(), lane="plain")), tmp_path / "x"
    )


def test_colours_are_read_by_all():
    assert len({to_rgba(colour) for colour in style.COLOURS}) == len(style.COLOURS)


def test_long_names_keep_both_ends():
    first, second = (f"experiment of November, variant {k}" for k in "12")
    assert style.short(first) != style.short(second)
    assert len(style.short(first)) <= 24


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: plots.stopping_times(ROWS),
        lambda: plots.distribution({"a": [1]}),
        lambda: plots.save(None, "x"),
    ):
        with pytest.raises(MissingExtra, match=r'pip install "lingape\[plot\]"'):
            draw()


def test_importing_it_imports_no_matplotlib_and_drawing_no_pyplot(tmp_path):
    code = (
        "import sys, lingape.plots as plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"plots.save(plots.distribution({{'a': [1, 2]}}), {str(tmp_path / 'x')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


FACTORS = Factors(tone=["warm", "dry"], length=["short", "long", "very long"])


def values_of(factors, noise=0.3, count=40, **settings):
    """Return the values of arms that paid more the longer they were."""
    problem = Problem(factors, noise=noise, **settings)
    counts, means = np.full(len(problem), count), factors.rows @ [0.1, 0.5]
    return Values(problem, counts, means, squares=np.full(len(problem), 0.09 * count))


def bars(axes):
    """Return the interval drawn in each row that has one."""
    lines = [
        line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_color() != GREY
    ]
    return {line.get_ydata()[0]: tuple(line.get_xdata()) for line in lines}


class TestEffects:
    def test_intervals_are_the_effects(self):
        found = values_of(FACTORS).effects()
        figure = plots.effects(found)
        for axes, factor in zip(figure.axes, found.factors, strict=True):
            drawn = bars(axes)
            assert list(drawn) == list(range(1, len(factor.levels) + 1))
            for y, level in enumerate(factor.levels, start=1):
                assert drawn[y] == (level.low, level.high)
            assert axes.get_ylabel() == factor.factor
        rows = [[t.get_text() for t in axes.get_yticklabels()] for axes in figure.axes]
        assert rows == [["warm", "dry"], ["short", "long", "very long (best)"]]
        assert labels(figure) == ["95 % interval", "reference"]

    def test_what_is_not_known_is_said(self):
        interacting = Factors(
            tone=["warm", "dry"],
            length=["short", "long"],
            interactions="all",
            exclude=[{"tone": "dry", "length": "long"}],
        )
        for factors, noise, count, words in (
            (interacting, 1.0, 5, "not estimable"),
            (FACTORS, 1.0, 0, "too few rewards"),
            (FACTORS, "normal", 1, "nothing proven yet"),
        ):
            figure = plots.effects(values_of(factors, noise, count).effects())
            assert words in [text.get_text() for axes in figure.axes for text in axes.texts]
            assert not any(bars(axes) for axes in figure.axes)

    def test_many_levels_and_odd_names(self, tmp_path):
        factors = Factors({"$x$": [f"${k}" for k in range(40)], "y": [0, 1]})
        figure = plots.effects(values_of(factors).effects())
        assert len(figure.axes[0].get_yticklabels()) == learnt.MOST + 1
        assert figure.axes[1].get_xlabel().endswith("\n9 more levels are not drawn")
        plots.save(figure, tmp_path / "odd.png")

    def test_refusals(self):
        with pytest.raises(InvalidArgument, match=r"effects\(\) of an experiment"):
            plots.effects(values_of(FACTORS))


class TestValues:
    def test_intervals_are_the_values_best_first(self):
        values = values_of(FACTORS)
        (axes,) = plots.values(values).axes
        arms = np.argsort(-values.means, kind="stable")
        found = values.arms()
        assert list(bars(axes).values()) == [(found[k].low, found[k].high) for k in arms]
        names = [t.get_text() for t in axes.get_yticklabels()]
        assert names == [values.problem.name(k) for k in arms]

    def test_against_a_control(self):
        values = values_of(FACTORS, minimize=True)
        figure = plots.values(values, control="tone=warm, length=long")
        (axes,) = figure.axes
        lifts = values.lifts(1)
        assert list(bars(axes).values()) == [(lift.low, lift.high) for lift in lifts]
        names = [t.get_text() for t in axes.get_yticklabels()]
        assert names == [values.problem.name(1), *(lift.name for lift in lifts)]
        assert labels(figure) == ["95 % interval", "control"]

    def test_of_many_arms_the_best(self):
        factors = Factors(a=list(range(20)), b=list(range(3)))
        figure = plots.values(values_of(factors))
        assert len(bars(figure.axes[0])) == learnt.MOST
        assert figure.axes[0].get_xlabel() == "average reward\n30 more arms are not drawn"

    def test_refusals(self):
        with pytest.raises(InvalidArgument, match="too few rewards, 0,"):
            plots.values(values_of(FACTORS, count=0))
        with pytest.raises(InvalidArgument, match=r"values\(\) of an experiment"):
            plots.values(object())
        with pytest.raises(InvalidArgument, match="No arm is called"):
            plots.values(values_of(FACTORS), control="hot")


def test_effects_are_drawn_from_the_shell(tmp_path):
    url, runner = f"sqlite:///{tmp_path}/run.db", CliRunner()
    with Experiment.open(url, "ads", create=Problem(FACTORS, noise=0.3)) as experiment:
        for arm in range(6):
            experiment.add(arm, float(arm))
    for words, drawn in (
        ([], "effects"),
        (["--against", "0"], "lifts"),
        (["--against", "0", "--json"], "data"),
    ):
        call = ["live", "effects", url, "ads", *words, "--plot", str(tmp_path / f"{drawn}.svg")]
        result = runner.invoke(main, call)
        assert result.exit_code == 0, result.output
        assert (f"Plot: {tmp_path}/{drawn}.svg" in result.stdout) != ("--json" in words)
        assert (tmp_path / f"{drawn}.svg").stat().st_size > 1000
    call = ["live", "effects", url, "ads", "--contrast", "tone=dry", "tone=warm", "--plot", "x"]
    result = runner.invoke(main, call)
    assert result.exit_code == 2 and "no --contrast" in result.output
