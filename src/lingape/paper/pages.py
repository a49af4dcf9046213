"""What a reproduction writes: a figure, the rows as CSV, and a page of claims."""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import plots
from ..printable import markdown_list, markdown_table
from ..provenance import stamp
from ..study import Row, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROOFS = "https://lingape.github.io/lingape/bounds.html"
ERRATA = "https://lingape.github.io/lingape/project/errata.html"


@dataclass(frozen=True)
class PageOptions:
    """How to reproduce.

    repeats: runs of each kind; the paper's ten.
    jobs: parallel processes.
    lane: "gpu" for a GPU, as for Study.
    quick: fewer runs on fewer instances, as a quick check.
    tell: called with progress messages.
    r6a: Yahoo's log, for Figure 3; MovieLens is used instead if None.
    synthetic: whether that log is made up.

    >>> from lingape.paper import PageOptions
    >>> PageOptions(quick=True).runs, PageOptions(repeats=100).runs
    (2, 100)
    """

    repeats: int = 10
    jobs: int = -1
    lane: Literal["auto", "gpu"] = "auto"
    quick: bool = False
    tell: Callable[[str], None] = lambda text: None
    r6a: tuple[Path, ...] | None = None
    synthetic: bool = False

    @property
    def runs(self) -> int:
        """How many runs of each kind there will be."""
        return min(2, self.repeats) if self.quick else self.repeats

    def rows_of(self, study: Study, title: str) -> list[Row]:
        """Run a study."""
        return study.run(jobs=self.jobs, progress=lambda pace: self.tell(f"{title}: {pace}")).rows


@dataclass(frozen=True)
class Claim:
    """A statement of the paper's Section 7, and whether it holds.

    says: the statement.
    holds: whether it does, in these runs.
    by: how much, in numbers.

    >>> from lingape.paper import Claim
    >>> Claim("LinGapE needs fewer samples than XY-static", True, "3.1 times fewer.").verdict
    'holds'
    """

    says: str
    holds: bool
    by: str

    @property
    def verdict(self) -> str:
        """Whether it holds, in words."""
        return "holds" if self.holds else "does not hold"


@dataclass(frozen=True, eq=False)
class Page:
    """A table or figure of the paper, reproduced.

    name: of the files, such as "table1".
    title: of the page.
    about: what was run, in sentences.
    table: rows of cells; the first row is the heading.
    claims: what the paper says of it.
    rows: for the CSV: every run.
    draw: returns the figure.
    notes: what else there is to say.

    >>> from lingape import plots
    >>> from lingape.paper import Claim, Page
    >>> page = Page(
    ...     name="gap",
    ...     title="Samples against the gap",
    ...     about="Mean pulls over 2 runs.",
    ...     table=[["gap", "LinGapE"], ["0.5", "410"]],
    ...     claims=[Claim("Fewer samples than XY-static", True, "2.0 times fewer.")],
    ...     rows=[{"explorer": "LinGapE", "seed": 0, "pulls": 410}],
    ...     draw=lambda: plots.distribution({"LinGapE": [410, 380]}),
    ... )
    >>> page.markdown("lingape reproduce gap").splitlines()[0]
    '# Samples against the gap'
    """

    name: str
    title: str
    about: str
    table: list[list[str]]
    claims: list[Claim]
    rows: list[dict[str, Any]]
    draw: "Callable[[], Figure]"
    notes: list[str] = field(default_factory=list)

    def markdown(self, command: str) -> str:
        """Return the page as Markdown."""
        blocks = [
            f"# {self.title}",
            self.about,
            f"![{self.title}]({self.name}.png)",
            markdown_table(self.table, "lr"),
            "## What the paper says of it",
            markdown_list(
                f"{claim.says} — **{claim.verdict}**: {claim.by}" for claim in self.claims
            ),
            *(["## Notes", markdown_list(self.notes)] if self.notes else []),
            f"(`{command}`, {stamp()}; every run is in [{self.name}.csv]({self.name}.csv))",
        ]
        return "\n\n".join(blocks) + "\n"

    def write(self, folder: Path, command: str) -> list[Path]:
        """Write figure, CSV and page into a folder, and return the files."""
        folder.mkdir(exist_ok=True)
        table, page = folder / f"{self.name}.csv", folder / f"{self.name}.md"
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)
        page.write_text(self.markdown(command), encoding="utf-8")
        return [page, table, *plots.save(self.draw(), folder / self.name)]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "name": self.name,
            "title": self.title,
            "table": self.table,
            "claims": [vars(claim) for claim in self.claims],
            "notes": self.notes,
        }


def as_csv(rows: Iterable[Row], **columns: Callable[[Row], Any]) -> list[dict[str, Any]]:
    """Return rows for the CSV, with columns of an experiment's own."""
    same = ("explorer", "instance", "seed", "arm", "correct", "pulls", "ending")
    return [
        {name: value(row) for name, value in columns.items()}
        | {name: getattr(row, name) for name in same}
        | {"counts": " ".join(map(str, row.counts))}
        for row in rows
    ]


def mean(rows: Iterable[Row], explorer: str, instance: str | None = None) -> float:
    """Return the mean pulls of an explorer, on one instance or all."""
    pulls = [
        row.pulls for row in rows if row.explorer == explorer and instance in (None, row.instance)
    ]
    return sum(pulls) / len(pulls)


def mean_curves(rows: list[Row], place: Mapping[str, float]) -> dict[float, dict[str, float]]:
    """Return each explorer's mean pulls by the instances' places on the axis of a figure."""
    explorers = dict.fromkeys(row.explorer for row in rows)
    return {
        x: {explorer: mean(rows, explorer, instance) for explorer in explorers}
        for instance, x in place.items()
    }


def curve_table(
    head: str, rows: list[Row], place: Mapping[str, float], *, digits: int = 1
) -> list[list[str]]:
    """Return the numbers behind a figure, and how XY-static compares with LinGapE."""
    cut = {(row.explorer, row.instance) for row in rows if not row.settled}
    means = mean_curves(rows, place)
    table = [[head, *next(iter(means.values())), "XY-static / LinGapE"]]
    for instance, x in place.items():
        cells = [
            f"{'≥ ' if (explorer, instance) in cut else ''}{pulls:,.0f}"
            for explorer, pulls in means[x].items()
        ]
        ratio = means[x]["XY-static"] / means[x]["LinGapE"]
        table.append([f"{x:g}", *cells, f"{ratio:.{digits}f}"])
    return table


def rises(values: list[float]) -> bool:
    """Whether values rise from the first to the last, up to noise: in four of five pairs."""
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    return values[-1] > values[0] and sum(a < b for a, b in pairs) >= 0.8 * len(pairs)


def wrong(rows: Iterable[Row]) -> str:
    """Return a sentence on how many runs ended on a wrong arm."""
    listed = list(rows)
    errors = [row for row in listed if row.settled and not row.correct]
    cut = sum(not row.settled for row in listed)
    by = ", ".join(sorted({f"{row.explorer} on {row.instance}" for row in errors}))
    return (
        f"{len(errors)} of {len(listed)} runs ended on a wrong arm"
        + (f" ({by})" if by else "")
        + (f"; {cut} were stopped at the limit." if cut else ".")
    )
