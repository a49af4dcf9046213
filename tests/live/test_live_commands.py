"""lingape live, as users type it."""

import json

import pytest
from click.testing import CliRunner

from lingape.cli import main


@pytest.fixture
def call(url, tmp_path):
    (tmp_path / "arms.csv").write_text("name,x,y\nred,1,0\nblue,0,1\n")

    def call(command, *arguments, code=0):
        place = [] if arguments and arguments[0] == "FILE" else [url, "ads"]
        rest = arguments[1:] if not place else arguments
        result = CliRunner().invoke(main, ["live", command, *place, *map(str, rest)])
        assert result.exit_code == code, result.output
        return result.output

    call.arms = tmp_path / "arms.csv"
    return call


def test_an_experiment_from_the_shell(call, tmp_path):
    assert call("new", call.arms, "--noise-scale", 0.1) == "ads: 2 arms, 0 rewards.\n"
    assert call("new", call.arms, "--noise-scale", 0.1) == "ads: 2 arms, 0 rewards.\n"
    first, second = (line.split("\t") for line in call("ask", "-n", 2).splitlines())
    assert first[1:] == ["0", "red"] and second[1:] == ["1", "blue"]
    assert call("tell", first[0], "-0.5") == ""
    assert json.loads(call("tell", first[0], "-0.5", "--json"))["reward"] == -0.5
    assert "told -0.5" in call("tell", first[0], "0.5", code=1)
    call("void", second[0], "--reason", "node lost")
    assert "1 rewards for 2 arms; 0 awaited, 0 overdue, 1 voided" in call("status")
    assert json.loads(call("status", "--json"))["pulls"] == 1
    (ticket,) = json.loads(call("ask", "--json", "--ttl", "never", "--key", "k"))
    assert ticket["deadline"] is None
    assert json.loads(call("ask", "--json", "--ttl", "never", "--key", "k")) == [ticket]
    call("add", 1, "1.5", "--key", "row 1")
    call("add", 1, "1.5", "--key", "row 1")
    assert "No arm is better than blue" in call("certificate")
    assert json.loads(call("certificate", "--json"))["arm"] == 1
    assert "No arm is better than blue" in call("ask", code=3)
    assert "The log is whole" in call("verify")
    path = tmp_path / "run.jsonl"
    assert call("export", path) == f"{path}: 7 events\n"
    assert "The log is whole: 7 events" in call("verify", "FILE", path)
    assert json.loads(call("verify", "FILE", path, "--json"))["events"] == 7
    path.write_text(path.read_text().replace("1.5", "2.5"))
    assert "hash differs" in call("verify", "FILE", path, code=1)


def test_mistakes_give_one_sentence(call, url):
    assert "no file" in call("status", code=1)
    assert "one of --noise-scale" in call("new", call.arms, code=2)
    assert "xy-oracle needs" in call(
        "new", call.arms, "--binary", "--explorer", "xy-oracle", code=1
    )
    call("new", call.arms, "--bounded", 0, 10)
    assert "another problem" in call("new", call.arms, "--binary", code=1)
    assert "No ticket" in call("tell", "x", "1", code=1)
    assert "finite number" in call("tell", "x", "nan", code=1)
    assert "whole number from 1" in call("ask", "-n", 0, code=1)
    assert "Which experiment" in call("verify", "FILE", url, code=2)
    assert "cannot be used" in call("verify", "FILE", "nowhere.jsonl", code=1)
