"""How fast is it, beside yardsticks of the same minute, and the last figures? `make bench`

The last figures are those in results/speed.json, which are overwritten.
"""

from dataclasses import asdict
from itertools import chain

from benchmarks import record
from benchmarks.million import million_figures
from benchmarks.rounds import asked_figures, compiled_figures, large_figures
from benchmarks.studies import study_figures
from benchmarks.timing import Figure
from lingape.printable import markdown_table
from lingape.provenance import provenance

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def shown(value: float, *, share: bool) -> str:
    """Return a figure as text, with three digits.

    >>> shown(2.5e-4, share=False), shown(0.957, share=True)
    ('250 µs', '0.957')
    """
    unit, name = 1.0, ""
    if not share:
        unit, name = next((pair for pair in UNITS if value >= pair[0]), UNITS[-1])
    return f"{value / unit:.3g} {name}".strip()


def table(figures: list[Figure], last: dict[str, float], commit: str) -> str:
    """Return the figures as Markdown, beside the last ones."""
    lines = [["what", "now", f"at {commit}", "that is"]]
    for figure in figures:
        before = last.get(figure.what)
        lines.append(
            [
                figure.what,
                shown(figure.value, share=figure.share),
                "" if before is None else shown(before, share=figure.share),
                "; ".join(f"{ratio:,.1f} {name}" for name, ratio in figure.beside.items()),
            ]
        )
    return markdown_table(lines, "lrrl")


def main() -> None:
    """Measure everything, print a table and write the figures as JSON."""
    before = record.read("speed")
    last = {row["what"]: row["value"] for row in before["rows"]}
    figures = list(
        chain(
            compiled_figures(),
            large_figures(),
            asked_figures(),
            million_figures(),
            study_figures(),
        )
    )
    print(table(figures, last, before["commit"]))
    written = record.write("speed", [asdict(figure) for figure in figures])
    print(f"\n{provenance()}\nwritten to {written}")


if __name__ == "__main__":
    main()
