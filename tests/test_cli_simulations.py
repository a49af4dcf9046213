"""demo, compare, simulate, plan, complexity and reproduce, as users type them."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from lingape import soare
from lingape.cli import main
from lingape.cli.reproduce import NAMES
from lingape.paper import EXPERIMENTS


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
        table = " ".join(result.stdout.split())
        assert "| lingape | soare(3, 0.3) | 3 |" in table
        assert "| uniform | soare(3, 0.3) | 3 |" in table

    def test_own_arms_rows_and_plot(self, here):
        arguments = ["compare", "--arms", "arms.csv", "--theta", "2,0,0", "-e", "lingape"]
        arguments += ["--seeds", 2, "--out", "rows.jsonl", "--plot", "times"]
        result = lingape(*arguments)
        assert result.exit_code == 0, result.output
        assert len((here / "rows.jsonl").read_text("utf-8").splitlines()) == 3
        assert (here / "times.png").stat().st_size > 1000
        assert (here / "times.svg").exists()
        assert_refused(lingape(*arguments), "exists")
        assert lingape(*arguments, "--resume").exit_code == 0
        more = lingape(*arguments, "--resume", "--seeds", 4)
        assert "| lingape | arms.csv | 4 |" in " ".join(more.stdout.split())
        assert len((here / "rows.jsonl").read_text("utf-8").splitlines()) == 5
        other = lingape(*arguments, "--resume", "--max-pulls", 5000)
        assert_refused(other, "another study: it has --max-pulls 10000000, now 5000")

    def test_json(self, here):
        result = lingape("compare", "-i", "canonical(3, 0.8)", "--seeds", 2, "--json")
        data = json.loads(result.stdout)
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
            (["--world", "flat"], "gaussian, signed, zero_one"),
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
        assert "| lingape | arms.csv | 2 |" in " ".join(result.stdout.split())
        assert (here / "study.jsonl").exists()
        again = lingape("simulate", "study.toml", "--resume", "--json")
        assert len(json.loads(again.stdout)["rows"]) == 2

    def test_mistakes(self, here):
        (here / "study.toml").write_text("seeds = ")
        assert_refused(lingape("simulate", "study.toml"), "cannot be read as TOML")


class TestPlan:
    def test_gap(self, here):
        result = lingape("plan", "arms.csv", "--gap", 0.3, "--noise-scale", 1, "--draws", 6)
        assert result.exit_code == 0, result.output
        assert "If the best arm leads by 0.3" in result.output
        rows = [line.split()[0] for line in result.output.splitlines() if line]
        assert {"race", "lingape", "xy_static", "uniform"} <= set(rows)
        assert (here / "arms.plan.png").exists()

    def test_prior_as_json(self, here):
        arguments = ["plan", "arms.csv", "--prior-scale", 1, "--draws", 8, "-e", "lingape"]
        arguments += ["--noise-scale", 1]
        data = json.loads(lingape(*arguments, "--max-pulls", 2000, "--json").stdout)
        (cost,) = data["costs"]
        few, half = cost["quantiles"]["0.1"], cost["quantiles"]["0.5"]
        assert half is None or few <= half
        assert 0 < cost["settled"] <= 1

    def test_noise_of_unknown_scale_in_its_units(self, here):
        """What counts is how large the gap is in units of the noise."""
        common = ["--draws", 4, "--jobs", 1, "--json", "--normal"]
        one, other = (
            json.loads(lingape("plan", "arms.csv", *common, "--gap", g, "--noise-scale", r).stdout)
            for g, r in ((0.5, 1), (4, 8))
        )
        assert one["costs"] == other["costs"] and one["costs"][0]["explorer"] == "race"
        assert one["rewards"] == "R = 1 but not known"

    def test_zero_and_one(self, here):
        np.savetxt("arms.csv", np.eye(3), delimiter=",")
        common = ["--gap", 0.2, "--draws", 4, "--jobs", 1, "-e", "race", "--json", "--binary"]
        data = json.loads(lingape("plan", "arms.csv", *common, "--rate", 0.5).stdout)
        assert data["rewards"] == "rewards of 0 or 1, 0.5 on average"
        assert data["costs"][0]["settled"] == 1

    def test_a_range_is_simulated_by_its_ends(self, here):
        """In other units it is the same problem, and so is that of less being better."""
        np.savetxt("arms.csv", np.eye(3), delimiter=",")
        common = ["plan", "arms.csv", "--draws", 4, "--jobs", 1, "-e", "race", "--json"]
        first, moved, less = (
            json.loads(lingape(*common, *more).stdout)
            for more in (
                ["--gap", 0.2, "--bounded", 0, 1],
                ["--gap", 10, "--bounded", -20, 30],
                ["--gap", 0.2, "--bounded", 0, 1, "--rate", 0.4, "--minimize"],
            )
        )
        assert first["costs"] == moved["costs"] and less["costs"][0]["settled"] == 1
        assert moved["rewards"] == "rewards of -20 or 30, 5 on average, which is the worst case"
        assert less["rewards"].endswith("0.4 on average, the worst case for that average")

    def test_options_about_columns(self, here):
        (here / "arms.csv").write_text("id,tone,dose\n7,warm,1\n8,dry,2\n9,dry,1\n11,warm,3\n")
        given = ["--gap", 0.5, "--binary", "--draws", 2, "--jobs", 1, "-e", "race"]
        result = lingape("plan", "arms.csv", *given, "--factor", "dose", "--ignore", "id")
        assert result.exit_code == 0, result.output
        assert "4 arms, 4 features: constant, tone=dry, dose=2, dose=3" in result.stderr
        assert "rewards of 0 or 1, 0.5 on average, which is the worst case" in result.stdout

    def test_models_of_factors_are_compared(self, here):
        levels = 'tone = ["warm", "dry"]\nlength = ["short", "long"]\ndose = ["1", "2", "3"]\n'
        (here / "arms.toml").write_text(f"[factors]\n{levels}")
        given = ["plan", "arms.toml", "--gap", 0.5, "--noise-scale", 1, "--draws", 3, "--jobs", 1]
        data = json.loads(lingape(*given, "--json").stdout)
        assert [(row["model"], row["features"]) for row in data["models"]] == [
            ("main effects", 5),
            ("with all pairs", 10),
            ("one feature per arm", 12),
        ]
        (race,) = (cost for cost in data["costs"] if cost["explorer"] == "race")
        assert race.items() <= data["models"][0].items()
        assert data["assumed"] == "effects add up and the best arm leads by 0.5"
        shown = lingape(*given, "-e", "race", "-e", "lingape").stdout
        assert "What each model costs, if the effects of factors just add up" in shown
        lines = [line.split("  ")[0] for line in shown.splitlines()]
        assert lines.count("main effects") == lines.count("one feature per arm") == 2

    def test_models_that_are_too_large_are_left_out(self, here):
        (here / "arms.csv").write_text("tone,n\n" + "".join(f"t{i % 2},{i}\n" for i in range(70)))
        given = ["--gap", 0.1, "--noise-scale", 1, "--draws", 1, "--jobs", 1, "-e", "race"]
        shown = lingape("plan", "arms.csv", *given, "--number", "n", "--max-pulls", 500).stdout
        assert "Models with more than 64 features are not compared." in shown
        assert "main effects" in shown and "one feature per arm" not in shown

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "--gap (the smallest lead that matters) or --prior-scale"),
            (["--gap", 1, "--prior-scale", 1], "--gap"),
            (["--gap", -1], "above 0"),
            (["--prior-scale", "nan"], "above 0"),
            (["--gap", 1, "--draws", 0], "--draws"),
            (["--gap", 1, "-e", "xy"], "No explorer"),
        ],
    )
    def test_mistakes(self, here, arguments, words):
        assert_refused(lingape("plan", "arms.csv", "--noise-scale", 1, *arguments), words)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "Say what rewards to simulate: --noise-scale R"),
            (["--normal"], "Say what rewards to simulate"),
            (["--binary", "--noise-scale", 1], "Say what rewards to simulate"),
            (["--binary", "--bounded", 0, 1], "Say what rewards to simulate"),
            (["--binary", "--normal"], "Say what rewards to simulate"),
            (["--rate", 0.5, "--noise-scale", 1], "with --rate for their average"),
            (["--bounded", 1, 0], "The range of rewards must be the lowest reward"),
            (["--bounded", 2, 9, "--rate", 1], "--rate must be a number between 2 and 9; got 1.0"),
            (["--binary", "--rate", 1], "--rate must be a number between 0 and 1; got 1.0"),
            (["--binary", "--rate", 0.01], "hardly any θ has the averages of all arms between"),
            (["--normal", "--noise-scale", -1], "above 0"),
            (["--normal", "--noise-scale", 1, "-e", "lingape"], "LinGapE needs the scale"),
        ],
    )
    def test_mistakes_about_rewards(self, here, arguments, words):
        np.savetxt("arms.csv", np.eye(3), delimiter=",")
        given = ["--gap", 0.2, "--draws", 1, "--jobs", 1, *arguments]
        assert_refused(lingape("plan", "arms.csv", *given), words)

    def test_a_rate_needs_a_constant(self, here):
        (here / "arms.csv").write_text("1,0\n0,1\n1,1\n")
        for given in (["--binary", "--rate", 0.5], ["--binary"], ["--bounded", 0, 1]):
            result = lingape("plan", "arms.csv", "--gap", 0.2, *given)
            assert_refused(result, "a feature that is 1 for every arm")


class TestReproduce:
    def test_names(self):
        assert tuple(EXPERIMENTS) == NAMES

    @pytest.mark.parametrize("name", NAMES)
    def test_quick(self, here, name):
        result = lingape("reproduce", name, "--quick", "--synthetic", "--out", "pages", "--json")
        assert result.exit_code == 0, result.output
        (page,) = json.loads(result.stdout)
        for kind in ("md", "csv", "png", "svg"):
            assert (here / "pages" / f"{name}.{kind}").stat().st_size > 100
        text = (here / "pages" / f"{name}.md").read_text("utf-8")
        for claim in page["claims"]:
            assert claim["says"] in text
        wanted = {
            "table1": [
                "In the table, XY-static pulls arms 1 and 6 half as often",
                "LinGapE needs fewer samples than XY-oracle",
                "XY-oracle takes 2,742,457",
            ],
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
            assert "In the text, XY-static pulls all arms equally — **does not hold**" in text
        if name == "figure3":
            assert "synthetic-r6a.gz" in text and "made-up data" in text

    def test_mistakes(self, here):
        assert_refused(lingape("reproduce", "figure9"), "figure9", status=2)
        assert_refused(lingape("reproduce", "table1", "--repeats", 0), "--repeats", status=2)
        (here / "log").write_text("nothing of use\n")
        assert_refused(lingape("reproduce", "figure3", "--r6a", "log"), "log", status=1)
        assert_refused(
            lingape("reproduce", "figure3", "--r6a", "log", "--synthetic"), "not both", status=2
        )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["compare", "--noise-scale", -3], "--noise-scale (R) must be a number above 0"),
        (["compare", "--jobs", 0], "--jobs must be a whole number"),
        (["compare", "--delta", 7], "--delta (δ) must lie"),
        (
            ["plan", "arms.csv", "--noise-scale", 1, "--prior-scale", -1],
            "--prior-scale must be a number above 0",
        ),
        (["complexity", "arms.csv", "--theta", "1,0,0", "--ridge", 0], "--ridge (λ) must be"),
        (["find", "arms.csv", "--binary", "--reward-cmd", "{arm}", "--timeout", 0], "--timeout"),
        (["compare", "-e", "ugape(bound=mixture)"], "Use bound=self_normalized or"),
        (["compare", "-e", "lingape(q=1)"], "there is no setting 'q'"),
        (["compare", "-e", "gse"], "it needs 'budget'"),
        (["compare", "-e", "lingape(delta=1, max_pulls=3)"], "'lingape(delta=1, max_pulls=3)'"),
        (["compare", "-e", "alba(seed=x)"], "This was 'alba(seed=x)' on"),
        (["compare", "-i", "soare(1, 2, 3)"], "there are too many values"),
        (["live", "new", "URL", "a", "arms.csv", "--binary", "--seed", -1], "--seed must be"),
        (
            ["live", "new", "URL", "a", "arms.csv", "--binary"]
            + ["--explorer", "lingape(bound=self_normalized)"],
            "pass --norm-bound (S) with the problem. bound=mixture needs none",
        ),
        (["live", "ask", "URL", "ads", "--ttl", "soon"], "never for no deadline"),
        (["live", "tell", "URL", "ads", "x", 1], "live ask returned"),
        (["live", "status", "URL", "others"], "lingape live new"),
    ],
)
def test_messages_speak_of_options(here, words, says):
    """A message about a command says what to type, not what to call in Python."""
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
    words += ["--explorer", "lingape(bound=self_normalized)", "--norm-bound", 2]
    assert lingape(*words).exit_code == 0


def test_every_command_has_json():
    for name, command in main.commands.items():
        for part in getattr(command, "commands", {name: command}).values():
            assert "json" in [parameter.name for parameter in part.params], (name, part.name)


def test_demo():
    result = lingape("demo", "--seed", "3")
    assert result.exit_code == 0
    assert "No arm is better than Arm 1" in result.output
    assert "428,889" in result.output  # the paper's column
    assert "Arm 1 leads Arm 6" in result.output


def test_demo_as_json():
    result = lingape("demo", "--json")
    assert result.exit_code == 0
    paper, tight = json.loads(result.output)
    assert paper["arm"] == tight["arm"] == 0
    assert paper["pulls"] > 2 * tight["pulls"]
    assert paper["certificate"]["bound"] == "SelfNormalized(comparisons='K^2')"


def test_bad_options_give_one_sentence():
    result = lingape("demo", "--seed", "x")
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.fixture
def arms_file(tmp_path):
    path = tmp_path / "arms.csv"
    rows = "\n".join(",".join(map(str, row)) for row in soare(3, 0.2).arms)
    path.write_text(rows + "\n")
    return path


def test_complexity(arms_file):
    result = lingape("complexity", arms_file, "--theta", "2,0,0")
    assert result.exit_code == 0
    assert "least samples for δ = 0.05" in result.output
    assert "arm 1: 0.9" in result.output
    as_json = lingape("complexity", arms_file, "--theta", "2,0,0", "--json")
    data = json.loads(as_json.stdout)
    assert data["best"] == 0
    assert data["lower_bound"] == pytest.approx(2.65 * data["characteristic_time"], rel=1e-3)


@pytest.mark.parametrize(
    ("text", "theta", "words"),
    [
        ("1,0\n0,1\n", "1,x", "separated by commas"),
        ("1,0\n0,1\n", "1", "one per feature"),
        ("1,0\n0,1\n", "1,1", "unique"),
        ("1,0\n0\n", "1,0", "row 2 has 1"),
        ("a,b\n1,2\n3,?\n", "1,0", "'?'"),
        ("", "1,0", "no arms"),
        ("1,2\n", "1,0", "at least 2"),
    ],
)
def test_complexity_of_bad_input_gives_one_sentence(tmp_path, text, theta, words):
    path = tmp_path / "arms.csv"
    path.write_text(text)
    result = lingape("complexity", path, "--theta", theta)
    assert result.exit_code != 0
    assert words in result.output
    assert "Traceback" not in result.output
