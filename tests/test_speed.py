"""Figures of speed: docs/speed.md shows what was recorded last."""

from pathlib import Path

import pytest

pytest.importorskip("fcntl")  # which the benchmarks need

from benchmarks import gpu, record, speed
from benchmarks.timing import Figure

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")


def cells_of(text):
    """Return the rows of all tables in Markdown, by what is in their first column."""
    lines = [line[1:-1].split("|") for line in text.splitlines() if line.startswith("|")]
    return {line[0].strip(): [cell.strip() for cell in line[1:]] for line in lines}


def rows_of(table):
    """Return those of a table that has just been made, without the figures before."""
    found = list(cells_of(table).items())[2:]  # after the head and a line of dashes
    return {what: [now, beside] for what, (now, _, beside) in found}


def figures_on_processors():
    """Return the table of `make bench`, and the commit."""
    recorded = record.read("speed")
    figures = [Figure(**row) for row in recorded["rows"]]
    return rows_of(speed.table(figures, {}, "")), recorded["commit"]


def figures_on_gpus():
    """Return the table of `make bench-gpu`, and the commit."""
    recorded, before = record.read("gpu"), {"rows": [], "commit": ""}
    return rows_of(gpu.table(recorded["rows"], before, record.read("speed"))), recorded["commit"]


@pytest.mark.parametrize("recorded", [figures_on_processors, figures_on_gpus])
def test_the_page_shows_what_was_recorded(recorded):
    found, commit = recorded()
    shown = cells_of(PAGE)
    assert len(found) > 5
    assert {what: shown.get(what) for what in found} == found
    assert f"commit {commit}" in PAGE


def test_last_figures_and_yardsticks_stand_beside_new_ones():
    what = "K=6, d=5, Race"
    last = {"commit": "abc1234", "rows": [{"what": what, "rounds a second": 2e8}]}
    core = {"rows": [{"what": f"compiled, {what}", "value": 5e-8}]}
    rows = [{"what": what, "rounds a second": 4e8}, {"what": "new", "rounds a second": 1e9}]
    found = cells_of(gpu.table(rows, last, core))
    assert found["what"] == ["rounds a second", "at abc1234", "times one core"]
    assert found[what] == ["4.00e+08", "2.00e+08", "20"]
    assert found["new"] == ["1.00e+09", "", ""]


def test_without_a_gpu_its_benchmark_ends_with_one_sentence(monkeypatch):
    from benchmarks.gpu_workers import gpu_or_exit

    pytest.importorskip("numba_cuda")
    monkeypatch.setattr("numba.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit, match="The GPU lane needs an NVIDIA GPU"):
        gpu_or_exit()
