"""Figure 2: samples against the gap, where a static strategy is optimal."""

from itertools import pairwise

from .. import plots
from ..environments import canonical
from ..study import Study
from . import settings
from .pages import (
    PROOFS,
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

K = 5
GAPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
MUCH = 20  # times the samples of XY-static after which XY-adaptive may stop


def reproduce_figure_2(options: PageOptions) -> Page:
    """Return Figure 2: canonical arms, K = d = 5.

    options: how many runs, in how many processes; also as `lingape reproduce figure2`.

    It plays every run, which takes minutes even if `quick`::

        page = reproduce_figure_2(PageOptions(quick=True))
        for claim in page.claims:
            print(claim.says, claim.verdict)
    """
    gaps = (0.1, 0.3, 0.5) if options.quick else GAPS
    instances = {canonical(K, gap): gap for gap in gaps}
    study = Study(
        {
            "LinGapE": settings.lingape,
            "XY-static": settings.xy_static,
            "LinGapE, tight": settings.lingape_tight,
        },
        instances,
        seeds=options.runs,
        max_pulls=1_000_000_000,
        problem=settings.SYNTHETIC,
        lane=options.lane,
    )
    rows = options.rows_of(study, "Figure 2")
    adaptive = []
    for instance in instances:  # on these arms it may never stop
        limited = Study(
            {"XY-adaptive": settings.xy_adaptive},
            [instance],
            seeds=options.runs,
            max_pulls=round(MUCH * mean(rows, "XY-static", instance.name)),
            problem=settings.SYNTHETIC,
            lane=options.lane,
        )
        adaptive += options.rows_of(limited, f"Figure 2, XY-adaptive on {instance.name}")
    everyone = rows + adaptive
    place = {instance.name: gap for instance, gap in instances.items()}
    return Page(
        name="figure2",
        title="Figure 2: samples against the gap Δ",
        about=(
            f"Canonical arms, K = d = {K}, one better than the others by Δ: mean pulls until "
            f"settled over {options.runs} runs. The paper prints this figure without numbers. "
            f"XY-adaptive, which the paper does not plot, is stopped at {MUCH} times the samples "
            f'of XY-static. "LinGapE, tight" is ours ({PROOFS}).'
        ),
        table=curve_table("Δ", everyone, place, digits=2),
        claims=_claims(mean_curves(everyone, place)),
        rows=as_csv(everyone, gap=lambda row: place[row.instance]),
        draw=lambda: plots.stopping_curve(
            rows, place, xlabel="gap Δ between the best arm and the others"
        ),
        notes=[wrong(everyone)],
    )


def _claims(means: dict[float, dict[str, float]]) -> list[Claim]:
    gaps = sorted(means)
    ratio = {gap: of["XY-static"] / of["LinGapE"] for gap, of in means.items()}
    difference = {gap: of["XY-static"] - of["LinGapE"] for gap, of in means.items()}
    slower = {gap: of["XY-adaptive"] / of["XY-static"] for gap, of in means.items()}
    listed = ", ".join(f"{ratio[gap]:.2f} at Δ = {gap:g}" for gap in gaps)
    widening = all(difference[a] > difference[b] for a, b in pairwise(gaps))
    return [
        Claim(
            "LinGapE needs fewer samples than XY-static, although static is nearly optimal here",
            min(ratio.values()) > 1,
            f"XY-static needs {min(ratio.values()):.2f} to {max(ratio.values()):.2f} times as "
            "many.",
        ),
        Claim(
            "The difference grows as Δ → 0",
            widening,
            f"XY-static takes {difference[gaps[-1]]:,.0f} pulls more at Δ = {gaps[-1]:g} and "
            f"{difference[gaps[0]]:,.0f} more at Δ = {gaps[0]:g}.",
        ),
        Claim(
            "So does the ratio (a stronger reading of the same sentence)",
            rises([ratio[gap] for gap in reversed(gaps)]),
            f"it is {listed}.",
        ),
        Claim(
            "XY-adaptive is at least five times worse than XY-static",
            min(slower.values()) >= 5,
            f"it takes at least {min(slower.values()):.1f} times as many pulls.",
        ),
    ]
