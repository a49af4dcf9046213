"""What the service promises to HTTP clients."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc

import pytest
from click.testing import CliRunner
from outpost import ENDED, Outpost, TestClient
from tamper import change as tamper

import lingape
from lingape.cli import main
from lingape.errors import InvalidArgument, StorageFailed
from lingape.live import (
    Activity,
    ArmFit,
    ArmsPage,
    Experiment,
    Hour,
    LogCertificate,
    ModelCheck,
    Point,
    Progress,
    Standing,
    Status,
    Summary,
    Worker,
    read_export,
    verify,
)
from lingape.live.history import History
from lingape.live.server import Limits, create_app
from lingape.live.server.gate import Gate
from lingape.live.server.schemas import answer_model
from lingape.live.server.shelf import HistoryPage, Shelf
from lingape.live.server.watch import Watch
from lingape.live.serving import Service, serve
from systems import lists_open_files, posix

PROBLEM = {"arms": [[1, 0], [0, 1]], "names": ["red", "blue"], "noise": 0.1}
NOISY = {"noise": 0.1}
NEW = {"name": "ads", "problem": PROBLEM, "explorer": "lingape"}
READ, WRITE = {"Authorization": "Bearer look-only"}, {"Authorization": "Bearer all-of-it"}
MIB = 1024 * 1024


def serving(url, **settings):
    return TestClient(create_app(url, **settings), base_url="http://127.0.0.1")


@pytest.fixture
def calls(url):
    with serving(url) as client:
        assert client.post("/api/experiments", json=NEW).status_code == 201
        yield client


def sent(client, path, body, headers=None):
    """Post JSON in ASCII, in which any text can be written."""
    headers = {"Content-Type": "application/json"} | (headers or {})
    return client.post(path, content=json.dumps(body), headers=headers)


def post(client, what, body, code=200, headers=None):
    answer = sent(client, f"/api/experiments/ads/{what}", body, headers)
    assert answer.status_code == code, answer.text
    return answer.json()


def get(client, what="", code=200, **settings):
    answer = client.get(f"/api/experiments/ads{what}", **settings)
    assert answer.status_code == code, answer.text
    return answer.json()


def settle(client):
    for arm in (0, 1) * 10:
        post(client, "add", {"arm": arm, "reward": 1.0 - arm})


def test_a_whole_experiment(calls, url, tmp_path):
    assert calls.get("/api/health").json() == {"status": "ok", "version": lingape.__version__}
    first, second = post(calls, "ask", {"n": 2, "worker": "me", "ttl": "6h"})["tickets"]
    assert (first["arm"], first["name"], first["features"]) == (0, "red", [1.0, 0.0])
    assert first["deadline"] > time.time()
    assert post(calls, "tell", {"ticket": first["id"], "reward": 1}) == {
        "pulls": 1,
        "settled": False,
    }
    assert post(calls, "tell", {"ticket": first["id"], "reward": 1})["pulls"] == 1
    assert "told 1.0" in post(calls, "tell", {"ticket": first["id"], "reward": 2}, 409)["error"]
    post(calls, "void", {"ticket": second["id"], "reason": "node lost"})
    post(calls, "add", {"arm": 1, "reward": 0, "key": "row 1"})
    assert post(calls, "add", {"arm": 1, "reward": 0, "key": "row 1"})["pulls"] == 2
    now = get(calls)
    assert (now["leader"], now["leader_name"]) == (0, "red")
    assert (now["rival"], now["rival_name"]) == (1, "blue")
    assert (now["pulls"], now["voided"], now["pending"], now["overdue"]) == (2, 1, 0, 0)
    leader, rival = sorted(now["standings"], key=lambda standing: standing["arm"])
    assert (leader["low"], leader["gap"], leader["high"]) == (0, 0, 0)
    assert rival["low"] < rival["gap"] == -1 < rival["high"] < 0 == now["gap_bound"]
    settle(calls)
    now = get(calls)
    assert now["settled"] and (now["answer"], now["answer_name"]) == (0, "red")
    proven = get(calls, "/certificate")
    assert proven["arm"] == 0 and "No arm is better than red" in proven["statement"]
    refusal = post(calls, "ask", {}, 409)
    assert refusal["kind"] == "ExplorationOver"
    assert "No arm is better than red" in refusal["error"]
    path = tmp_path / "run.jsonl"
    path.write_bytes(calls.get("/api/experiments/ads/export").content)
    found = verify(read_export(path))
    assert found.digest == get(calls)["digest"]
    assert proven == found.certificate.to_dict() == get(calls)["certificate"]
    with Experiment.open(url, "ads") as experiment:
        assert experiment.verify() == found
        assert experiment.status().to_dict() == get(calls)
        assert experiment.status() == Status.from_dict(get(calls))


def test_creating_again(calls):
    assert calls.post("/api/experiments", json=NEW | {"seed": 0}).status_code == 201
    for change in ({"seed": 3}, {"explorer": "lin_t3c"}, {"problem": PROBLEM | {"delta": 0.1}}):
        answer = calls.post("/api/experiments", json=NEW | change)
        assert answer.status_code == 409 and "another name" in answer.json()["error"]
        assert "sqlite" not in answer.text
    calls.post("/api/experiments", json={"name": "other", "problem": PROBLEM})
    lines = calls.get("/api/experiments").json()["experiments"]
    assert [line["name"] for line in lines] == ["ads", "other"]
    assert [line["explorer"] for line in lines] == ["lingape", "race"]
    assert [line["ruled_out"] for line in lines] == [None, 0]
    post(calls, "add", {"arm": 0, "reward": 1})
    line = calls.get("/api/experiments").json()["experiments"][0]
    assert line == {name: get(calls)[name] for name in line}
    assert (line["name"], line["arms"], line["pulls"], line["leader"]) == ("ads", 2, 1, None)


def test_the_document_says_what_is_sent(calls):
    """Answers are made by to_dict and described by classes: field by field the same."""
    post(calls, "ask", {"worker": "me"})
    settle(calls)
    post(calls, "void", {"ticket": "x"}, 404)
    now, line = get(calls), calls.get("/api/experiments").json()["experiments"][0]
    for data, kind in (
        (line, Summary),
        (now, Status),
        (now["certificate"], LogCertificate),
        (now["check"], ModelCheck),
        (now["check"]["arms"][0], ArmFit),
        (now["standings"][0], Standing),
        (get(calls, "/arms"), ArmsPage),
        (get(calls, "/activity"), Activity),
        (get(calls, "/activity")["hours"][0], Hour),
        (get(calls, "/activity")["workers"][0], Worker),
        (get(calls, "/history"), HistoryPage),
        (get(calls, "/history")["points"][0], Point),
    ):
        model = answer_model(kind)
        assert set(data) == set(model.model_fields)
        model.model_validate_json(json.dumps(data), strict=True)


def test_the_document_describes_fields_and_parameters(calls):
    """In the words of docstrings, as sentences, with null where Python has None."""
    found = calls.get("/openapi.json").json()
    schemas = found["components"]["schemas"]
    summary = schemas["Summary"]["properties"]
    assert summary["pulls"]["description"] == "Rewards, told and added."
    assert summary["leader"]["description"].endswith("; null until arms can be compared.")
    assert schemas["Status"]["properties"]["pulls"] == summary["pulls"]
    assert schemas["Status"]["properties"]["check"] == {"$ref": "#/components/schemas/ModelCheck"}
    assert "proven" in schemas["LogCertificate"]["required"]
    ask, void = schemas["AskBody"]["properties"], schemas["VoidBody"]
    assert {name: value["default"] for name, value in ask.items() if "default" in value} == {
        "n": 1,
        "ttl": "1d",
    }
    assert (ask["n"]["minimum"], ask["n"]["maximum"]) == (1, 1000)
    assert ask["worker"]["description"] == "Who asks, for the log."
    assert void["required"] == ["ticket"] and "description" in void["properties"]["reason"]
    assert schemas["ProblemBody"]["required"] == ["arms", "noise"]
    assert schemas["ProblemBody"]["properties"]["delta"]["default"] == 0.05
    for path, operations in found["paths"].items():
        for operation in operations.values():
            assert operation["description"], path


@pytest.mark.parametrize("settled", [False, True])
def test_answers_are_as_the_document_says(url, settled):
    """All that there is to get in JSON, about an experiment with something in every field."""
    jsonschema = pytest.importorskip("jsonschema")  # of check-jsonschema
    arms = [{"tone": tone, "length": length} for tone in "ab" for length in "cd"]
    factors = lingape.Factors.of_rows(arms)
    problem = lingape.Problem(factors, noise=0.1, control=0)
    with serving(url) as client:
        with Experiment.open(url, "ads", create=problem) as experiment:
            for arm, reward in [(0, 0.3), (1, 0.2), (2, 0.5), (3, 0.4)] * (20 if settled else 3):
                experiment.add(arm, reward)
            if not settled:
                experiment.tell(experiment.ask(2, worker="shop-1")[0], 0.1)
        document = client.get("/openapi.json").json()
        for path, operations in document["paths"].items():
            content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content")
            if "application/json" in (content or {}):
                answer = client.get(path.format(name="ads"))
                assert answer.status_code == 200
                schema = content["application/json"]["schema"] | document
                jsonschema.validate(answer.json(), schema, jsonschema.Draft202012Validator)
                assert not path.endswith("{name}") or settled == (not answer.json()["remaining"])


def test_a_method_is_all_that_a_new_verb_needs(url, monkeypatch):
    def praise(self, arm: int, *, words: str = "well done") -> Progress:
        """Praise an arm.

        words: what to say.
        """
        return Progress(arm, words == "well done")

    monkeypatch.setattr(Experiment, "praise", praise, raising=False)
    monkeypatch.setattr("lingape.live.server.app.VERBS", ("ask", "praise"))
    with serving(url) as client:
        client.post("/api/experiments", json=NEW)
        assert post(client, "praise", {"arm": 3}) == {"pulls": 3, "settled": True}
        post(client, "praise", {"arm": 3, "words": 5}, 422)
        assert client.post("/api/experiments/ads/praise", content=b"{}").status_code == 415
        body = client.get("/openapi.json").json()["components"]["schemas"]["PraiseBody"]
        assert body["properties"]["words"]["description"] == "What to say."


def test_tickets_become_overdue_without_an_event(url):
    with serving(url) as client:
        client.post("/api/experiments", json=NEW)
        post(client, "ask", {"n": 2, "ttl": "1d"})
        post(client, "ask", {"ttl": 0.01})

        def line():
            (found,) = client.get("/api/experiments").json()["experiments"]
            return found["pending"], found["overdue"]

        wait_for(lambda: line() == (2, 1))
        now = get(client)
        assert (now["pending"], now["overdue"]) == (2, 1)
        standings = now["standings"]
        assert sum(standing["pending"] for standing in standings) == 2
        assert sum(standing["overdue"] for standing in standings) == 1


def test_keys(calls):
    tickets = post(calls, "ask", {"n": 2, "key": "job 7"})
    assert post(calls, "ask", {"n": 2}, headers={"Idempotency-Key": "job 7"}) == tickets
    assert post(calls, "ask", {"n": 3, "key": "job 7"}, 409)
    assert post(calls, "ask", {"key": "a"}, 422, headers={"Idempotency-Key": "b"})
    assert len(get(calls, "/events")["events"]) == 2
    for _ in range(2):
        post(calls, "add", {"arm": 0, "reward": 1}, headers={"Idempotency-Key": "row 1"})
    ticket = tickets["tickets"][0]["id"]
    post(calls, "tell", {"ticket": ticket, "reward": 1}, headers={"Idempotency-Key": "any"})
    assert len(get(calls, "/events")["events"]) == 4


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("ask", {"n": 0}, 422),
        ("ask", {"n": 1001}, 422),
        ("ask", {"n": True}, 422),
        ("ask", {"n": 1.5}, 422),
        ("ask", {"ttl": "soon"}, 422),
        ("ask", {"ttl": -1}, 422),
        ("ask", {"worker": "x" * 201}, 422),
        ("ask", {"worker": "\ud800"}, 422),
        ("ask", {"nonsense": 1}, 422),
        ("ask", [], 422),
        ("tell", {"ticket": "x", "reward": 1}, 404),
        ("tell", {"ticket": "\0", "reward": 1}, 404),
        ("tell", {"ticket": "2-0-aaaaaaaa", "reward": "1"}, 422),
        ("tell", {"ticket": "2-0-aaaaaaaa", "reward": 10**400}, 422),
        ("tell", {"ticket": "2-0-aaaaaaaa", "reward": 1e101}, 422),
        ("tell", {"ticket": "2-0-aaaaaaaa"}, 422),
        ("void", {"ticket": "2-0-aaaaaaaa", "reason": ""}, 422),
        ("add", {"arm": 2, "reward": 1}, 422),
        ("add", {"arm": -1, "reward": 1}, 422),
        ("add", {"arm": 10**30, "reward": 1}, 422),
        ("nonsense", {}, 404),
        ("export", {}, 405),
    ],
)
def test_what_is_refused_leaves_no_trace(calls, path, body, code):
    refusal = post(calls, path, body, code)
    assert len(refusal["error"]) > 5
    assert len(get(calls, "/events")["events"]) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[" * 50_000, 400),
        (b'{"n": ' + b"9" * 5000 + b"}", 400),
        (b'{"n": NaN}', 422),
        (b"\xff\xfe", 400),
        (b"null", 422),
        (b'{"worker": "' + b"x" * 70_000 + b'"}', 413),
    ],
)
def test_bodies_that_are_not_valid(calls, body, code):
    answer = calls.post(
        "/api/experiments/ads/ask", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == code and answer.json()["error"]
    assert code != 400 or "must be JSON" in answer.json()["error"]


def test_unknown_paths(calls):
    for answer in (calls.get("/nowhere"), calls.put("/api/health"), calls.get("/static/none")):
        assert answer.status_code in (404, 405)
        assert "/openapi.json lists" in answer.json()["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "a b"},
        {"name": "../x"},
        {"name": "x" * 101},
        {"name": "x\n"},
        {"seed": -1},
        {"explorer": "nobody"},
        {"explorer": "xy_oracle"},
        {"explorer": "lingape(" * 20},
        {"explorer": "lingape(bound=mixture(scales=many))"},
        {"explorer": "lingape(ridge=x)"},
        {"problem": {}},
        {"problem": NOISY | {"arms": []}},
        {"problem": NOISY | {"arms": [[1], [1, 2]]}},
        {"problem": NOISY | {"arms": [[], []]}},
        {"problem": NOISY | {"arms": [[0, 0], [0, 0]]}},
        {"problem": NOISY | {"arms": [[1e300, 0], [0, 1]]}},
        {"problem": NOISY | {"arms": [[1, 1], [1, 1 + 1e-13]]}},
        {"problem": NOISY | {"arms": [[1.0]] * 21}},
        {"problem": NOISY | {"arms": [[1.0] * 11, [2.0] * 11]}},
        {"problem": PROBLEM | {"names": ["red"]}},
        {"problem": PROBLEM | {"names": ["red", "\ud800"]}},
        {"problem": PROBLEM | {"noise": 0}},
        {"problem": PROBLEM | {"noise": "0.5"}},
        {"problem": PROBLEM | {"noise": None}},
        {"problem": PROBLEM | {"noise": True}},
        {"problem": PROBLEM | {"noise": [1, 0]}},
        {"problem": PROBLEM | {"noise": [0, 1, 2]}},
        {"problem": PROBLEM | {"noise": "normal"}},
        {"problem": PROBLEM | {"noise_scale": 1}},
        {"problem": {"arms": PROBLEM["arms"]}},
        {"problem": PROBLEM | {"delta": 1}},
        {"problem": PROBLEM | {"answers": [7]}},
        {"problem": PROBLEM | {"pullable": [10**30]}},
    ],
)
def test_invalid_experiments(url, change):
    with serving(url, limits=Limits(arms=20, features=10)) as client:
        answer = sent(client, "/api/experiments", NEW | change)
        assert answer.status_code == 422 and answer.json()["error"]
        assert client.get("/api/experiments").json() == {"experiments": [], "unreadable": []}


@pytest.mark.parametrize("noise", [0.5, [-1, 3], "binary"])
def test_problems_say_what_rewards_are_like(url, noise):
    with serving(url) as client:
        new = NEW | {"problem": PROBLEM | {"noise": noise}}
        assert sent(client, "/api/experiments", new).status_code == 201
        assert sent(client, "/api/experiments", new).status_code == 201  # the same
        created = get(client, "/events")["events"][0]
        assert created["problem"]["noise"] == noise and "rewards" not in created
        other = NEW | {"problem": PROBLEM | {"noise": 0.25}}
        refusal = sent(client, "/api/experiments", other)
        assert refusal.status_code == 409 and "noise (" in refusal.json()["error"]


def test_noise_is_required_and_described(calls):
    schemas = calls.get("/openapi.json").json()["components"]["schemas"]
    assert set(schemas["ProblemBody"]["required"]) == {"arms", "noise"}
    assert "standard deviation" in schemas["ProblemBody"]["properties"]["noise"]["description"]
    for noise, words in (
        ({}, "problem.noise: Field required"),
        ({"noise": "gauss"}, '[low, high] with low < high, "binary" or "normal"; got \'gauss\''),
        ({"noise": "normal"}, "LinGapE needs the scale of the noise"),
    ):
        new = NEW | {"name": "new", "problem": {"arms": PROBLEM["arms"]} | noise}
        answer = sent(calls, "/api/experiments", new)
        assert answer.status_code == 422 and words in answer.json()["error"]


@pytest.mark.parametrize(("noise", "wrong"), [([0, 1], 1.5), ("binary", 0.5), ([-1, 3], -1.01)])
def test_rewards_outside_of_the_range_are_refused(url, noise, wrong):
    with serving(url) as client:
        new = NEW | {"problem": PROBLEM | {"noise": noise}}
        assert sent(client, "/api/experiments", new).status_code == 201
        (ticket,) = post(client, "ask", {})["tickets"]
        before = get(client)["digest"]
        for what, body in (("tell", {"ticket": ticket["id"]}), ("add", {"arm": 0})):
            told = post(client, what, body | {"reward": wrong}, code=422)
            assert told["kind"] == "InvalidReward" and "Nothing was recorded" in told["error"]
        assert get(client)["digest"] == before
        assert post(client, "tell", {"ticket": ticket["id"], "reward": 1})["pulls"] == 1


def test_huge_rewards_are_answered(calls):
    for arm, reward in ((0, 1e100), (1, -1e100), (0, -1e100), (1, 1e100)):
        answer = calls.post("/api/experiments/ads/add", json={"arm": arm, "reward": reward})
        assert answer.status_code < 500
    assert get(calls)["standings"]
    get(calls, "/history")


def test_limits(url):
    limits = Limits(request=100_000, experiments=1, tickets=3, streams=0)
    with serving(url, limits=limits) as client:
        assert client.post("/api/experiments", json=NEW).status_code == 201
        assert client.post("/api/experiments", json=NEW).status_code == 201
        answer = client.post("/api/experiments", json=NEW | {"name": "more"})
        assert answer.status_code == 409 and "at most 1 experiments" in answer.json()["error"]
        assert "at most 3 tickets" in post(client, "ask", {"n": 4}, 422)["error"]
        answer = client.get("/api/experiments/ads/stream")
        assert answer.status_code == 429 and "at most 0 streams" in answer.json()["error"]
        assert answer.headers["retry-after"] == "5"
        many = {"name": "x", "problem": NOISY | {"arms": [[0.1234567] * 20] * 1000}}
        answer = client.post("/api/experiments", json=many)
        assert answer.status_code == 413 and "at most 100000 bytes" in answer.json()["error"]

        def pieces():  # a body whose length is not announced
            for _ in range(30):
                yield b" " * 10_000

        headers = {"Content-Type": "application/json"}
        answer = client.post("/api/experiments", content=pieces(), headers=headers)
        assert answer.status_code == 413


def test_many_arms(url):
    arms = [[1.0, k / 1000] for k in range(700)]
    with serving(url) as client:
        assert client.post(
            "/api/experiments",
            json={
                "name": "ads",
                "problem": NOISY | {"arms": arms},
                "explorer": "lingape(start=spanning)",
            },
        ).is_success
        assert len(get(client)["standings"]) == 500
        for arm in (0, 699, 699):
            post(client, "add", {"arm": arm, "reward": arm / 1000})
        now = get(client)
        assert now["arms"] == 700 and len(now["standings"]) == 500
        ends = [standing["high"] for standing in now["standings"]]
        assert ends[0] == pytest.approx(now["gap_bound"])
        assert ends[:499] == sorted(ends[:499], reverse=True)
        assert now["leader"] in [standing["arm"] for standing in now["standings"]]


def test_pages_of_arms(calls, url):
    settle(calls)
    found = get(calls, "/arms?search=B&sort=value&start=0&limit=1")
    assert [one["name"] for one in found["standings"]] == ["blue"] and found["total"] == 1
    assert get(calls, "/arms")["standings"] == get(calls)["standings"]
    assert get(calls, "/arms?search=%F0%9F%8E%88") == {"standings": [], "total": 0}
    for query in ("limit=501", "limit=0", "start=-1", "sort=worst", f"search={201 * 'x'}"):
        get(calls, f"/arms?{query}", 422)
    with Outpost(url) as outpost, lingape.Client(outpost.url) as client:
        remote = client.experiment("ads")
        with Experiment.open(url, "ads") as here:
            assert remote.arms() == here.arms()
            assert remote.arms("blue & b", sort="name") == here.arms("blue & b")
        with pytest.raises(InvalidArgument, match="best"):
            remote.arms(sort="worst")


def test_what_it_is_about(url):
    with serving(url) as client:
        about = {"question": "Which?", "notes": 20_000 * "n", "owner": "Ada"}
        answer = client.post("/api/experiments", json=NEW | about)
        assert answer.status_code == 201 and answer.json().items() >= about.items()
        assert client.post("/api/experiments", json=NEW | {"owner": None}).status_code == 201
        other = client.post("/api/experiments", json=NEW | {"owner": "Bob"})
        assert other.status_code == 409 and "owner ('Ada' there" in other.json()["error"]
        for name, most in (("question", 200), ("notes", 20_000), ("owner", 200)):
            wrong = client.post("/api/experiments", json=NEW | {name: (most + 1) * "x"})
            assert wrong.status_code == 422 and name in wrong.json()["error"]


def test_a_history_begins_with_the_corrections(calls, monkeypatch):
    for i in range(20):
        post(calls, "add", {"arm": i % 2, "reward": 0.001 * i})
    for event in (2, 3, 4):
        post(calls, "correct", {"what": event, "reward": 0.5, "reason": "typing error"})
    begun = []
    begin = History.__init__
    monkeypatch.setattr(History, "__init__", lambda *given: begun.append(1) or begin(*given))
    found = get(calls, "/history")
    assert found["complete"] and len(found["points"]) == 19 and len(begun) == 1


def test_history(calls):
    assert get(calls, "/history") == {"points": [], "event": 1, "complete": True}
    for i in range(60):
        post(calls, "add", {"arm": i % 2, "reward": 0.001 * i})
    whole = get(calls, "/history")
    assert [point["pulls"] for point in whole["points"]] == list(range(2, 61))
    assert whole["points"][-1]["gap_bound"] == get(calls)["gap_bound"]
    some = get(calls, "/history?points=5")["points"]
    assert len(some) == 5 and some[0] == whole["points"][0] and some[-1] == whole["points"][-1]
    get(calls, "/history?points=1", 422)


def test_long_histories_are_thinned_and_take_several_looks(calls, monkeypatch):
    for i in range(60):
        post(calls, "add", {"arm": i % 2, "reward": 0.001 * i})
    monkeypatch.setattr("lingape.live.history.KEPT", 16)
    monkeypatch.setattr("lingape.live.server.shelf.PATIENCE", 0.002)
    for _ in range(1000):
        found = get(calls, "/history")
        if found["complete"]:
            break
    pulls = [point["pulls"] for point in found["points"]]
    assert len(pulls) <= 18 and pulls[0] == 2 and pulls[-1] == 60


def test_events(calls):
    for i in range(5):
        post(calls, "add", {"arm": 0, "reward": i})
    events = get(calls, "/events?after=2&limit=3")["events"]
    assert [event["reward"] for event in events] == [1.0, 2.0, 3.0]
    assert get(calls, "/events?after=100")["events"] == []
    for query in ("after=-1", "limit=0", "limit=1001", f"after={2**70}", "after=x"):
        get(calls, f"/events?{query}", 422)


@pytest.mark.parametrize("path", ["", "/certificate", "/history", "/events", "/export", "/stream"])
def test_missing_experiments(calls, path):
    assert "no experiment" in calls.get(f"/api/experiments/none{path}").json()["error"]
    assert calls.get(f"/api/experiments/none{path}").status_code == 404
    assert calls.get(f"/api/experiments/a%20b{path}").status_code == 422


@pytest.mark.parametrize(
    "path",
    ["/", "/static/app.js", "/openapi.json", "/api/health", "/api/experiments"]
    + [f"/api/experiments/ads{rest}" for rest in ("", "/certificate", "/history", "/events")]
    + ["/api/experiments/ads/export", "/api/experiments/none", "/nowhere"],
)
def test_head_is_get_without_the_body(calls, path):
    head, whole = calls.head(path), calls.get(path)
    assert head.status_code == whole.status_code and head.headers == whole.headers
    assert head.content == b"" != whole.content
    assert calls.head("/api/experiments/ads/tell").status_code == 405


def test_descriptions_are_in_words_of_json(calls):
    described = re.findall(r'"description": ?("(?:[^"\\]|\\.)*")', calls.get("/openapi.json").text)
    assert len(described) > 100
    assert [text for text in described if re.search(r"\b(None|True|False)\b", text)] == []


@pytest.mark.parametrize("sized", [True, False])
def test_answers_to_head_end_by_themselves_unless_they_are_streams(sized):
    """An answer that is cancelled may leave its file open."""
    ended = []

    async def app(scope, receive, send):
        headers = [(b"content-length", b"3")] if sized else []
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for _ in range(10 if sized else 10_000):
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"all"})
        ended.append(True)

    async def ask():
        gate = Gate(app, None, None, None, Limits(), posts=(), large="/")
        about = {"type": "http", "method": "HEAD", "path": "/", "headers": []}
        await gate(about, None, send)

    async def send(message):
        answer.append(message)

    answer = []
    asyncio.run(ask())
    assert ended == [True] * sized
    assert [message.get("body", b"") for message in answer] == [b"", b""]


def test_head_of_a_stream_ends(url):
    with Outpost(url, environment={"LINGAPE_WRITE_TOKEN": "all-of-it"}) as server:
        with lingape.Client(server.url, "all-of-it") as client:
            client.create("ads", lingape.Problem(PROBLEM["arms"], noise=1.0))
        place = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for path in ("/", "/api/experiments/ads/stream", "/api/experiments/ads/export", "/"):
            place.request("HEAD", path, headers=WRITE)  # by the same connection
            answer = place.getresponse()
            assert answer.status == 200 and answer.read() == b""
        place.request("HEAD", "/api/experiments")
        assert place.getresponse().status == 401
        place.close()
        assert server.end() == ENDED


def test_hosts(url):
    with serving(url) as client:
        for host in ("localhost:8000", "127.0.0.1", "[::1]:80", "LOCALHOST"):
            assert client.get("/api/health", headers={"Host": host}).status_code == 200
        for host in ("evil.example", "localhost.evil.example:8000", "[::2]", ""):
            answer = client.get("/api/health", headers={"Host": host})
            assert answer.status_code == 400 and "answers to" in answer.json()["error"]
    with serving(url, hosts=None) as client:
        assert client.get("/api/health", headers={"Host": "anything"}).status_code == 200


def test_forms_of_other_sites_are_refused(calls):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = calls.post(
            "/api/experiments/ads/ask", content=b"{}", headers={"Content-Type": kind}
        )
        assert answer.status_code == 415
    for path in ("/api/experiments%0A", "/api/experiments/ads/ask%0A"):  # routes match these too
        assert calls.post(path, content=b"{}").status_code == 415
    assert calls.options("/api/experiments").status_code == 405  # no cross-origin permission
    for path in ("/nowhere", "/api/experiments/ads/export", "/api/health"):  # nothing to post to
        assert calls.post(path, content=b"{}").status_code in (404, 405)
    posts = [path for path, does in calls.app.openapi()["paths"].items() if "post" in does]
    assert len(posts) == 10
    for path in posts:
        assert calls.post(path.replace("{name}", "ads"), content=b"{}").status_code == 415


def test_the_page_loads_nothing_from_elsewhere(calls):
    answer = calls.get("/api/health")
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = calls.get("/")
    assert page.status_code == 200 and "default-src 'self'" in str(page.headers)
    assert calls.get("/static/../serving.py").status_code == 404
    assert calls.get("/static/%2e%2e/serving.py").status_code == 404


def test_tokens(url):
    with serving(url, read_token="look-only", write_token="all-of-it") as client:
        assert client.get("/api/health").status_code == 200
        assert client.get("/openapi.json").json()["security"] == [{"token": []}]
        assert client.post("/api/experiments", json=NEW, headers=WRITE).status_code == 201
        refused = client.post("/api/experiments/ads/ask", json={}, headers=READ)
        assert refused.status_code == 403 and "for reading" in refused.json()["error"]
        assert client.get("/api/experiments", headers=READ).status_code == 200
        assert client.get("/api/experiments", headers=WRITE).status_code == 200
        for wrong in (
            "",
            "Bearer",
            "Bearer x",
            "Basic all-of-it",
            "bearer all-of-it2",
            "Bearer é",
        ):
            answer = client.get("/api/experiments", headers={"Authorization": wrong.encode()})
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
            assert client.post("/api/experiments", json=NEW).status_code == 401
        assert client.get("/api/experiments/ads/stream").status_code == 401
        assert client.get("/nonsense").status_code == 401
    with serving(url, write_token="all-of-it") as client:
        assert client.get("/api/experiments").status_code == 401
        assert client.get("/api/experiments", headers=WRITE).status_code == 200
    for tokens in (
        {"read_token": "look-only"},
        {"read_token": "the-same", "write_token": "the-same"},
        {"write_token": "short"},
        {"write_token": "with space in it"},
        {"write_token": "café-noir-et-creme"},
    ):
        with pytest.raises(InvalidArgument):
            create_app(url, **tokens)


def test_trouble_with_the_database(calls, monkeypatch):
    def full(*arguments, **settings):
        raise StorageFailed("The disk is full.")

    monkeypatch.setattr(Experiment, "ask", full)
    answer = calls.post("/api/experiments/ads/ask", json={})
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
    assert answer.json() == {"error": "The disk is full.", "kind": "StorageFailed"}


def test_a_copy_that_was_restored_is_opened_again(url, calls, tmp_path):
    path, copy = tmp_path / "run.db", tmp_path / "copy.db"
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    post(calls, "add", {"arm": 0, "reward": 1})
    connection = sqlite3.connect(path)
    other = sqlite3.connect(copy)
    other.backup(connection)
    connection.close()
    other.close()
    answer = calls.get("/api/experiments/ads")
    assert answer.status_code == 500 and "not the one that it was" in answer.json()["error"]
    assert get(calls)["pulls"] == 0


def test_one_damaged_log_does_not_hide_the_others(url, calls):
    calls.post("/api/experiments", json=NEW | {"name": "other"})
    tamper(url, "UPDATE logs SET seq = 7 WHERE name = 'other'")
    found = calls.get("/api/experiments").json()
    assert [line["name"] for line in found["experiments"]] == ["ads"]
    (damaged,) = found["unreadable"]
    assert damaged["name"] == "other" and "damaged" in damaged["error"]


def test_the_shelf_keeps_few_open(url):
    shelf = Shelf(url, most=2)
    problem = lingape.Problem(PROBLEM["arms"], noise=1.0)
    for i in range(5):
        shelf.create(f"e{i}", problem, explorer="lingape")

    def work():
        for i in range(30):
            with shelf.use(f"e{i % 5}") as experiment:
                experiment.add(0, 1.0)
                assert shelf.head(experiment.name).seq > 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shelf._slots) <= 2 and all(slot.users == 0 for slot in shelf._slots.values())
    assert [shelf.summary(name).pulls for name in shelf.names()] == [24] * 5
    shelf.close()


def stream(url, lines, name="ads"):
    """Collect lines of a stream until it ends."""
    connection = http.client.HTTPConnection("127.0.0.1", int(url.rsplit(":", 1)[1]), timeout=30)
    connection.request("GET", f"/api/experiments/{name}/stream")
    response = connection.getresponse()
    assert response.getheader("content-type").startswith("text/event-stream")
    for line in response:
        lines.append(line.decode().strip())
    lines.append("the end")
    connection.close()


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@posix("signals that a process can answer")
def test_a_server_streams_and_ends(url):
    with Outpost(url) as server, lingape.Client(server.url) as calls:
        calls.create("ads", lingape.Problem(PROBLEM["arms"], noise=1.0))
        lines = []
        reader = threading.Thread(target=stream, args=(server.url, lines))
        reader.start()
        wait_for(lambda: any(line.startswith("data:") for line in lines))
        with Experiment.open(url, "ads") as elsewhere:  # another process
            elsewhere.add(0, 1.0)
            elsewhere.add(1, 0.0)
        wait_for(lambda: '"pulls": 2' in " ".join(lines))
        data = json.loads([line for line in lines if line.startswith("data:")][-1][5:])
        assert data == calls.experiments()[0].to_dict() and data["event"] == 3
        assert "event: status" in lines
        assert server.end(signal.SIGTERM) == 0
        reader.join(60)
        assert lines[-1] == "the end"


@pytest.mark.parametrize("end", ["closing", "trouble"])
def test_streams_share_their_looks(monkeypatch, end):
    """However many clients follow an experiment, its log is read once."""
    monkeypatch.setattr("lingape.live.server.watch.LOOK", 0.001)
    monkeypatch.setattr("lingape.live.server.watch.HEARTBEAT", 0.01)
    state = {"now": 1, "looks": 0, "looking": 0, "most": 0, "over": False}

    def look(name):
        state["looks"] += 1
        state["looking"] += 1
        state["most"] = max(state["most"], state["looking"])
        time.sleep(0.001)
        state["looking"] -= 1
        if state["over"] and end == "trouble":
            raise StorageFailed("The disk is gone.")
        return state["now"]

    async def follow(watch, heard):
        async for now in watch.follow("ads"):
            heard.append(now)

    async def until(condition):
        while not condition():
            await asyncio.sleep(0.001)

    async def play():
        watch = Watch(look, lambda: state["over"] and end == "closing")
        heard = ([], [], [])
        tasks = [asyncio.create_task(follow(watch, one)) for one in heard]
        await until(lambda: all({1, None} <= {*one} for one in heard))  # None: it lives
        assert watch.followers == 3
        state["now"] = 2
        await until(lambda: all(2 in one for one in heard))
        state["over"] = True
        await asyncio.gather(*tasks)
        assert watch.followers == 0
        return heard

    for one in asyncio.run(asyncio.wait_for(play(), 60)):
        assert [now for now in one if now is not None] == [1, 2]
    assert state["most"] == 1


@lists_open_files
def test_streams_end_when_clients_leave(url):
    with Outpost(url) as server:
        with lingape.Client(server.url) as client:
            client.create("ads", lingape.Problem(PROBLEM["arms"], noise=1.0))
        place = f"/proc/{server.process.pid}/fd"
        before = len(os.listdir(place))
        gone = []
        for _ in range(5):
            connection = socket.create_connection(("127.0.0.1", server.port))
            connection.sendall(
                b"GET /api/experiments/ads/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
            assert connection.recv(100)
            gone.append(connection)
        for connection in gone:
            connection.close()
        wait_for(lambda: len(os.listdir(place)) <= before + 2)


@posix("signals that a process can answer")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_finished(url, number):
    """A signal between head and body of a request: it is answered, then the server stops."""
    body = b'{"arm": 0, "reward": 1.0}'
    with Outpost(url) as server:
        with lingape.Client(server.url) as client:
            client.create("ads", lingape.Problem(PROBLEM["arms"], noise=1.0))
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(
                b"POST /api/experiments/ads/add HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nExpect: 100-continue\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body)
            )
            assert b"100 Continue" in connection.recv(1000)
            server.process.send_signal(number)
            wait_for(lambda: refuses(server.port))
            connection.sendall(body)
            answer = b""
            while piece := connection.recv(1000):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200") and b'"pulls":1' in answer
        assert server.wait() == 0


def refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return True
    return False


@posix("sockets that processes share")
def test_several_processes_on_one_port(url):
    with Outpost(url, "--workers", 2) as server, lingape.Client(server.url) as client:
        experiment = client.create("ads", lingape.Problem(PROBLEM["arms"], noise=1.0))
        threads = [
            threading.Thread(
                target=lambda: [experiment.tell(experiment.ask()[0].id, 1.0) for _ in range(10)]
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert experiment.status().pulls == 40
        assert server.end() == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), timeout=1)


def test_other_addresses_need_a_token(url, tmp_path):
    with pytest.raises(InvalidArgument, match=r"0\.0\.0\.0.*needs a token"):
        serve(Service(url, host="0.0.0.0"), ready=print)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidArgument, match="cannot be used"):
            serve(Service(url, port=port), ready=print)
    with pytest.raises(StorageFailed):
        serve(Service(f"sqlite:///{tmp_path}/no/run.db"), ready=print)
    assert "all-of-it" not in repr(Service(url, write_token="all-of-it"))
    (tmp_path / "token").write_text("all-of-it\n")
    options = ("--host", "0.0.0.0", "--write-token-file", tmp_path / "token")
    environment = {"LINGAPE_READ_TOKEN": "look-only"}
    with Outpost(url, *options, environment=environment) as server:
        place = f"http://127.0.0.1:{server.port}"
        with lingape.Client(place, "all-of-it") as client:
            client.create("ads", lingape.Problem(PROBLEM["arms"], noise=1.0))
        with lingape.Client(place, "look-only") as client:
            assert client.experiment("ads").status().pulls == 0
            with pytest.raises(InvalidArgument, match="for reading"):
                client.experiment("ads").ask()


def test_other_loopback_addresses(url):
    with (
        Outpost(url, "--host", "127.0.0.2") as server,
        lingape.Client(server.url, retries=0) as client,
    ):
        assert client.health()["status"] == "ok"


def test_proxies_may_pass_on_any_host_name(url):
    with Outpost(url, environment={"LINGAPE_WRITE_TOKEN": "all-of-it"}) as server:
        headers = {"Host": "lab.example", "Authorization": "Bearer all-of-it"}
        place = http.client.HTTPConnection("127.0.0.1", server.port)
        place.request("GET", "/api/experiments", headers=headers)
        assert place.getresponse().status == 200
        place.close()


def test_a_token_file_that_is_not_text(url, tmp_path):
    (tmp_path / "token").write_bytes(b"\xff\xfe all of it")
    options = ["serve", "--db", url, "--write-token-file", str(tmp_path / "token")]
    refused = CliRunner().invoke(main, options)
    assert refused.exit_code == 1 and "A token must have" in refused.output


def test_importing_the_client_is_light():
    heavy = "{'fastapi', 'uvicorn', 'urllib3'}"
    code = f"import lingape, sys; lingape.Client; print({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "set()"


def test_servers_share_postgresql(postgres_url):
    with serving(postgres_url) as one, serving(postgres_url) as two:
        assert one.post("/api/experiments", json=NEW).status_code == 201
        for client in (one, two) * 3:
            for ticket in post(client, "ask", {"n": 2})["tickets"]:
                other = two if client is one else one
                post(other, "tell", {"ticket": ticket["id"], "reward": 0.5})
        assert get(one) == get(two) and get(one)["pulls"] == 12
        assert get(one, "/history") == get(two, "/history")
        lines = one.get("/api/experiments/ads/export").text.splitlines()
        assert len(lines) == get(two)["event"]
        missing = one.get("/api/experiments/none")
        assert missing.status_code == 404 and "postgres" not in missing.text


def test_memory_of_a_large_experiment(url):
    """Per number in a request: the peak, and what is kept."""
    arms = [[(i * j) % 97 / 10 for j in range(1, 26)] for i in range(4_000)]
    body = NEW | {"problem": NOISY | {"arms": arms}, "explorer": "lingape(start=spanning)"}
    text, numbers = json.dumps(body).encode(), 4_000 * 25
    with serving(url, limits=Limits(numbers=numbers + 100)) as client:
        client.get("/api/experiments")
        tracemalloc.start()
        headers = {"Content-Type": "application/json"}
        answer = client.post("/api/experiments", content=text, headers=headers)
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert answer.status_code == 201
        assert kept / numbers < 60 and peak / numbers < 160  # bytes; 32 as a list
        more = json.dumps(
            body | {"name": "x", "seed": 0, "problem": NOISY | {"arms": arms + arms}}
        )
        answer = client.post("/api/experiments", content=more, headers=headers)
        assert answer.status_code == 413
        assert "at most 100100 numbers" in answer.json()["error"]
