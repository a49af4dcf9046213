"""Traps of tables and models, as users meet them: recognised, or refused with the way out."""

import itertools
import json
import re
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lingape import Experiment, Factors, Problem, Race
from lingape.cli import main
from lingape.errors import InvalidProblem
from lingape.tables import read_arms
from systems import ECHO, command_line

sys.path.insert(0, str(Path(__file__).parent / "live"))

from outpost import Outpost


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lingape(*words, code=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def table(text, name="arms.csv"):
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return name


def new(*options, arms="arms.csv", code=0):
    """Begin an experiment from a table, as users type it."""
    return lingape("live", "new", "sqlite:///run.db", "ads", arms, "--binary", *options, code=code)


LEVELS = {
    "tone": ["warm", "dry", "plain"],
    "length": ["short", "mid", "long"],
    "examples": ["none", "one", "three"],
}
PROMPTS = "".join(f"{','.join(row)}\n" for row in itertools.product(*LEVELS.values()))
COLUMNS = "constant, tone=dry, tone=plain, length=mid, length=long, examples=one, examples=three"
SAID = f"27 arms, 7 features: {COLUMNS}."


def test_prompts_made_of_three_factors():
    table(",".join(LEVELS) + "\n" + PROMPTS)
    result = new()
    assert result.stderr == f"Factors: tone, length, examples. {SAID}\n"
    assert result.stdout == "ads: 27 arms, 0 rewards.\n"
    with Experiment.open("sqlite:///run.db", "ads") as experiment:
        assert experiment.problem.factors == Factors(LEVELS)
        assert experiment.problem.rank == 7  # and not one slope for a=0, b=1, c=2
    assert f"{Factors(LEVELS)}." == SAID


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_from_a_data_frame_to_an_experiment_in_five_lines(kind):
    frame = pytest.importorskip(kind).DataFrame(
        dict(zip(LEVELS, zip(*itertools.product(*LEVELS.values()), strict=True), strict=True))
    )
    problem = Problem(Factors.from_table(frame), noise="binary")
    with Experiment.open("sqlite:///run.db", "prompts", create=problem) as experiment:
        assert experiment.ask()[0].name == "tone=warm, length=short, examples=none"


def test_texts_are_never_to_be_encoded_as_numbers():
    for arms in ([["warm", 1], ["dry", 2]], np.array([["warm"], ["dry"]])):
        with pytest.raises(InvalidProblem, match=r"use Factors\(\.\.\.\)") as refused:
            Problem(arms, noise=1.0)
        assert "ncode" not in str(refused.value)


@pytest.mark.parametrize(
    "options, features",
    [
        ([], "constant, tone=dry, shots"),
        (["--factor", "shots"], "constant, tone=dry, shots=1, shots=3"),
        (["--interactions", "all"], "constant, tone=dry, shots, tone=dry:shots"),
        (["--interactions", "tone:shots"], "constant, tone=dry, shots, tone=dry:shots"),
        (["--ignore", "tone", "--name", "no"], "constant, shots"),
        (["--ignore", "tone", "--number", "shots", "--name", "no"], "constant, shots"),
        (["--exclude", "tone=dry,shots=3"], "constant, tone=dry, shots"),
    ],
)
def test_options_say_what_columns_are_for(options, features):
    table("no,tone,shots\np1,warm,0\np2,warm,1\np3,warm,3\np4,dry,0\np5,dry,1\np6,dry,3\n")
    arms = 5 if "--exclude" in options else 6
    count = len(features.split(", "))
    said = f"{arms} arms, {count} feature{'s' if count > 1 else ''}: {features}.\n"
    result = new(*options)
    assert result.stderr.endswith(said) and "Names: 'no'." in result.stderr
    assert result.stdout == f"ads: {arms} arms, 0 rewards.\n"


def test_one_feature_per_arm():
    table("no,tone,shots\np1,warm,0\np2,warm,1\np3,dry,1\n")
    assert new("--per-arm").stderr.endswith("3 arms, one feature each.\n")


def test_factors_in_toml():
    table(
        'numbers = ["shots"]\ninteractions = [["tone", "shots"]]\n'
        'exclude = [{tone = "dry", shots = 3}]\n'
        '[factors]\ntone = ["warm", "dry"]\nshots = [0, 1, 3]\n',
        "arms.toml",
    )
    said = "5 arms, 4 features: constant, tone=dry, shots, tone=dry:shots.\n"
    assert new(arms="arms.toml").stderr == said
    refused = new("--factor", "tone", arms="arms.toml", code=1)
    assert "say all of it in the TOML file" in refused.stderr
    table("tone = 3\n", "arms.toml")
    assert "needs a table [factors]" in new(arms="arms.toml", code=1).stderr
    table('[factor]\ntone = ["a", "b"]\n', "arms.toml")
    assert "'exclude', 'per_arm'; got 'factor'" in new(arms="arms.toml", code=1).stderr
    for key in ("per_arm = true", 'numbers = ["tone", "dose"]'):
        table(f'[factors]\ntone = ["a", "b"]\n{key}\n', "arms.toml")
        assert "above [factors], or call the factor" in new(arms="arms.toml", code=1).stderr
    table('interactions = 3\n[factors]\ntone = ["a", "b"]\n', "arms.toml")
    assert "interactions must be a list" in new(arms="arms.toml", code=1).stderr


def test_a_table_as_pandas_writes_it():
    """Its headings are numbers, and its index is a first column without a heading."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0.5, 0.1, 0.2], [0.3, 0.7, 0.1], [0.9, 0.2, 0.4]])
    frame.to_csv("arms.csv")
    names, arms, notes = read_arms("arms.csv")
    assert names == arms.names and arms == Factors.from_table(frame)
    assert notes == [
        "The first row has headings, some of which are numbers.",
        "The first column only numbers the rows, and was left out.",
        "Numbers: 0, 1, 2.",
        "3 arms, 4 features: constant, 0, 1, 2.",
    ]
    frame.drop(1).to_csv("arms.csv")  # its index has a gap
    assert read_arms("arms.csv").features.tolist() == [[1, 0.5, 0.1, 0.2], [1, 0.9, 0.2, 0.4]]
    frame.to_csv("arms.csv", index=False)
    refused = new(code=1).stderr
    assert "The first row of arms.csv, 0, 1, 2, may be headings or an arm" in refused
    assert "Say --header or --no-header" in refused
    assert "3 arms" in new("--header").stdout
    with pytest.raises(InvalidProblem, match="header=True or header=False"):
        read_arms("arms.csv")
    with pytest.raises(InvalidProblem, match=r"an index \(tone\).*reset_index\(\)"):
        Factors.from_table(pandas.DataFrame({"tone": ["a", "b"], "x": [1, 2]}).set_index("tone"))


def test_an_index_beside_factors():
    names, factors, notes = read_arms(table(",tone,x\n0,warm,1\n1,dry,2\n"))
    assert factors.columns == ["constant", "tone=dry", "x"]
    assert names == ["tone=warm, x=1", "tone=dry, x=2"]
    assert notes[0] == "The first column only numbers the rows, and was left out."


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n1,2\n3,4\n",  # pandas, two columns
        "2020,2021,2022\n0.1,0.2,0.3\n0.4,0.5,0.7\n",
        "10,20,50\n0.1,0.2,0.3\n0.4,0.5,0.7\n",
        "model,10,20,50\na,0.1,0.2,0.3\nb,0.4,0.5,0.7\n",
        "model,10,20\na,5.5,1\nb,3,7\n",  # a column of whole numbers
        "model,2019,2020\na,5,1\nb,3,7\n",
        "2019,2020\n5,1\n3,7\n",
        "model,2019\na,5\nb,3\n",
        "model,0.1,0.5,1.0\na,12,15,18\nb,10,14,20\n",
        "0.1,0.5\n5,1\n3,7\n",
        "dose,1\n5,0.3\n9,0.4\n",  # a text above numbers
        "warm,short\ndry,short\nwarm,long\n",  # texts that are levels
    ],
)
def test_a_first_row_that_may_be_either(text):
    with pytest.raises(InvalidProblem, match="Say header=True or header=False"):
        read_arms(table(text))
    assert len(read_arms("arms.csv", header=True).features) == 2
    if text[0].isdigit():
        assert len(read_arms("arms.csv", header=False).features) == 3


@pytest.mark.parametrize(
    "text, arms",
    [
        ("1,0\n0,1\n", 2),
        ("0,1\n1,0\n", 2),
        ("1,0\n0,1\n0.7,0.7\n", 3),
        ("red,0,1\nblue,1,0\n", 2),
        ("a,1,2\nb,3,4\n", 2),
        ("a,2,5\nb,3,4\nc,1,6\n", 3),
        ("5\n3\n2\n", 3),
        ("5.0e+00,1.0e+00\n3.0e+00,2.0e+00\n2.0e+00,3.0e+00\n", 3),
        ("0.5,0.9\n0.3,0.7\n0.1,0.2\n", 3),
        ("name,2020,2021\nred,1,0\nblue,0,1\n", 2),
        ("name,10,50\nred,1,0\nblue,0,1\n", 2),
    ],
)
def test_first_rows_that_are_clear(text, arms):
    assert len(read_arms(table(text)).features) == arms


@pytest.mark.parametrize(
    "text, notes",
    [
        ("id,x\n1,0.5\n2,0.3\n3,0.1\n", "Names: 'id'. Numbers: x."),
        ("user_id,x\n10017,0.5\n10018,0.3\n10044,0.1\n", "Names: 'user_id'. Numbers: x."),
        ("adId,x\n7,0.5\n9,0.3\n", "Names: 'adId'. Numbers: x."),
        ("option,x\na,1\na,2\nb,1\n", "Factors: option. Numbers: x."),
        ("tone;x\nwarm;1.5\ndry;2\ndry;1\n", "by semicolons. Factors: tone. Numbers: x."),
        ("tone\tx\nwarm\t1.5\ndry\t2\ndry\t1\n", "by tabs. Factors: tone. Numbers: x."),
        ("tone;x\nwarm;1,5\ndry;2\ndry;1\n", "Decimals have commas in x. Factors: tone."),
        ("1,5;2,5\n3,5;4,5\n", "Decimals have commas in column 1, column 2."),
        ("a; b,1\nc; d,2\n", "Names: 'column 1'. Numbers: column 2."),
        ("\ufefftone,x\nwarm,1\ndry,2\ndry,1\n", "Factors: tone. Numbers: x."),
        ("tone, x\nwarm , 1\ndry, 2\ndry,1\n\n", "Factors: tone. Numbers: x."),
        (
            "tone,x,,\nwarm,1,,\ndry,2,,\ndry,1,,\n",
            "without any cell were left out. Factors: tone",
        ),
        ("tone,kind,x\na,p,1\nb,p,2\na,p,3\n", "all arms have the same: kind. Factors: tone."),
        ("tone,x\na,true\nb,false\na,false\n", "Factors: tone, x."),
        ("tone,day\na,2024-01-01\nb,2024-01-02\na,2024-01-02\n", "Factors: tone, day."),
        ("größe,Ton\n1,wärm\n2,日本\n3,wärm\n5,日本\n", "Factors: Ton. Numbers: größe."),
    ],
)
def test_what_is_recognised_is_said(text, notes):
    found = read_arms(table(text))
    assert notes in " ".join(found.notes)
    found.problem(noise=1.0)


def test_names_are_kept_as_they_are_written():
    assert read_arms(table("id,x\n007,1\n1.10,2\n12345678901234567890,3\n")).names == [
        "007",
        "1.10",
        "12345678901234567890",
    ]


def test_codes_are_not_rounded():
    text = "code,x\n12345678901234567890,1\n12345678901234567891,1\n"
    factors = read_arms(table(text), factors=["code"]).arms
    assert factors.columns == ["constant", "code=12345678901234567891"]
    factors = read_arms(table("zip,x\n0123,1\n123,2\n"), factors="zip").arms
    assert factors.columns[1] == "zip=123" and factors.names[0] == "zip=0123, x=1"


WAYS = r"Say whether it names the arms \(name='{0}'\), .* or nothing \(ignore=\['{0}'\]\)"


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "has no arms"),
        ("tone,length\n", "has no arms"),
        ("tone,x\nwarm,1\n", "at least 2 arms"),
        ("dose,x\n1,0.5\n2,0.3\n3,0.1\n", "'dose', just counts. " + WAYS.format("dose")),
        ("name,id,x\na,1,1\nb,2,2\n", "its heading says .* apart. " + WAYS.format("id")),
        ("x,ref\n1,r1\n2,r2\n4,r3\n", "different in every row.* " + WAYS.format("ref")),
        ("t,x\na,1%\nb,2%\na,3%\n", "different in every row.* plain numbers, without units"),
        ("zip,x\n0123,1\n0124,2\n0124,4\n", "begin with 0.* " + WAYS.format("zip")),
        ("t,x\nwarm,1\ndry,n/a\nwarm,3\n", "'1' in row 2 and 'n/a' in row 3. Fill in"),
        (
            "x,y\n1,1\n2,2\n?,4\n",
            r"numbers and texts.* say factors=\['x'\], and if names, name='x'",
        ),
        ("t,x\nwarm,1\ndry,nan\nwarm,3\n", "'nan' in row 3"),
        ("t,x\nwarm,1\ndry,1e999\nwarm,3\n", "'1e999' in row 3"),
        ("t,x\nwarm,1\ndry,\nwarm,3\n", "Column 'x' .* has no value in row 3. Fill it in"),
        ("t,x\nwarm,1\n,2\nwarm,3\n", "Column 't' .* has no value in row 3. Fill it in"),
        ("name,x\na,1\n,2\n", "Column 'name' .* has no value in row 3"),
        ("name,x\na,1\na,2\n", "'a' appears more than once. Give each arm one row"),
        ("t,x\nwarm,1\nwarm,1\ndry,2\n", "t=warm, x=1 is there more than once. Leave one out"),
        ("t,t\nwarm,1\ndry,2\n", "has 't' twice"),
        ("t\nwarm\nwarm\n", "no column that says how arms differ; its columns are t"),
        ('t,x\nwarm,"1,5"\ndry,"2,5"\n', "decimals with commas.* semicolons between cells"),
        ("t,x\nwarm,1,5\ndry,2,5\n", "row 2 has 3, row 1 has 2. Write decimals with points"),
        ("t;x\nwarm;1,000\ndry;2,500\n", "thousands to some and decimals to others"),
        ("t;x\nwarm;1.000,5\ndry;2,5\n", "thousands to some and decimals to others"),
        ("tone,x\nwärm,1\n".encode("latin-1"), 'not UTF-8.* "CSV UTF-8"'),
        ("tone,x\nwarm,1\n".encode("utf-16"), 'not UTF-8.* "CSV UTF-8"'),
        ("constant,t\n1,a\n2,b\n2,a\n", "A number is called 'constant'.* Rename"),
        ("t,t=b\na,1\nb,2\na,3\n", "Two features would be called 't=b'.* Rename"),
    ],
)
def test_what_cannot_be_told_is_refused(text, words):
    with pytest.raises(InvalidProblem, match=words):
        read_arms(table(text)).problem(noise=1.0)


def test_refusals_speak_of_options_in_the_shell():
    table("dose,x\n1,0.5\n2,0.3\n3,0.1\n")
    said = "names the arms (--name 'dose'), is a number that matters (--number 'dose') or nothing"
    assert said in new(code=1).stderr
    assert "2 features: constant, x." in new("--name", "dose", "--number", "x").stderr
    table("t,x\nwarm,1\ndry,?\n")
    assert "say --factor 'x', and if names, --name 'x'" in new(code=1).stderr
    assert "has no column 'y'; there are t, x" in new("--factor", "y", code=1).stderr


def test_names_of_several_lines_are_shown_on_one():
    table('prompt,x,y\n"Be kind.\nBe short.",1,0\n"Be dry.\n\nStop.",0,1\n')
    words = ["--reward-cmd", ECHO, "--noise-scale", "0.1"]
    found = lingape("find", "arms.csv", *words)
    assert r"No arm is better than Be dry.\n\nStop., with" in found.stdout
    assert "\n  " + r"Be dry.\n\nStop." in found.stdout
    assert json.loads(lingape("find", "arms.csv", *words, "--resume", "--json").stdout)[
        "name"
    ] == ("Be dry.\n\nStop.")
    status = lingape("live", "status", "sqlite:///arms.csv.find.db", "find").stdout
    assert r"Be kind.\nBe short." in status and "Be kind.\n" not in status


def test_tables_that_other_commands_read_are_described_too():
    table("tone,x\nwarm,1\nwarm,2\ndry,2\n")
    notes = "Factors: tone. Numbers: x. 3 arms, 3 features: constant, tone=dry, x.\n"
    assert lingape("complexity", "arms.csv", "--theta", "0,1,0.5").stderr == notes
    compared = lingape("compare", "--arms", "arms.csv", "--theta", "0,1", code=1)
    assert compared.stderr.startswith(notes) and "must have 3 numbers" in compared.stderr


# The sum of the best tone and the best length is an arm worth 0.70; another pays 0.90.
CROSSED = [0.7, 0.7, 0.7, 0.2, 0.2, 0.9, 0.6, 0.6, 0.6]
ROWS = list(itertools.product(LEVELS["tone"], LEVELS["length"]))
DOUBT = "The effects of tone and length seem to depend on each other"
AVERAGES = r"tone=warm, length=long averages 0\.\d+: between 0\.\d+ and 0\.\d+, with probability"


@pytest.fixture
def crossed():
    table("tone,length\n" + "".join(f"{','.join(row)}\n" for row in ROWS))
    Path("means.txt").write_text("".join(f"{mean}\n" for mean in CROSSED))
    code = "import os; print(open('means.txt').readlines()[int(os.environ['LINGAPE_ARM'])])"
    return ["--reward-cmd", command_line(sys.executable, "-S", "-c", code)]


ASKED = ["--noise-scale", 0.05, "--epsilon", 0.1]


def certified(data):
    """Check what commands say as JSON about an answer whose model does not hold."""
    assert data["settled"] and data["name"] == "tone=warm, length=long"
    assert data["value_low"] < data["value"] < data["value_high"]
    (warning,) = data["warnings"]
    assert DOUBT in warning and "interactions=[('tone', 'length')]" in warning
    assert "furthest off: tone=dry, length=long" in warning and "refit" in warning


def test_find_warns_of_what_it_certifies(crossed):
    found = lingape("find", "arms.csv", *crossed, *ASKED)
    assert "at most 0.1 better than tone=warm, length=long" in found.stdout  # which is wrong
    assert f"\nWarning: {DOUBT}" in found.stdout
    assert re.search(AVERAGES, found.stdout)
    assert re.search(r"tone=dry, length=long +\d+ +0\.\d+ +0\.\d+ to 0\.\d+ ", found.stdout)
    as_json = lingape("find", "arms.csv", *crossed, *ASKED, "--resume", "--json")
    certified(json.loads(as_json.stdout))
    assert f"Warning: {DOUBT}" in as_json.stderr
    place = ["sqlite:///arms.csv.find.db", "find"]
    for command in ("status", "certificate", "verify"):
        shown = lingape("live", command, *place)
        assert f"\nWarning: {DOUBT}" in shown.stdout and re.search(AVERAGES, shown.stdout)
        assert shown.output.count(DOUBT) == 1
        data = json.loads(lingape("live", command, *place, "--json").stdout)
        certified(data if command == "certificate" else data["certificate"])
        assert DOUBT in data["warnings"][0]
    better = lingape("live", "refit", *place, "again", "--interactions", "tone:length")
    assert "Warning" not in better.output


@pytest.mark.parametrize("served", [False, True])
def test_workers_warn_of_what_they_certify(crossed, here, served):
    place = f"sqlite:///{here}/run.db"
    with Outpost(place) if served else nullcontext() as server:
        url = server.url if served else place
        lingape("live", "new", url, "ads", "arms.csv", *ASKED)
        shown = lingape("live", "run", url, "ads", *crossed)
        assert f"\nWarning: {DOUBT}" in shown.stdout and re.search(AVERAGES, shown.stdout)
        certified(json.loads(lingape("live", "run", url, "ads", *crossed, "--json").stdout))


def test_certificates_in_python_warn(here):
    factors = Factors(tone=LEVELS["tone"], length=LEVELS["length"])
    problem = Problem(factors, noise=0.05, epsilon=0.1)
    with Experiment.open("sqlite:///run.db", "ads", create=problem) as experiment:
        outcome = experiment.run(lambda ticket: CROSSED[ticket.arm])
        for certificate in (
            outcome.certificate,
            experiment.certificate(),
            experiment.status().certificate,
            experiment.verify().certificate,
        ):
            certified(certificate.to_dict())
            assert DOUBT in str(certificate) and re.search(AVERAGES, str(certificate))
        assert type(certificate).from_dict(certificate.to_dict()) == certificate
        with experiment.refit("again", interactions="all") as successor:
            assert successor.certificate().warnings == ()
            while not successor.status().settled:
                ticket = successor.ask()[0]
                successor.tell(ticket, CROSSED[ticket.arm])
            assert successor.certificate().name == "tone=dry, length=long"


def test_the_lowest_is_found(crossed):
    found = lingape("find", "arms.csv", *crossed, *ASKED, "--minimize", "--per-arm", "--json")
    data = json.loads(found.stdout)
    assert CROSSED[data["arm"]] == 0.2 and data["value"] == pytest.approx(0.2)
    assert data["warnings"] == []
    shown = lingape("live", "status", "sqlite:///arms.csv.find.db", "find").stdout
    assert re.search(rf"{data['name']} averages 0\.2: between 0\.\d+ and 0\.\d+", shown)


def test_the_lowest_is_found_in_python():
    problem = Problem(np.eye(3), noise=(0, 1), minimize=True, epsilon=0.05)
    explorer, rng = Race(problem), np.random.default_rng(0)
    while not explorer.done:
        arm = explorer.ask()
        explorer.tell(arm, float(rng.random() < [0.5, 0.1, 0.9][arm]))
    assert explorer.recommend() == 1 and explorer.certificate().arm == 1
