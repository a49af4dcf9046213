"""Figure 3: samples against the number of arms, on real data (Section 7.2 and Appendix A)."""

from dataclasses import replace
from functools import partial
from typing import Any

from .. import plots
from ..arrays import FloatArray
from ..bounds import Mixture
from ..datasets.movielens import load_movielens
from ..datasets.r6a import load_r6a
from ..environments import Instance
from ..explorers import LinGapE, XYStatic
from ..problem import Problem
from ..study import Study
from . import settings
from .pages import (
    ERRATA,
    Claim,
    Page,
    PageOptions,
    as_csv,
    curve_table,
    mean,
    mean_curves,
    rises,
    wrong,
)

ARMS = (10, 20, 30, 40, 50)
# Appendix A. The noise is in fact 1-sub-Gaussian; S is the length of θ*, as in the authors' code.
SETTINGS: dict[str, Any] = {"noise": 2.0, "epsilon": 0.0, "delta": 0.05}
STATIC_RIDGE = 0.01
ENOUGH = 10


def lingape_tight(problem: Problem) -> LinGapE:
    """Return LinGapE with a tight bound and with R = 1, which is enough for rewards of ±1."""
    return LinGapE(problem.replace(noise=1.0), bound=Mixture())


def reproduce_figure_3(options: PageOptions) -> Page:
    """Return Figure 3, on R6A if it is given, else on MovieLens.

    options: how many runs, in how many processes; also as `lingape reproduce figure3`.

    It plays every run, which takes minutes even if `quick`::

        page = reproduce_figure_3(PageOptions(quick=True))
        for claim in page.claims:
            print(claim.says, claim.verdict)
    """
    data = load_movielens() if options.r6a is None else load_r6a(*options.r6a)
    numbers = (5, 10) if options.quick else ARMS
    instances = {data.sample(k, seed): k for k in numbers for seed in range(options.runs)}
    study = Study(
        {
            "LinGapE": settings.lingape,
            "XY-static": partial(XYStatic, bound=settings.PRINTED, ridge=STATIC_RIDGE),
            "LinGapE, tight": lingape_tight,
        },
        instances,
        seeds=1,
        max_pulls=200_000_000,
        world="signed",
        problem=SETTINGS,
        lane=options.lane,
    )
    rows = options.rows_of(study, "Figure 3")
    kind = "made-up" if options.synthetic else "real"
    # The runs for a number of arms count as one instance: each draws its own arms.
    arms = {instance.name: k for instance, k in instances.items()}
    grouped = [replace(row, instance=f"{arms[row.instance]} arms") for row in rows]
    place = {f"{k} arms": k for k in numbers}
    means = mean_curves(grouped, place)
    adaptive = _adaptive(options, instances, means)
    return Page(
        name="figure3",
        title=f"Figure 3: samples against the number of arms, on {kind} data",
        about=(
            f"Data: {data.name} ({data.rows}). Mean pulls until settled over {options.runs} draws "
            "of arms, one run each: rewards ±1, R = 2, Δ ≥ 0.05. The paper prints this figure, "
            'for Yahoo! R6A, without numbers. "LinGapE, tight" is ours: Mixture, and R = 1, which '
            f"is enough for rewards of ±1 ({ERRATA}, row 25)."
        ),
        table=curve_table("arms", grouped, place),
        claims=_claims(means, data.means, adaptive),
        rows=as_csv(rows, arms=lambda row: arms[row.instance]),
        draw=lambda: plots.stopping_curve(grouped, place, xlabel="number of arms K"),
        notes=[wrong(rows), *_about_data(options)],
    )


def _adaptive(
    options: PageOptions,
    instances: dict[Instance, int],
    means: dict[float, dict[str, float]],
) -> dict[float, float]:
    """Return the mean pulls of XY-adaptive for few arms, as multiples of XY-static's.

    It is stopped at ENOUGH times the samples of XY-static.
    """
    found = {}
    for k in sorted(means)[:2]:
        study = Study(
            {"XY-adaptive": partial(settings.xy_adaptive, ridge=STATIC_RIDGE)},
            [instance for instance, number in instances.items() if number == k],
            seeds=1,
            max_pulls=round(ENOUGH * means[k]["XY-static"]),
            world="signed",
            problem=SETTINGS,
            lane=options.lane,
        )
        rows = options.rows_of(study, f"Figure 3, XY-adaptive, {k} arms")
        found[k] = mean(rows, "XY-adaptive") / means[k]["XY-static"]
    return found


def _claims(
    means: dict[float, dict[str, float]], means_of_rows: FloatArray, adaptive: dict[float, float]
) -> list[Claim]:
    numbers = sorted(means)
    ratio = {k: of["XY-static"] / of["LinGapE"] for k, of in means.items()}
    low, high = min(ratio.values()), max(ratio.values())
    return [
        Claim(
            "LinGapE is several times better than XY-static",
            low > 2,
            f"XY-static needs {low:.1f} to {high:.1f} times the samples.",
        ),
        Claim(
            "The factor is roughly five",
            low > 3.3 and high < 7.5,
            f"from {low:.1f} to {high:.1f}.",
        ),
        Claim(
            "The factor grows with the number of arms",
            rises([ratio[k] for k in numbers]),
            f"it is {', '.join(f'{ratio[k]:.1f} with {k} arms' for k in numbers)}.",
        ),
        Claim(
            "xᵀθ* lies between -1 and 1 for all features in the data",
            bool(means_of_rows.min() >= -1 and means_of_rows.max() <= 1),
            f"from {means_of_rows.min():.3f} to {means_of_rows.max():.3f}.",
        ),
        Claim(
            "XY-adaptive is at least five times worse than XY-static",
            min(adaptive.values()) >= 5,
            ", ".join(
                f"{ratio:.1f} times as many pulls with {k} arms" for k, ratio in adaptive.items()
            )
            + f" (runs were stopped at {ENOUGH} times XY-static's mean).",
        ),
    ]


def _about_data(options: PageOptions) -> list[str]:
    if options.r6a is not None:
        return []
    return [
        "MovieLens-100k replaces Yahoo! R6A, which may not be redistributed: "
        "`lingape reproduce figure3 --r6a FILE` uses it where you have it. A reward is +1 for a "
        "rating of 4 or 5; features are 6 of the user times 6 of the film."
    ]
