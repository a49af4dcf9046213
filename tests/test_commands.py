"""The commands about simulations, as users type them."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from lingape import Problem, soare
from lingape.cli import main
from lingape.cli.reproduce import NAMES
from lingape.errors import InvalidArgument
from lingape.forecast import Forecast, forecast, from_gap, from_prior
from lingape.paper import EXPERIMENTS
from lingape.study import Row


def lingape(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt(tmp_path / "arms.csv", soare(3, 0.3).arms, delimiter=",")
    return tmp_path


def assert_refused(result, words, status=None):
    assert result.exit_code != 0
    assert status is None or result.exit_code == status
    assert words in result.output
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


class TestCompare:
    def test_table(self, here):
        result = lingape(
            "compare", "-i", "soare(3, 0.3)", "-e", "lingape", "-e", "uniform", "--seeds", 3
        )
        assert result.exit_code == 0, result.output
        assert "| lingape | soare(3, 0.3) | 3 |" in result.output
        assert "| uniform | soare(3, 0.3) | 3 |" in result.output

    def test_own_arms_rows_and_plot(self, here):
        arguments = ["compare", "--arms", "arms.csv", "--theta", "2,0,0", "-e", "lingape"]
        arguments += ["--seeds", 2, "--out", "rows.jsonl", "--plot", "times"]
        result = lingape(*arguments)
        assert result.exit_code == 0, result.output
        assert len((here / "rows.jsonl").read_text().splitlines()) == 3
        assert (here / "times.png").stat().st_size > 1000
        assert (here / "times.svg").exists()
        assert_refused(lingape(*arguments), "exists")
        assert lingape(*arguments, "--resume").exit_code == 0
        more = lingape(*arguments, "--resume", "--seeds", 4)
        assert "| lingape | arms.csv | 4 |" in more.output
        assert len((here / "rows.jsonl").read_text().splitlines()) == 5
        other = lingape(*arguments, "--resume", "--max-pulls", 5000)
        assert_refused(other, "another study: it has --max-pulls 10000000, now 5000")

    def test_json(self, here):
        result = lingape("compare", "-i", "canonical(3, 0.8)", "--seeds", 2, "--json")
        data = json.loads(result.output)
        assert len(data["rows"]) == 6
        assert len(data["summary"]) == 3
        assert data["summary"][0]["ratio"] > 1

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["-e", "lingap"], "No explorer is called 'lingap'"),
            (["-i", "soare(1)"], "d must be a whole number from 2"),
            (["--arms", "arms.csv"], "go together"),
            (["--arms", "arms.csv", "--theta", "1"], "--theta (θ) must be 3 numbers"),
            (["--arms", "none.csv", "--theta", "1"], "does not exist"),
            (["--delta", "0"], "delta"),
            (["--resume"], "--out"),
            (["--world", "flat"], "gaussian, signed"),
            (["--max-pulls", "0"], "--max-pulls must be"),
            (["--out", "no/such/folder/rows.jsonl"], "there is no folder 'no/such/folder'"),
        ],
    )
    def test_mistakes(self, here, arguments, words):
        assert_refused(lingape("compare", "--seeds", 1, "--jobs", 1, *arguments), words)


class TestSimulate:
    def test_a_study_file(self, here):
        (here / "study.toml").write_text(
            'seeds = 2\nexplorers = ["lingape"]\n'
            'instances = [{arms = "arms.csv", theta = [2, 0, 0]}]\n'
        )
        result = lingape("simulate", "study.toml")
        assert result.exit_code == 0, result.output
        assert "| lingape | arms.csv | 2 |" in result.output
        assert (here / "study.jsonl").exists()
        again = lingape("simulate", "study.toml", "--resume", "--json")
        assert len(json.loads(again.output)["rows"]) == 2

    def test_mistakes(self, here):
        (here / "study.toml").write_text("seeds = ")
        assert_refused(lingape("simulate", "study.toml"), "cannot be read as TOML")


class TestPlan:
    def test_gap(self, here):
        result = lingape("plan", "arms.csv", "--gap", 0.3, "--draws", 6)
        assert result.exit_code == 0, result.output
        assert "If the best arm leads by 0.3" in result.output
        assert "lingape(bound=self-normalized)" in result.output
        assert (here / "arms.plan.png").exists()

    def test_prior_as_json(self, here):
        arguments = ["plan", "arms.csv", "--prior-scale", 1, "--draws", 8, "-e", "lingape"]
        data = json.loads(lingape(*arguments, "--max-pulls", 2000, "--json").output)
        (cost,) = data["costs"]
        few, half = cost["quantiles"]["0.1"], cost["quantiles"]["0.5"]
        assert half is None or few <= half
        assert 0 < cost["settled"] <= 1

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "--gap (the least that matters) or --prior-scale"),
            (["--gap", 1, "--prior-scale", 1], "--gap"),
            (["--gap", -1], "above 0"),
            (["--prior-scale", "nan"], "above 0"),
            (["--gap", 1, "--draws", 0], "--draws"),
            (["--gap", 1, "-e", "xy"], "No explorer"),
        ],
    )
    def test_mistakes(self, here, arguments, words):
        assert_refused(lingape("plan", "arms.csv", *arguments), words)


class TestForecast:
    def test_gaps_are_as_supposed(self):
        problem = Problem(soare(3, 0.3).arms)
        for instance in from_gap(problem, gap=0.25, draws=20):
            means = np.sort(instance.arms @ instance.theta)
            assert means[-1] - means[-2] == pytest.approx(0.25)

    def test_duplicates_are_no_rivals(self):
        problem = Problem([[1, 0], [1, 0], [0, 1]])
        for instance in from_gap(problem, gap=0.5, draws=10):
            means = instance.arms @ instance.theta
            assert abs(means[0] - means[2]) == pytest.approx(0.5)
        alike = Problem([[1.0], [1.0 + 1e-15]])
        with pytest.raises(InvalidArgument, match="too much alike"):
            from_gap(alike, gap=0.1, draws=1)
        with pytest.raises(InvalidArgument, match="two different arms"):
            from_gap(Problem([[1, 0], [1, 0]]), gap=0.5, draws=1)

    def test_priors_have_their_scale(self):
        problem = Problem(soare(3, 0.3).arms)
        thetas = np.array([i.theta for i in from_prior(problem, prior_scale=3.0, draws=2000)])
        assert thetas.std() == pytest.approx(3.0, rel=0.05)

    def test_smaller_gaps_cost_more(self):
        problem = Problem(soare(3, 0.3).arms)
        few, many = (
            forecast(
                problem,
                ["lingape"],
                from_gap(problem, gap=gap, draws=20),
                max_pulls=100_000,
                jobs=1,
            ).costs()[0]
            for gap in (1.0, 0.25)
        )
        assert many.quantiles[0.5] > 5 * few.quantiles[0.5]

    def test_quantiles_by_hand(self):
        def row(pulls, settled, correct=True):
            ending = "settled" if settled else "stopped at the pull limit"
            return Row("a", f"{pulls}", 0, 0, correct, pulls, (pulls,), ending, 0.1)

        rows = [row(n, True, correct=n > 1) for n in range(1, 9)] + [row(10, False)] * 2
        (cost,) = Forecast(rows, max_pulls=10).costs()
        assert cost.quantiles == {0.1: 1, 0.5: 5, 0.9: np.inf}
        assert (cost.mean, cost.settled, cost.wrong) == (None, 0.8, 0.1)


class TestReproduce:
    def test_names(self):
        assert tuple(EXPERIMENTS) == NAMES

    @pytest.mark.parametrize("name", NAMES)
    def test_quick(self, here, name):
        result = lingape("reproduce", name, "--quick", "--synthetic", "--out", "pages", "--json")
        assert result.exit_code == 0, result.output
        (page,) = json.loads(result.output)
        for kind in ("md", "csv", "png", "svg"):
            assert (here / "pages" / f"{name}.{kind}").stat().st_size > 100
        text = (here / "pages" / f"{name}.md").read_text()
        for claim in page["claims"]:
            assert claim["says"] in text
        wanted = {
            "table1": ["LinGapE needs fewer samples than XY-oracle", "XY-oracle takes 2,742,457"],
            "figure1": ["LinGapE beats XY-oracle", "XY-adaptive is no better", "grows with d"],
            "figure2": ["LinGapE needs fewer samples than XY-static", "The difference grows"],
            "figure3": ["LinGapE is several times better than XY-static"],
        }[name]
        for words in wanted:
            (claim,) = [claim for claim in page["claims"] if words in claim["says"]]
            assert claim["holds"], claim
        assert all(claim["by"].endswith(".") for claim in page["claims"])
        if name == "table1":
            assert "2,742,461" in text and "2,728,606" in text
        if name == "figure3":
            assert "synthetic-r6a.gz" in text and "made-up data" in text

    def test_mistakes(self, here):
        assert_refused(lingape("reproduce", "figure9"), "figure9", status=2)
        assert_refused(lingape("reproduce", "table1", "--repeats", 0), "--repeats", status=2)
        (here / "log").write_text("nothing of use\n")
        assert_refused(lingape("reproduce", "figure3", "--r6a", "log"), "log", status=1)
        assert_refused(
            lingape("reproduce", "figure3", "--r6a", "log", "--synthetic"), "which", status=2
        )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["compare", "--noise-scale", -3], "--noise-scale (R) must be a number above 0"),
        (["compare", "--jobs", 0], "--jobs must be a whole number"),
        (["compare", "--delta", 7], "--delta (δ) must lie"),
        (["plan", "arms.csv", "--prior-scale", -1], "--prior-scale must be a number above 0"),
        (["complexity", "arms.csv", "--theta", "1,0,0", "--ridge", 0], "--ridge (λ) must be"),
        (["find", "arms.csv", "--binary", "--reward-cmd", "{arm}", "--timeout", 0], "--timeout"),
        (["compare", "-e", "ugape(bound=mixture)"], "Use bound=self-normalized or"),
        (["compare", "-e", "lingape(q=1)"], "there is no setting 'q'"),
        (["compare", "-e", "gse"], "it needs 'budget'"),
        (["compare", "-e", "lingape(delta=1, max_pulls=3)"], "'lingape(delta=1, max_pulls=3)'"),
        (["compare", "-e", "alba(seed=x)"], "This was 'alba(seed=x)' on"),
        (["compare", "-i", "soare(1, 2, 3)"], "there are too many values"),
        (["live", "new", "URL", "a", "arms.csv", "--binary", "--seed", -1], "--seed must be"),
        (
            ["live", "new", "URL", "a", "arms.csv", "--binary"]
            + ["--explorer", "lingape(bound=self-normalized)"],
            "pass --norm-bound (S) with the problem. bound=mixture needs none",
        ),
        (["live", "ask", "URL", "ads", "--ttl", "soon"], "never for no deadline"),
        (["live", "tell", "URL", "ads", "x", 1], "live ask returned"),
        (["live", "status", "URL", "others"], "lingape live new"),
    ],
)
def test_messages_speak_of_options(here, words, says):
    """Somebody who typed a command is told what to type, not what to call in Python."""
    url = "sqlite:///run.db"
    lingape("live", "new", url, "ads", "arms.csv", "--binary")
    common = ["--seeds", 1] if words[0] == "compare" else []
    result = lingape(*(url if word == "URL" else word for word in words), *common)
    assert_refused(result, says, status=1)
    assert not re.search(
        r"Mixture\(\)|Normalized\(\)|\b(ask|add)\(\)|Error\b.*Error\b", result.output
    )


def test_a_bound_on_theta_for_an_experiment(here):
    words = ["live", "new", "sqlite:///run.db", "ads", "arms.csv", "--binary"]
    words += ["--explorer", "lingape(bound=self-normalized)", "--norm-bound", 2]
    assert lingape(*words).exit_code == 0


def test_every_command_has_json():
    for name, command in main.commands.items():
        for part in getattr(command, "commands", {name: command}).values():
            assert "json" in [parameter.name for parameter in part.params], (name, part.name)
