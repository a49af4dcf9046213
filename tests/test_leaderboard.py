"""The standing comparison: it runs, reads its own results fairly, and notices regressions."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from lingape import BUDGET_EXPLORERS, EXPLORERS, Study
from lingape.cli import main
from lingape.leaderboard import Board, BoardOptions
from lingape.study import Cell, Duel, mean_ratio
from lingape.testing import errors_allowed


def test_a_short_one(tmp_path):
    result = CliRunner().invoke(
        main,
        [
            "leaderboard",
            "--quick",
            "--seeds",
            "2",
            "--max-pulls",
            "3000",
            "--out",
            tmp_path,
            "--json",
        ],
    )
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert set(EXPLORERS) <= {cell["explorer"] for cell in data["confidence"]}
    assert len(data["budget"]) == len(BUDGET_EXPLORERS)
    assert set(EXPLORERS) <= set(data["rounds_a_second"])
    for kind in ("md", "csv", "png", "svg"):
        assert (tmp_path / f"leaderboard.{kind}").stat().st_size > 1000
    page = (tmp_path / "leaderboard.md").read_text("utf-8")
    overall = data["duels"]["overall"]
    assert [(item["delta"], item["world"], item["instances"]) for item in overall] == [
        (0.05, "gaussian", 2),
        (0.05, "zero_one", 1),
        (0.001, "gaussian", 2),
        (0.001, "zero_one", 1),
    ]
    assert [item["cut"] for item in overall] == [False, True, False, True]
    assert len(data["duels"]["instances"]) == 6
    assert "## Race against LinGapE" in page
    assert "### δ = 0.001" in page
    for name in [*EXPLORERS, *BUDGET_EXPLORERS]:
        assert f"| {name}" in page


def cell(explorer, instance, mean, error=1.0, unfinished=0):
    return Cell(explorer, instance, 10, unfinished, mean, error, 0, 0.0, 0.0, 0.3, 50.0, mean / 50)


def board(*cells):
    return Board(BoardOptions(), list(cells), [], [], {})


def test_it_says_where_lingape_loses():
    found = board(
        cell("lingape", "a", 100.0),
        cell("rage", "a", 90.0),
        cell("lingape", "b", 100.0),
        cell("rage", "b", 99.0),  # within the noise
        cell("alba", "a", 10.0, unfinished=3),  # cut short
        cell("xy_oracle", "a", 1.0),  # is told θ
        cell("lingape", "c", 1000.0, unfinished=2),
        cell("rage", "c", 900.0),
        cell("frank_wolfe_sampling", "c", 999.0),  # within the noise
    )
    assert found.lost() == [
        "a: rage needs 90 samples, lingape 100.",
        "c: rage needs 900 samples, lingape ≥ 1,000.",
    ]
    assert found.everywhere_better() == ["rage"]
    assert "loses" in found.markdown("x")


def test_it_says_if_no_explorer_is_better():
    found = board(cell("lingape", "a", 100.0), cell("rage", "a", 200.0))
    assert found.lost() == []
    assert found.everywhere_better() == []
    assert "No explorer with a proof needs clearly fewer samples" in found.markdown("x")


def duel(race, lingape, instance="a"):
    pulls = [np.array(side, dtype=float) for side in (race, lingape)]
    sides = [
        cell(name, instance, side.mean())
        for name, side in zip(("race", "lingape"), pulls, strict=True)
    ]
    return Duel("gaussian", 0.05, *sides, *pulls)


def test_ratios_of_duels():
    rng = np.random.default_rng(0)
    lingape = rng.gamma(4.0, 50.0, size=(2, 4000))
    luck = rng.gamma(4.0, 0.25, size=(2, 4000))
    duels = [duel(0.3 * lingape[0] * luck[0], lingape[0]), duel(1.2 * lingape[1], lingape[1], "b")]
    one, exact, both = mean_ratio(duels[:1]), mean_ratio(duels[1:]), mean_ratio(duels)
    assert one.low < 0.3 < one.high
    assert one.high / one.low < 1.1
    assert exact == pytest.approx((1.2, 1.2, 1.2))  # the pairs have the same luck
    assert both.value == pytest.approx(math.sqrt(one.value * 1.2))
    assert math.log(both.high / both.low) == pytest.approx(math.log(one.high / one.low) / 2)


def test_intervals_of_ratios_cover():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        race, lingape = 0.5 * rng.gamma(4.0, 50.0, size=100), rng.gamma(4.0, 50.0, size=100)
        ratio = mean_ratio([duel(race, lingape)])
        covered += ratio.low < 0.5 < ratio.high
    assert 0.91 < covered / 400 < 0.98


def test_the_page_has_the_duels():
    found = Board(BoardOptions(), [], [], [], {}, duels=[duel([40, 60], [90, 110])])
    page = found.markdown("x")
    assert "| 0.05 | Gaussian noise |         1 | 0.500 (" in page
    assert "race: pulls" in page
    data = found.to_dict()["duels"]
    assert data["overall"][0]["ratio"]["value"] == pytest.approx(0.5)
    assert data["instances"][0]["tails"] == pytest.approx({"race": 1.196, "lingape": 1.098})


# Mean and standard deviation of the pulls over 400 seeds, of explorers as they are meant to be:
# `python tests/test_leaderboard.py` prints them.
REFERENCE = {
    ("lingape", "soare(5, 0.1)"): (1764, 934),
    ("lingape(pull=tracking)", "soare(5, 0.1)"): (1752, 960),
    ("lingape(elimination=sample)", "soare(5, 0.1)"): (1714, 899),
    ("lin_game", "soare(5, 0.1)"): (4019, 1970),
    ("frank_wolfe_sampling", "soare(5, 0.1)"): (1831, 930),
    ("lin_t3c", "soare(5, 0.1)"): (3599, 1428),
    ("lin_gifa", "soare(5, 0.1)"): (1739, 901),
    ("lazy_track_and_stop", "soare(5, 0.1)"): (1787, 941),
    ("rage", "soare(5, 0.1)"): (6715, 3487),
    ("lingape", "canonical(5, 0.5)"): (827, 239),
    ("lingape(pull=tracking)", "canonical(5, 0.5)"): (827, 239),
    ("lingape(elimination=sample)", "canonical(5, 0.5)"): (819, 238),
    ("lin_game", "canonical(5, 0.5)"): (924, 269),
    ("frank_wolfe_sampling", "canonical(5, 0.5)"): (921, 241),
    ("lin_t3c", "canonical(5, 0.5)"): (951, 255),
    ("lin_gifa", "canonical(5, 0.5)"): (836, 240),
    ("lazy_track_and_stop", "canonical(5, 0.5)"): (1493, 603),
    ("rage", "canonical(5, 0.5)"): (1948, 980),
}


@pytest.mark.parametrize(("explorer", "instance"), REFERENCE)
def test_no_explorer_got_worse(explorer, instance):
    """With 60 seeds the mean is within four standard errors of what it was, or better."""
    mean, deviation = REFERENCE[explorer, instance]
    results = Study([explorer], [instance], seeds=range(1000, 1060), max_pulls=200_000).run(jobs=1)
    pulls = np.array([row.pulls for row in results.rows])
    assert all(row.settled for row in results.rows)
    assert pulls.mean() <= mean + 4 * deviation * math.sqrt(1 / 60 + 1 / 400)


def _ratios(instances, seeds):
    results = Study(["lingape"], instances, seeds=seeds).run(jobs=1)
    return {cell.instance: cell.ratio for cell in results.summary()}


def test_the_recommended_explorer_is_near_the_lower_bound():
    """LinGapE as it comes: 3 times the lower bound on Soare's instance, 5 on canonical arms."""
    soare = _ratios([f"soare({d}, 0.01)" for d in (2, 5, 10)], seeds=25)
    assert max(soare.values()) < 3
    canonical = _ratios([f"canonical(5, {gap})" for gap in (0.1, 0.2, 0.5)], seeds=40)
    assert max(canonical.values()) < 5


