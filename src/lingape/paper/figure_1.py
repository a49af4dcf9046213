"""Figure 1: samples against the dimension, where an adaptive strategy is suitable."""

from .. import plots
from ..environments import soare
from ..runs import run
from ..study import Study
from . import settings
from .pages import (
    ERRATA,
    PROOFS,
    Claim,
    Page,
    PageOptions,
    as_csv,
    curve_table,
    mean_curves,
    rises,
    wrong,
)

ANGLE = 0.01
FOUR = ("LinGapE", "XY-static", "XY-adaptive", "XY-oracle")


def reproduce_figure_1(options: PageOptions) -> Page:
    """Return Figure 1: d = 2…10, four algorithms.

    options: how many runs, in how many processes; also as `lingape reproduce figure1`.

    It plays every run, which takes minutes even if `quick`::

        page = reproduce_figure_1(PageOptions(quick=True))
        for claim in page.claims:
            print(claim.says, claim.verdict)
    """
    dimensions = (2, 3, 5) if options.quick else tuple(range(2, 11))
    instances = {soare(d, ANGLE): d for d in dimensions}
    study = Study(
        {
            "LinGapE": settings.lingape,
            "XY-static": settings.xy_static,
            "XY-adaptive": settings.xy_adaptive,
            "XY-oracle": settings.xy_oracle,
            "LinGapE, tight": settings.lingape_tight,
        },
        instances,
        seeds=options.runs,
        max_pulls=1_000_000_000,
        problem=settings.SYNTHETIC,
        lane=options.lane,
    )
    rows = options.rows_of(study, "Figure 1")
    place = {instance.name: d for instance, d in instances.items()}
    return Page(
        name="figure1",
        title="Figure 1: samples against the dimension",
        about=(
            f"Soare's instance at angle {ANGLE}: mean pulls until settled over "
            f"{len(study.seeds)} runs. The paper prints this figure without numbers. "
            f'"LinGapE, tight" is ours: the same algorithm with Mixture ({PROOFS}).'
        ),
        table=curve_table("d", rows, place),
        claims=_claims(mean_curves(rows, place)),
        rows=as_csv(rows, d=lambda row: place[row.instance]),
        draw=lambda: plots.stopping_curve(rows, place, xlabel="dimension d"),
        notes=[wrong(rows)],
    )


def _claims(means: dict[float, dict[str, float]]) -> list[Claim]:
    dimensions = sorted(means)
    first, last = dimensions[0], dimensions[-1]
    advantage = {d: of["XY-static"] / of["LinGapE"] for d, of in means.items()}
    lead = {d: of["XY-oracle"] / of["LinGapE"] for d, of in means.items()}
    slower = {d: of["XY-adaptive"] / of["XY-static"] for d, of in means.items()}
    best = all(min(of[name] for name in FOUR) == of["LinGapE"] for of in means.values())
    phases = _phases_of_adaptive(5)
    pair = [n for n, arms in enumerate(phases, start=1) if len(arms) == 2]
    return [
        Claim(
            "LinGapE needs the fewest samples of the four",
            best,
            f"the next best, XY-oracle, needs {min(lead.values()):.1f} to "
            f"{max(lead.values()):.1f} times as many.",
        ),
        Claim(
            "LinGapE beats XY-oracle",
            min(lead.values()) > 1,
            f"by a factor of {min(lead.values()):.1f} at least; this comes from a factor in the "
            f"oracle's bound that it does not need ({ERRATA}, row 8).",
        ),
        Claim(
            "The advantage over XY-static grows with d",
            rises([advantage[d] for d in dimensions]),
            f"XY-static needs {advantage[first]:.1f} times the samples of LinGapE at d = {first} "
            f"and {advantage[last]:.1f} times at d = {last}.",
        ),
        Claim(
            "XY-adaptive is no better than XY-static, indeed much worse",
            min(slower.values()) > 1,
            f"it needs {min(slower.values()):.1f} to {max(slower.values()):.1f} times as many.",
        ),
        Claim(
            "XY-adaptive finds {1, d+1} in the first few phases, and forgets",
            bool(pair) and pair[0] <= 4 and len(phases[-1]) == 6,
            f"at d = 5 two arms are in play in phases {', '.join(map(str, pair))} of "
            f"{len(phases)}, and all six in the last.",
        ),
    ]


def _phases_of_adaptive(d: int) -> list[list[int]]:
    """Return the arms in play in each phase of a run of XY-adaptive."""
    instance = soare(d, ANGLE)
    explorer = settings.xy_adaptive(settings.synthetic_problem(instance))
    run(explorer, instance.gaussian(), max_pulls=1_000_000_000)
    return explorer.history
