"""How does cost grow with arms, dimensions and runs? The plots of docs/speed.md.

    python -m benchmarks.growth [--draw]

With --draw only the plots are drawn, from what was measured last.
"""

import functools
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import record
from benchmarks.rounds import BOTH, compiled_round
from benchmarks.studies import INSTANCE
from benchmarks.timing import fastest, seconds_of
from lingape import Instance, LinGapE, Study, plots, sphere
from lingape.plots import style
from lingape.provenance import provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGES = Path(__file__).parent.parent / "docs" / "images"
ARMS, DIMENSION = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000), 20
DIMENSIONS, COUNT = (2, 5, 10, 20, 50, 100), 500
RUNS = (1, 10, 100, 1_000, 10_000)
PASS = "one pass of X @ v"
AXES = {
    "arms": f"arms K, with d = {DIMENSION}",
    "dimensions": f"dimensions d, with K = {COUNT}",
    "runs": f"runs of about a hundred pulls, {INSTANCE}",
}
Row = dict[str, Any]


def rounds_rows(grows: str, place: int, instance: Instance) -> Iterator[Row]:
    """Time a round on an instance in the compiled lane, by ask and tell, and by a pass."""
    rounds = 5_000
    for title, build in BOTH:
        one = compiled_round(instance, build, rounds, repeats=3)
        yield {"grows": grows, "x": place, "what": f"compiled, {title}", "seconds": one}
    yield {"grows": grows, "x": place, "what": "ask + tell, Mixture", "seconds": asked(instance)}
    vector, times = np.ones(instance.arms.shape[1]), max(10, 10**7 // instance.arms.size)

    def multiply() -> None:
        for _ in range(times):
            instance.arms @ vector

    passed = fastest(lambda: seconds_of(multiply)) / times
    yield {"grows": grows, "x": place, "what": PASS, "seconds": passed}


def asked(instance: Instance, rounds: int = 300) -> float:
    """Return the median seconds of a round by ask and tell."""
    explorer = LinGapE(instance.problem(delta=1e-300), start="spanning")
    means, rng, taken = instance.arms @ instance.theta, np.random.default_rng(0), []

    def talk() -> None:
        arm = explorer.ask()
        explorer.tell(arm, float(means[arm] + rng.standard_normal()))

    while explorer.contest is None:
        talk()
    for _ in range(rounds):
        taken.append(seconds_of(talk))
    return statistics.median(taken)


def rows() -> Iterator[Row]:
    """Measure everything."""
    for count in ARMS:
        yield from rounds_rows("arms", count, sphere(count, DIMENSION, seed=0))
    for d in DIMENSIONS:
        yield from rounds_rows("dimensions", d, sphere(COUNT, d, seed=0))
    for number in RUNS:
        study = Study(["lingape"], [INSTANCE], seeds=number)
        for jobs, workers in ((1, "one process"), (2, "two processes")):
            study.run(jobs=jobs)  # compile, and start the workers
            run = functools.partial(study.run, jobs=jobs)
            taken = fastest(functools.partial(seconds_of, run), repeats=3)
            yield {"grows": "runs", "x": number, "what": workers, "seconds": taken}


@style.styled
def growth_plot(rows: list[Row], grows: str) -> "Figure":
    """Draw seconds against what grows, both on logarithmic axes."""
    figure, axes = style.new_panel(style.WIDTH, 3.6)
    own = [row for row in rows if row["grows"] == grows]
    handles = []
    for number, what in enumerate(dict.fromkeys(row["what"] for row in own)):
        look = style.Look.of(number)
        points = [(row["x"], row["seconds"]) for row in own if row["what"] == what]
        axes.loglog(
            *zip(*points, strict=True),
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markersize=4.5,
            linewidth=1.4,
        )
        handles.append(style.key_of(what, look, line=True))
    axes.set_xlabel(AXES[grows])
    axes.set_ylabel("seconds" if grows == "runs" else "seconds per round")
    axes.grid(alpha=0.25)
    style.put_legend(figure, handles)
    return figure


@style.styled
def figure_1_plot(rows: list[Row]) -> "Figure":
    """Draw Figure 1 from the means of figure_1.py; standard errors are smaller than the marks."""
    figure, axes = style.new_panel(style.WIDTH, 3.6)
    handles = []
    for number, explorer in enumerate(dict.fromkeys(row["explorer"] for row in rows)):
        look = style.Look.of(number)
        points = [(row["d"], row["mean"]) for row in rows if row["explorer"] == explorer]
        axes.semilogy(
            *zip(*points, strict=True),
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markersize=4.5,
            linewidth=1.4,
        )
        handles.append(style.key_of(explorer, look, line=True))
    axes.set_xlabel("dimension d")
    axes.set_ylabel("mean pulls until settled")
    axes.grid(alpha=0.25)
    style.put_legend(figure, handles)
    return figure


def main() -> None:
    """Measure unless told not to, write JSON, and draw."""
    if "--draw" not in sys.argv[1:]:
        found: list[Row] = []
        for row in rows():
            print(row, flush=True)
            found.append(row)
        print(f"{provenance()}\nwritten to {record.write('growth', found)}")
    measured = record.read("growth")["rows"]
    for grows in AXES:
        plots.save(growth_plot(measured, grows), IMAGES / f"speed-{grows}.png")
    figure_1 = [*record.read("figure1-gpu")["rows"], *record.read("figure1-processor")["rows"]]
    plots.save(figure_1_plot(figure_1), IMAGES / "figure1-1000.png")


if __name__ == "__main__":
    main()