@pytest.mark.slow
def test_it_is_near_the_lower_bound_everywhere():
    soare = _ratios([f"soare({d}, 0.01)" for d in range(2, 11)], seeds=100)
    assert max(soare.values()) < 3, soare
    gaps = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    canonical = _ratios([f"canonical(5, {gap})" for gap in gaps], seeds=200)
    assert max(canonical.values()) < 5, canonical


@pytest.mark.slow
@pytest.mark.parametrize(
    "explorer",
    ["lin_game", "frank_wolfe_sampling", "lin_t3c", "lin_gifa", "lazy_track_and_stop", "rage"],
)
def test_others_claim_no_difference_between_tied_arms(explorer):
    """Which of two equal arms is better may be claimed in a share δ of runs at most."""
    instances = ["soare_tied(5, 0.1)", "soare_tied(2, 0.02)"]
    rows = Study([explorer], instances, seeds=200, max_pulls=50_000).run().rows
    assert sum(row.settled for row in rows) <= errors_allowed(len(rows), 0.05)


if __name__ == "__main__":
    for explorer, instance in REFERENCE:
        rows = Study([explorer], [instance], seeds=400, max_pulls=200_000).run().rows
        pulls = np.array([row.pulls for row in rows])
        print(explorer, instance, round(pulls.mean()), round(pulls.std(ddof=1)))
